"""A log of one session, written event by event: what the stories of ``fold_stories.py`` are told with."""

from datetime import UTC, datetime, timedelta
from typing import Any

from jupyter_pernix import events as ev
from jupyter_pernix.ids import ApprovalId, CallId, ChangeId, ExecutionId, InputId, SessionId, StepId, TurnId, UndoId
from jupyter_pernix.records import (
    Budget,
    CellChange,
    CellSnapshot,
    ContextItem,
    Mention,
    Picture,
    Purpose,
    Role,
    SessionState,
    Spent,
    TerminalCode,
    Timings,
    Usage,
)

SESSION = SessionId("ses_1")
S = SessionState


class Log:
    """Writes events of one session with growing numbers, leaving holes as the store's one sequence does."""

    def __init__(self) -> None:
        self.stored: list[ev.Stored] = []
        self._state = S.IDLE_READY

    def add(self, event: ev.Event | ev.Unknown) -> None:
        seq = 3 * len(self.stored) + 5
        when = datetime(2026, 3, 1, 9, 0, tzinfo=UTC) + timedelta(seconds=1.25 * seq)
        self.stored.append(ev.Stored(seq=seq, recorded_at=when, event=event))

    def create(self, parent: str | None = None, budget: Budget | None = None) -> None:
        self.add(
            ev.SessionCreated(
                session_id=SESSION, title="", space_root="csv", record_path="csv/pernix-runs/2026-03-01-new.ipynb",
                mode="edit", endpoint=None, kernel_name="", place="own", origin="panel", budget=budget,
                parent=None if parent is None else SessionId(parent),
            )
        )  # fmt: skip

    def move(self, after: SessionState, reason: str, turn: str | None) -> None:
        turn_id = None if turn is None else TurnId(turn)
        self.add(
            ev.SessionStateChanged(session_id=SESSION, turn_id=turn_id, before=self._state, after=after, reason=reason)
        )
        self._state = after

    def start(self, turn: str, text: str, *mentions: Mention) -> None:
        self.add(
            ev.TurnSubmitted(session_id=SESSION, turn_id=TurnId(turn), text=text, origin="panel", mentions=[*mentions])
        )
        self.move(S.PROCESSING, "turn_started", turn)
        self.add(
            ev.TurnStarted(
                session_id=SESSION, turn_id=TurnId(turn), mode="edit", endpoint="scripted", model="scripted-1",
                protocol="tools", context_length=8192, budget=Budget(),
            )
        )  # fmt: skip

    def finish(self, turn: str, code: TerminalCode, detail: str = "", cost: float | None = None) -> None:
        self.move(S.FINALIZING, "turn_ending", turn)
        usage = Usage(prompt_tokens=900, completion_tokens=50, cached_tokens=700)
        self.add(
            ev.TurnFinished(session_id=SESSION, turn_id=TurnId(turn), code=code, detail=detail, usage=usage, cost=cost)
        )
        self.move(S.IDLE_READY, "turn_ended", turn)

    def step(self, turn: str | None, step: str, index: int, purpose: Purpose = "act", role: Role = "primary") -> None:
        self.add(
            ev.StepStarted(
                session_id=SESSION, turn_id=_turn(turn), step_id=StepId(step), index=index, endpoint="scripted",
                model="scripted-1", prompt_bytes=4000, prefix_bytes=3000 * index, role=role, purpose=purpose,
            )
        )  # fmt: skip

    def step_end(self, turn: str | None, step: str, prompt_tokens: int | None = 400, cost: float | None = None) -> None:
        usage = Usage(prompt_tokens=prompt_tokens, completion_tokens=None if prompt_tokens is None else 20)
        self.add(
            ev.StepFinished(
                session_id=SESSION, turn_id=_turn(turn), step_id=StepId(step), usage=usage, cost=cost,
                timings=Timings(first_token=0.1, total=1.5), prefix_share=0.75, finish_reason="stop",
            )
        )  # fmt: skip

    def retry(self, turn: str | None, step: str, seconds: float) -> None:
        self.add(
            ev.StepRetryScheduled(
                session_id=SESSION, turn_id=_turn(turn), step_id=StepId(step), attempt=2, attempts=4, seconds=seconds,
                asked=True, text="the server asked for it (attempt 2 of 4)", hint="It is busy.",
            )
        )  # fmt: skip

    def fall_back(self, turn: str | None, step: str) -> None:
        self.add(
            ev.StepFallbackTaken(
                session_id=SESSION, turn_id=_turn(turn), step_id=StepId(step), endpoint="spare", model="spare-1",
                failed_endpoint="scripted", failed_model="scripted-1", text="scripted failed; spare answers",
            )
        )  # fmt: skip

    def compact(self, turn: str | None, after: int) -> None:
        self.add(
            ev.ContextCompacted(
                session_id=SESSION, turn_id=_turn(turn), level="outputs", upto_seq=30, summary="", kept=["be brief"],
                dropped="2 results", tokens_before=1234567, tokens_after=after,
            )
        )  # fmt: skip

    def spawn(self, turn: str, call: str, worker: str) -> None:
        self.add(
            ev.WorkerSpawned(
                session_id=SESSION, turn_id=TurnId(turn), call_id=CallId(call), worker_id=SessionId(worker),
                title="part", task="do a part",
            )
        )  # fmt: skip

    def report(self, turn: str, call: str, worker: str, code: TerminalCode) -> None:
        self.add(
            ev.WorkerReported(
                session_id=SESSION, turn_id=TurnId(turn), call_id=CallId(call), worker_id=SessionId(worker),
                code=code, answer="done", spent=Spent(rounds=2, tokens=900, cost=0.25, changed_lines=4),
            )
        )  # fmt: skip

    def instructions(self, turn: str, digest: str, text: str) -> None:
        self.add(
            ev.InstructionsRead(session_id=SESSION, turn_id=TurnId(turn), name="AGENTS.md", digest=digest, text=text)
        )

    def say(self, turn: str, step: str, text: str, *corrections: str) -> None:
        self.add(
            ev.MessageCompleted(
                session_id=SESSION, turn_id=TurnId(turn), step_id=StepId(step), text=text, corrections=[*corrections]
            )
        )

    def think(self, turn: str, step: str, text: str) -> None:
        self.add(ev.ThoughtCompleted(session_id=SESSION, turn_id=TurnId(turn), step_id=StepId(step), text=text))

    def call(self, turn: str, step: str, call: str, tool: str, kind: Any, **arguments: Any) -> None:
        self.add(
            ev.ToolCallRequested(
                session_id=SESSION, turn_id=TurnId(turn), step_id=StepId(step), call_id=CallId(call), wire_id="w1",
                tool=tool, kind=kind, title=f"{tool} {next(iter(arguments.values()), '')}", arguments=arguments,
            )
        )  # fmt: skip

    def decide(self, turn: str, call: str, verdict: Any) -> None:
        self.add(
            ev.PolicyDecided(
                session_id=SESSION, turn_id=TurnId(turn), call_id=CallId(call), action="execute", verdict=verdict,
                rule="mode edit", mode="edit", targets=["python3"],
                ruling="ask", why="runs code", effects=["writes a file"],
            )
        )  # fmt: skip

    def begin(self, turn: str, call: str) -> None:
        self.add(ev.ToolCallStarted(session_id=SESSION, turn_id=TurnId(turn), call_id=CallId(call)))

    def end(self, turn: str, call: str, status: Any, result: str, *pictures: Picture) -> None:
        self.add(
            ev.ToolCallFinished(
                session_id=SESSION,
                turn_id=TurnId(turn),
                call_id=CallId(call),
                status=status,
                result=result,
                duration=0.5,
                pictures=[*pictures],
            )
        )

    def ask(self, turn: str, call: str, approval: str) -> None:
        self.add(
            ev.ApprovalRequested(
                session_id=SESSION, turn_id=TurnId(turn), call_id=CallId(call), approval_id=ApprovalId(approval),
                question="Run this code?", detail="x = 1", choices=["allow_once", "allow_session", "reject_once"],
                why="runs code", rules=["tool:run_code"], effects=["writes a file"],
                expires_at=datetime(2026, 3, 2, tzinfo=UTC),
            )
        )  # fmt: skip
        self.move(S.AWAITING_USER, "approval_requested", turn)

    def answer(self, turn: str, call: str, approval: str, choice: Any, text: str = "") -> None:
        self.add(
            ev.ApprovalResolved(
                session_id=SESSION, turn_id=TurnId(turn), call_id=CallId(call), approval_id=ApprovalId(approval),
                choice=choice, text=text, by="panel", rules=["tool:run_code"] if choice == "allow_session" else [],
            )
        )  # fmt: skip
        self.move(S.PROCESSING, "approval_resolved", turn)

    def execute(self, turn: str, call: str, execution: str, cell: str = "") -> None:
        self.add(
            ev.ExecutionStarted(
                session_id=SESSION, turn_id=TurnId(turn), call_id=CallId(call), execution_id=ExecutionId(execution),
                place="attached" if cell else "own", kernel_name="python3", code="x = 1\nprint(x)",
                notebook="csv/a.ipynb" if cell else "", cell_id=cell,
            )
        )  # fmt: skip

    def mirror(self, turn: str, execution: str) -> None:
        self.add(
            ev.ExecutionMirrored(
                session_id=SESSION, turn_id=TurnId(turn), execution_id=ExecutionId(execution), owner="file"
            )
        )

    def ask_line(self, turn: str, execution: str, line: str, password: bool = False) -> None:
        self.add(
            ev.InputRequested(
                session_id=SESSION, turn_id=TurnId(turn), execution_id=ExecutionId(execution), input_id=InputId(line),
                prompt="Who? ", password=password,
            )
        )  # fmt: skip
        self.move(S.AWAITING_USER, "input_requested", turn)

    def answer_line(self, turn: str, execution: str, line: str, text: str | None, by: str = "panel") -> None:
        self.add(
            ev.InputAnswered(
                session_id=SESSION, turn_id=TurnId(turn), execution_id=ExecutionId(execution), input_id=InputId(line),
                text=text, by=by,
            )
        )  # fmt: skip
        self.move(S.PROCESSING, "input_answered", turn)

    def attach(self, path: str) -> None:
        self.add(ev.SessionAttached(session_id=SESSION, path=path, kernel_id="k1", kernel_name="python3"))

    def detach(self, reason: str = "") -> None:
        self.add(ev.SessionDetached(session_id=SESSION, reason=reason))

    def restart(self, turn: str | None, text: str) -> None:
        self.add(ev.KernelRestarted(session_id=SESSION, turn_id=_turn(turn), kernel_name="python3", text=text))

    def save_widgets(self, turn: str, **values: str) -> None:
        models = {name: {"model_name": "LabelModel", "state": {"value": value}} for name, value in values.items()}
        self.add(ev.WidgetsSaved(session_id=SESSION, turn_id=TurnId(turn), models=models))

    def tell(self, turn: str, kind: Any, name: str, *pictures: Picture) -> None:
        item = ContextItem(kind=kind, name=name, text=f"{name}: as it is", pictures=[*pictures])
        self.add(ev.TurnContextAdded(session_id=SESSION, turn_id=TurnId(turn), item=item))

    def changecell(self, turn: str, call: str, change: str, before: str | None, after: str | None) -> None:
        """Inserted without ``before``, deleted without ``after``."""
        made = CellChange(
            change_id=ChangeId(change), path="csv/a.ipynb", cell_id="abc",
            op="insert" if before is None else "delete" if after is None else "edit",
            before=cell(before), after=cell(after),
            behind=None if after is None else "top", was_behind=None if before is None else "",
        )  # fmt: skip
        self.add(ev.CellChangeRequested(session_id=SESSION, turn_id=TurnId(turn), call_id=CallId(call), change=made))

    def cell_changed(self, turn: str, call: str, change: str, owner: Any) -> None:
        self.add(
            ev.CellChanged(
                session_id=SESSION, turn_id=TurnId(turn), call_id=CallId(call), change_id=ChangeId(change), owner=owner
            )
        )

    def cell_refused(self, turn: str, call: str, change: str) -> None:
        self.add(
            ev.CellChangeRefused(
                session_id=SESSION, turn_id=TurnId(turn), call_id=CallId(call), change_id=ChangeId(change),
                reason="It changed since it was read.",
            )
        )  # fmt: skip

    def decide_change(self, turn: str, change: str, decision: Any, detail: str = "") -> None:
        self.add(
            ev.CellChangeResolved(
                session_id=SESSION, turn_id=TurnId(turn), change_id=ChangeId(change), decision=decision, by="panel",
                detail=detail,
            )
        )  # fmt: skip

    def output(self, turn: str, execution: str, op: Any, **fields: Any) -> None:
        self.add(
            ev.ExecutionOutput(
                session_id=SESSION, turn_id=TurnId(turn), execution_id=ExecutionId(execution), op=op, **fields
            )
        )

    def executed(self, turn: str, execution: str, status: Any, ename: str = "") -> None:
        self.add(
            ev.ExecutionFinished(
                session_id=SESSION, turn_id=TurnId(turn), execution_id=ExecutionId(execution), status=status,
                execution_count=3, ename=ename, evalue="", detail="", duration=0.25,
            )
        )  # fmt: skip

    def keep(self, turn: str, how: Any = "git", path: str = "") -> None:
        self.add(ev.FilesKept(session_id=SESSION, turn_id=TurnId(turn), how=how, where="f00d", path=path))

    def undo(self, undo: str, turn: str | None, *paths: str) -> None:
        self.add(
            ev.FilesUndoRequested(
                session_id=SESSION, undo_id=UndoId(undo), turn_id=_turn(turn), paths=[*paths], by="panel"
            )
        )

    def restored(self, undo: str, path: str, *calls: str) -> None:
        self.add(
            ev.FileRestored(
                session_id=SESSION, undo_id=UndoId(undo), path=path, before="bb", after="aa",
                call_ids=[CallId(call) for call in calls],
            )
        )  # fmt: skip

    def restore_refused(self, undo: str, path: str, reason: str) -> None:
        self.add(ev.FileRestoreRefused(session_id=SESSION, undo_id=UndoId(undo), path=path, reason=reason))

    def hook(self, turn: str, call: str, phase: Any, decision: Any, reason: str = "") -> None:
        self.add(
            ev.HookEnded(
                session_id=SESSION, turn_id=TurnId(turn), call_id=CallId(call), phase=phase, command="check.sh",
                decision=decision, reason=reason, exit_code=None if decision == "failed" else 0, duration=0.1,
            )
        )  # fmt: skip


def _turn(turn: str | None) -> TurnId | None:
    return None if turn is None else TurnId(turn)


def stream(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text}


def cell(source: str | None) -> CellSnapshot | None:
    if source is None:
        return None
    return CellSnapshot(cell_id="abc", cell_type="code", source=source, outputs=[stream("old")], execution_count=2)
