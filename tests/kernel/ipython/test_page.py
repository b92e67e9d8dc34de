"""The page about the magics: its examples run, and what it lists is what there is."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from support.lab import Lab, copy_examples
from support.model_server import ModelServer

from jupyter_pernix.headless import WITHOUT_PAGES
from jupyter_pernix.kernel.ipython.answer import Answer
from jupyter_pernix.kernel.ipython.completion import TABLES
from jupyter_pernix.kernel.ipython.options import LIMITS, OPTIONS
from jupyter_pernix.kernel.ipython.words import WORDS
from jupyter_pernix.serverext.store.sql import ROWS, SECONDS
from jupyter_pernix.serverext.store.sql_views import NAMES

PAGE = (Path(__file__).parents[3] / "docs" / "magics.md").read_text(encoding="utf-8")


def cells(name: str) -> list[str]:
    """The blocks of Python from a mark to the next text."""
    start = PAGE.index(f"<!-- test: {name} -->") + len(f"<!-- test: {name} -->")
    run = re.match(r"(?:\s*```python\n.*?```)+", PAGE[start:], re.DOTALL)
    assert run is not None
    return re.findall(r"```python\n(.*?)```", run.group(), re.DOTALL)


def test_each_view_each_field_and_each_option_is_on_the_page():
    assert (
        re.findall(r"^\| `(\w+)` \| (?:an?) ", PAGE.split("| view |")[1], re.MULTILINE) == list(NAMES) == list(TABLES)
    )
    assert all(f"`{field}`" in PAGE for field in (*Answer.__dataclass_fields__, "calls") if field != "call_list")
    assert all(option in PAGE for option in OPTIONS if option != "--endpoint")
    assert all(f"{limit}=" in PAGE for limit in LIMITS)
    assert f"for {SECONDS:g} seconds and {ROWS:,} rows" in PAGE


def test_each_word_is_on_the_page():
    said = set(re.findall(r"%pernix (\w+)", PAGE))
    assert said >= set(WORDS) - {"detach", "help"}
    assert said <= set(WORDS)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    root = copy_examples(tmp_path_factory.mktemp("work") / "examples")
    code = "total = round(float(prices[column].sum()), 2)\ntotal"
    turns: list[dict[str, Any]] = [
        {"text": "I add them up.", "tool_calls": [{"name": "run_code", "arguments": {"code": code}}]},
        {"text": "It is all in `total`."},
    ]
    with ModelServer(program="builtin:echo") as model:
        model.ctl("script", {"turns": turns, "advance": "assistant_messages", "on_end": "last"})
        with Lab(home=tmp_path_factory.mktemp("home"), root=root, endpoint=model.url, arguments=WITHOUT_PAGES) as lab:
            yield lab


@pytest.mark.server
@pytest.mark.kernel
def test_the_examples_run(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    for name, value in lab.environ.items():
        monkeypatch.setenv(name, value)
    broken, fix = cells("fix")
    sources = [*cells("ask"), *cells("sql"), *cells("steer"), broken, fix]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    book.cells[-2].metadata["tags"] = ["raises-exception"]
    nbclient.NotebookClient(book, timeout=90, resources={"metadata": {"path": str(lab.root)}}).execute()
    shown = {cell.source: cell.outputs for cell in book.cells}
    answer = shown[cells("ask")[-1]][0]["data"]["text/plain"]
    assert "It is all in `total`." in answer and "prices[column].sum()" in answer
    assert "run_code" in shown[cells("sql")[0]][0]["data"]["text/plain"]
    assert "scripted-1" in shown[cells("sql")[1]][0]["data"]["text/plain"]
    assert "the session works in the mode plan" in shown[cells("steer")[1]][0]["text"]
    assert "not undone: what 1 piece of code did" in shown[cells("steer")[-1]][0]["text"]
    assert "valeus" in lab.client().session(lab.client().sessions()[0]["session_id"])["turns"][-1]["text"]


@pytest.mark.server
@pytest.mark.kernel
def test_the_example_reads_the_log(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    for name, value in lab.environ.items():
        monkeypatch.setenv(name, value)
    book = nbformat.read(lab.root / "history.ipynb", as_version=nbformat.NO_CONVERT)
    nbformat.validate(book)
    assert [(cell.outputs, cell.execution_count) for cell in book.cells if cell.cell_type == "code"] == [([], None)] * 5
    nbclient.NotebookClient(book, timeout=90, resources={"metadata": {"path": str(lab.root)}}).execute()
    assert all("<table" in book.cells[at].outputs[0]["data"]["text/html"] for at in (2, 4, 6))
    assert book.cells[8].outputs[0]["data"]["text/plain"].isdigit()
