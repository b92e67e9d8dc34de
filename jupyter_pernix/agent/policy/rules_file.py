"""The rules that a user has saved: a file for each space and one for all, below the user's own configuration.

What cannot be trusted to be the user's own words (not JSON, someone else's, writable by others or by the agent, a link) is neither used
nor overwritten.
"""

import errno
import hashlib
import os
import stat
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ...errors import Conflict, InvalidInput
from .judgement import RUN_CODE
from .own_files import Untrusted, check_owner, locked, opened_folder, write
from .paths import inside, judge_path
from .rule_forms import normal, valid_deny, valid_rule
from .rules import RuleSet

VERSION = 1
FOLDER = "permissions"
"""The name of the folder, below the user's configuration of this program."""
EVERYWHERE = "everywhere.json"
"""The name of the file for all spaces."""

_LARGEST = 1_000_000
_SETTLED_NS = 100_000_000
"""A file that was changed just before it was read may be changed again within the same tick of the file system's clock."""

Signature = tuple[int, ...]


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``added_at``: ISO 8601, UTC. ``by``: who added it. Both are "" in a file that was written by hand."""

    rule: str
    added_at: str = ""
    by: str = ""


class Saved(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a file holds. ``space``: the folder that it is about, "" for all. A rule may stand there as a bare string."""

    version: int = VERSION
    space: str = ""
    allow: list[Entry | str] = []
    deny: list[Entry | str] = []


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A rule with where it stands. ``fault``: why it has no effect, "" if it has."""

    rule: str
    deny: bool
    everywhere: bool
    added_at: str = ""
    by: str = ""
    fault: str = ""


def of_settings(deny: Iterable[str]) -> list[Listed]:
    """The deny rules that the settings hold, as they are shown beside saved ones."""
    return [Listed(rule=rule, deny=True, everywhere=True, by="settings", fault=valid_deny(rule)) for rule in deny]


class RulesFile:
    """The rules of the space at ``space_root`` with those for all spaces; both files are in ``folder``. ``space_root`` ``None``: only
    those for all. May be used from several threads, and by several programs at once."""

    def __init__(self, folder: Path, space_root: Path | None, *, home: str = "") -> None:
        self.folder = folder
        self.space = os.path.realpath(space_root) if space_root is not None else ""
        self._home = home
        exposed = bool(self.space) and _exposed(os.path.realpath(folder), self.space, home)
        files = [_File(folder, EVERYWHERE, "", exposed)]
        if space_root is not None:
            files.append(_File(folder, name_for(self.space), self.space, exposed))
        self._files = files

    @property
    def paths(self) -> tuple[Path, ...]:
        """For all spaces first."""
        return tuple(self.folder / one.name for one in self._files)

    def read(self) -> RuleSet:
        """What holds now. A file is read again whenever it has changed; a rule that can be none is left out."""
        allow: list[str] = []
        deny: list[str] = []
        broken: list[str] = []
        for one in self._files:
            saved, reason = one.read()
            if reason:
                broken.append(f"{self.folder / one.name} {reason}")
                continue
            allow += [entry.rule for entry in _entries(saved.allow) if not self._fault(entry.rule, deny=False)]
            for entry in _entries(saved.deny):
                fault = valid_deny(entry.rule)
                if fault:
                    # a rule that was meant to forbid something and does not must not go unseen
                    broken.append(f"{self.folder / one.name} has the deny rule {entry.rule[:80]!r}: {fault}")
                else:
                    deny.append(entry.rule)
        return RuleSet(
            allow=() if broken else _once(allow),
            deny=_once(deny),
            broken="; ".join(broken),
        )

    def listed(self) -> list[Listed]:
        """Every rule that stands there, also what has no effect. Of a file that is not used: none; ``read`` says why."""
        found: list[Listed] = []
        for one in self._files:
            saved, _ = one.read()
            for entries, deny in ((saved.allow, False), (saved.deny, True)):
                found += [
                    Listed(
                        rule=entry.rule,
                        deny=deny,
                        everywhere=not one.space,
                        added_at=entry.added_at,
                        by=entry.by,
                        fault=self._fault(entry.rule, deny=deny),
                    )
                    for entry in _entries(entries)
                ]
        return found

    def add(self, rule: str, *, deny: bool = False, by: str = "", everywhere: bool = False) -> None:
        """Nothing changes if it is there.

        :raises InvalidInput: if it can be no rule, with the reason
        :raises Conflict: if it cannot be saved, with the reason
        """
        fault = self._fault(rule, deny=deny)
        if fault:
            raise InvalidInput("$.rule", f"{rule[:200]!r} can be no rule: {fault}")
        entry = Entry(rule=normal(rule), added_at=datetime.now(UTC).isoformat(timespec="seconds"), by=by)

        def with_it(saved: Saved) -> Saved:
            kept = saved.deny if deny else saved.allow
            if entry.rule in (normal(one.rule) for one in _entries(kept)):
                return saved
            return _replaced(saved, deny, [*kept, entry])

        self._file(everywhere).change(with_it)

    def remove(self, rule: str, *, deny: bool = False, everywhere: bool = False) -> bool:
        """Whether it was there.

        :raises Conflict: if the file cannot be changed, with the reason
        """
        gone: list[Entry] = []

        def without_it(saved: Saved) -> Saved:
            entries = _entries(saved.deny if deny else saved.allow)
            gone[:] = [one for one in entries if normal(one.rule) == normal(rule)]
            return _replaced(saved, deny, [one for one in entries if one not in gone]) if gone else saved

        self._file(everywhere).change(without_it)
        return bool(gone)

    def _fault(self, rule: str, *, deny: bool) -> str:
        """Why it has no effect when it is saved; "" if it has."""
        if deny:
            return valid_deny(rule)
        return "it is given for a session, never for good" if rule == RUN_CODE else valid_rule(rule, home=self._home)

    def _file(self, everywhere: bool) -> "_File":
        return self._files[0] if everywhere else self._files[-1]


def name_for(space: str) -> str:
    """The name of the file about the space with this canonical root."""
    return hashlib.sha256(os.fsencode(space)).hexdigest()[:32] + ".json"


def _exposed(folder: str, space: str, home: str) -> bool:
    """Whether the agent could write there as it writes any file of the space."""
    judged = judge_path(f"{folder}/{EVERYWHERE}", "write", root=space, home=home or os.path.realpath(Path.home()))
    return inside(folder, space) and judged.ruling != "ask_always"


class _File:
    """One of the two. What was read is kept until the file changes. ``exposed``: it is where the agent may write."""

    def __init__(self, folder: Path, name: str, space: str, exposed: bool) -> None:
        self._exposed = exposed
        self.name = name
        self.space = space
        self._folder = folder
        self._kept: tuple[Signature, Saved, str] | None = None
        self._reading = threading.Lock()

    def read(self) -> tuple[Saved, str]:
        """What it holds, and why it must not be used: "" if it may, or is not there."""
        with self._reading:
            now = self._signature()
            if self._kept is not None and self._kept[0] == now:
                return self._kept[1:]
            saved, reason = Saved(), ""
            try:
                saved = self._load()
            except Untrusted as exc:
                reason = str(exc)
            settled = bool(now) and time.time_ns() - max(now[-2:]) > _SETTLED_NS
            self._kept = (now, saved, reason) if settled and now == self._signature() else None
            return saved, reason

    def _signature(self) -> Signature:
        """Differs when the file, or who may write to it, has changed; empty if it is not there."""
        try:
            folder = os.lstat(self._folder)
            file = os.lstat(self._folder / self.name)
        except OSError:
            return ()
        return (
            folder.st_mode,
            folder.st_uid,
            file.st_mode,
            file.st_uid,
            file.st_dev,
            file.st_ino,
            file.st_size,
            file.st_mtime_ns,
            file.st_ctime_ns,
        )

    def _load(self) -> Saved:
        """:raises Untrusted: if it is there and cannot be used"""
        try:
            with opened_folder(self._folder) as folder:
                return self._load_from(folder)
        except FileNotFoundError:
            return self._empty()
        except OSError as exc:
            raise Untrusted(f"cannot be read: {os.strerror(exc.errno or 0)}") from exc

    def _load_from(self, folder: int) -> Saved:
        """:raises FileNotFoundError: if it is not there"""
        try:
            fd = os.open(self.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        except OSError as exc:
            if exc.errno == errno.ELOOP:
                raise Untrusted("is a link") from exc
            raise
        with os.fdopen(fd, "rb") as file:
            self._check_place()
            check_owner(os.fstat(fd), stat.S_ISREG, "a file")
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise Untrusted(f"has more than {_LARGEST:,} bytes")
        return self._decoded(content)

    def _decoded(self, content: bytes) -> Saved:
        try:
            saved = msgspec.json.decode(content, type=Saved)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as exc:
            raise Untrusted(f"is not what it should be: {exc}") from exc
        if saved.version > VERSION:
            raise Untrusted(f"was written by a newer version (format {saved.version}, this one knows {VERSION})")
        if saved.space != self.space:
            raise Untrusted(f"is about another space: {saved.space[:200]!r}")
        return saved

    def _check_place(self) -> None:
        """:raises Untrusted: if the agent could have written it"""
        if self._exposed:
            raise Untrusted("is in the space, where the agent may write: move Jupyter's configuration folder out of it")

    def _empty(self) -> Saved:
        return Saved(space=self.space)

    def change(self, made: Callable[[Saved], Saved]) -> None:
        """Read, change and write as one, whoever else does.

        :raises Conflict: if it cannot be done; the file is as it was
        """
        path = self._folder / self.name
        try:
            self._folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            with opened_folder(self._folder) as folder, locked(self.name, folder):
                self._check_place()
                try:
                    before = self._load_from(folder)
                except FileNotFoundError:
                    before = self._empty()
                after = made(before)
                if after != before:
                    write(self.name, _encoded(after), folder)
        except Untrusted as exc:
            raise Conflict(
                f"The rule was not saved: {path} {exc}. Put it right or move it away, then try again."
            ) from exc
        except OSError as exc:
            raise Conflict(f"The rule was not saved: {path}: {os.strerror(exc.errno or 0)}") from exc


def _encoded(saved: Saved) -> bytes:
    """:raises Untrusted: if it would be too large to be read again"""
    content = msgspec.json.format(msgspec.json.encode(saved), indent=1) + b"\n"
    if len(content) > _LARGEST:
        raise Untrusted(f"would have more than {_LARGEST:,} bytes")
    return content


def _entries(given: list[Entry | str]) -> list[Entry]:
    return [Entry(rule=one) if isinstance(one, str) else one for one in given]


def _replaced(saved: Saved, deny: bool, entries: list[Entry] | list[Entry | str]) -> Saved:
    changed: list[Entry | str] = [*entries]
    return Saved(
        version=VERSION,
        space=saved.space,
        allow=saved.allow if deny else changed,
        deny=changed if deny else saved.deny,
    )


def _once(rules: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(normal, rules)))
