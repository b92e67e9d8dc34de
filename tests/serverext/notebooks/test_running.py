"""Cells of attached notebooks run by real kernels."""

import json
from pathlib import Path
from typing import Any

import anyio

from jupyter_pernix.records import JSON

from ..conftest import Serve
from ..served import Served
from .agents import calls, edit, listed, read, results, run, scripted, turn
from .making import code, sources, words, write
from .scripted_page import ScriptedPage

CELLS = [words("intro", "# A"), code("load", "x = 20"), code("show", "print(x + 1)\nx + 2"), code("bad", "1 / 0")]
AUTO: JSON = {"mode": "auto"}


def outputs(path: Path, cell_id: str) -> list[JSON]:
    loaded: Any = json.loads(path.read_text(encoding="utf-8"))
    return next(cell["outputs"] for cell in loaded["cells"] if cell["id"] == cell_id)


async def test_cells_run_in_the_notebooks_kernel_and_their_outputs_stand_in_its_file(serve: Serve, root: Path) -> None:
    write(root / "a.ipynb", *CELLS)
    async with serve(carry=scripted([read(), run("load", "show", "bad", "load")])) as server:
        session = await server.new_session(notebook="a.ipynb", **AUTO)
        done = await turn(server, session)
        text = results(done)[1]
        assert text.startswith(
            "cell load: ok [1]\n(no output)\ncell show: ok [2]\n21\n22\ncell bad: error [3]: ZeroDivisionError"
        )
        assert text.endswith("Not run, because of that: load.")
        assert outputs(root / "a.ipynb", "show")[0] == {"name": "stdout", "output_type": "stream", "text": ["21\n"]}
        assert outputs(root / "a.ipynb", "bad")[0]["ename"] == "ZeroDivisionError"
        ran = calls(done)[1]
        executions = [*ran["earlier"], ran["execution"]]
        assert [(one["cell_id"], one["place"], one["mirrored"], one["trusted"]) for one in executions] == [
            ("load", "attached", True, True),
            ("show", "attached", True, True),
            ("bad", "attached", True, True),
        ]
        (kernel,) = server.app.kernel_manager.list_kernel_ids()
        (listed_,) = await server.app.session_manager.list_sessions()
        assert (listed_["path"], listed_["kernel"]["id"]) == ("a.ipynb", kernel)


async def test_a_page_is_told_when_a_cell_begins_and_what_its_outputs_are(serve: Serve, root: Path) -> None:
    write(root / "a.ipynb", *CELLS)
    async with serve(carry=scripted([read(), run("load", "show")])) as server:
        page = ScriptedPage(server=server, page_id="p", path="a.ipynb", cells=list(CELLS))
        async with page.open():
            session = await server.new_session(notebook="a.ipynb", **AUTO)
            await turn(server, session)
        begun = [request for request in page.asked if request.op == "run"]
        put = [request for request in page.asked if request.op == "outputs"]
        assert [request.cell_id for request in begun] == ["load", "show"]
        assert [request.execution_id for request in begun] == [request.execution_id for request in put]
        assert page.cells[2].outputs[0]["text"] == "21\n"
        assert page.cells[2].execution_count == 2
        assert outputs(root / "a.ipynb", "show") == []


async def test_a_page_that_is_reloaded_while_a_cell_runs_gets_its_outputs_afterwards(serve: Serve, root: Path) -> None:
    waiting = code(
        "wait",
        "import pathlib, time\nprint('begun')\nwhile not pathlib.Path('go').exists():\n    time.sleep(0.01)\nprint('done')",
    )
    write(root / "a.ipynb", waiting)
    async with serve(carry=scripted([read(), run("wait")])) as server:
        before = ScriptedPage(server=server, page_id="before", path="a.ipynb", cells=[waiting])
        session = await server.new_session(notebook="a.ipynb", **AUTO)
        async with before.open():
            await server.submit(session, "Run it")
            await server.wait(session, lambda event: event["type"] == "execution.output")
        await before.close()
        (running,) = await listed(server, "executions")
        assert (running["cell_id"], running["status"], running["outputs"][0]["text"].strip()) == ("wait", None, "begun")
        after = ScriptedPage(server=server, page_id="after", path="a.ipynb", cells=[waiting])
        async with after.open():
            (root / "go").touch()
            await server.wait_idle(session)
            assert [request.op for request in after.asked if request.op != "read"] == ["outputs"]
            assert after.cells[0].outputs[0]["text"] == "begun\ndone\n"
        assert await listed(server, "executions") == []


async def test_outputs_that_nobody_took_are_put_when_a_page_opens_the_notebook(
    serve: Serve, root: Path, quick: None
) -> None:
    write(root / "a.ipynb", *CELLS)
    async with serve(carry=scripted([read(), run("load")])) as server:

        def before(request: Any) -> None:
            page.silent = request.op == "outputs"

        page = ScriptedPage(server=server, page_id="p", path="a.ipynb", cells=list(CELLS), before=before)
        session = await server.new_session(notebook="a.ipynb", **AUTO)
        async with page.open():
            done = await turn(server, session)
            assert "Its outputs do not stand in the notebook" in results(done)[1]
            assert [one["cell_id"] for one in await listed(server, "executions")] == ["load"]
            await page.close()
        await server.wait(session, lambda event: event["type"] == "execution.mirrored")
        assert await listed(server, "executions") == []
        loaded: Any = json.loads((root / "a.ipynb").read_text())
        assert loaded["cells"][1]["execution_count"] == 1


async def test_outputs_that_are_owed_when_the_server_stops_are_put_by_the_next_one(
    serve: Serve, root: Path, quick: None
) -> None:
    write(root / "a.ipynb", *CELLS)
    async with serve(carry=scripted([read(), run("load", "show")])) as server:

        def before(request: Any) -> None:
            page.silent = request.op == "outputs"

        page = ScriptedPage(server=server, page_id="p", path="a.ipynb", cells=list(CELLS), before=before)
        session = await server.new_session(notebook="a.ipynb", **AUTO)
        async with page.open():
            await turn(server, session)
    async with serve() as server:
        again = ScriptedPage(server=server, page_id="p2", path="a.ipynb", cells=page.cells)
        async with again.open():
            await again.until_asked(4)
            with anyio.fail_after(20):
                while await listed(server, "executions"):
                    await anyio.lowlevel.checkpoint()
        assert [request.cell_id for request in again.asked if request.op == "outputs"] == ["load", "show"]
        assert again.cells[2].outputs[0]["text"] == "21\n"


async def test_what_a_thread_prints_later_reaches_the_file(serve: Serve, root: Path) -> None:
    late = code(
        "late",
        "import pathlib, threading, time\ndef work():\n    while not pathlib.Path('go').exists():\n        time.sleep(0.01)\n"
        "    print('late')\nthreading.Thread(target=work).start()\nprint('now')",
    )
    write(root / "a.ipynb", late)
    async with serve(carry=scripted([read(), run("late")])) as server:
        session = await server.new_session(notebook="a.ipynb", **AUTO)
        await turn(server, session)
        assert outputs(root / "a.ipynb", "late")[0]["text"] == ["now\n"]
        saved = anyio.Event()
        server.app.contents_manager.register_post_save_hook(lambda **_: saved.set())
        (root / "go").touch()
        with anyio.fail_after(20):
            await saved.wait()
        assert outputs(root / "a.ipynb", "late")[0]["text"] == ["now\n", "late\n"]


async def test_after_an_undo_the_old_outputs_stand_there_and_what_ran_is_said_to_stay(serve: Serve, root: Path) -> None:
    shown: JSON = {"output_type": "stream", "name": "stdout", "text": "old\n"}
    write(root / "a.ipynb", code("one", "print('old')", shown, count=7))
    script = scripted([edit("one", "print('old')", "y = 1"), run("one")])
    async with serve(carry=script) as server:
        session = await server.new_session(notebook="a.ipynb", **AUTO)
        done = await turn(server, session)
        assert results(done)[1] == "cell one: ok [1]\n(no output)"
        assert outputs(root / "a.ipynb", "one") == []
        (change,) = await listed(server, "changes")
        undone = await server.post(f"/changes/{change['change']['change_id']}", {"decision": "undo"}, status=200)
        assert (
            undone["detail"]
            == "What ran in the kernel is not undone: its variables and files stay as the code left them."
        )
        assert sources(root / "a.ipynb") == {"one": "print('old')"}
        assert outputs(root / "a.ipynb", "one") == [{**shown, "text": ["old\n"]}]


async def test_outputs_of_the_agents_own_code_are_not_trusted(serve: Serve, root: Path) -> None:
    html = "from IPython.display import HTML\nHTML('<b>{}</b>')"
    write(root / "a.ipynb", code("mine", html.format("mine")), code("other", "1"))
    script = scripted([read(), run("mine")], [edit("other", "1", html.format("its"))], [run("other")])
    async with serve(carry=script) as server:
        session = await server.new_session(notebook="a.ipynb", **AUTO)
        await turn(server, session)
        assert await _trusted(server) == {"mine": True, "other": True}
        await turn(server, session)
        assert await _trusted(server) == {"mine": True, "other": True}
        ran = calls(await turn(server, session))[0]["execution"]
        assert ran["trusted"] is False
        assert await _trusted(server) == {"mine": False, "other": False}


async def _trusted(server: Served) -> dict[str, bool]:
    """Whether a page that opens the notebook now shows the cells' outputs as they are: nbformat signs all of them, or none."""
    model = await server.app.contents_manager.get("a.ipynb", type="notebook")
    return {cell["id"]: cell["metadata"]["trusted"] for cell in model["content"]["cells"]}
