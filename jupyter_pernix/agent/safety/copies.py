"""Copies of files, each under the digest of its content: what is kept once is never written again. Blocking."""

import contextlib
import hashlib
import os
import secrets
from pathlib import Path


class Copies:
    """``folder`` is made when something is kept; only its owner can read it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "copies"

    def keep(self, content: bytes) -> str:
        """The digest under which ``content`` is kept from now on.

        :raises OSError: if it cannot be
        """
        digest = hashlib.sha256(content).hexdigest()
        path = self._path(digest)
        if path.exists():
            return digest
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_name(f".{digest[:16]}.{secrets.token_hex(6)}.tmp")
        try:
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(fd)
            temporary.rename(path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        return digest

    def read(self, digest: str) -> bytes | None:
        """What is kept under ``digest``; ``None`` if nothing is, or not that any more."""
        try:
            content = self._path(digest).read_bytes()
        except OSError:
            return None
        return content if hashlib.sha256(content).hexdigest() == digest else None

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest
