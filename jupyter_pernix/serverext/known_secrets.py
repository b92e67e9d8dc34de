"""Values that this server knows to be secret: keys of endpoints, its own token, what its environment, the ``.env`` files of the folders
that sessions work in, and the user's netrc and git credentials hold under a secret's name."""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec

if TYPE_CHECKING:
    from ..events import Event
    from ..masking import Masker
    from ..records import Variables

Values = Callable[[], Iterable[str]]
"""The values as they are now; endpoints come and go."""

SHORTEST = 8
"""Shorter values would be found where they mean something else."""
_LOOK_AGAIN = 2.0
"""Seconds in which a file is not looked at twice."""
_LARGEST = 100_000
_LINE = re.compile(r"[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_.]*)[ \t]*=[ \t]*(?P<value>.*?)[ \t]*\r?")
_PASSWORD = re.compile(r"\bpassword\s+(\S+)")
_IN_ADDRESS = re.compile(r"://[^\s/:@]*:([^\s/@]+)@")
_PLAIN = re.compile(r"[A-Za-z]+|[\d.,:/-]+")
"""A word or a number: it tells nothing, and may stand anywhere."""


def is_telling(value: str) -> bool:
    """Whether a value is long and odd enough to be looked for in everything."""
    trivial = value.startswith(("/", "./", "~")) or _PLAIN.fullmatch(value) is not None
    return len(value) >= SHORTEST and not trivial


def from_environment(environ: Mapping[str, str]) -> set[str]:
    """Values of variables whose names say that they are secret, and passwords in addresses."""
    # Imported here: the start of the server does not need it.
    from ..masking import is_secret_name

    named = {value for name, value in environ.items() if is_secret_name(name) and is_telling(value)}
    return named | {value for text in environ.values() for value in _in_addresses(text)}


def from_dotenv(text: str) -> set[str]:
    """As ``from_environment``, of a file with a ``NAME=value`` on each line."""
    return from_environment(
        {line["name"]: _bare(line["value"]) for line in map(_LINE.fullmatch, text.split("\n")) if line}
    )


def from_credentials(text: str) -> set[str]:
    """Passwords of a netrc or of git's credentials."""
    found = {value for value in _PASSWORD.findall(text) if is_telling(value)}
    return found | _in_addresses(text)


def _in_addresses(text: str) -> set[str]:
    found = _IN_ADDRESS.findall(text) if "://" in text else []
    return {one for value in found for one in (value, unquote(value)) if is_telling(one)}


def _bare(value: str) -> str:
    if len(value) >= 2 and value[0] in "\"'" and value[-1] == value[0]:
        return value[1:-1]
    return value.partition(" #")[0].rstrip()


class _File:
    """One file that may hold secrets, read again when it has changed. What it has once held stays secret."""

    def __init__(self, path: Path, read: Callable[[str], set[str]]) -> None:
        self._path = path
        self._read = read
        self._state: tuple[int, int] | None = None
        self.values: set[str] = set()

    def look(self) -> None:
        try:
            status = self._path.stat()
            state = status.st_mtime_ns, status.st_size
            if state != self._state and status.st_size <= _LARGEST and self._path.is_file():
                self._state = state
                self.values |= self._read(self._path.read_text(encoding="utf-8", errors="replace"))
        except (OSError, ValueError):
            return  # it is not there, or not for us


class KnownSecrets:
    """``values``: those that are not in files. ``home``: where the user's credentials are; ``None``: nowhere."""

    def __init__(self, values: Values = tuple, *, home: Path | None = None) -> None:
        self._values = values
        self._files: dict[Path, _File] = {}
        self._looked = -_LOOK_AGAIN
        self._known: frozenset[str] = frozenset()
        self._masker: Masker | None = None
        if home is not None:
            for name in (".netrc", "_netrc", ".git-credentials", ".config/git/credentials"):
                self._files[home / name] = _File(home / name, from_credentials)

    def watch(self, folder: Path) -> None:
        """From now on the ``.env`` files of this folder are looked at too."""
        for name in (".env", ".env.local"):
            path = folder / name
            if path not in self._files:
                self._files[path] = _File(path, from_dotenv)
                self._looked = -_LOOK_AGAIN

    def now(self) -> set[str]:
        """All that are known now."""
        clock = time.monotonic()
        if clock - self._looked >= _LOOK_AGAIN:
            self._looked = clock
            for file in self._files.values():
                file.look()
        return {*self._values(), *(value for file in self._files.values() for value in file.values)} - {""}

    @property
    def masker(self) -> "Masker":
        """Masks those, and whatever looks like one."""
        # Imported here: the start of the server does not need it.
        from ..masking import Masker

        known = frozenset(self.now())
        if self._masker is None or known != self._known:
            self._known, self._masker = known, Masker(known)
        return self._masker

    def masked_variables(self, found: "Variables") -> "Variables":
        """As a page is shown them."""
        masker = self.masker
        kept = [msgspec.structs.replace(one, preview=masker.text(one.preview)) for one in found.variables]
        return msgspec.structs.replace(found, variables=kept)

    def masked(self, event: "Event") -> "Event":
        """The fact without its secrets."""
        from ..masking import masked_event

        return masked_event(event, self.masker)
