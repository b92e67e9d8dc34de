"""Routes of sessions: their turns, events, questions, executions, variables and records."""

from typing import Any

from ...events import Event
from ...records import (
    ApprovalAnswer,
    ApprovalView,
    ExecutionResult,
    InputAnswer,
    InputView,
    OutputsPosted,
    RecordImport,
    SessionPatch,
    SessionSummary,
    SessionView,
    TurnAccepted,
    TurnCreate,
    TurnPatch,
    Variable,
    Variables,
)
from ..routing import Route, Verb
from .approvals import ApprovalHandler, ApprovalsHandler
from .events import EventsHandler
from .executions import FinishHandler, OutputsHandler, SideFileHandler
from .inputs import InputHandler
from .records import ExportHandler, ImportHandler
from .sessions import (
    CancelHandler,
    CompactHandler,
    PauseHandler,
    ResumeHandler,
    SessionHandler,
    StopHandler,
    TurnHandler,
    TurnsHandler,
)
from .stream import StreamHandler
from .variables import VariableHandler, VariablesHandler

_AFTER = {
    "after": "only events with a higher seq",
    "session": "only this session's",
}

SESSIONS: tuple[Route, ...] = (
    Route(
        path="/sessions/{session_id}",
        handler=SessionHandler,
        verbs={
            "get": Verb(says="The whole session, folded from its log.", gives=SessionView),
            "patch": Verb(
                says="Rename, archive, or set mode, endpoint, kernel, budget.", takes=SessionPatch, gives=SessionSummary
            ),
        },
    ),
    Route(
        path="/sessions/{session_id}/turns",
        handler=TurnsHandler,
        verbs={
            "post": Verb(
                says="Submit a message. It is stored when this answers; it waits while another turn runs.",
                status=202,
                takes=TurnCreate,
                gives=TurnAccepted,
            )
        },
    ),
    Route(
        path="/sessions/{session_id}/turns/{turn_id}",
        handler=TurnHandler,
        verbs={
            "patch": Verb(says="Change a message that still waits for its turn.", takes=TurnPatch, gives=TurnAccepted)
        },
    ),
    Route(
        path="/sessions/{session_id}/turns/{turn_id}/cancel",
        handler=CancelHandler,
        verbs={"post": Verb(says="Stop a running turn; withdraw a waiting one.", status=202, gives=dict[str, Any])},
    ),
    Route(
        path="/sessions/{session_id}/pause",
        handler=PauseHandler,
        verbs={"post": Verb(says="Pause the turn that runs at its next step.", status=202, gives=SessionSummary)},
    ),
    Route(
        path="/sessions/{session_id}/resume",
        handler=ResumeHandler,
        verbs={
            "post": Verb(
                says="Let a paused turn go on, or submit a turn that goes on after an interrupted one.",
                status=202,
                gives=TurnAccepted,
            )
        },
    ),
    Route(
        path="/sessions/{session_id}/stop",
        handler=StopHandler,
        verbs={
            "post": Verb(says="Stop what runs: the turn, or a compaction.", status=202, gives=SessionSummary),
        },
    ),
    Route(
        path="/sessions/{session_id}/compact",
        handler=CompactHandler,
        verbs={
            "post": Verb(says="Make the conversation shorter for the model.", status=202, gives=SessionSummary),
        },
    ),
    Route(
        path="/events",
        handler=EventsHandler,
        verbs={
            "get": Verb(says="Stored events in order.", gives=list[Event], query={**_AFTER, "limit": "at most so many"})
        },
    ),
    Route(
        path="/stream",
        handler=StreamHandler,
        verbs={
            "get": Verb(
                says="Server-sent events: stored ones after `after`, the texts being written, then all as it happens. "
                "`Last-Event-ID` goes before `after`; without either the stream begins now.",
                media="text/event-stream",
                query=_AFTER,
            )
        },
    ),
    Route(
        path="/approvals",
        handler=ApprovalsHandler,
        verbs={
            "get": Verb(
                says="Questions that wait for an answer, oldest first.",
                gives=list[ApprovalView],
                query={"session": "only this session's and its workers'"},
            )
        },
    ),
    Route(
        path="/approvals/{approval_id}",
        handler=ApprovalHandler,
        verbs={"post": Verb(says="Answer a question, once.", takes=ApprovalAnswer, gives=ApprovalView)},
    ),
    Route(
        path="/executions/{execution_id}/outputs",
        handler=OutputsHandler,
        verbs={
            "post": Verb(says="For a cell that executes for its session: outputs.", status=204, takes=OutputsPosted)
        },
    ),
    Route(
        path="/executions/{execution_id}/finish",
        handler=FinishHandler,
        verbs={
            "post": Verb(says="For a cell that executes for its session: the end.", status=204, takes=ExecutionResult)
        },
    ),
    Route(
        path="/side-files/{session_id}/{name}",
        handler=SideFileHandler,
        verbs={"get": Verb(says="A text that was too long to show.", media="text/plain")},
    ),
    Route(
        path="/inputs/{input_id}",
        handler=InputHandler,
        verbs={
            "post": Verb(says="Give running code the line that it asked for, once.", takes=InputAnswer, gives=InputView)
        },
    ),
    Route(
        path="/sessions/{session_id}/variables",
        handler=VariablesHandler,
        verbs={
            "get": Verb(
                says="The variables of the session's kernel in short, also while code runs; 409 without a kernel.",
                gives=Variables,
            )
        },
    ),
    Route(
        path="/sessions/{session_id}/variables/{name}",
        handler=VariableHandler,
        verbs={
            "get": Verb(says="One variable of the session's kernel, with its first rows or values.", gives=Variable)
        },
    ),
    Route(
        path="/sessions/{session_id}/export",
        handler=ExportHandler,
        verbs={
            "get": Verb(
                says="The session as a file, without the secrets in it; equal logs give equal files.",
                media="application/octet-stream",
                query={"format": "ipynb (default), html, md, or json"},
            )
        },
    ),
    Route(
        path="/records/import",
        handler=ImportHandler,
        verbs={
            "post": Verb(
                says="Begin a session that goes on from a run notebook of another machine; none of its code is run.",
                status=201,
                takes=RecordImport,
                gives=SessionSummary,
            )
        },
    ),
)
