"""Days on which notebooks are copied, renamed, reloaded, opened with another kernel's words in them, or change their kernel."""

import shutil
from pathlib import Path

import nbformat
from playwright.sync_api import expect
from support.browser import Screen
from support.lab import Lab
from support.model_server import ModelServer
from support.notebook_desk import call, edit, open_notebook, say, script, turns_at
from support.notebook_view import NotebookView, file_cells

WAITS = """
import time
from pathlib import Path
print("begun", flush=True)
while not Path("go").exists():
    time.sleep(0.05)
print("done")
""".strip()


def test_what_the_user_runs_in_a_copy_does_not_touch_the_notebook_that_the_agent_runs(
    screen: Screen, root: Path, model: ModelServer
):
    view = open_notebook(screen, root, "copies/one.ipynb", one=WAITS, two="y = 1")
    shutil.copy(root / "copies/one.ipynb", root / "copies/two.ipynb")
    copy = NotebookView(screen.page, "copies/two.ipynb")
    screen.command("docmanager:open", path=copy.path)
    copy.wait_kernel()
    script(
        model, call("read_notebook"), call("run_cells", cell_ids=["one"]), edit("two", "y = 1", "y = 2"), say("Done.")
    )
    screen.send("Run it")
    view.wait_text("one", "begun")
    copy.run("one")
    copy.wait_text("one", "begun")
    (root / "copies/go").touch()
    screen.wait_turn(0, "answered")
    copy.wait_text("one", "done")
    view.wait_idle("one")
    assert view.text("one") == file_cells(root / "copies/one.ipynb")["one"].outputs[0].text == "begun\ndone\n"
    assert (view.sources["two"], copy.sources["two"]) == ("y = 2", "y = 1")


def test_a_notebook_that_is_dirty_only_by_what_its_kernel_says_is_saved(screen: Screen, root: Path, model: ModelServer):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 1", id="one")])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python of old", "language": "python"}
    book.metadata["language_info"] = {"name": "python", "version": "3.1"}
    view = open_notebook(screen, root, "old.ipynb", book)
    assert view.dirty
    script(
        model,
        call("read_notebook"),
        edit("one", "x = 1", "print(2)"),
        call("run_cells", cell_ids=["one"]),
        say("Done."),
    )
    screen.send("Change it")
    screen.wait_turn(0, "answered")
    assert not view.dirty
    [output] = file_cells(root / "old.ipynb")["one"].outputs
    assert output.text == "2\n"


def test_changes_are_undone_after_saving_renaming_and_reloading(screen: Screen, root: Path, model: ModelServer):
    names = {"one": "x", "two": "y", "three": "z"}
    view = open_notebook(screen, root, "later/a.ipynb", None, **{cell: f"{name} = 1" for cell, name in names.items()})
    edits = [edit(cell, f"{name} = 1", f"{name} = 2") for cell, name in names.items()]
    script(model, call("read_notebook"), *edits, say("Done."))
    screen.send("Change them")
    screen.wait_turn(0, "answered")
    marks = screen.page.locator(".jp-NotebookPanel:visible .jp-Pernix-cellMark")

    def undo(cell: str, left: int) -> None:
        view.cell(cell).get_by_role("button", name="Undo").click()
        expect(marks).to_have_count(left)
        view.wait_source(cell, f"{names[cell]} = 1")

    expect(marks).to_have_count(3)
    view.save()
    undo("one", 2)
    view.rename("later/b.ipynb")
    undo("two", 1)
    screen.reload()
    view.wait_kernel_known()
    undo("three", 0)
    assert {cell.source for cell in file_cells(root / "later/b.ipynb").values()} == {"x = 1", "y = 1", "z = 1"}
    assert not (root / "later/a.ipynb").exists()


def test_a_kernel_that_is_changed_from_the_menu_is_used_and_told(
    screen: Screen, root: Path, lab: Lab, model: ModelServer
):
    view = open_notebook(screen, root, "changed/changed.ipynb", one="x = 1", two="print('x' in globals())")
    script(model, call("read_notebook"), call("run_cells", cell_ids=["one", "two"]), say("Done."))
    screen.send("Run them")
    screen.wait_turn(0, "answered")
    assert view.text("two") == "True\n"
    view.change_kernel("python3")
    script(model, call("run_cells", cell_ids=["two"]), say("They are gone."))
    screen.send("And now?")
    screen.wait_turn(1, "answered")
    assert view.text("two") == "False\n"
    assert "the variables of the one before are not there" in str(turns_at(lab, view.path)[1])


def test_a_notebook_that_was_deleted_is_not_made_anew(screen: Screen, root: Path, model: ModelServer):
    view = open_notebook(screen, root, "deleted.ipynb", one="x = 1")
    (root / "deleted.ipynb").unlink()
    script(model, call("read_notebook"), edit("one", "x = 1", "x = 2"), say("Done."))
    screen.send("Change it")
    screen.wait_turn(0, "answered")
    assert view.sources == {"one": "x = 2"}
    assert view.dirty
    assert not (root / "deleted.ipynb").exists()
