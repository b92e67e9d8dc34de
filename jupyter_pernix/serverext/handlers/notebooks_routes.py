"""Routes of open notebooks: attached sessions, pages, changes of cells."""

from ...records import (
    CellChangeView,
    ChangesDecide,
    ExecutionView,
    NotebookAttach,
    PageAnswer,
    PageState,
    SessionSummary,
)
from ..routing import Route, Verb
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

NOTEBOOKS: tuple[Route, ...] = (
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
)
