"""A large store as an earlier server may have left it: many sessions, some of them interrupted, some that wait for an answer."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from jupyter_pernix.events import (
    ApprovalRequested,
    Event,
    MessageCompleted,
    SessionCreated,
    SessionStateChanged,
    StepFinished,
    StepStarted,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
    TurnFinished,
    TurnStarted,
    TurnSubmitted,
)
from jupyter_pernix.ids import (
    SessionId,
    TurnId,
    new_approval_id,
    new_call_id,
    new_session_id,
    new_step_id,
    new_turn_id,
)
from jupyter_pernix.records import NO_LIMITS, SessionState, TerminalCode, Timings, Usage
from jupyter_pernix.serverext.store import EventStore

SESSIONS = 200
EVENTS = 100_000
INTERRUPTED = 20
AWAITING = 5

_CALLS_A_TURN = 20


def _output(name: str) -> str:
    """What a command may have printed; no two are alike, so that the file is as large as a real one."""
    digests = (hashlib.sha256(f"{name}/{number}".encode()).hexdigest() for number in range(12))
    return "\n".join(f"part-{number:04}.csv is read, sha256 {digest}" for number, digest in enumerate(digests))


class _Writing:
    """The events of one session, in order."""

    def __init__(self, number: int) -> None:
        self.session_id: SessionId = new_session_id()
        self.events: list[Event] = [
            SessionCreated(
                session_id=self.session_id,
                title=f"Earlier {number}",
                space_root="",
                record_path=f"pernix-runs/earlier-{number}.ipynb",
                mode="auto",
                endpoint=None,
                kernel_name="",
                place="own",
                origin="api",
            )
        ]

    def _move(self, turn_id: TurnId, before: SessionState, after: SessionState, reason: str) -> None:
        self.events.append(
            SessionStateChanged(session_id=self.session_id, turn_id=turn_id, before=before, after=after, reason=reason)
        )

    def begin(self) -> TurnId:
        turn_id = new_turn_id()
        self.events.append(
            TurnSubmitted(session_id=self.session_id, turn_id=turn_id, text="Read all parts", origin="api")
        )
        self._move(turn_id, SessionState.IDLE_READY, SessionState.PROCESSING, "turn_started")
        self.events.append(
            TurnStarted(
                session_id=self.session_id,
                turn_id=turn_id,
                mode="auto",
                endpoint="scripted",
                model="scripted-1",
                protocol="tools",
                context_length=32_768,
                budget=NO_LIMITS,
            )
        )
        return turn_id

    def call(self, turn_id: TurnId, place: int, *, left: str = "") -> None:
        """A request with one call. ``left``: ``running`` leaves it begun, ``asking`` leaves its question open."""
        step_id, call_id = new_step_id(), new_call_id()
        ids = {"session_id": self.session_id, "turn_id": turn_id}
        usage = Usage(prompt_tokens=900 + place, completion_tokens=40)
        self.events += [
            StepStarted(
                **ids,
                step_id=step_id,
                index=place,
                endpoint="scripted",
                model="scripted-1",
                prompt_bytes=3000 + 500 * place,
                prefix_bytes=3000,
            ),
            StepFinished(
                **ids,
                step_id=step_id,
                usage=usage,
                timings=Timings(),
                prefix_share=0.9,
                finish_reason="tool_calls",
            ),
            ToolCallRequested(
                **ids,
                step_id=step_id,
                call_id=call_id,
                wire_id=call_id,
                tool="run_shell",
                kind="execute",
                title=f"Run: python read.py {place}",
                arguments={"command": f"python read.py {place}"},
            ),
        ]
        if left == "asking":
            asked = ApprovalRequested(
                **ids,
                call_id=call_id,
                approval_id=new_approval_id(),
                question="Run this shell command?",
                detail=f"python read.py {place}",
                choices=["allow_once", "reject_once"],
            )
            self.events.append(asked)
            self._move(turn_id, SessionState.PROCESSING, SessionState.AWAITING_USER, "approval_requested")
            return
        self.events.append(ToolCallStarted(**ids, call_id=call_id))
        if left != "running":
            self.events.append(
                ToolCallFinished(
                    **ids, call_id=call_id, status="completed", result=f"exit code 0\n{_output(call_id)}", duration=0.2
                )
            )

    def end(self, turn_id: TurnId) -> None:
        step_id = new_step_id()
        ids = {"session_id": self.session_id, "turn_id": turn_id}
        self.events.append(
            StepStarted(
                **ids,
                step_id=step_id,
                index=99,
                endpoint="scripted",
                model="scripted-1",
                prompt_bytes=9000,
                prefix_bytes=8000,
            )
        )
        self.events.append(
            StepFinished(
                **ids, step_id=step_id, usage=Usage(), timings=Timings(), prefix_share=0.9, finish_reason="stop"
            )
        )
        self.events.append(MessageCompleted(**ids, step_id=step_id, text="All parts are read."))
        self._move(turn_id, SessionState.PROCESSING, SessionState.FINALIZING, "turn_ending")
        self.events.append(TurnFinished(**ids, code=TerminalCode.ANSWERED, detail="", usage=Usage()))
        self._move(turn_id, SessionState.FINALIZING, SessionState.IDLE_READY, "turn_ended")


def session_events(number: int, count: int, *, left: str = "") -> Sequence[Event]:
    """About ``count`` events of one session; the last turn has ended unless it is ``left`` in the middle."""
    writing = _Writing(number)
    while len(writing.events) < count - _CALLS_A_TURN * 5:
        turn_id = writing.begin()
        for place in range(_CALLS_A_TURN):
            writing.call(turn_id, place)
        writing.end(turn_id)
    turn_id = writing.begin()
    while len(writing.events) < count - 11:
        writing.call(turn_id, len(writing.events))
    if left:
        writing.call(turn_id, 98, left=left)
    else:
        writing.end(turn_id)
    return writing.events


async def write_store(
    path: Path,
    *,
    sessions: int = SESSIONS,
    events: int = EVENTS,
    interrupted: int = INTERRUPTED,
    awaiting: int = AWAITING,
) -> int:
    """Returns the last ``seq``."""
    store = await EventStore.open(path)
    each = events // sessions
    for number in range(sessions):
        left = "running" if number < interrupted else "asking" if number < interrupted + awaiting else ""
        await store.append(session_events(number, each + 7, left=left))
    last = store.last_seq
    await store.aclose()
    return last
