"""Where a change could hurt: under the user's hands, out of sight, over what others wrote, or as script in the page."""

import re
from pathlib import Path

import nbformat
from playwright.sync_api import expect
from support.browser import Screen
from support.lab import Lab
from support.model_server import ModelServer
from support.notebook_desk import call, edit, open_notebook, say, script, submit
from support.notebook_view import NotebookView, base, file_cells, write_notebook

HOSTILE = "from IPython.display import HTML\nHTML('<b>bold</b><img src=x onerror=__xss(1)><script>__xss(2)</script>')"
SLIDER = "import ipywidgets\nipywidgets.IntSlider()"
FRAME = "import pandas\npandas.DataFrame({'a': [1]})"


def test_the_user_types_on_while_cells_far_away_and_the_same_cell_change(
    screen: Screen, root: Path, lab: Lab, model: ModelServer
):
    sources = {f"c{number:03}": f"x{number} = {number}" for number in range(150)}
    view = open_notebook(screen, root, "long.ipynb", None, **sources)
    keyboard = screen.page.keyboard
    view.cell("c002").locator(".cm-content").click()
    keyboard.press("Control+End")
    keyboard.type("  # a")
    script(
        model,
        call("read_notebook", cells=["c140", "c002", "c001"]),
        edit("c140", "x140 = 140", "x140 = 0"),
        call("edit_notebook", op="insert", behind="top", source="first = 1"),
        edit("c002", "x2 = 2  # a", "y2 = 2  # a"),
        call("edit_notebook", op="delete", cell_id="c001", base=base("x1 = 1")),
        say("Done."),
    )
    submit(lab, view.path)
    screen.wait_turn(0, "answered")
    keyboard.type("b")
    now = view.sources
    assert now["c002"] == "y2 = 2  # ab"
    assert list(now.values())[:2] == ["first = 1", "x0 = 0"]
    assert (now["c140"], "c001" in now, len(now)) == ("x140 = 0", False, 150)
    notebook = screen.page.locator(".jp-NotebookPanel:visible")
    expect(notebook.get_by_role("group", name="Changed by Pernix")).to_have_count(1)
    view.show("c140")
    expect(view.cell("c140").get_by_role("group", name="Changed by Pernix")).to_be_visible()


def test_a_cell_behind_a_folded_heading_is_shown(screen: Screen, root: Path, model: ModelServer):
    path = root / "folded.ipynb"
    write_notebook(path, one="x = 1", two="y = 2")
    book = nbformat.read(path, as_version=4)
    heading = nbformat.v4.new_markdown_cell("# Part", id="head", metadata={"jp-MarkdownHeadingCollapsed": True})
    book.cells.insert(0, heading)
    view = open_notebook(screen, root, "folded.ipynb", book)
    expect(view.cell("one")).to_be_hidden()
    script(model, call("read_notebook"), call("edit_notebook", op="insert", behind="one", source="z = 3"), say("Done."))
    screen.send("Insert it")
    screen.wait_turn(0, "answered")
    mark = screen.page.locator(".jp-NotebookPanel:visible").get_by_role("group", name="New cell by Pernix")
    expect(mark).to_be_visible()
    assert list(view.sources)[:2] == ["head", "one"]


def test_an_undo_of_what_the_user_has_changed_since_says_why_it_is_not_done(
    screen: Screen, root: Path, model: ModelServer
):
    view = open_notebook(screen, root, "since.ipynb", one="x = 1")
    script(model, call("read_notebook"), edit("one", "x = 1", "x = 10"), say("Done."))
    screen.send("Change it")
    screen.wait_turn(0, "answered")
    view.type_into("one", "x = 10  # mine")
    mark = view.cell("one").get_by_role("group", name="Changed by Pernix")
    mark.get_by_role("button", name="Undo").click()
    expect(mark.get_by_role("alert")).to_contain_text("not as the agent left it")
    assert view.sources == {"one": "x = 10  # mine"}


def test_what_a_cell_of_the_agents_shows_runs_nothing_in_the_page(screen: Screen, root: Path, model: ModelServer):
    view = open_notebook(screen, root, "trust.ipynb", one="1", two="2", three="3", four="print('mine')")
    script(
        model,
        call("read_notebook"),
        edit("one", "1", HOSTILE),
        edit("two", "2", SLIDER),
        edit("three", "3", FRAME),
        call("run_cells", cell_ids=["one", "two", "three", "four"]),
        say("Done."),
    )
    screen.send("Show it")
    # a cell that runs script in the page is asked about, also in mode auto
    screen.calls("run_cells").get_by_role("button", name="Allow once").click()
    screen.wait_turn(0, "answered")
    expect(view.cell("one").locator("b")).to_have_text("bold")
    expect(view.cell("two").locator(".widget-slider")).to_be_visible()
    expect(view.cell("three").locator("table")).to_be_visible()
    screen.settle()
    assert screen.ran == []
    assert [view.trusted(cell_id) for cell_id in view.sources] == [False, True, True, True]


def test_a_page_without_edits_reads_the_file_again_before_it_is_changed(
    screen: Screen, root: Path, lab: Lab, model: ModelServer
):
    view = open_notebook(screen, root, "disk.ipynb", one="x = 1")
    write_notebook(root / "disk.ipynb", one="x = 1", two="y = 2")
    script(model, call("read_notebook"), edit("two", "y = 2", "y = 3"), say("Done."))
    screen.send("Change it")
    screen.wait_turn(0, "answered")
    assert view.sources == {"one": "x = 1", "two": "y = 3"}
    assert file_cells(root / "disk.ipynb")["two"].source == "y = 3"
    expect(screen.page.get_by_role("dialog")).to_have_count(0)


def test_the_buttons_of_a_notebook_open_a_session_at_it_and_insert_code(screen: Screen, root: Path):
    write_notebook(root / "buttons.ipynb", one="x = 1")
    screen.command("docmanager:open", path="buttons.ipynb")
    view = NotebookView(screen.page, "buttons.ipynb")
    view.wait_kernel()
    toolbar = screen.page.locator(".jp-NotebookPanel:visible .jp-NotebookPanel-toolbar")
    toolbar.get_by_role("button", name=re.compile("Pernix session")).click()
    expect(screen.panel.locator(".jp-Pernix-attached")).to_contain_text("buttons.ipynb")
    screen.command("pernix:insert-below", code="y = 2")
    assert list(view.sources.values()) == ["x = 1", "y = 2"]
    assert view.dirty
