"""What the configuration of a folder may start: nothing, before its user has seen the exact command and said yes to that.

A yes is for a digest of the command, its arguments, the environment that is added to it, the space, and the content of the scripts of the
space that it names. Whatever of these changes, it is asked about again.
"""

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ...errors import ToolError
from ..commands import scripts
from .kept_file import Kept, KeptFile, is_exposed, name_for
from .opening import read_bytes
from .scope import Scope

BASH: tuple[str, ...] = ("bash", "--noprofile", "--norc", "-c")
"""What stands before a command line that is given as one text."""

_ENDING = ".consents.json"
_LARGEST_SCRIPT = 5_000_000
_WORD = re.compile(r"[^\s\"'`;|&()<>{}=,$]+")
_SCRIPT = re.compile(r"\.(?:sh|bash|zsh|fish|py|js|mjs|cjs|ts|rb|pl|lua|php|jl|r|ps1)$", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Startable:
    """Something that a file of the space asks to be started. ``origin``: that file, relative to the space. ``words``: program and
    arguments. ``environ``: what is added to the environment, by name. ``scripts``: files of the space that it names, each with a digest
    of its content. ``space``: canonical root."""

    origin: str
    words: tuple[str, ...]
    environ: tuple[tuple[str, str], ...] = ()
    scripts: tuple[str, ...] = ()
    space: str

    @property
    def command(self) -> str:
        """As a person is shown it: a command line, or the words as a shell would want them."""
        if self.words[: len(BASH)] == BASH and len(self.words) == len(BASH) + 1:
            return self.words[-1]
        # not shlex: a plain word with control characters must not look like a harmless one
        return " ".join(word if re.fullmatch(r"[\w@%+=:,./-]+", word, re.ASCII) else repr(word) for word in self.words)

    @property
    def digest(self) -> str:
        bound = {
            "words": self.words,
            "environ": sorted(self.environ),
            "scripts": sorted(self.scripts),
            "space": self.space,
        }
        return hashlib.sha256(msgspec.json.encode(bound, order="sorted")).hexdigest()


def line_to_start(line: str, *, origin: str, scope: Scope, environ: Iterable[tuple[str, str]] = ()) -> Startable:
    """The command line ``line`` as bash would run it in the space's folder."""
    added = tuple(environ)
    return Startable(
        origin=origin,
        words=(*BASH, line),
        environ=added,
        scripts=scripts_named(line, scope, added),
        space=str(scope.root),
    )


def scripts_named(line: str, scope: Scope, environ: Iterable[tuple[str, str]] = ()) -> tuple[str, ...]:
    """The scripts of the space that ``line`` names, each with the digest of what it holds now."""
    for name, value in environ:
        if value == str(scope.root):
            line = line.replace(f"${{{name}}}", ".").replace(f"${name}", ".")
    # a quote between a folder and a name, as in "$FOLDER"/x.sh, is none of the path's
    plain = re.sub(r"[\"']", "", line)
    certain = scripts(line)
    words = dict.fromkeys((*certain, *_WORD.findall(line), *_WORD.findall(plain)))
    found = {text for word in words if (text := _script(word, scope, certain=word in certain))}
    return tuple(sorted(found))


def _script(word: str, scope: Scope, *, certain: bool) -> str:
    try:
        located = scope.locate(word)
    except ToolError:
        return ""
    path = located.path
    if not path.is_file() or not (certain or _SCRIPT.search(path.name) or os.access(path, os.X_OK)):
        return ""
    try:
        return f"{located.name} sha256:{hashlib.sha256(read_bytes(located, limit=_LARGEST_SCRIPT)).hexdigest()}"
    except ToolError:
        return f"{located.name} unreadable"


class Consent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``origin`` and ``command`` are for people; ``digest`` counts. ``given_at``: ISO 8601, UTC."""

    digest: str
    origin: str = ""
    command: str = ""
    given_at: str = ""
    by: str = ""


class Given(Kept, frozen=True, kw_only=True, forbid_unknown_fields=True):
    consents: list[Consent] = []


class Consents:
    """Those for the space at ``space_root``, beside the saved rules in ``folder``. May be used from several threads, and by several
    programs at once."""

    def __init__(self, folder: Path, space_root: Path, *, home: str = "") -> None:
        self.space = os.path.realpath(space_root)
        self._file = KeptFile(
            folder,
            name_for(self.space, _ENDING),
            Given(space=self.space),
            exposed=is_exposed(folder, self.space, home),
            what="consent",
        )
        self.path = folder / self._file.name

    def read(self) -> tuple[list[Consent], str]:
        """Those that hold, and why none does although there may be some: "" if all is well."""
        given, reason = self._file.read()
        return ([], f"{self.path} {reason}") if reason else (given.consents, "")

    def digests(self) -> frozenset[str]:
        return frozenset(one.digest for one in self.read()[0])

    def give(self, startable: Startable, *, by: str) -> None:
        """:raises Conflict: if it cannot be saved"""
        consent = Consent(
            digest=startable.digest,
            origin=startable.origin,
            command=startable.command,
            given_at=datetime.now(UTC).isoformat(timespec="seconds"),
            by=by,
        )

        def with_it(given: Given) -> Given:
            if consent.digest in (one.digest for one in given.consents):
                return given
            return Given(version=given.version, space=given.space, consents=[*given.consents, consent])

        self._file.change(with_it)

    def take(self, digest: str) -> bool:
        """Take it back; whether it was there.

        :raises Conflict: if the file cannot be changed
        """
        gone: list[Consent] = []

        def without_it(given: Given) -> Given:
            gone[:] = [one for one in given.consents if one.digest == digest]
            kept = [one for one in given.consents if one.digest != digest]
            return Given(version=given.version, space=given.space, consents=kept)

        self._file.change(without_it)
        return bool(gone)
