"""One session's log that uses every kind of event: the same story for the fold, the store and the screens."""

from datetime import UTC, datetime, timedelta

from jupyter_pernix.events import (
    ApprovalRequested,
    ApprovalResolved,
    CellChanged,
    CellChangeRefused,
    CellChangeRequested,
    CellChangeResolved,
    ContextCompacted,
    Event,
    ExecutionFinished,
    ExecutionMirrored,
    ExecutionOutput,
    ExecutionStarted,
    FileChanged,
    FileRestored,
    FileRestoreRefused,
    FilesKept,
    FilesUndoRequested,
    HookEnded,
    InputAnswered,
    InputRequested,
    InstructionsRead,
    KernelRestarted,
    MessageCompleted,
    PlanUpdated,
    PolicyDecided,
    ProblemNoticed,
    SessionArchived,
    SessionAttached,
    SessionConfigured,
    SessionCreated,
    SessionDetached,
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
    TurnContextAdded,
    TurnEdited,
    TurnFinished,
    TurnResumed,
    TurnStarted,
    TurnSubmitted,
    Unknown,
    WidgetsSaved,
    WorkerReported,
    WorkerSpawned,
)
from jupyter_pernix.ids import ApprovalId, CallId, ChangeId, ExecutionId, InputId, SessionId, StepId, TurnId, UndoId
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
    SessionState,
    TerminalCode,
    Timings,
    Usage,
)

SESSION = SessionId("ses_0001")
TURN, LATER = TurnId("trn_0001"), TurnId("trn_0002")
FIRST, SECOND, SUMMARY = StepId("stp_0001"), StepId("stp_0002"), StepId("stp_0003")
CODE, EDIT, PART = CallId("cal_0001"), CallId("cal_0002"), CallId("cal_0003")
CELL, CELL_RUN = CallId("cal_0004"), CallId("cal_0005")
WORKER = SessionId("ses_0002")
EXECUTION, CELL_EXECUTION = ExecutionId("exe_0001"), ExecutionId("exe_0002")
INPUT = InputId("inp_0001")
UNDO = UndoId("und_0001")
MADE, REFUSED = ChangeId("chg_0001"), ChangeId("chg_0002")
NOTEBOOK = "csv_import/look.ipynb"
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
        SessionAttached(session_id=SESSION, path=NOTEBOOK, kernel_id="kernel-1", kernel_name="python3"),
        TurnSubmitted(
            session_id=SESSION,
            turn_id=TURN,
            text="Find it.",
            origin="panel",
            mentions=[Mention(kind="variable", name="rows")],
        ),
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
        TurnContextAdded(
            session_id=SESSION,
            turn_id=TURN,
            item=ContextItem(kind="variable", name="rows", text="rows: list of 1460 items"),
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
        HookEnded(
            session_id=SESSION,
            turn_id=TURN,
            call_id=CODE,
            phase="PreToolUse",
            command="check.sh",
            decision="allow",
            reason="",
            exit_code=0,
            duration=0.1,
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
        FilesKept(session_id=SESSION, turn_id=TURN, how="git", where="f00d"),
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


def snapshot(source: str) -> CellSnapshot:
    return CellSnapshot(cell_id="abc123", cell_type="code", source=source)


def cell_edit() -> list[Event]:
    """Two changes of cells: one is made and undone by the user, the other one refused."""
    return [
        ToolCallRequested(
            session_id=SESSION,
            turn_id=TURN,
            step_id=SECOND,
            call_id=CELL,
            wire_id="call_4",
            tool="edit_notebook",
            kind="edit",
            title="Edit a cell of look.ipynb",
            arguments={"op": "edit", "cell_id": "abc123", "base": "0" * 12, "source": "name = input('Who? ')"},
        ),
        ToolCallStarted(session_id=SESSION, turn_id=TURN, call_id=CELL),
        CellChangeRequested(
            session_id=SESSION,
            turn_id=TURN,
            call_id=CELL,
            change=CellChange(
                change_id=MADE,
                path=NOTEBOOK,
                op="edit",
                cell_id="abc123",
                before=snapshot("name = ''"),
                after=snapshot("name = input('Who? ')"),
            ),
        ),
        CellChanged(session_id=SESSION, turn_id=TURN, call_id=CELL, change_id=MADE, owner="page"),
        CellChangeRequested(
            session_id=SESSION,
            turn_id=TURN,
            call_id=CELL,
            change=CellChange(
                change_id=REFUSED, path=NOTEBOOK, op="delete", cell_id="def456", before=snapshot("x"), after=None
            ),
        ),
        CellChangeRefused(
            session_id=SESSION, turn_id=TURN, call_id=CELL, change_id=REFUSED, reason="The cell is not there any more."
        ),
        ToolCallFinished(
            session_id=SESSION,
            turn_id=TURN,
            call_id=CELL,
            status="completed",
            result="edited cell abc123",
            duration=0.1,
            pictures=[Picture(mime="image/png", data="iVBORw0KGgo=")],
        ),
    ]


def cell_run() -> list[Event]:
    """The cell is run and asks for a line; its outputs reach the notebook; then the kernel starts anew."""
    return [
        ToolCallRequested(
            session_id=SESSION,
            turn_id=TURN,
            step_id=SECOND,
            call_id=CELL_RUN,
            wire_id="call_5",
            tool="run_cells",
            kind="execute",
            title="Run a cell of look.ipynb",
            arguments={"cell_ids": ["abc123"]},
        ),
        ToolCallStarted(session_id=SESSION, turn_id=TURN, call_id=CELL_RUN),
        ExecutionStarted(
            session_id=SESSION,
            turn_id=TURN,
            call_id=CELL_RUN,
            execution_id=CELL_EXECUTION,
            place="attached",
            kernel_name="python3",
            code="name = input('Who? ')",
            notebook=NOTEBOOK,
            cell_id="abc123",
        ),
        InputRequested(
            session_id=SESSION,
            turn_id=TURN,
            execution_id=CELL_EXECUTION,
            input_id=INPUT,
            prompt="Who? ",
            password=False,
        ),
        moved(SessionState.PROCESSING, SessionState.AWAITING_USER, "input_requested"),
        InputAnswered(
            session_id=SESSION, turn_id=TURN, execution_id=CELL_EXECUTION, input_id=INPUT, text="Ada", by="panel"
        ),
        moved(SessionState.AWAITING_USER, SessionState.PROCESSING, "input_answered"),
        ExecutionFinished(
            session_id=SESSION,
            turn_id=TURN,
            execution_id=CELL_EXECUTION,
            status="ok",
            execution_count=2,
            ename="",
            evalue="",
            detail="",
            duration=4.0,
        ),
        ExecutionMirrored(session_id=SESSION, turn_id=TURN, execution_id=CELL_EXECUTION, owner="page"),
        ToolCallFinished(
            session_id=SESSION, turn_id=TURN, call_id=CELL_RUN, status="completed", result="no output", duration=4.1
        ),
        KernelRestarted(
            session_id=SESSION,
            turn_id=TURN,
            kernel_name="python3",
            text="The kernel was restarted; all variables are gone.",
        ),
        WidgetsSaved(
            session_id=SESSION,
            turn_id=TURN,
            models={"m1": {"model_name": "LabelModel", "state": {"value": "all rows"}}},
        ),
        CellChangeResolved(
            session_id=SESSION,
            turn_id=TURN,
            change_id=MADE,
            decision="undo",
            by="panel",
            detail="What the cell did in the kernel is not undone.",
        ),
        SessionDetached(session_id=SESSION, reason="The notebook was closed."),
        *put_back(),
    ]


def put_back() -> list[Event]:
    """The user wants a file back as it was, and another one that was changed since."""
    return [
        FilesUndoRequested(
            session_id=SESSION, undo_id=UNDO, turn_id=TURN, paths=["importer.py", "notes.txt"], by="panel"
        ),
        FileRestored(session_id=SESSION, undo_id=UNDO, path="importer.py", before="bb", after="aa", call_ids=[EDIT]),
        FileRestoreRefused(
            session_id=SESSION, undo_id=UNDO, path="notes.txt", reason="It was changed since by somebody else."
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
    events = [*opening(), *code_call(), *edit_call(), *cell_edit(), *cell_run(), *handed_over(), *ending()]
    return [
        Stored(seq=3 * position + 2, recorded_at=START + timedelta(seconds=position), event=event)
        for position, event in enumerate(events)
    ]
