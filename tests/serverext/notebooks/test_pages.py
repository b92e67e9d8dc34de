"""Notebooks that pages have open: the right page, the right cell, or a refusal."""

from pathlib import Path
from typing import Any

import anyio

from jupyter_pernix.cells import digest_of
from jupyter_pernix.events import PageRequest

from ..conftest import Serve
from ..served import Served
from .agents import calls, edit, insert, listed, read, results, scripted, turn
from .making import code, sources, words, write
from .scripted_page import ScriptedPage

CELLS = [words("intro", "# A"), code("load", "x = 1"), code("plot", "x + 1")]


def page_of(server: Served, **fields: Any) -> ScriptedPage:
    return ScriptedPage(server=server, **{"page_id": "page1", "path": "a.ipynb", "cells": list(CELLS), **fields})


async def test_an_open_page_is_asked_and_the_file_left_alone(serve: Serve, root: Path) -> None:
    write(root / "a.ipynb", *CELLS)
    script = scripted([read(path="a.ipynb"), edit("plot", "x + 1", "x + 2", path="a.ipynb")])
    async with serve(carry=script) as server, page_of(server).open() as page:
        session = await server.new_session()
        done = await turn(server, session)
        assert [request.op for request in page.asked] == ["read", "read", "change"]
        assert page.cells[2].source == "x + 2"
        assert sources(root / "a.ipynb")["plot"] == "x + 1"
        (change,) = calls(done)[1]["cells"]
        assert (change["status"], change["owner"]) == ("made", "page")
        assert results(done)[0].startswith("a.ipynb: 3 cells, python, open in a browser page.")


async def test_of_two_pages_the_visible_one_is_asked_and_then_the_one_that_was_used_last(
    serve: Serve, root: Path
) -> None:
    write(root / "a.ipynb", *CELLS)
    script = scripted([edit("plot", "x + 1", "2", path="a.ipynb")], [edit("plot", "2", "3", path="a.ipynb")])
    async with serve(carry=script) as server:
        one = page_of(server, visible=False, used_at=10.0)
        two = page_of(server, page_id="page2", visible=True, used_at=1.0)
        async with one.open(), two.open():
            session = await server.new_session()
            await turn(server, session)
            assert ([each.op for each in one.asked], two.cells[2].source) == ([], "2")
            one.cells = list(two.cells)
            two.visible = False
            await two.tell()
            await turn(server, session)
            assert one.cells[2].source == "3"


async def test_a_page_that_is_silent_is_not_passed_over(serve: Serve, root: Path, quick: None) -> None:
    write(root / "a.ipynb", *CELLS)
    script = scripted([edit("plot", "x + 1", "2", path="a.ipynb")])
    async with serve(carry=script) as server:

        def before(request: PageRequest) -> None:
            page.silent = request.op == "change"

        page = page_of(server, dirty=True, before=before)
        async with page.open():
            session = await server.new_session()
            done = await turn(server, session)
            assert "did not answer within 1.5 s; nothing was changed" in results(done)[0]
            assert sources(root / "a.ipynb")["plot"] == "x + 1"
            (change,) = calls(done)[0]["cells"]
            assert change["status"] == "refused"


async def test_an_answer_that_comes_too_late_is_refused_and_the_page_takes_its_change_back(
    serve: Serve, root: Path, quick: None
) -> None:
    write(root / "a.ipynb", *CELLS)
    script = scripted([edit("plot", "x + 1", "2", path="a.ipynb")])
    async with serve(carry=script) as server:
        go_on = anyio.Event()

        def before(request: PageRequest) -> Any:
            return go_on.wait() if request.op == "change" else None

        page = page_of(server, before=before)
        async with page.open():
            session = await server.new_session()
            done = await turn(server, session)
            assert "did not answer" in results(done)[0]
            go_on.set()
            with anyio.fail_after(10):
                while not page.refused_answers:
                    await anyio.lowlevel.checkpoint()
            assert page.cells[2].source == "x + 1"


async def test_a_page_that_is_closed_while_it_is_asked_leaves_it_to_the_file(serve: Serve, root: Path) -> None:
    write(root / "a.ipynb", *CELLS)
    script = scripted([edit("plot", "x + 1", "2", path="a.ipynb")])
    async with serve(carry=script) as server:

        def before(request: PageRequest) -> Any:
            if request.op != "change":
                return None
            page.silent = True
            return page.close()

        page = page_of(server, before=before)
        async with page.open():
            session = await server.new_session()
            done = await turn(server, session)
            (change,) = calls(done)[0]["cells"]
            assert (change["status"], change["owner"]) == ("made", "file")
            assert sources(root / "a.ipynb")["plot"] == "2"


async def test_a_cell_that_the_user_edits_in_the_page_meanwhile_is_never_touched(serve: Serve, root: Path) -> None:
    write(root / "a.ipynb", *CELLS)
    script = scripted([edit("plot", "x + 1", "2", path="a.ipynb")])
    async with serve(carry=script) as server:

        def before(request: PageRequest) -> None:
            if request.op == "change":
                page.cells = [code("plot", "by hand"), *page.cells[:2]]

        page = page_of(server, before=before)
        async with page.open():
            session = await server.new_session()
            done = await turn(server, session)
            assert results(done)[0].startswith("Not done: the cell 'plot' was changed meanwhile.")
            assert [cell.source for cell in page.cells] == ["by hand", "# A", "x = 1"]


async def test_what_a_page_has_open_by_a_link_is_the_same_notebook(serve: Serve, root: Path) -> None:
    (root / "real").mkdir()
    write(root / "real" / "a.ipynb", *CELLS)
    (root / "link").symlink_to(root / "real")
    script = scripted([edit("plot", "x + 1", "2", path="real/a.ipynb")])
    async with serve(carry=script) as server, page_of(server, path="link/a.ipynb").open() as page:
        session = await server.new_session()
        await turn(server, session)
        assert page.cells[2].source == "2"


async def test_a_change_can_be_undone_and_kept_by_cell_and_by_turn(serve: Serve, root: Path) -> None:
    write(root / "a.ipynb", *CELLS)
    script = scripted(
        [
            edit("plot", "x + 1", "2", path="a.ipynb"),
            edit("plot", "2", "3", path="a.ipynb"),
            insert("new", behind="load", path="a.ipynb"),
        ]
    )
    async with serve(carry=script) as server, page_of(server).open() as page:
        session = await server.new_session()
        done = await turn(server, session)
        open_ = await listed(server, "changes")
        assert [(one["change"]["op"], one["status"]) for one in open_] == [
            ("edit", "made"),
            ("edit", "made"),
            ("insert", "made"),
        ]
        first = open_[0]["change"]["change_id"]
        response = await server.http.post(f"/changes/{first}", json={"decision": "undo"})
        assert response.status_code == 409
        assert "not as the agent left it" in response.json()["message"]
        undone = await server.post(
            f"/sessions/{session}/turns/{done['turn_id']}/changes", {"decision": "undo"}, status=200
        )
        assert [one["status"] for one in undone] == ["undone"] * 3
        assert [digest_of(cell) for cell in page.cells] == [digest_of(cell) for cell in CELLS]
        assert await listed(server, "changes") == []
        again = await server.post(f"/changes/{first}", {"decision": "undo"}, status=200)
        assert again["status"] == "undone"
        refused = await server.http.post(f"/changes/{first}", json={"decision": "keep"})
        assert (refused.status_code, refused.json()["message"]) == (409, "this change was undone already")


async def test_bad_bodies_and_unknown_ids_are_refused(serve: Serve, root: Path) -> None:
    async with serve() as server:
        assert (await server.http.put("/pages/p", json={"page_id": "q", "notebooks": []})).status_code == 400
        assert (await server.http.put("/pages/p", json={"notebooks": []})).status_code == 400
        assert (await server.http.post("/pages/p/answers", json={"request_id": "req_1"})).status_code == 409
        assert (await server.http.post("/pages/p/answers", json={"request_id": "chg_1"})).status_code == 409
        assert (await server.http.delete("/pages/p")).status_code == 204
        assert (await server.http.post("/changes/chg_1", json={"decision": "undo"})).status_code == 404
        assert (await server.http.post("/changes/chg_1", json={"decision": "burn"})).status_code == 400
        assert (await server.http.get("/notebooks/changes")).status_code == 400
        session = await server.new_session()
        for path in ("../a.ipynb", "a.txt", "missing.ipynb", "a\0.ipynb", ""):
            response = await server.http.post(f"/sessions/{session}/notebook", json={"path": path})
            assert response.status_code == 400, (path, response.text)
        assert (await server.http.delete(f"/sessions/{session}/notebook")).status_code == 409
