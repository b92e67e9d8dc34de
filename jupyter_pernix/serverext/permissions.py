"""The user's saved rules, for the sessions of this server and for who shows and changes them."""

from collections.abc import Sequence
from pathlib import Path

import anyio.to_thread

from ..agent.policy.consents import Consents
from ..agent.policy.hooks_config import waiting_of
from ..agent.policy.rules_file import FOLDER, Listed, RulesFile, of_settings
from ..errors import InvalidInput, NotFound
from ..ids import SessionId
from ..records import (
    CallView,
    ConsentChange,
    GivenConsent,
    PermissionChange,
    Permissions,
    SavedRule,
    SessionView,
    WaitingCommand,
)
from .sessions import Sessions


class SavedPermissions:
    """``config_folder``: the user's, of this program. ``deny``: rules that the settings hold."""

    def __init__(self, config_folder: Path, deny: Sequence[str] = ()) -> None:
        self._deny = tuple(deny)
        self._folder = config_folder / FOLDER
        self._files: dict[Path | None, RulesFile] = {}

    def of(self, space: Path | None) -> RulesFile:
        """The rules of a space (its root folder, absolute) with those for all; ``None``: only those for all."""
        return self._files.setdefault(space, RulesFile(self._folder, space))

    async def shown(self, sessions: Sessions, session_id: SessionId | None) -> Permissions:
        """What holds in a session; ``None``: in all spaces.

        :raises NotFound: if there is no such session
        """
        view = await sessions.view(session_id) if session_id else None
        rules = self.of(_space(sessions, session_id))
        space = _space(sessions, session_id)
        consents = None if space is None else Consents(self._folder, space)
        return await anyio.to_thread.run_sync(
            _shown, rules, self._deny, [] if view is None else granted(view), consents
        )

    async def add(self, sessions: Sessions, change: PermissionChange, *, by: str) -> None:
        """:raises InvalidInput: if it can be no rule
        :raises Conflict: if it cannot be saved
        """
        rules = self._of_change(sessions, change)
        await anyio.to_thread.run_sync(
            lambda: rules.add(change.rule, deny=change.deny, by=by, everywhere=change.everywhere)
        )

    async def remove(self, sessions: Sessions, change: PermissionChange) -> None:
        """:raises NotFound: if there is no such rule
        :raises Conflict: if the file cannot be changed
        """
        rules = self._of_change(sessions, change)
        there = await anyio.to_thread.run_sync(
            lambda: rules.remove(change.rule, deny=change.deny, everywhere=change.everywhere)
        )
        if not there:
            raise NotFound("rule", change.rule[:200])

    async def consent(self, sessions: Sessions, change: ConsentChange, *, by: str) -> None:
        """:raises NotFound: if nothing with this digest waits in the session's space, as its files are now
        :raises Conflict: if it cannot be saved
        """
        await anyio.to_thread.run_sync(_consented, self._consents(sessions, change), change.digest, by)

    async def take_back(self, sessions: Sessions, change: ConsentChange) -> None:
        """:raises NotFound: if there is no such consent
        :raises Conflict: if the file cannot be changed
        """
        if not await anyio.to_thread.run_sync(self._consents(sessions, change).take, change.digest):
            raise NotFound("consent", change.digest[:64])

    def _consents(self, sessions: Sessions, change: ConsentChange) -> Consents:
        space = _space(sessions, change.session_id)
        assert space is not None
        return Consents(self._folder, space)

    def _of_change(self, sessions: Sessions, change: PermissionChange) -> RulesFile:
        if not change.everywhere and not change.session_id:
            raise InvalidInput("$.session_id", "whose rule? a session is needed, or everywhere: true")
        return self.of(None if change.everywhere else _space(sessions, change.session_id))


def _space(sessions: Sessions, session_id: SessionId | None) -> Path | None:
    """:raises NotFound: if there is no such session"""
    return sessions.around.root / sessions.summary(session_id).space_root if session_id else None


def granted(view: SessionView) -> list[str]:
    """The rules that hold for this session only."""
    calls = [item for turn in view.turns for item in turn.items if isinstance(item, CallView)]
    found: dict[str, None] = {}
    for call in calls:
        if call.approval is not None and call.approval.choice == "allow_session":
            found.update(dict.fromkeys(call.approval.granted))
    return list(found)


def _consented(consents: Consents, digest: str, by: str) -> None:
    for one in waiting_of(consents, Path(consents.space), home=str(Path.home())):
        if one.digest == digest:
            return consents.give(one, by=by)
    raise NotFound("command that waits", digest[:64])


def _shown(rules: RulesFile, deny: Sequence[str], session: list[str], consents: Consents | None) -> Permissions:
    listed = [*of_settings(deny), *rules.listed()]
    given, broken = ([], "") if consents is None else consents.read()
    waiting = () if consents is None else waiting_of(consents, Path(consents.space), home=str(Path.home()))
    return Permissions(
        space=rules.space,
        allow=[_record(one) for one in listed if not one.deny],
        deny=[_record(one) for one in listed if one.deny],
        session=session,
        broken="; ".join(filter(None, (rules.read().broken, broken))),
        waiting=[
            WaitingCommand(
                origin=one.origin,
                command=one.command,
                environ=dict(one.environ),
                scripts=list(one.scripts),
                digest=one.digest,
            )
            for one in waiting
        ],
        consents=[
            GivenConsent(origin=one.origin, command=one.command, digest=one.digest, given_at=one.given_at, by=one.by)
            for one in given
        ],
    )


def _record(one: Listed) -> SavedRule:
    return SavedRule(rule=one.rule, everywhere=one.everywhere, added_at=one.added_at, by=one.by, fault=one.fault)
