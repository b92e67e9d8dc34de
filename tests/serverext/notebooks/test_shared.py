"""Notebooks that are shared documents. These tests run where jupyter-collaboration is installed."""

import json
from pathlib import Path
from typing import Any

import pytest
from traitlets.config import Config

from jupyter_pernix.records import JSON

from ..conftest import Serve
from ..served import Served
from .agents import calls, delete, edit, insert, listed, move, read, results, run, scripted, turn
from .making import code, sources, words, write

pytest.importorskip("jupyter_server_ydoc", reason="jupyter-collaboration is not installed")

CELLS = [words("intro", "# A"), code("load", "x = 20"), code("show", "print(x + 1)")]
_ON = ("jupyter_pernix", "jupyter_server_ydoc", "jupyter_server_fileid")
_OFF = ("jupyter_lsp", "jupyter_server_terminals", "jupyterlab", "notebook_shim")


@pytest.fixture
def shared(tmp_path: Path) -> Config:
    """A server that shares its notebooks, and keeps what it needs for that in the test's folder."""
    return Config(
        {
            "ServerApp": {"jpserver_extensions": dict.fromkeys(_ON, True) | dict.fromkeys(_OFF, False)},
            "BaseFileIdManager": {"db_path": str(tmp_path / "file_ids.db")},
            "SQLiteYStore": {"db_path": str(tmp_path / "ystore.db")},
        }
    )


async def document(server: Served, path: str = "a.ipynb") -> Any:
    """As the server has it once a page has opened it."""
    (keeper,) = server.app.extension_manager.extension_apps["jupyter_server_ydoc"]
    return await keeper.get_document(path=path, content_type="notebook", file_format="json", copy=False, create=True)


def shown(document_: Any) -> dict[str, str]:
    return {cell["id"]: cell["source"] for cell in document_.get()["cells"]}


async def test_cells_are_changed_in_the_shared_document_and_undone_there(
    serve: Serve, root: Path, shared: Config
) -> None:
    write(root / "a.ipynb", *CELLS)
    script = scripted(
        [
            read(),
            edit("show", "print(x + 1)", "print(x + 2)"),
            insert("new", behind="intro"),
            move("load", "x = 20", behind="show"),
            delete("show", "print(x + 2)"),
        ]
    )
    async with serve(carry=script, config=shared) as server:
        open_ = await document(server)
        session = await server.new_session(notebook="a.ipynb", mode="auto")
        done = await turn(server, session)
        assert [change["owner"] for call in calls(done)[1:] for change in call["cells"]] == ["ydoc"] * 4
        assert list(shown(open_).values()) == ["# A", "new", "x = 20"]
        await server.post(f"/sessions/{session}/turns/{done['turn_id']}/changes", {"decision": "undo"}, status=200)
        assert shown(open_) == {"intro": "# A", "load": "x = 20", "show": "print(x + 1)"}


async def test_what_a_user_types_meanwhile_is_never_overwritten(serve: Serve, root: Path, shared: Config) -> None:
    write(root / "a.ipynb", *CELLS)
    async with serve(carry=scripted([edit("show", "print(x + 1)", "2")]), config=shared) as server:
        open_ = await document(server)
        source = open_.ycells[2]["source"]
        source += "  # mine"
        session = await server.new_session(notebook="a.ipynb", mode="auto")
        done = await turn(server, session)
        assert "it has changed since it was read" in results(done)[0]
        assert shown(open_)["show"] == "print(x + 1)  # mine"


async def test_outputs_of_cells_that_run_stand_in_the_shared_document(serve: Serve, root: Path, shared: Config) -> None:
    write(root / "a.ipynb", *CELLS)
    async with serve(carry=scripted([read(), run("load", "show")]), config=shared) as server:
        open_ = await document(server)
        session = await server.new_session(notebook="a.ipynb", mode="auto")
        done = await turn(server, session)
        assert results(done)[1] == "cell load: ok [1]\n(no output)\ncell show: ok [2]\n21"
        cell: JSON = open_.get()["cells"][2]
        assert (cell["execution_count"], cell["outputs"][0]["text"]) == (2, "21\n")
        assert open_.ycells[2]["execution_state"] == "idle"
        assert await listed(server, "executions") == []


async def test_a_notebook_that_nobody_has_open_is_its_file(serve: Serve, root: Path, shared: Config) -> None:
    write(root / "a.ipynb", *CELLS)
    write(root / "other.ipynb", *CELLS)
    async with serve(carry=scripted([edit("show", "print(x + 1)", "2")]), config=shared) as server:
        await document(server, "other.ipynb")
        session = await server.new_session(notebook="a.ipynb", mode="auto")
        done = await turn(server, session)
        assert calls(done)[0]["cells"][0]["owner"] == "file"
        assert sources(root / "a.ipynb")["show"] == "2"
        assert json.loads((root / "a.ipynb").read_text())["nbformat_minor"] == 5


async def test_where_sharing_is_turned_off_the_file_is_used(serve: Serve, root: Path, shared: Config) -> None:
    write(root / "a.ipynb", *CELLS)
    off = Config({"YDocExtension": {"disable_rtc": True}})
    off.merge(shared)
    async with serve(carry=scripted([edit("show", "print(x + 1)", "2")]), config=off) as server:
        await document(server)
        session = await server.new_session(notebook="a.ipynb", mode="auto")
        done = await turn(server, session)
        assert calls(done)[0]["cells"][0]["owner"] == "file"
