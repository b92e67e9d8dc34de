"""The route table: every address under ``/pernix/api``, with what it takes and gives. ``openapi.py`` describes the API from it."""

from collections.abc import Iterator
from typing import Any

from tornado.web import RequestHandler

from ...config import Setting
from ...events import Event
from ...records import (
    ApprovalAnswer,
    ApprovalView,
    CellChangeView,
    ChangesDecide,
    EndpointCreate,
    EndpointInfo,
    ExecutionResult,
    ExecutionView,
    Finding,
    GpuDevices,
    InputAnswer,
    InputView,
    LocalModel,
    LocalStart,
    LocalStatus,
    NotebookAttach,
    OutputsPosted,
    PageAnswer,
    PageState,
    RecordImport,
    SessionCreate,
    SessionPatch,
    SessionSummary,
    SessionView,
    SqlQuery,
    SqlResult,
    TurnAccepted,
    TurnCreate,
    TurnPatch,
    Variable,
    Variables,
)
from ..routing import Route, Verb, pattern
from .about import ConfigHandler, DocsHandler, DoctorHandler, OpenApiHandler
from .approvals import ApprovalHandler, ApprovalsHandler
from .endpoints import (
    DefaultHandler,
    DiscoverHandler,
    EndpointHandler,
    EndpointList,
    EndpointsHandler,
    ProbeHandler,
    TourHandler,
)
from .events import EventsHandler
from .executions import FinishHandler, OutputsHandler, SideFileHandler
from .gpu import GpuDevicesHandler
from .info import Info, InfoHandler
from .inputs import InputHandler
from .local import LocalHandler
from .notebooks import (
    CellChangesHandler,
    CellExecutionsHandler,
    ChangeHandler,
    PageAnswersHandler,
    PageCloseHandler,
    PageHandler,
    SessionNotebookHandler,
    TurnChangesHandler,
)
from .records import ExportHandler, ImportHandler
from .sessions import (
    CancelHandler,
    CompactHandler,
    PauseHandler,
    ResumeHandler,
    SessionHandler,
    SessionsHandler,
    StopHandler,
    TurnHandler,
    TurnsHandler,
)
from .sql import SqlHandler
from .stream import StreamHandler
from .variables import VariableHandler, VariablesHandler

_AFTER = {
    "after": "only events with a higher seq",
    "session": "only this session's",
}

ROUTES: tuple[Route, ...] = (
    Route(path="/", handler=InfoHandler, verbs={"get": Verb(says="The server and its store.", gives=Info)}),
    Route(
        path="/sessions",
        handler=SessionsHandler,
        verbs={
            "get": Verb(
                says="Sessions, newest first.",
                gives=list[SessionSummary],
                query={
                    "archived": "false (default), true, or all",
                    "parent": "only the workers of this session",
                    "workers": "true: workers too",
                },
            ),
            "post": Verb(says="Create a session.", status=201, takes=SessionCreate, gives=SessionSummary),
        },
    ),
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
        path="/endpoints",
        handler=EndpointsHandler,
        verbs={
            "get": Verb(says="Endpoints, and what the last look around loopback found.", gives=EndpointList),
            "post": Verb(says="Save an endpoint and probe it.", status=201, takes=EndpointCreate, gives=EndpointInfo),
        },
    ),
    Route(
        path="/endpoints/discover",
        handler=DiscoverHandler,
        verbs={"post": Verb(says="Look for model servers at their usual ports on loopback.", gives=EndpointList)},
    ),
    Route(
        path="/endpoints/{name}",
        handler=EndpointHandler,
        verbs={"delete": Verb(says="Remove an endpoint that the user added.", status=204)},
    ),
    Route(
        path="/endpoints/{name}/probe",
        handler=ProbeHandler,
        verbs={"post": Verb(says="Find out what an endpoint can do.", gives=EndpointInfo)},
    ),
    Route(
        path="/endpoints/{name}/default",
        handler=DefaultHandler,
        verbs={"post": Verb(says="Use this endpoint for sessions that name none.", gives=EndpointInfo)},
    ),
    Route(
        path="/tour",
        handler=TourHandler,
        verbs={"post": Verb(says="Begin the recorded tour in a folder of its own.", status=201, gives=SessionSummary)},
    ),
    Route(
        path="/local",
        handler=LocalHandler,
        verbs={
            "get": Verb(says="GGUF files that could be served, and the one that is.", gives=LocalStatus),
            "post": Verb(says="Begin to serve a file.", status=202, takes=LocalStart, gives=LocalModel),
            "delete": Verb(says="Stop serving.", status=204),
        },
    ),
    Route(
        path="/doctor",
        handler=DoctorHandler,
        verbs={"get": Verb(says="What is in order and what is not.", gives=list[Finding])},
    ),
    Route(
        path="/config",
        handler=ConfigHandler,
        verbs={
            "get": Verb(
                says="Each setting as it holds, the layer that gave it, and where. Secrets are not shown.",
                gives=list[Setting],
            )
        },
    ),
    Route(
        path="/openapi.json",
        handler=OpenApiHandler,
        verbs={"get": Verb(says="This description, for programs.", gives=dict[str, Any])},
    ),
    Route(
        path="/docs",
        handler=DocsHandler,
        verbs={"get": Verb(says="This description, to read.", media="text/html")},
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
        path="/gpu/devices",
        handler=GpuDevicesHandler,
        verbs={"get": Verb(says="The NVIDIA GPUs of the server's machine as they are now.", gives=GpuDevices)},
    ),
    Route(
        path="/sql",
        handler=SqlHandler,
        verbs={
            "post": Verb(
                says="A reading query over the events and the views of them, in DuckDB's SQL.",
                takes=SqlQuery,
                gives=SqlResult,
            )
        },
    ),
    Route(
        path="/sessions/{session_id}/notebook",
        handler=SessionNotebookHandler,
        verbs={
            "post": Verb(
                says="Attach the session to a notebook: its code runs in the notebook's kernel.",
                takes=NotebookAttach,
                gives=SessionSummary,
            ),
            "delete": Verb(says="Detach it; code runs in a kernel of its own again.", gives=SessionSummary),
        },
    ),
    Route(
        path="/pages/{page_id}",
        handler=PageHandler,
        verbs={
            "put": Verb(
                says="For a browser page: the notebooks that it has open. Sent when that changes, and every 10 seconds.",
                status=204,
                takes=PageState,
            ),
            "delete": Verb(says="The page is closed.", status=204),
        },
    ),
    Route(
        path="/pages/{page_id}/close",
        handler=PageCloseHandler,
        verbs={"post": Verb(says="The page is closed, said by a beacon.", status=204)},
    ),
    Route(
        path="/pages/{page_id}/answers",
        handler=PageAnswersHandler,
        verbs={
            "post": Verb(
                says="What became of a request to the page. 409: it came too late, and what was done must be taken back.",
                status=204,
                takes=PageAnswer,
            )
        },
    ),
    Route(
        path="/notebooks/changes",
        handler=CellChangesHandler,
        verbs={
            "get": Verb(
                says="Changes of the cells of a notebook that the user has not decided about.",
                gives=list[CellChangeView],
                query={"path": "the notebook, relative to the server's root"},
            )
        },
    ),
    Route(
        path="/notebooks/executions",
        handler=CellExecutionsHandler,
        verbs={
            "get": Verb(
                says="Cells of a notebook that run, or whose outputs do not stand in it yet.",
                gives=list[ExecutionView],
                query={"path": "the notebook, relative to the server's root"},
            )
        },
    ),
    Route(
        path="/changes/{change_id}",
        handler=ChangeHandler,
        verbs={"post": Verb(says="Keep or undo a change of a cell.", takes=ChangesDecide, gives=CellChangeView)},
    ),
    Route(
        path="/sessions/{session_id}/turns/{turn_id}/changes",
        handler=TurnChangesHandler,
        verbs={
            "post": Verb(
                says="Keep or undo all changes of cells of a turn, the newest first.",
                takes=ChangesDecide,
                gives=list[CellChangeView],
            )
        },
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


def routes() -> Iterator[tuple[str, type[RequestHandler]]]:
    for route in ROUTES:
        yield pattern(route.path), route.handler
