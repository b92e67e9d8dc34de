"""One session's log that uses every kind of event: the same story for the fold, the store and the screens."""

from datetime import UTC, datetime, timedelta

from jupyter_pernix.events import (
    ApprovalRequested,
    ApprovalResolved,
    ContextCompacted,
    Event,
    ExecutionFinished,
    ExecutionOutput,
    ExecutionStarted,
    FileChanged,
    InstructionsRead,
    MessageCompleted,
    PlanUpdated,
    PolicyDecided,
    ProblemNoticed,
    SessionArchived,
    SessionConfigured,
    SessionCreated,
    SessionRenamed,
    SessionStateChanged,
    StepFallbackTaken,
    StepFinished,
    StepRetryScheduled,
    StepStarted,
    Stored,
    ThoughtCompleted,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
    TurnEdited,
    TurnFinished,
    TurnResumed,
    TurnStarted,
    TurnSubmitted,
    Unknown,
    WorkerReported,
    WorkerSpawned,
)
from jupyter_pernix.ids import ApprovalId, CallId, ExecutionId, SessionId, StepId, TurnId
from jupyter_pernix.records import Budget, FileChange, Plan, PlanStep, SessionState, TerminalCode, Timings, Usage

SESSION = SessionId("ses_0001")
TURN, LATER = TurnId("trn_0001"), TurnId("trn_0002")
FIRST, SECOND, SUMMARY = StepId("stp_0001"), StepId("stp_0002"), StepId("stp_0003")
CODE, EDIT, PART = CallId("cal_0001"), CallId("cal_0002"), CallId("cal_0003")
WORKER = SessionId("ses_0002")
EXECUTION = ExecutionId("exe_0001")
APPROVAL = ApprovalId("apr_0001")
START = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)
USAGE = Usage(prompt_tokens=900, completion_tokens=100, cached_tokens=800)


def moved(before: SessionState, after: SessionState, reason: str) -> SessionStateChanged:
    return SessionStateChanged(session_id=SESSION, turn_id=TURN, before=before, after=after, reason=reason)


def opening() -> list[Event]:
    return [
        SessionCreated(
            session_id=SESSION,
            title="Find the lost row",
            space_root="csv_import",
            record_path="csv_import/pernix-runs/2026-05-06-find-the-lost-row.ipynb",
            mode="ask",
            endpoint=None,
            kernel_name="",
            place="own",
            origin="panel",
        ),
        SessionRenamed(session_id=SESSION, title="The lost row"),
        SessionConfigured(session_id=SESSION, mode="edit", endpoint="scripted", kernel_name="python3"),
        TurnSubmitted(session_id=SESSION, turn_id=TURN, text="Find it.", origin="panel"),
        moved(SessionState.IDLE_READY, SessionState.PROCESSING, "turn_started"),
        TurnStarted(
            session_id=SESSION,
            turn_id=TURN,
            mode="edit",
            endpoint="scripted",
            model="scripted-1",
            protocol="tools",
            context_length=131072,
            budget=Budget(),
        ),
        InstructionsRead(session_id=SESSION, turn_id=TURN, name="AGENTS.md", digest="2" * 64, text="Be brief."),
        PlanUpdated(
            session_id=SESSION,
            turn_id=TURN,
            plan=Plan(approach="Count, then mend.", steps=[PlanStep(text="Count the rows")], tools=["run_code"]),
        ),
        StepStarted(
            session_id=SESSION,
            turn_id=TURN,
            step_id=FIRST,
            index=0,
            endpoint="scripted",
            model="scripted-1",
            prompt_bytes=3600,
            prefix_bytes=0,
        ),
        StepRetryScheduled(
            session_id=SESSION,
            turn_id=TURN,
            step_id=FIRST,
            attempt=2,
            attempts=4,
            seconds=12.0,
            asked=True,
            text="waiting 12 s: the server asked for it (attempt 2 of 4)",
        ),
        StepFallbackTaken(
            session_id=SESSION,
            turn_id=TURN,
            step_id=FIRST,
            endpoint="spare",
            model="spare-1",
            failed_endpoint="scripted",
            failed_model="scripted-1",
            text="scripted failed, so spare answers",
        ),
        ThoughtCompleted(session_id=SESSION, turn_id=TURN, step_id=FIRST, text="A remainder is lost."),
        MessageCompleted(session_id=SESSION, turn_id=TURN, step_id=FIRST, text="I look at the rows."),
    ]


def code_call() -> list[Event]:
    return [
        ToolCallRequested(
            session_id=SESSION,
            turn_id=TURN,
            step_id=FIRST,
            call_id=CODE,
            wire_id="call_1",
            tool="run_code",
            kind="execute",
            title="Run code",
            arguments={"code": "print(len(rows))"},
        ),
        StepFinished(
            session_id=SESSION,
            turn_id=TURN,
            step_id=FIRST,
            usage=USAGE,
            timings=Timings(first_token=0.1, total=0.5),
            prefix_share=None,
            finish_reason="tool_calls",
        ),
        PolicyDecided(
            session_id=SESSION,
            turn_id=TURN,
            call_id=CODE,
            action="execute",
            verdict="ask",
            rule="mode:edit",
            mode="edit",
            targets=["python3"],
        ),
        ApprovalRequested(
            session_id=SESSION,
            turn_id=TURN,
            call_id=CODE,
            approval_id=APPROVAL,
            question="Run this code?",
            detail="print(len(rows))",
            choices=["allow_once", "allow_session", "reject_once"],
        ),
        moved(SessionState.PROCESSING, SessionState.AWAITING_USER, "approval_requested"),
        ApprovalResolved(
            session_id=SESSION,
            turn_id=TURN,
            call_id=CODE,
            approval_id=APPROVAL,
            choice="allow_session",
            text="",
            by="panel",
        ),
        moved(SessionState.AWAITING_USER, SessionState.PROCESSING, "approval_resolved"),
        ToolCallStarted(session_id=SESSION, turn_id=TURN, call_id=CODE),
        ExecutionStarted(
            session_id=SESSION,
            turn_id=TURN,
            call_id=CODE,
            execution_id=EXECUTION,
            place="own",
            kernel_name="python3",
            code="print(len(rows))",
        ),
        ExecutionOutput(
            session_id=SESSION,
            turn_id=TURN,
            execution_id=EXECUTION,
            op="append",
            output={"output_type": "stream", "name": "stdout", "text": "14"},
        ),
        ExecutionOutput(session_id=SESSION, turn_id=TURN, execution_id=EXECUTION, op="extend", index=0, text="60\n"),
        ExecutionFinished(
            session_id=SESSION,
            turn_id=TURN,
            execution_id=EXECUTION,
            status="ok",
            execution_count=1,
            ename="",
            evalue="",
            detail="",
            duration=0.2,
        ),
        ToolCallFinished(
            session_id=SESSION, turn_id=TURN, call_id=CODE, status="completed", result="1460\n", duration=0.3
        ),
    ]


def edit_call() -> list[Event]:
    return [
        StepStarted(
            session_id=SESSION,
            turn_id=TURN,
            step_id=SECOND,
            index=1,
            endpoint="scripted",
            model="scripted-1",
            prompt_bytes=4200,
            prefix_bytes=3600,
        ),
        ToolCallRequested(
            session_id=SESSION,
            turn_id=TURN,
            step_id=SECOND,
            call_id=EDIT,
            wire_id="call_2",
            tool="edit_file",
            kind="edit",
            title="Edit lines.py",
            arguments={"path": "lines.py", "old_text": "a", "new_text": "b"},
        ),
        ToolCallStarted(session_id=SESSION, turn_id=TURN, call_id=EDIT),
        FileChanged(
            session_id=SESSION,
            turn_id=TURN,
            call_id=EDIT,
            change=FileChange(path="lines.py", before="0" * 64, after="1" * 64, added_lines=2),
        ),
        ToolCallFinished(
            session_id=SESSION,
            turn_id=TURN,
            call_id=EDIT,
            status="completed",
            result="edited lines.py",
            duration=0.01,
        ),
    ]


def handed_over() -> list[Event]:
    """A part of the work in a session of its own; a pause in the middle that outlasts the server."""
    return [
        ToolCallRequested(
            session_id=SESSION,
            turn_id=TURN,
            step_id=SECOND,
            call_id=PART,
            wire_id="call_3",
            tool="delegate",
            kind="other",
            title="Delegate: look for the same fault elsewhere",
            arguments={"title": "look for the same fault elsewhere", "task": "Look into every file."},
        ),
        ToolCallStarted(session_id=SESSION, turn_id=TURN, call_id=PART),
        WorkerSpawned(
            session_id=SESSION,
            turn_id=TURN,
            call_id=PART,
            worker_id=WORKER,
            title="look for the same fault elsewhere",
            task="Look into every file.",
        ),
        WorkerReported(
            session_id=SESSION,
            turn_id=TURN,
            call_id=PART,
            worker_id=WORKER,
            code=TerminalCode.ANSWERED,
            answer="Nowhere else.",
        ),
        ToolCallFinished(
            session_id=SESSION, turn_id=TURN, call_id=PART, status="completed", result="Nowhere else.", duration=2.0
        ),
        moved(SessionState.PROCESSING, SessionState.PAUSE_REQUESTED, "pause_asked"),
        moved(SessionState.PAUSE_REQUESTED, SessionState.PAUSED, "step_ended"),
        TurnResumed(session_id=SESSION, turn_id=TURN, text="The server was started again; the turn goes on."),
        moved(SessionState.PAUSED, SessionState.PROCESSING, "resumed"),
    ]


def ending() -> list[Event | Unknown]:
    return [
        ProblemNoticed(session_id=SESSION, turn_id=TURN, text="The endpoint was slow.", hint="Nothing to do."),
        Unknown(session_id=SESSION, type="moon.landed", body={"type": "moon.landed", "session_id": SESSION}),
        moved(SessionState.PROCESSING, SessionState.FINALIZING, "turn_ending"),
        TurnFinished(session_id=SESSION, turn_id=TURN, code=TerminalCode.ANSWERED, detail="", usage=USAGE),
        moved(SessionState.FINALIZING, SessionState.IDLE_READY, "turn_ended"),
        TurnSubmitted(session_id=SESSION, turn_id=LATER, text="Thanks.", origin="cli"),
        TurnEdited(session_id=SESSION, turn_id=LATER, text="Thank you."),
        TurnFinished(session_id=SESSION, turn_id=LATER, code=TerminalCode.CANCELLED, detail="withdrawn", usage=Usage()),
        ContextCompacted(
            session_id=SESSION,
            turn_id=None,
            level="summary",
            upto_seq=40,
            summary="The row after the last full batch was lost.",
            kept=["Be brief."],
            dropped="3 calls and their results",
            tokens_before=1000,
            tokens_after=400,
        ),
        SessionArchived(session_id=SESSION, archived=True),
    ]


def story() -> list[Stored]:
    """The log, as the store would give it: one sequence with gaps, where other sessions' events lie."""
    events = [*opening(), *code_call(), *edit_call(), *handed_over(), *ending()]
    return [
        Stored(seq=3 * position + 2, recorded_at=START + timedelta(seconds=position), event=event)
        for position, event in enumerate(events)
    ]
