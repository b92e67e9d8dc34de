"""What the browser tests of open notebooks do again and again."""

from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import expect

from .browser import Screen
from .lab import Lab
from .model_server import ModelServer
from .notebook_view import NotebookView, base, write_notebook


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


def say(text: str) -> dict[str, Any]:
    return {"text": text}


def script(model: ModelServer, *turns: dict[str, Any]) -> None:
    """What the model does next, from its next answer on."""
    model.ctl("reset", {})
    model.ctl("script", {"turns": list(turns), "advance": "counter", "on_end": "last"})


def open_notebook(
    screen: Screen, root: Path, name: str, book: nbformat.NotebookNode | None = None, **sources: str
) -> NotebookView:
    """A new notebook, open, with its kernel, and a session that is attached to it and shown in the panel.

    ``book``: instead of one with code cells of these sources.
    """
    if book is None:
        write_notebook(root / name, **sources)
    else:
        nbformat.write(book, root / name)
    view = NotebookView(screen.page, name)
    screen.command("docmanager:open", path=name)
    view.wait_kernel()
    screen.command("pernix:attach-notebook", path=name)
    expect(screen.panel.get_by_role("textbox", name="Message", exact=True)).to_be_visible()
    return view


def session_at(lab: Lab, path: str) -> str:
    """The session that is attached to the notebook."""
    return next(one["session_id"] for one in lab.client().sessions() if one["notebook"] == path)


def submit(lab: Lab, path: str, text: str = "Go on") -> None:
    """Send a message to the session of the notebook, beside any page."""
    lab.client().request("POST", f"/sessions/{session_at(lab, path)}/turns", {"text": text})


def turns_at(lab: Lab, path: str) -> list[dict[str, Any]]:
    """The turns of the notebook's session, as the server folds them."""
    return lab.client().request("GET", f"/sessions/{session_at(lab, path)}")["turns"]


def edit(cell_id: str, before: str, after: str) -> dict[str, Any]:
    """The turn of a model that changes a code cell which it has read."""
    return call("edit_notebook", op="edit", cell_id=cell_id, base=base(before), source=after)
