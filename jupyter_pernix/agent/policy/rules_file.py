"""The rules that a user has saved: a file for each space and one for all, below the user's own configuration. How they are read and
changed: ``kept_file.py``."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ...errors import InvalidInput
from .judgement import RUN_CODE
from .kept_file import VERSION, Kept, KeptFile, is_exposed, name_for
from .rule_forms import normal, valid_deny, valid_rule
from .rules import RuleSet

FOLDER = "permissions"
"""The name of the folder, below the user's configuration of this program."""
EVERYWHERE = "everywhere.json"
"""The name of the file for all spaces."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``added_at``: ISO 8601, UTC. ``by``: who added it. Both are "" in a file that was written by hand."""

    rule: str
    added_at: str = ""
    by: str = ""


class Saved(Kept, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a file holds. A rule may stand there as a bare string."""

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
        exposed = is_exposed(folder, self.space, home)
        names = {"": EVERYWHERE} if space_root is None else {"": EVERYWHERE, self.space: name_for(self.space)}
        self._files = [
            KeptFile(folder, name, Saved(space=space), exposed=exposed, what="rule") for space, name in names.items()
        ]

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

    def _file(self, everywhere: bool) -> KeptFile[Saved]:
        return self._files[0] if everywhere else self._files[-1]


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
