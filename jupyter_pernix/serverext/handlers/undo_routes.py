"""Routes of the files that a session has changed."""

from ...records import ChangedFile, FilesUndo, FileUndone
from ..routing import Route, Verb
from .undo import FilesHandler, UndoHandler

UNDO: tuple[Route, ...] = (
    Route(
        path="/sessions/{session_id}/files",
        handler=FilesHandler,
        verbs={
            "get": Verb(
                says="The files that the session has changed, by tools, commands and cells.",
                gives=list[ChangedFile],
                query={"diff": "1: with the differences from before to now", "path": "only this file, with its diff"},
            )
        },
    ),
    Route(
        path="/sessions/{session_id}/undo",
        handler=UndoHandler,
        verbs={
            "post": Verb(
                says="Put files back to what they were before the session, or before one of its turns; 409 while a turn runs.",
                takes=FilesUndo,
                gives=list[FileUndone],
            )
        },
    ),
)
