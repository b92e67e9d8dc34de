"""Notebooks that an agent creates by inserting a cell where there is none."""

import json
from pathlib import Path
from typing import Any

import nbformat

from jupyter_pernix.records import JSON

from ..conftest import Serve
from .agents import insert, listed, read, results, scripted, turn
from .making import code, sources, write

AUTO: JSON = {"mode": "auto"}


async def test_a_new_notebook_is_valid_and_its_undo_takes_the_cell_alone(serve: Serve, root: Path) -> None:
    path = root / "sub" / "deep" / "new.ipynb"
    (root / "sub").mkdir()
    script = scripted([insert("x = 1", path="deep/new.ipynb"), insert("# A", path="deep/new.ipynb", behind="top")])
    async with serve(carry=script) as server:
        session = await server.new_session(space_root="sub", **AUTO)
        first, second = results(await turn(server, session))
        assert first.startswith("Created the notebook deep/new.ipynb. Inserted the code cell")
        assert second.startswith("Inserted the code cell")
        assert list(sources(path).values()) == ["# A", "x = 1"]
        book: Any = json.loads(path.read_text())
        nbformat.validate(book)
        assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
        assert book["metadata"]["kernelspec"] == {
            "name": "python3",
            "display_name": "Python 3 (ipykernel)",
            "language": "python",
        }
        for change in reversed(await listed(server, "changes", "sub/deep/new.ipynb")):
            await server.post(f"/changes/{change['change']['change_id']}", {"decision": "undo"}, status=200)
        assert sources(path) == {}
        assert path.is_file()


async def test_nothing_is_created_outside_or_where_only_the_owner_writes_or_in_a_mode_that_only_reads(
    serve: Serve, root: Path
) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "dir.ipynb").mkdir()
    paths = ("../out.ipynb", ".git/in.ipynb", "dir.ipynb", "text.txt")
    script = scripted([insert("1", path=path) for path in paths], [insert("1", path="a.ipynb")])
    async with serve(carry=script) as server:
        session = await server.new_session(space_root="sub", **AUTO)
        texts = results(await turn(server, session, can_ask=False))
        assert all(text.startswith("Not done") for text in texts), texts
        await server.http.patch(f"/sessions/{session}", json={"mode": "plan"})
        await turn(server, session)
    made = {one.relative_to(root).parts[:2] for one in _all(root)} - {("sub", "pernix-runs")}
    assert made == {("sub",), ("sub", "dir.ipynb")}


async def test_a_mention_names_a_notebook_from_the_servers_root_as_a_page_does(serve: Serve, root: Path) -> None:
    (root / "sub").mkdir()
    write(root / "sub" / "a.ipynb", code("one", "inner = 1"))
    async with serve(carry=scripted([read(path="a.ipynb")])) as server:
        session = await server.new_session(space_root="sub", **AUTO)
        mention = {"kind": "cell", "name": "one", "path": "sub/a.ipynb"}
        await server.submit(session, "Explain it", mentions=[mention])
        await server.wait_idle(session)
        (done,) = (await server.get(f"/sessions/{session}"))["turns"]
        (told,) = [item["text"] for item in done["context"] if item["kind"] == "cell"]
        assert told.startswith("(The user's message is about the code cell one of a.ipynb:)\ninner = 1")


def _all(root: Path) -> list[Path]:
    return list(root.rglob("*"))
