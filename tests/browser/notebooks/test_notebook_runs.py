"""Cells that the server runs: what an open notebook shows of them meanwhile and afterwards, whatever becomes of the page."""

from pathlib import Path

from playwright.sync_api import expect
from support.browser import Screen
from support.lab import Lab
from support.model_server import ModelServer
from support.notebook_desk import call, edit, open_notebook, say, script, submit, turns_at
from support.notebook_view import NotebookView, file_cells

STEPS = """
import threading, time
from pathlib import Path
for number in range(6):
    print("step", number, flush=True)
    if number == 2:
        Path("reached").write_text("")
        while not Path("go").exists():
            time.sleep(0.05)
def late():
    while not Path("later").exists():
        time.sleep(0.05)
    print("late word")
threading.Thread(target=late).start()
""".strip()

TASK = (
    STEPS.replace("def late", "async def late")
    .replace("        time.sleep(0.05)\n    print", "        await asyncio.sleep(0.05)\n    print")
    .replace("threading.Thread(target=late).start()", "task = asyncio.ensure_future(late())")
    .replace("import threading", "import asyncio")
)
"""Its late word carries the cell's request with it; a thread's goes to the latest request of anybody, as of a page that was reloaded."""

SLIDER = "import ipywidgets\nslider = ipywidgets.IntSlider(value=3)\nslider"
BAR = """
import time
from pathlib import Path
from tqdm.notebook import tqdm
for number in tqdm(range(4), desc="rows", mininterval=0):
    while number == 2 and not Path("go_on").exists():
        time.sleep(0.05)
""".strip()


def test_outputs_appear_while_it_runs_on_a_tab_behind_and_the_file_gets_them(
    screen: Screen, root: Path, model: ModelServer
):
    view = open_notebook(screen, root, "live/live.ipynb", one=STEPS)
    screen.command("launcher:create")
    script(model, call("read_notebook"), call("run_cells", cell_ids=["one"]), say("It ran."))
    screen.send("Run it")
    view.wait_text("one", "step 2\n")
    assert view.running("one")
    (root / "live" / "go").touch()
    screen.wait_turn(0, "answered")
    assert view.text("one") == "".join(f"step {number}\n" for number in range(6))
    assert (view.running("one"), view.dirty) == (False, False)
    [output] = file_cells(root / "live/live.ipynb")["one"].outputs
    assert output.text == view.text("one")
    (root / "live" / "later").touch()
    view.wait_text("one", "late word\n")


def test_a_reload_in_the_middle_loses_nothing(screen: Screen, root: Path, lab: Lab, model: ModelServer):
    view = open_notebook(screen, root, "reload/reload.ipynb", one=TASK)
    script(model, call("read_notebook"), call("run_cells", cell_ids=["one"]), say("It ran."))
    screen.send("Run it")
    view.wait_text("one", "step 2\n")
    screen.reload()
    view.wait_kernel_known()
    view.wait_text("one", "step 2\n")
    assert view.running("one")
    (root / "reload" / "go").touch()
    view.wait_text("one", "step 5\n")
    view.wait_idle("one")
    assert view.text("one") == "".join(f"step {number}\n" for number in range(6))
    (root / "reload" / "later").touch()
    view.wait_text("one", "late word\n")


def test_a_slider_and_a_progress_bar_are_alive(screen: Screen, root: Path, model: ModelServer):
    view = open_notebook(screen, root, "widgets/widgets.ipynb", one=SLIDER, two=BAR, three="print(slider.value)")
    script(
        model,
        call("read_notebook"),
        call("run_cells", cell_ids=["one", "two"]),
        call("run_cells", cell_ids=["three"]),
        say("It ran."),
    )
    screen.send("Run it")
    slider = view.cell("one").locator(".widget-slider")
    expect(slider.locator(".widget-readout")).to_have_text("3")
    bar = view.cell("two").locator(".widget-hbox")
    expect(bar).to_contain_text("2/4")
    screen.shot("notebook_widgets")
    slider.locator(".noUi-handle").press("ArrowRight")
    expect(slider.locator(".widget-readout")).to_have_text("4")
    (root / "widgets" / "go_on").touch()
    screen.wait_turn(0, "answered")
    expect(bar).to_contain_text("4/4")
    assert view.text("three") == "4\n"


def test_a_notebook_that_is_closed_in_the_middle_gets_its_outputs_in_the_file(
    screen: Screen, root: Path, lab: Lab, model: ModelServer
):
    view = open_notebook(screen, root, "closed/closed.ipynb", one=STEPS)
    script(model, call("read_notebook"), call("run_cells", cell_ids=["one"]), say("It ran."))
    screen.send("Run it")
    view.wait_text("one", "step 2\n")
    view.close()
    (root / "closed" / "go").touch()
    screen.wait_turn(0, "answered")
    [output] = file_cells(root / "closed/closed.ipynb")["one"].outputs
    assert output.text.endswith("step 5\n")


def test_a_notebook_that_is_renamed_in_the_middle_is_followed(screen: Screen, root: Path, model: ModelServer):
    view = open_notebook(screen, root, "renamed/old.ipynb", one=STEPS, two="x = 1")
    script(
        model,
        call("read_notebook"),
        call("run_cells", cell_ids=["one"]),
        edit("two", "x = 1", "x = 2"),
        say("Done."),
    )
    screen.send("Run it and change the other")
    view.wait_text("one", "step 2\n")
    view.rename("renamed/new.ipynb")
    (root / "renamed" / "go").touch()
    screen.wait_turn(0, "answered")
    assert view.sources["two"] == "x = 2"
    view.wait_text("one", "step 5\n")
    assert not (root / "renamed/old.ipynb").exists()


def test_of_two_pages_one_changes_the_notebook_and_both_show_it(
    screen: Screen, second_screen: Screen, root: Path, lab: Lab, model: ModelServer
):
    view = open_notebook(screen, root, "twice/twice.ipynb", one="x = 1", two=STEPS)
    other = NotebookView(second_screen.page, view.path)
    second_screen.command("docmanager:open", path=view.path)
    other.wait_kernel()
    script(
        model,
        call("read_notebook"),
        edit("one", "x = 1", "x = 2"),
        call("run_cells", cell_ids=["two"]),
        say("Done."),
    )
    submit(lab, view.path)
    view.wait_text("two", "step 2\n")
    other.wait_text("two", "step 2\n")
    (root / "twice" / "go").touch()
    for one in (view, other):
        one.wait_text("two", "step 5\n")
        one.wait_idle("two")
        one.wait_source("one", "x = 2")
    cells = file_cells(root / "twice/twice.ipynb")
    assert (list(cells), cells["one"].source) == (["one", "two"], "x = 2")
    assert not view.dirty
    assert not other.dirty


def test_an_error_is_fixed_in_a_session_at_the_notebook(screen: Screen, root: Path, lab: Lab, model: ModelServer):
    view = open_notebook(screen, root, "failed/failed.ipynb", one="1 / 0")
    screen.command("notebook:run-all-cells")
    bar = view.cell("one").get_by_role("group", name="The cell failed")
    script(
        model,
        call("read_notebook"),
        edit("one", "1 / 0", "1 / 1"),
        call("run_cells", cell_ids=["one"]),
        say("The divisor was zero."),
    )
    bar.get_by_role("button", name="Fix this error").click()
    screen.wait_turn(0, "answered")
    expect(screen.turns.nth(0)).to_contain_text("Fix the error in this cell.")
    [told] = [item for item in turns_at(lab, view.path)[0]["context"] if item["kind"] == "cell"]
    assert "ZeroDivisionError" in told["text"]
    expect(bar).to_have_count(0)
    assert view.outputs("one")[0]["data"] == {"text/plain": "1.0"}
    screen.shot("notebook_fixed")
    screen.page.locator(".jp-NotebookPanel:visible").get_by_role("button", name="Undo all (1)").click()
    view.wait_source("one", "1 / 0")
    expect(bar).to_be_visible()
    assert view.outputs("one")[0]["ename"] == "ZeroDivisionError"
