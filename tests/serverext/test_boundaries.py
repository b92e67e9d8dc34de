"""A crash behind any event of a rich session: the next start is legal, nothing is lost, nothing with an effect is done twice, and the
user can go on."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from jupyter_pernix.agent.legality import illegalities
from jupyter_pernix.agent.testing import Says, call
from jupyter_pernix.events import SessionStateChanged, Stored, TurnFinished, event_type
from jupyter_pernix.ids import SessionId
from jupyter_pernix.records import JSON, ApprovalAnswer, SessionCreate, SessionState, TerminalCode, TurnCreate, Usage
from jupyter_pernix.serverext.sessions import Sessions
from jupyter_pernix.serverext.store import EventStore

from .inprocess import World, rests

REQUEST = "Write the files that are needed here, count what was run, and tell me in the end how many"
GO_ON = "Go on with the previous request"
EFFECTS = ("count.txt", "worker.txt", "ran.txt")
"""Each gets one line for each time that its effect was had."""


def text_of(message: JSON) -> str:
    return str(message.get("content") or "")


def think(messages: Sequence[JSON]) -> Says:
    """What comes next in the rich turn; any other message is answered."""
    users = [index for index, message in enumerate(messages) if message["role"] == "user"]
    last = max((index for index in users if REQUEST in text_of(messages[index])), default=-1)
    if any(GO_ON in text_of(messages[index]) for index in users if index > last) or last < 0:
        return Says(text="I looked at what is there; that is all.")
    if "stop me" in text_of(messages[users[-1]]):
        return Says(text="I begin", waits=True)
    said = sum(message["role"] == "assistant" for message in messages[last:])
    steps = [
        Says(text="I look first.", calls=(call("list_files"), call("read_file", path="a.txt"))),
        Says(calls=(call("write_file", path="new.txt", content="new\n"),)),
        Says(calls=(call("edit_file", path="a.txt", old_text="one", new_text="two"),), thought="Now a."),
        Says(calls=(call("run_shell", command="echo done >> count.txt"), call("run_code", code="n = 1"))),
        Says(calls=(call("delegate", title="Part", task="Do the worker's part"),)),
        Says(text="It ran once each; a.txt says two and new.txt is there.", usage=Usage(prompt_tokens=90)),
    ]
    return steps[min(said, len(steps) - 1)]


def work(messages: Sequence[JSON]) -> Says:
    if any(message["role"] == "assistant" for message in messages):
        return Says(text="The part is done.")
    return Says(calls=(call("run_shell", command="echo part >> worker.txt"),))


def plan(messages: Sequence[JSON]) -> Says:
    return Says(text='{"approach": "Write, then count", "steps": ["write", "count"], "tools": ["write_file"]}')


@dataclass
class Recording:
    """What was committed, in its order, and the files as they were when each event was."""

    session_id: SessionId
    log: list[Stored]
    files: dict[int, dict[str, str]] = field(default_factory=dict[int, dict[str, str]])

    def files_at(self, length: int) -> dict[str, str]:
        """As they were when event number ``length`` was committed, or the last that there is."""
        return self.files[max((seq for seq in self.files if seq <= length), default=min(self.files))]


def files_in(root: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in root.iterdir() if path.is_file()}


def world(folder: Path) -> World:
    made = World(data=folder / "data", root=folder / "root", think=think, work=work, plan=plan)
    made.root.mkdir(parents=True)
    (made.root / "a.txt").write_text("one\n")
    return made


async def record(folder: Path) -> Recording:
    """The rich session: plan, reads, changes of files, a command and code that are asked about, a pause, a worker, a turn that is stopped,
    and a compaction."""
    here = world(folder)
    recording = Recording(SessionId(""), here.seen)

    def snapshot(group: Sequence[Stored]) -> None:
        recording.files[group[-1].seq] = files_in(here.root)

    here.on_commit = snapshot
    async with here.sessions() as sessions:
        session_id = recording.session_id = (await sessions.create(SessionCreate(mode="edit"))).session_id
        await sessions.submit(session_id, TurnCreate(text=REQUEST))
        queued = await sessions.submit(session_id, TurnCreate(text="stop me"))
        await here.until(lambda: event_type(here.seen[-1].event) == "file.changed")
        await sessions.pause(session_id)
        await here.until(lambda: sessions.summary(session_id).state == "paused")
        await sessions.resume(session_id)
        await here.until(lambda: _started(here.seen, queued.turn_id))
        await sessions.cancel(session_id, queued.turn_id)
        await here.until(lambda: rests(sessions, session_id))
        await sessions.compact(session_id)
        await here.until(lambda: rests(sessions, session_id))
    return recording


def _started(log: Sequence[Stored], turn_id: str) -> bool:
    return any(event_type(each.event) == "step.started" and each.event.turn_id == turn_id for each in log)  # type: ignore[union-attr]


async def test_the_rich_session_is_rich_and_legal(tmp_path: Path) -> None:
    recording = await record(tmp_path)
    mine = [each for each in recording.log if each.event.session_id == recording.session_id]
    states = {each.event.after for each in mine if isinstance(each.event, SessionStateChanged)}
    assert len(states) == 10, states
    assert illegalities(mine) == []
    codes = [each.event.code for each in mine if isinstance(each.event, TurnFinished)]
    assert codes == [TerminalCode.ANSWERED, TerminalCode.CANCELLED]
    assert {
        name: text.count("\n") for name, text in files_in(tmp_path / "root").items() if name in EFFECTS
    } == dict.fromkeys(EFFECTS, 1)


@pytest.fixture(scope="module")
async def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return await record(tmp_path_factory.mktemp("recording"))


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


async def crashed(folder: Path, log: Sequence[Stored], files: dict[str, str]) -> World:
    """What a server leaves that ended behind the last of these events."""
    left = world(folder)
    for name in files_in(left.root):
        (left.root / name).unlink()
    for name, text in files.items():
        (left.root / name).write_text(text)
    left.data.mkdir()
    store = await EventStore.open(left.data / "pernix.duckdb")
    for stored in log:
        await store.append([stored.event])
    await store.aclose()
    return left


async def go_on(here: World, sessions: Sessions, session_id: SessionId) -> None:
    """What a user does who finds the session as it is now; to its end."""
    summary = sessions.summary(session_id)
    for approval in await sessions.approvals():
        await sessions.answer(approval.approval_id, ApprovalAnswer(choice="allow_once"), by="test")
    if summary.state == "paused":
        await sessions.resume(session_id)
    elif summary.state == "idle_ready":
        turns = (await sessions.view(session_id)).turns
        if turns and turns[-1].code not in (None, TerminalCode.ANSWERED):
            await sessions.resume(session_id)
        else:
            await sessions.submit(session_id, TurnCreate(text="hello"))
    queued = [turn for turn in (await sessions.view(session_id)).turns if turn.text == "stop me" and turn.code is None]
    for turn in queued:
        await sessions.cancel(session_id, turn.turn_id)
    await here.until(lambda: rests(sessions, session_id))


def lines(root: Path) -> dict[str, int]:
    found = files_in(root)
    return {name: found.get(name, "").count("\n") for name in EFFECTS}


async def check(folder: Path, recording: Recording, length: int, files: dict[str, str]) -> SessionState:
    """Everything that must hold of a crash behind the first ``length`` events; the state in which the session was found."""
    log = recording.log[:length]
    here = await crashed(folder, log, files)
    async with here.sessions() as sessions:
        store = sessions.around.store
        assert [each.event for each in (await store.events())[:length]] == [each.event for each in log]
        for summary in store.summaries():
            assert illegalities(await store.events(summary.session_id)) == [], f"cut {length}: {summary.session_id}"
        found = sessions.summary(recording.session_id).state
        await go_on(here, sessions, recording.session_id)
        for summary in store.summaries():
            assert illegalities(await store.events(summary.session_id)) == [], (
                f"cut {length}: {summary.session_id}, then"
            )
        last = (await sessions.view(recording.session_id)).turns
        codes = [turn.code for turn in last if turn.text != "stop me"]
        assert codes[-1] is TerminalCode.ANSWERED
    assert {name: count for name, count in lines(here.root).items() if count > 1} == {}, f"cut {length}: done twice"
    return found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(4))
async def test_a_crash_behind_any_event_loses_nothing_and_does_nothing_twice(
    recording: Recording, tmp_path: Path, part: int
) -> None:
    """Each cut is tried with the files as they were at that event, and as they were at the next one: the effect was had, its result not
    stored."""
    found: set[SessionState] = set()
    lengths = range(1, len(recording.log) + 1)
    for length in list(lengths)[part::4]:
        before = recording.files_at(length)
        after = recording.files_at(length + 1)
        found.add(await check(tmp_path / f"{length}a", recording, length, before))
        if after != before:
            found.add(await check(tmp_path / f"{length}b", recording, length, after))
    assert found <= {SessionState.IDLE_READY, SessionState.AWAITING_USER, SessionState.PAUSED}
