"""The fold in Python and its twin in TypeScript read the same logs: ``tests/cases/logs/*.json``, each a log and what it folds into.

The files are made here (``python tests/test_fold_twins.py``) and committed; Jest folds the same files with ``reduce.ts``.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from jupyter_pernix import events as ev
from jupyter_pernix.fold import SessionFold
from jupyter_pernix.ids import ApprovalId, CallId, ChangeId, ExecutionId, InputId, SessionId, StepId, TurnId
from jupyter_pernix.records import (
    Budget,
    CellChange,
    CellSnapshot,
    ContextItem,
    FileChange,
    Mention,
    Picture,
    Plan,
    PlanStep,
    Purpose,
    Role,
    SessionState,
    Spent,
    TerminalCode,
    Timings,
    Usage,
)

FOLDER = Path(__file__).parent / "cases" / "logs"
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
            )
        )  # fmt: skip
        self.move(S.AWAITING_USER, "approval_requested", turn)

    def answer(self, turn: str, call: str, approval: str, choice: Any, text: str = "") -> None:
        self.add(
            ev.ApprovalResolved(
                session_id=SESSION, turn_id=TurnId(turn), call_id=CallId(call), approval_id=ApprovalId(approval),
                choice=choice, text=text, by="panel",
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

    def change_cell(self, turn: str, call: str, change: str, before: str | None, after: str | None) -> None:
        """Inserted without ``before``, deleted without ``after``."""
        made = CellChange(
            change_id=ChangeId(change), path="csv/a.ipynb", cell_id="abc",
            op="insert" if before is None else "delete" if after is None else "edit",
            before=_cell(before), after=_cell(after),
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


def _turn(turn: str | None) -> TurnId | None:
    return None if turn is None else TurnId(turn)


def _stream(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text}


def _cell(source: str | None) -> CellSnapshot | None:
    if source is None:
        return None
    return CellSnapshot(cell_id="abc", cell_type="code", source=source, outputs=[_stream("old")], execution_count=2)


def whole_job() -> Log:
    """A real turn with an approval, code, an edit and a queued second turn."""
    log = Log()
    log.create()
    log.add(ev.SessionRenamed(session_id=SESSION, title="Dröppt 📉 rows"))
    log.add(ev.SessionRenamed(session_id=SESSION, title="Dropped rows", record_path="csv/pernix-runs/dropped.ipynb"))
    log.add(ev.SessionConfigured(session_id=SESSION, mode="auto", endpoint="scripted"))
    log.start("t1", "Find the bug 🐛")
    log.step("t1", "s1", 0)
    log.think("t1", "s1", "Look first.")
    log.say("t1", "s1", "I read the **importer**.")
    log.call("t1", "s1", "c1", "read_file", "read", path="importer.py")
    log.step_end("t1", "s1")
    log.decide("t1", "c1", "allow")
    log.begin("t1", "c1")
    log.end("t1", "c1", "completed", "1  import csv")
    log.add(ev.TurnSubmitted(session_id=SESSION, turn_id=TurnId("t2"), text="and then?", origin="cli"))
    log.step("t1", "s2", 1)
    log.call("t1", "s2", "c2", "run_code", "execute", code="x = 1\nprint(x)")
    log.call("t1", "s2", "c3", "edit_file", "edit", path="importer.py", old_text="[:-1]", new_text="")
    log.step_end("t1", "s2", None)
    log.decide("t1", "c2", "ask")
    log.ask("t1", "c2", "a1")
    log.answer("t1", "c2", "a1", "allow_session")
    log.begin("t1", "c2")
    log.execute("t1", "c2", "e1")
    log.output("t1", "e1", "append", output=_stream("0 "))
    log.output("t1", "e1", "extend", index=0, text="1 ✓")
    log.output(
        "t1", "e1", "append", output={"output_type": "display_data", "data": {"text/plain": "a"}, "metadata": {}}
    )
    log.output(
        "t1",
        "e1",
        "replace",
        index=1,
        output={"output_type": "display_data", "data": {"text/plain": "b"}, "metadata": {}},
    )
    log.executed("t1", "e1", "ok")
    log.save_widgets("t1", m1="0 %", m2="red")
    log.end("t1", "c2", "completed", "0 1 ✓")
    log.decide("t1", "c3", "allow")
    log.begin("t1", "c3")
    change = FileChange(
        path="csv/importer.py", before="aa", after="bb", added_lines=1, removed_lines=1, diff="-a\n+b\n"
    )
    log.add(ev.FileChanged(session_id=SESSION, turn_id=TurnId("t1"), call_id=CallId("c3"), change=change))
    log.end("t1", "c3", "completed", "edited")
    log.add(ev.ProblemNoticed(session_id=SESSION, turn_id=TurnId("t1"), text="The endpoint was slow.", hint="Wait."))
    log.step("t1", "s3", 2)
    log.say("t1", "s3", "Done.")
    log.step_end("t1", "s3", 900)
    log.save_widgets("t1", m1="100 %", m3="new")
    log.finish("t1", TerminalCode.ANSWERED)
    log.add(ev.SessionArchived(session_id=SESSION, archived=True))
    return log


def stopped_turn() -> Log:
    """A question that the host answers because the turn is stopped, code that is interrupted, a queued turn withdrawn."""
    log = Log()
    log.create()
    log.start("t1", "loop forever")
    log.step("t1", "s1", 0)
    log.call("t1", "s1", "c1", "run_code", "execute", code="while True: pass")
    log.step_end("t1", "s1")
    log.begin("t1", "c1")
    log.execute("t1", "c1", "e1")
    log.output("t1", "e1", "append", output=_stream("a"))
    log.output("t1", "e1", "clear")
    log.output("t1", "e1", "append", output=_stream("b"))
    log.add(ev.TurnSubmitted(session_id=SESSION, turn_id=TurnId("t2"), text="later", origin="panel"))
    log.add(
        ev.TurnFinished(
            session_id=SESSION, turn_id=TurnId("t2"), code=TerminalCode.CANCELLED, detail="withdrawn", usage=Usage()
        )
    )
    log.move(S.CANCELLING, "cancel_asked", "t1")
    log.executed("t1", "e1", "cancelled", "KeyboardInterrupt")
    log.end("t1", "c1", "cancelled", "stopped by the user")
    log.finish("t1", TerminalCode.CANCELLED, "stopped by the user")
    log.start("t3", "again")
    log.step("t3", "s2", 0)
    log.call("t3", "s2", "c2", "run_shell", "execute", command="make")
    log.step_end("t3", "s2")
    log.ask("t3", "c2", "a1")
    log.answer("t3", "c2", "a1", "reject_once", "use pytest instead")
    log.end("t3", "c2", "failed", "The user said: use pytest instead")
    log.finish("t3", TerminalCode.MODEL_FAILED, "the endpoint gave up")
    return log


def strange_log() -> Log:
    """Facts about unknown things, steps that fit no list, events of a newer program: nothing breaks, nothing shows."""
    log = Log()
    log.create()
    log.say("nowhere", "s0", "lost")
    log.step_end("nowhere", "s0", 77)
    log.call("nowhere", "s0", "c0", "read_file", "read", path="x")
    log.begin("t1", "c9")
    log.ask("t1", "c9", "a9")
    log.execute("t1", "c9", "e9")
    log.output("t1", "e9", "append", output=_stream("x"))
    log.executed("t1", "e9", "ok")
    log.add(ev.ProblemNoticed(session_id=SESSION, turn_id=None, text="the store is slow"))
    log.add(
        ev.Unknown(
            session_id=SESSION, type="worker.spawned", body={"type": "worker.spawned", "session_id": SESSION, "n": 1}
        )
    )
    log.add(ev.Unknown(session_id=SESSION, type="moon.landed", body={"type": "moon.landed", "session_id": SESSION}))
    log.step("nowhere", "s0", 0)
    log.retry("nowhere", "s0", 3.0)
    log.fall_back("nowhere", "s0")
    log.compact("nowhere", 5)
    log.compact(None, 6)
    log.instructions("nowhere", "d", "text")
    log.add(ev.TurnEdited(session_id=SESSION, turn_id=TurnId("nowhere"), text="lost"))
    log.add(ev.TurnResumed(session_id=SESSION, turn_id=TurnId("nowhere"), text="lost"))
    log.add(ev.PlanUpdated(session_id=SESSION, turn_id=TurnId("nowhere"), plan=Plan(approach="none")))
    log.spawn("t1", "c9", "w9")
    log.report("t1", "c9", "w9", TerminalCode.ANSWERED)
    log.mirror("t1", "e9")
    log.ask_line("t1", "e9", "i9")
    log.answer_line("t1", "e9", "i9", "lost")
    log.restart("nowhere", "lost")
    log.save_widgets("nowhere", m9="lost")
    log.tell("nowhere", "variable", "df")
    log.change_cell("t1", "c9", "g9", "a", "b")
    log.cell_changed("t1", "c9", "g9", "file")
    log.cell_refused("t1", "c9", "g9")
    log.decide_change("t1", "g9", "keep")
    log.start("t1", "go")
    log.fall_back("t1", "s7")
    log.step_end("t1", "s7", 77, 1.0)
    log.step("t1", "s1", 0)
    log.call("t1", "s1", "c1", "run_code", "execute", code="1")
    log.execute("t1", "c1", "e1")
    log.output("t1", "e1", "extend", index=0, text="no such output")
    log.output("t1", "e1", "replace", index=4, output=_stream("no"))
    log.output("t1", "e1", "append")
    log.output("t1", "e1", "append", output={"output_type": "error", "ename": "E", "evalue": "", "traceback": []})
    log.output("t1", "e1", "extend", index=0, text="tail")
    log.ask("t1", "c1", "a1")
    log.answer("t1", "c1", "another", "allow_once")
    log.spawn("t1", "c1", "w1")
    log.report("t1", "c1", "another", TerminalCode.ANSWERED)
    log.answer_line("t1", "e1", "another", "lost")
    return log


def long_life() -> Log:
    """A planned turn that waits, falls back, delegates, is made shorter and paused over a restart; then work between turns."""
    log = Log()
    log.create(parent="ses_0", budget=Budget(tokens=100_000, cost=2.5))
    log.add(ev.SessionRenamed(session_id=SESSION, title="Long", by="host"))
    log.start("t1", "Do all of it")
    log.instructions("t1", "d1", "")
    log.instructions("t1", "d2", "be brief")
    log.instructions("t1", "", "")
    log.move(S.SCOUTING, "scout_started", "t1")
    log.step("t1", "s0", 0, "scout", "background")
    log.step_end("t1", "s0", 50, 0.125)
    steps = [
        PlanStep(text="look", status="completed"),
        PlanStep(text="mend", status="in_progress"),
        PlanStep(text="test"),
    ]
    plan = Plan(approach="Look first", steps=steps, tools=["read_file"])
    log.add(ev.PlanUpdated(session_id=SESSION, turn_id=TurnId("t1"), plan=plan))
    log.move(S.PROCESSING, "scout_done", "t1")
    log.step("t1", "s1", 0)
    log.retry("t1", "s1", 12.0)
    log.step(None, "s8", 0, "title", "background")
    log.step_end(None, "s8", 30, 0.25)
    log.add(ev.SessionRenamed(session_id=SESSION, title="All of it", by="model"))
    log.retry("t1", "s1", 20.5)
    log.fall_back("t1", "s1")
    log.call("t1", "s1", "c1", "delegate", "other", title="part", task="do a part")
    log.call("t1", "s1", "c2", "delegate", "other", title="rest", task="do the rest")
    log.step_end("t1", "s1", 800, 0.5)
    log.begin("t1", "c1")
    log.spawn("t1", "c1", "w1")
    log.move(S.AWAITING_WORKERS, "workers_started", "t1")
    log.begin("t1", "c2")
    log.spawn("t1", "c2", "w2")
    log.report("t1", "c1", "w1", TerminalCode.BUDGET_COST)
    log.end("t1", "c1", "failed", "it ran out of money")
    log.end("t1", "c2", "unknown", "the server ended meanwhile")
    log.move(S.PROCESSING, "workers_done", "t1")
    log.add(ev.PlanUpdated(session_id=SESSION, turn_id=TurnId("t1"), plan=Plan(approach="Mend", by="agent")))
    log.move(S.COMPACTING, "compaction_started", "t1")
    log.step("t1", "s2", 0, "summary", "background")
    log.step_end("t1", "s2", 700)
    log.compact("t1", 4321)
    log.move(S.PROCESSING, "compaction_done", "t1")
    log.move(S.PAUSE_REQUESTED, "pause_asked", "t1")
    log.move(S.PAUSED, "step_ended", "t1")
    log.add(ev.TurnSubmitted(session_id=SESSION, turn_id=TurnId("t2"), text="later", origin="panel"))
    log.add(ev.TurnEdited(session_id=SESSION, turn_id=TurnId("t2"), text="later, please"))
    log.add(ev.TurnResumed(session_id=SESSION, turn_id=TurnId("t1"), text="The server was started again."))
    log.move(S.PROCESSING, "resumed", "t1")
    log.step("t1", "s3", 1)
    log.say("t1", "s3", "All tests pass.", "No test was run in this turn.")
    log.step_end("t1", "s3", 900, 0.0625)
    log.finish("t1", TerminalCode.BUDGET_LINES, "200 lines", 0.6875)
    log.move(S.COMPACTING, "compaction_started", None)
    log.step(None, "s9", 0, "summary", "background")
    log.retry(None, "s9", 4.0)
    log.fall_back(None, "s9")
    log.retry(None, "s9", 1.0)
    log.step_end(None, "s9", 600, 0.5)
    log.compact(None, 99)
    log.move(S.IDLE_READY, "settled", None)
    log.add(ev.SessionConfigured(session_id=SESSION, budget=Budget(rounds=None, seconds=None)))
    return log


def in_a_notebook() -> Log:
    """A session in an open notebook: told of variables, changes cells, runs them, asks for lines; the kernel starts anew."""
    picture = Picture(mime="image/png", data="iVBORw0KGgo=")
    log = Log()
    log.create()
    log.restart(None, "nobody is told before the first turn")
    log.attach("csv/a.ipynb")
    log.start(
        "t1", "mend @df", Mention(kind="variable", name="df"), Mention(kind="cell", name="abc", path="csv/a.ipynb")
    )
    log.tell("t1", "environment", "python3")
    log.tell("t1", "inventory", "")
    log.tell("t1", "cell", "abc", picture)
    log.step("t1", "s1", 0)
    log.call("t1", "s1", "c1", "edit_notebook", "edit", op="edit")
    log.call("t1", "s1", "c2", "run_cells", "execute", cell_ids=["abc"])
    log.call("t1", "s1", "c3", "edit_notebook", "edit", op="delete")
    log.step_end("t1", "s1")
    log.begin("t1", "c1")
    for change, before, after in (("g1", "x = 1", "x = 2\ny"), ("g2", None, "# new"), ("g3", "old", None)):
        log.change_cell("t1", "c1", change, before, after)
        log.cell_changed("t1", "c1", change, "page")
    log.change_cell("t1", "c1", "g4", "x", "z")
    log.cell_refused("t1", "c1", "g4")
    log.end("t1", "c1", "completed", "changed 3 cells", picture)
    log.begin("t1", "c2")
    log.execute("t1", "c2", "e1", "abc")
    log.ask_line("t1", "e1", "i1")
    log.answer_line("t1", "e1", "i1", "Ada ✓")
    log.ask_line("t1", "e1", "i2", password=True)
    log.answer_line("t1", "e1", "i2", None)
    log.output("t1", "e1", "append", output=_stream("Ada"))
    log.executed("t1", "e1", "ok")
    log.mirror("t1", "e1")
    log.execute("t1", "c2", "e3", "abc")
    log.executed("t1", "e3", "error", "NameError")
    log.output("t1", "e1", "extend", index=0, text=" is late")
    log.end("t1", "c2", "completed", "Ada")
    log.begin("t1", "c3")
    log.execute("t1", "c3", "e2", "abc")
    log.ask_line("t1", "e2", "i3")
    log.restart("t1", "The kernel died; all variables are gone.")
    log.answer_line("t1", "e2", "i3", None, "host")
    log.executed("t1", "e2", "dead")
    log.change_cell("t1", "c3", "g5", "gone", None)
    log.decide_change("t1", "g1", "undo", "Nothing that ran is undone in the kernel.")
    log.decide_change("t1", "g2", "keep")
    log.finish("t1", TerminalCode.ANSWERED)
    log.attach("csv/renamed.ipynb")
    log.restart(None, "The user restarted the kernel.")
    log.detach("The notebook was closed.")
    return log


LOGS = {
    "whole_job": whole_job,
    "stopped_turn": stopped_turn,
    "strange_log": strange_log,
    "long_life": long_life,
    "in_a_notebook": in_a_notebook,
}


def case(name: str) -> str:
    """The file's text: the log as it travels, and the view as the server sends it."""
    stored = LOGS[name]().stored
    lines = [json.loads(ev.encode_stored(entry)) for entry in stored]
    view = json.loads(msgspec.json.encode(SessionFold.of(SESSION, stored).view))
    return json.dumps({"log": lines, "view": view}, indent=1, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("name", LOGS)
def test_the_committed_log_is_what_the_fold_says_today(name):
    assert (FOLDER / f"{name}.json").read_text(encoding="utf-8") == case(name), "run python tests/test_fold_twins.py"


def test_the_logs_hold_every_event_there_is():
    seen = {ev.event_type(stored.event) for build in LOGS.values() for stored in build().stored}
    assert set(ev.EVENT_TYPES) <= seen


@pytest.mark.parametrize("name", LOGS)
def test_a_reader_that_returns_with_any_after_folds_to_the_same_view(name):
    stored = LOGS[name]().stored
    whole = SessionFold.of(SESSION, stored).view
    for cut in range(len(stored)):
        for back in range(cut + 1):
            fold = SessionFold.of(SESSION, stored[:cut])
            for entry in stored[back:]:
                fold.add(entry)
            assert fold.view == whole


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for log_name in LOGS:
        (FOLDER / f"{log_name}.json").write_text(case(log_name), encoding="utf-8")
