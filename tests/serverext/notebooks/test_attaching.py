"""Sessions attached to notebooks, with a real server and real kernels: whatever becomes of the notebook and its kernel meanwhile."""

from pathlib import Path
from typing import Any

import anyio

from jupyter_pernix.agent.testing import Says, call
from jupyter_pernix.events import KernelRestarted
from jupyter_pernix.records import JSON

from ..conftest import Serve
from ..served import Served
from .agents import calls, edit, read, results, run, scripted, turn
from .making import code, sources, words, write

CELLS = [words("intro", "# A"), code("load", "x = 20"), code("show", "x + 1")]


def run_code(source: str) -> Says:
    return Says(calls=(call("run_code", code=source),))


async def opened(server: Served, path: str = "a.ipynb") -> JSON:
    """As a page does when it opens a notebook: a Jupyter session, with a kernel."""
    return await server.app.session_manager.create_session(
        path=path, name=path.rsplit("/", 1)[-1], type="notebook", kernel_name="python3"
    )


async def attached(server: Served, session: str) -> JSON:
    return (await server.get(f"/sessions/{session}"))["notebook"]


def notices(turn_: JSON) -> list[str]:
    return [item["text"] for item in turn_["items"] if item["type"] == "notice" and item["kind"] == "kernel"]


async def test_a_session_is_attached_to_the_kernel_that_the_notebook_has_and_leaves_it_running(
    serve: Serve, root: Path
) -> None:
    write(root / "a.ipynb", *CELLS)
    async with serve(carry=scripted([run_code("x = 5")], [run_code("x")])) as server:
        made = await opened(server)
        session = await server.new_session(mode="auto")
        summary = await server.post(f"/sessions/{session}/notebook", {"path": "a.ipynb"}, status=200)
        assert summary["notebook"] == "a.ipynb"
        assert await attached(server, session) == {
            "path": "a.ipynb",
            "kernel_id": made["kernel"]["id"],
            "kernel_name": "python3",
        }
        assert calls(await turn(server, session))[0]["execution"]["place"] == "attached"
        response = await server.http.delete(f"/sessions/{session}/notebook")
        assert response.json()["notebook"] == ""
        done = await turn(server, session)
        assert calls(done)[0]["execution"]["place"] == "own"
        assert "NameError" in results(done)[0]
        assert made["kernel"]["id"] in server.app.kernel_manager.list_kernel_ids()


async def test_without_a_kernel_one_is_started_that_a_page_finds(serve: Serve, root: Path) -> None:
    (root / "sub").mkdir()
    write(root / "sub" / "a.ipynb", *CELLS)
    async with serve(carry=scripted([run_code("import os; os.getcwd()")])) as server:
        session = await server.new_session(notebook="sub/a.ipynb", mode="auto")
        found = await server.app.session_manager.get_session(path="sub/a.ipynb")
        assert found["kernel"]["id"] == (await attached(server, session))["kernel_id"]
        assert str(root / "sub") in results(await turn(server, session))[0]


async def test_a_renamed_notebook_is_followed(serve: Serve, root: Path) -> None:
    write(root / "a.ipynb", *CELLS)
    script = scripted([read(), edit("show", "x + 1", "x + 2")], [read(), run("load", "show")])
    async with serve(carry=script) as server:
        made = await opened(server)
        session = await server.new_session(notebook="a.ipynb", mode="auto")
        await turn(server, session)
        app: Any = server.app
        await app.contents_manager.rename("a.ipynb", "b.ipynb")
        await app.session_manager.update_session(made["id"], path="b.ipynb", name="b.ipynb")
        done = await turn(server, session)
        assert results(done)[1] == "cell load: ok [1]\n(no output)\ncell show: ok [2]\n22"
        assert await attached(server, session) == {
            "path": "b.ipynb",
            "kernel_id": made["kernel"]["id"],
            "kernel_name": "python3",
        }
        assert notices(done) == []
        response = await server.http.get("/notebooks/changes", params={"path": "b.ipynb"})
        (change,) = response.json()
        assert change["change"]["path"] == "a.ipynb"
        await server.post(f"/changes/{change['change']['change_id']}", {"decision": "undo"}, status=200)
        assert sources(root / "b.ipynb")["show"] == "x + 1"
        assert not (root / "a.ipynb").exists()


async def test_changes_are_found_and_undone_at_once_after_a_rename(serve: Serve, root: Path) -> None:
    write(root / "a.ipynb", *CELLS)
    async with serve(carry=scripted([read(), edit("show", "x + 1", "x + 2")])) as server:
        made = await opened(server)
        session = await server.new_session(notebook="a.ipynb", mode="auto")
        await turn(server, session)
        app: Any = server.app
        await app.contents_manager.rename("a.ipynb", "b.ipynb")
        await app.session_manager.update_session(made["id"], path="b.ipynb", name="b.ipynb")
        (change,) = (await server.http.get("/notebooks/changes", params={"path": "b.ipynb"})).json()
        await app.contents_manager.rename("b.ipynb", "c.ipynb")
        await app.session_manager.update_session(made["id"], path="c.ipynb", name="c.ipynb")
        await server.post(f"/changes/{change['change']['change_id']}", {"decision": "undo"}, status=200)
        assert sources(root / "c.ipynb")["show"] == "x + 1"


async def test_another_kernel_of_the_notebook_is_used_and_told(serve: Serve, root: Path) -> None:
    write(root / "a.ipynb", *CELLS)
    script = scripted([read(), run("load")], [run("show")])
    async with serve(carry=script) as server:
        made = await opened(server)
        session = await server.new_session(notebook="a.ipynb", mode="auto")
        await turn(server, session)
        other = await server.app.kernel_manager.start_kernel(kernel_name="python3")
        await server.app.session_manager.update_session(made["id"], kernel_id=other)
        await server.app.kernel_manager.shutdown_kernel(made["kernel"]["id"])
        done = await turn(server, session)
        assert "NameError" in results(done)[0]
        assert (await attached(server, session))["kernel_id"] == other
        assert notices(done) == [
            "The notebook has another kernel now (python3): the variables of the one before are not there."
        ]


async def test_a_notebook_that_was_closed_with_its_kernel_gets_a_new_one_and_that_is_told(
    serve: Serve, root: Path
) -> None:
    write(root / "a.ipynb", *CELLS)
    async with serve(carry=scripted([read(), run("load")], [run("show")])) as server:
        made = await opened(server)
        session = await server.new_session(notebook="a.ipynb", mode="auto")
        await turn(server, session)
        await server.app.session_manager.delete_session(made["id"])
        await anyio.sleep(2.5)  # what watches the kernel has looked since; that it says nothing has no event
        done = await turn(server, session)
        assert "NameError" in results(done)[0]
        assert notices(done) == [
            "The notebook's kernel had been shut down; a new one was started (python3): all variables are gone."
        ]
        told = [stored.event for stored in await server.log(session) if isinstance(stored.event, KernelRestarted)]
        assert len(told) == 1, told


async def test_a_deleted_notebook_is_refused(serve: Serve, root: Path) -> None:
    write(root / "a.ipynb", *CELLS)
    async with serve(carry=scripted([read(), run("load"), run_code("1")])) as server:
        made = await opened(server)
        session = await server.new_session(notebook="a.ipynb", mode="auto")
        await server.app.session_manager.delete_session(made["id"])
        (root / "a.ipynb").unlink()
        first, second, third = results(await turn(server, session))
        assert "there is no notebook 'a.ipynb'; it may have been renamed or deleted" in first
        assert "there is no notebook 'a.ipynb'" in second
        assert third.startswith("Not run: the notebook 'a.ipynb' is gone, and so is its kernel")
        assert list(server.app.kernel_manager.list_kernel_ids()) == []


async def test_an_archived_session_is_detached_and_one_in_a_cell_is_never_attached(serve: Serve, root: Path) -> None:
    write(root / "a.ipynb", *CELLS)
    async with serve() as server:
        session = await server.new_session(notebook="a.ipynb")
        response = await server.http.patch(f"/sessions/{session}", json={"archived": True})
        assert response.json()["notebook"] == ""
        response = await server.http.post(f"/sessions/{session}/notebook", json={"path": "a.ipynb"})
        assert response.status_code == 409
        cell = await server.new_session(place="in_cell")
        response = await server.http.post(f"/sessions/{cell}/notebook", json={"path": "a.ipynb"})
        assert response.status_code == 409
        response = await server.http.post("/sessions", json={"place": "in_cell", "notebook": "a.ipynb"})
        assert response.status_code == 409


async def test_a_notebook_of_a_kernelspec_that_is_not_installed_is_refused_with_those_that_are(
    serve: Serve, root: Path
) -> None:
    write(root / "a.ipynb", *CELLS, kernel="fortran")
    async with serve() as server:
        session = await server.new_session()
        response = await server.http.post(f"/sessions/{session}/notebook", json={"path": "a.ipynb"})
        assert response.status_code == 400
        assert response.json()["message"].startswith("there is no kernelspec 'fortran'; installed: ")
        before = len(await server.get("/sessions"))
        for notebook in ("a.ipynb", "missing.ipynb"):
            assert (await server.http.post("/sessions", json={"notebook": notebook})).status_code == 400
        assert len(await server.get("/sessions")) == before
        summary = await server.post(
            f"/sessions/{session}/notebook", {"path": "a.ipynb", "kernel_name": "python3"}, status=200
        )
        assert summary["notebook"] == "a.ipynb"


async def test_a_notebook_outside_of_the_sessions_folder_is_refused(serve: Serve, root: Path) -> None:
    (root / "sub").mkdir()
    write(root / "a.ipynb", *CELLS)
    (root / "sub" / "link.ipynb").symlink_to(root / "a.ipynb")
    async with serve(carry=scripted([read(path="../a.ipynb"), read(path="link.ipynb")])) as server:
        session = await server.new_session(space_root="sub", mode="auto")
        for path in ("a.ipynb", "sub/link.ipynb"):
            response = await server.http.post(f"/sessions/{session}/notebook", json={"path": path})
            assert (response.status_code, response.json()["place"]) == (400, "$.path")
        assert all("is not in the session's folder" in text for text in results(await turn(server, session)))
