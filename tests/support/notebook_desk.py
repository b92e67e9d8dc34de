"""What the browser tests of open notebooks do again and again."""

from pathlib import Path
from typing import Any

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


def open_notebook(screen: Screen, root: Path, name: str, **sources: str) -> NotebookView:
    """A new notebook, open, with its kernel, and a session that is attached to it and shown in the panel."""
    write_notebook(root / name, **sources)
    view = NotebookView(screen.page, name)
    screen.command("docmanager:open", path=name)
    view.wait_kernel()
    screen.command("pernix:attach-notebook", path=name)
    expect(screen.panel.get_by_role("textbox", name="Message", exact=True)).to_be_visible()
    return view


def submit(lab: Lab, path: str, text: str = "Go on") -> str:
    """Send a message to the session of the notebook, beside any page; the id of the session."""
    client = lab.client()
    session = next(one for one in client.sessions() if one["notebook"] == path)
    client.request("POST", f"/sessions/{session['session_id']}/turns", {"text": text})
    return session["session_id"]


def edit(cell_id: str, before: str, after: str) -> dict[str, Any]:
    """The turn of a model that changes a code cell which it has read."""
    return call("edit_notebook", op="edit", cell_id=cell_id, base=base(before), source=after)
