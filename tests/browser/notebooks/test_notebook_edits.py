"""The agent changes cells of an open notebook: the right cell, a refusal, or nothing; kept and undone by the user."""

from pathlib import Path

from playwright.sync_api import expect
from support.browser import Screen
from support.model_server import ModelServer
from support.notebook_desk import call, edit, open_notebook, say, script
from support.notebook_view import NotebookView, base, file_cells, write_notebook


def test_a_cell_is_edited_by_its_id_while_another_tab_is_in_front(screen: Screen, root: Path, model: ModelServer):
    view = open_notebook(screen, root, "behind.ipynb", one="x = 1", two="y = 2")
    write_notebook(root / "front.ipynb", one="x = 1")
    screen.command("docmanager:open", path="front.ipynb")
    script(model, call("read_notebook"), edit("one", "x = 1", "x = 10"), say("Done."))
    screen.send("Change it")
    screen.wait_turn(0, "answered")
    assert view.sources == {"one": "x = 10", "two": "y = 2"}
    assert NotebookView(screen.page, "front.ipynb").sources == {"one": "x = 1"}
    assert (view.dirty, file_cells(root / "behind.ipynb")["one"].source) == (False, "x = 10")


def test_each_change_is_marked_and_undone_on_its_own(screen: Screen, root: Path, model: ModelServer):
    view = open_notebook(screen, root, "marks.ipynb", one="x = 1", two="y = 2", three="z = 3")
    script(
        model,
        call("read_notebook"),
        edit("one", "x = 1", "x = 10"),
        call("edit_notebook", op="delete", cell_id="two", base=base("y = 2")),
        call("edit_notebook", op="insert", behind="three", source="new = 4"),
        say("Done."),
    )
    screen.send("Change it")
    screen.wait_turn(0, "answered")
    notebook = screen.page.locator(".jp-NotebookPanel:visible")
    marks = notebook.locator(".jp-Pernix-cellMark")
    expect(marks).to_have_count(3)
    expect(notebook.get_by_role("button", name="Undo all (3)")).to_be_visible()
    changed = notebook.get_by_role("group", name="Changed by Pernix")
    changed.get_by_role("button", name="Show diff").click()
    expect(changed.locator(".jp-Pernix-diffLine.jp-mod-removed")).to_have_text("− x = 1\n")
    screen.shot("notebook_marks")
    changed.get_by_role("button", name="Undo").click()
    expect(marks).to_have_count(2)
    assert view.sources["one"] == "x = 1"
    notebook.get_by_role("group", name="New cell by Pernix").get_by_role("button", name="Keep").click()
    expect(marks).to_have_count(1)
    notebook.get_by_role("button", name="Undo all (1)").click()
    expect(marks).to_have_count(0)
    assert list(view.sources.values()) == ["x = 1", "y = 2", "z = 3", "new = 4"]
    assert list(file_cells(root / "marks.ipynb")) == list(view.sources)


def test_what_the_user_wrote_in_between_is_kept_and_the_change_refused(screen: Screen, root: Path, model: ModelServer):
    view = open_notebook(screen, root, "between.ipynb", one="x = 1")
    script(model, call("read_notebook"), say("Read."))
    screen.send("Read it")
    screen.wait_turn(0, "answered")
    view.type_into("one", "x = 1  # mine")
    script(model, edit("one", "x = 1", "x = 10"), say("I see."))
    screen.send("Change it")
    screen.wait_turn(1, "answered")
    expect(screen.calls("edit_notebook")).to_contain_text("changed")
    assert (view.sources, view.dirty) == ({"one": "x = 1  # mine"}, True)


def test_one_undo_of_the_editor_takes_back_the_agents_edit_alone(screen: Screen, root: Path, model: ModelServer):
    view = open_notebook(screen, root, "typed.ipynb", one="x = 1")
    editor = view.cell("one").locator(".cm-content")
    editor.click()
    screen.page.keyboard.press("Control+End")
    screen.page.keyboard.type("  # a")
    script(model, call("read_notebook"), edit("one", "x = 1  # a", "x = 2  # a"), say("Done."))
    screen.send("Change it")
    screen.wait_turn(0, "answered")
    editor.click()
    screen.page.keyboard.press("Control+End")
    screen.page.keyboard.type("b")
    assert view.sources == {"one": "x = 2  # ab"}
    for expected in ("x = 2  # a", "x = 1  # a"):
        screen.page.keyboard.press("Control+z")
        assert view.sources == {"one": expected}


def test_what_is_kept_in_an_unsaved_notebook_says_so_until_it_is_saved(screen: Screen, root: Path, model: ModelServer):
    view = open_notebook(screen, root, "unsaved.ipynb", one="x = 1", two="y = 2")
    view.type_into("two", "y = 3")
    script(model, call("read_notebook"), edit("one", "x = 1", "x = 10"), say("Done."))
    screen.send("Change it")
    screen.wait_turn(0, "answered")
    notebook = screen.page.locator(".jp-NotebookPanel:visible")
    notebook.get_by_role("group", name="Changed by Pernix", exact=True).get_by_role("button", name="Keep").click()
    kept = notebook.get_by_role("group", name="Changed by Pernix · kept, not saved yet")
    expect(kept).to_be_visible()
    expect(kept.get_by_role("button")).to_have_count(0)
    expect(notebook.get_by_role("button", name="Keep all")).to_have_count(0)
    screen.shot("notebook_kept_unsaved")
    view.save()
    expect(notebook.locator(".jp-Pernix-cellMark")).to_have_count(0)
    assert file_cells(root / "unsaved.ipynb")["one"].source == "x = 10"


def test_what_is_kept_in_a_saved_notebook_leaves_no_mark(screen: Screen, root: Path, model: ModelServer):
    view = open_notebook(screen, root, "saved.ipynb", one="x = 1", two="y = 2")
    script(model, call("read_notebook"), edit("one", "x = 1", "x = 10"), say("Done."))
    screen.send("Change it")
    screen.wait_turn(0, "answered")
    view.type_into("two", "y = 3")
    notebook = screen.page.locator(".jp-NotebookPanel:visible")
    notebook.get_by_role("group", name="Changed by Pernix", exact=True).get_by_role("button", name="Keep").click()
    expect(notebook.locator(".jp-Pernix-cellMark")).to_have_count(0)
