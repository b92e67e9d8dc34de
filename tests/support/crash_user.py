"""One life of a process of the crash harness: start, look whether all is as it must be, go on with what was left, do more, and be killed
somewhere in it; or, at the end of a line of such lives, bring everything to its end."""

import random
import time
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import msgspec

from jupyter_pernix.errors import PernixError
from jupyter_pernix.events import SessionStateChanged, Stored, event_type
from jupyter_pernix.ids import SessionId
from jupyter_pernix.records import (
    ApprovalAnswer,
    Mode,
    SessionCreate,
    SessionPatch,
    TerminalCode,
    TurnCreate,
    TurnPatch,
)
from jupyter_pernix.serverext.sessions import Sessions

from . import crash_points
from .crash_checks import effects_in, illegal, kept, told, unexplained
from .crash_script import STEPS, request
from .crash_world import World, rests

SESSIONS = 3
_MODES: tuple[Mode, ...] = ("edit", "auto")
_ACTIONS = 14
_REST_SECONDS = 60.0
_MOST_ROUNDS = 100


@dataclass(frozen=True, kw_only=True)
class Life:
    """``number`` of the life; ``point`` "": it comes to its own end. ``from_start``: it may be killed while it starts. ``base``: last
    ``seq`` of what lay in the store before the first life."""

    folder: Path
    number: int
    seed: int
    point: str
    hit: int
    from_start: bool
    kernels: bool
    base: int = 0


@dataclass(kw_only=True)
class Findings:
    """Of one start, before anything else was done, or of the end of a line. ``after``: the kills since the one before. ``seconds``,
    ``cpu``: until the store was open and all sessions were settled. ``left``: states of sessions that wait for a person. ``kinds``: how
    many events of which kind there are."""

    after: list[int] = field(default_factory=list[int])
    seconds: float = 0.0
    cpu: float = 0.0
    told: int = 0
    lost: int = 0
    changed: int = 0
    illegal: list[str] = field(default_factory=list[str])
    unexplained: list[str] = field(default_factory=list[str])
    left: list[str] = field(default_factory=list[str])
    kinds: dict[str, int] = field(default_factory=dict[str, int])


class User:
    """Whoever works with the sessions of one life; everything that it does comes from its chance."""

    def __init__(self, life: Life, world: World, sessions: Sessions) -> None:
        self.life = life
        self.world = world
        self.sessions = sessions
        self.chance = random.Random(f"{life.seed}/{life.number}")
        self._jobs = 0
        self._ids: list[SessionId] = []

    async def _try(self, doing: Awaitable[object]) -> bool:
        """Whether it was taken: what is refused in words is no fault."""
        try:
            await doing
        except PernixError:
            return False
        return True

    def ids(self) -> list[SessionId]:
        """The sessions of the harness, whatever else is in the store."""
        if len(self._ids) < SESSIONS:
            self._ids = [one.session_id for one in self.sessions.listed() if one.title.startswith("Crash")]
        return self._ids

    # ---- going on ---------------------------------------------------------------------------------------------------

    async def settle(self) -> None:
        """Whatever waits for a person goes on, whatever was interrupted is resumed, until all rests.

        :raises AssertionError: if a session does not come to rest, or takes no further turn
        """
        for _ in range(_MOST_ROUNDS):
            for session_id in self.ids():
                await self._go_on(session_id)
            await self._rest()
            if not any(self._waits(session_id) for session_id in self.ids()):
                return
        raise AssertionError("a session goes on asking")

    async def _go_on(self, session_id: SessionId) -> None:
        for approval in await self.sessions.approvals(session_id):
            choice = "allow_once" if self.chance.random() < 0.7 else "reject_once"
            await self._try(self.sessions.answer(approval.approval_id, ApprovalAnswer(choice=choice), by="test"))
        state = self.sessions.summary(session_id).state
        turns = (await self.sessions.view(session_id)).turns
        stopped = bool(turns) and turns[-1].code in (TerminalCode.INTERRUPTED, TerminalCode.CANCELLED)
        if state == "paused" or (state == "idle_ready" and stopped and not self.sessions._session(session_id).busy):
            assert await self._try(self.sessions.resume(session_id)), f"{session_id} is not resumed"

    async def _rest(self) -> None:
        rested = await self.world.wait(
            lambda: all(rests(self.sessions, each) for each in self.ids()) or bool(self._asked()), seconds=_REST_SECONDS
        )
        states = {each: self.sessions.summary(each).state.value for each in self.ids()}
        assert rested, f"no rest within {_REST_SECONDS:g} s: {states}"

    def _asked(self) -> list[SessionId]:
        mine = self.ids()
        return [each.session_id for each in self.sessions.listed() if each.open_approvals and each.session_id in mine]

    def _waits(self, session_id: SessionId) -> bool:
        return not (rests(self.sessions, session_id) and self.sessions.summary(session_id).state == "idle_ready")

    async def say_hello(self) -> None:
        """Every session takes a further turn."""
        for session_id in self.ids():
            await self.sessions.submit(session_id, TurnCreate(text="Say hello"))
        await self.settle()
        for session_id in self.ids():
            turn = (await self.sessions.view(session_id)).turns[-1]
            assert turn.code is TerminalCode.ANSWERED, f"{session_id}: {turn.code} {turn.detail}"

    # ---- doing more -------------------------------------------------------------------------------------------------

    async def work(self) -> None:
        while len(self.ids()) < SESSIONS:
            mode = self.chance.choice(_MODES)
            await self.sessions.create(SessionCreate(title=f"Crash {len(self.ids())}", mode=mode))
        doings: list[tuple[int, Callable[[SessionId], Awaitable[None]]]] = [
            (8, self._submit),
            (2, self._pause),
            (3, self._go_on),
            (2, self._cancel),
            (2, self._compact),
            (1, self._edit),
            (1, self._patch),
        ]
        for _ in range(_ACTIONS):
            (doing,) = self.chance.choices([one for _, one in doings], [weight for weight, _ in doings])
            await doing(self.chance.choice(self.ids()))
            await self._answer_some()
            await self._look_on(self.world.count + self.chance.randrange(40))

    async def _look_on(self, until: int) -> None:
        """Until so many events have come, or nothing more comes by itself."""
        await self.world.wait(
            lambda: self.world.count >= until or all(rests(self.sessions, each) for each in self.ids()), seconds=0.3
        )

    async def _answer_some(self) -> None:
        for session_id in self._asked():
            if self.chance.random() < 0.8:
                for approval in await self.sessions.approvals(session_id):
                    choice = "allow_once" if self.chance.random() < 0.8 else "reject_once"
                    await self._try(
                        self.sessions.answer(approval.approval_id, ApprovalAnswer(choice=choice), by="test")
                    )

    async def _submit(self, session_id: SessionId) -> None:
        self._jobs += 1
        job = f"j{self.life.number * 100 + self._jobs}"
        steps = self.chance.choices(STEPS, k=self.chance.randint(2, 5))
        text = request(job, steps, str(self.world.ledger))
        await self._try(self.sessions.submit(session_id, TurnCreate(text=text, can_ask=self.chance.random() < 0.8)))

    async def _pause(self, session_id: SessionId) -> None:
        await self._try(self.sessions.pause(session_id))

    async def _cancel(self, session_id: SessionId) -> None:
        turns = (await self.sessions.view(session_id)).turns
        for turn in turns[-2:]:
            if turn.code is None:
                await self._try(self.sessions.cancel(session_id, turn.turn_id))
                return

    async def _compact(self, session_id: SessionId) -> None:
        await self._try(self.sessions.compact(session_id))

    async def _edit(self, session_id: SessionId) -> None:
        turns = (await self.sessions.view(session_id)).turns
        for turn in turns[-1:]:
            await self._try(self.sessions.edit(session_id, turn.turn_id, TurnPatch(text="Say hello instead")))

    async def _patch(self, session_id: SessionId) -> None:
        await self._try(self.sessions.patch(session_id, SessionPatch(mode=self.chance.choice(_MODES))))


# ---- a life ------------------------------------------------------------------------------------------------------------------


def live(life: Life) -> None:
    """In a process of its own; writes what it finds to ``findings`` in the folder, and what went wrong to ``faults``."""
    try:
        anyio.run(_live, life)
    except BaseException:
        with (life.folder / "faults").open("a", encoding="utf-8") as file:
            file.write(f"life {life.number}:\n{traceback.format_exc()}\n")
        raise


async def _live(life: Life) -> None:
    chance = random.Random(f"{life.seed}/{life.number}/point")
    point = crash_points.Point(life.point, life.hit, chance, mark=life.folder / "mark")
    crash_points.tune(chance)
    crash_points.install(point)

    def on_told() -> None:
        if point.passed("acknowledged"):
            crash_points.die()

    world = World(folder=life.folder, kernels=life.kernels, on_told=on_told)
    if life.point and life.from_start:
        point.arm()
    before = time.monotonic(), time.process_time()
    async with world.sessions() as sessions:
        took = time.monotonic() - before[0], time.process_time() - before[1]
        await _look(life, world, sessions, *took)
        user = User(life, world, sessions)
        if not life.point or chance.random() < 0.5:
            await user.settle()
        if not life.point:
            await user.say_hello()
            await _look(life, world, sessions)
        else:
            if not life.from_start:
                point.arm()
            await user.work()
            if life.point != "while the store is closed":
                crash_points.die()
    if life.point:
        crash_points.die()


async def _check(life: Life, world: World, sessions: Sessions) -> Findings:
    found = Findings()
    lines, faults = told(world.told.read_bytes().splitlines() if world.told.exists() else [])
    known = {one.seq: one.data for one in await sessions.around.store.wire(after=life.base)}
    log = await _logs(life, sessions)
    found.told = len(lines)
    found.lost, found.changed = kept(lines, known)
    at_rest = all(rests(sessions, each.session_id) for each in sessions.listed(workers=True))
    found.illegal = [*faults, *illegal(log, at_rest=at_rest)]
    found.unexplained = unexplained(log, effects_in(world.texts()))
    found.kinds = dict(Counter(kind_of(each) for each in log))
    found.left = sorted(one.state.value for one in sessions.listed(workers=True) if one.state != "idle_ready")
    return found


def kind_of(stored: Stored) -> str:
    """Its type; of a change of state, the state as well."""
    event = stored.event
    return f"state {event.after.value}" if isinstance(event, SessionStateChanged) else event_type(event)


async def _logs(life: Life, sessions: Sessions) -> list[Stored]:
    """The whole logs of all sessions to which something came since the first life."""
    store = sessions.around.store
    log = await store.events(after=life.base)
    if not life.base:
        return log
    sessions_since = {one.event.session_id for one in log}
    whole = [each for session_id in sessions_since for each in await store.events(session_id)]
    return sorted(whole, key=lambda stored: stored.seq)


async def _look(life: Life, world: World, sessions: Sessions, seconds: float = 0.0, cpu: float = 0.0) -> None:
    kills = life.folder / "kills"
    found = await _check(life, world, sessions)
    found.seconds, found.cpu = seconds, cpu
    found.after = [int(line) for line in kills.read_text().split()] if kills.exists() else []
    with (life.folder / "findings").open("ab") as file:
        file.write(msgspec.json.encode(found) + b"\n")
    kills.unlink(missing_ok=True)
