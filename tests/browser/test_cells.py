"""``%%pernix`` in a notebook of a real JupyterLab: what stands under the cell, and that nothing in it comes alive."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Locator, expect
from support.browser import Screen
from support.jobs import hostile_payloads
from support.lab import Lab
from support.model_server import ModelServer

KERNEL_READY = """name => { const found = [...window.jupyterapp.shell.widgets('main')].find(widget => widget.title.label === name);
  const context = found?.context?.sessionContext; const kernel = context?.session?.kernel;
  return !!kernel && kernel.connectionStatus === 'connected' && kernel.status === 'idle'; }"""


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(program="builtin:echo") as server:
        yield server


@pytest.fixture(scope="module")
def endpoint(model: ModelServer) -> str:
    return model.url


def script(model: ModelServer, *turns: dict[str, Any]) -> None:
    model.ctl("script", {"turns": list(turns), "advance": "assistant_messages", "on_end": "last"})


def code(text: str, say: str) -> dict[str, Any]:
    return {"text": say, "tool_calls": [{"name": "run_code", "arguments": {"code": text}}]}


def run_notebook(screen: Screen, root: Path, name: str, *cells: str) -> Locator:
    """Open a notebook with these cells, run them all; the last cell."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, root / name)
    screen.command("docmanager:open", path=name)
    screen.page.wait_for_function(KERNEL_READY, arg=name)
    # Not waited for: the command ends when the last cell does.
    screen.page.evaluate("() => { void window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    return screen.page.locator(".jp-NotebookPanel:visible .jp-Notebook-cell").nth(len(cells) - 1)


def test_the_answer_grows_under_the_cell_with_its_outputs(screen: Screen, root: Path, model: ModelServer):
    script(
        model,
        code(
            "print('seen', mine)\nimport pandas as pd\npd.DataFrame({'double': [mine * 2]})",
            "I look at **your** variable.",
        ),
        {"text": "Twice that is `42`.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"},
    )
    cell = run_notebook(
        screen, root, "cells.ipynb", "%load_ext jupyter_pernix\nmine = 21", "%%pernix --mode auto\nDouble mine"
    )
    outputs = cell.locator(".jp-OutputArea-child")
    expect(outputs.last.locator("table")).to_be_visible(timeout=60_000)
    expect(outputs.nth(0).locator("strong")).to_have_text("your")
    expect(outputs.nth(0)).to_contain_text("✓")
    expect(outputs.nth(1)).to_have_text("seen 21\n")
    expect(outputs.nth(2).locator("table.dataframe")).to_contain_text("42")
    expect(outputs.nth(3).locator("code")).to_have_text("42")
    expect(outputs).to_have_count(4)


def test_a_question_of_a_cell_is_answered_in_the_panel(screen: Screen, root: Path, lab: Lab, model: ModelServer):
    script(model, code("made = 7", "I make it."), {"text": "It is made."})
    cell = run_notebook(screen, root, "asks.ipynb", "%load_ext jupyter_pernix", "%%pernix --mode edit\nMake it")
    expect(cell).to_contain_text("Run this code", timeout=60_000)
    expect(cell.locator("input")).to_be_visible()
    screen.open_session(lab.client().sessions()[0]["session_id"])
    screen.panel.get_by_role("button", name="Allow once").click()
    expect(cell).to_contain_text("It is made.")
    screen.wait_turn(0, "answered")
    expect(screen.calls("run_code")).to_contain_text("made = 7")


def test_hostile_text_under_a_cell_stays_text(screen: Screen, root: Path, model: ModelServer):
    payloads = [payload["payload"] for payload in hostile_payloads() if not payload["kind"].startswith("output:")]
    calls = [{"name": "read_file", "arguments": {"path": payload[:120]}} for payload in payloads[:5]]
    script(model, {"text": "\n\n".join(payloads), "tool_calls": calls}, {"text": "\n\n".join([*payloads, "The end."])})
    cell = run_notebook(screen, root, "hostile.ipynb", "%load_ext jupyter_pernix", "%%pernix --mode ask\nGo")
    expect(cell.locator(".jp-OutputArea-child").last).to_contain_text("The end.", timeout=60_000)
    screen.settle()
    assert (screen.ran, screen.foreign) == ([], [])
    rendered = cell.locator(".jp-OutputArea-output")
    assert rendered.locator("script, style, iframe, object, embed, form, img, svg, base, meta, link").count() == 0
    assert rendered.locator("a[href]:not([href^='http'])").count() == 0


def test_an_answer_is_shown_once_and_is_a_value_for_the_next_cell(screen: Screen, root: Path, model: ModelServer):
    script(model, code("print('seen', mine)\nmine += 1", "I look."), {"text": "It is **21**."})
    cell = run_notebook(
        screen,
        root,
        "answers.ipynb",
        "%load_ext jupyter_pernix\nmine = 21",
        "%%pernix --mode auto\nWhat is {mine}, and what did In[1] do?",
        "display(_); print(_pernix.calls.tool.tolist(), mine, sorted(Out))",
    )
    outputs = cell.locator(".jp-OutputArea-child")
    expect(outputs.nth(1)).to_have_text("['run_code'] 22 [2]\n", timeout=60_000)
    expect(outputs.nth(0).locator("strong")).to_have_text("21")
    asking = screen.page.locator(".jp-NotebookPanel:visible .jp-Notebook-cell").nth(1)
    shown = asking.locator(".jp-OutputArea-child")
    expect(shown).to_have_count(3)
    expect(shown.nth(2).locator("strong")).to_have_text("21")
    expect(asking.locator(".jp-OutputArea-executeResult")).to_have_count(0)


def test_a_query_cell_shows_a_table(screen: Screen, root: Path, lab: Lab, model: ModelServer):
    script(model, {"text": "Done."})
    cell = run_notebook(
        screen,
        root,
        "query.ipynb",
        "%load_ext jupyter_pernix",
        "%%pernix --new\nCount me",
        "%%pernix sql\nSELECT text, code FROM turns\nWHERE text = 'Count me'",
    )
    table = cell.locator(".jp-OutputArea-child table.dataframe")
    expect(table).to_contain_text("Count me", timeout=60_000)
    expect(table).to_contain_text("answered")


def test_the_last_error_is_mended_from_a_cell(screen: Screen, root: Path, model: ModelServer):
    script(model, {"text": "`valeus` is a slip of the pen."})
    name = "mend.ipynb"
    run_notebook(screen, root, name, "%load_ext jupyter_pernix", "valeus", "%pernix fix")
    broken = screen.page.locator(".jp-NotebookPanel:visible .jp-Notebook-cell").nth(1)
    expect(broken).to_contain_text("NameError", timeout=60_000)
    # The error has kept the cells behind it from running.
    screen.page.locator(".jp-NotebookPanel:visible .jp-Notebook-cell").nth(2).click()
    screen.page.keyboard.press("Control+Enter")
    fixed = screen.page.locator(".jp-NotebookPanel:visible .jp-Notebook-cell").nth(2)
    expect(fixed).to_contain_text("slip of the pen", timeout=60_000)
