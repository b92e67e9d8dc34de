"""A hostile day: two pages, reloads, renames, kernels that die or are changed under a running cell, and much of everything."""

import os
import signal
from pathlib import Path

import pytest
from support.browser import Screen
from support.lab import Lab
from support.model_server import ModelServer
from support.notebook_desk import call, open_notebook, say, script, session_at, turns_at
from support.notebook_view import file_cells

PICTURES = """
import base64, os
from IPython.display import Image, display
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=")
for number in range(13):
    display(Image(data=PNG + os.urandom(450_000), format="png"))
""".strip()

LATE = """
import asyncio
from pathlib import Path
async def late():
    while not Path("go").exists():
        await asyncio.sleep(0.05)
    print("late word")
task = asyncio.ensure_future(late())
""".strip()

NOT_DIRTY = """path => [...window.jupyterapp.shell.widgets('main')]
  .some(widget => widget.context?.path === path && !widget.context.model.dirty)"""

WAITS = """
import os, time
from pathlib import Path
Path("pid").write_text(str(os.getpid()))
print("begun", flush=True)
while not Path("go").exists():
    time.sleep(0.05)
print("done")
""".strip()


def test_many_large_pictures_neither_hang_nor_are_lost(screen: Screen, root: Path, lab: Lab, model: ModelServer):
    seeing = {"name": "seeing", "base_url": model.url, "model": "scripted-1", "protocol": "tools", "vision": True}
    lab.client().request("POST", "/endpoints", seeing)
    view = open_notebook(screen, root, "pictures.ipynb", one=PICTURES)
    lab.client().request("PATCH", f"/sessions/{session_at(lab, view.path)}", {"endpoint": "seeing"})
    script(model, call("read_notebook"), call("run_cells", cell_ids=["one"]), call("read_notebook"), say("Seen."))
    screen.send("Draw it")
    screen.wait_turn(0, "answered")
    assert len(view.outputs("one")) == 13
    assert len(file_cells(root / "pictures.ipynb")["one"].outputs) == 13
    bodies = [one["body_bytes"] for one in model.ctl("requests")]
    assert max(bodies) < 5_000_000, bodies


def test_what_comes_late_reaches_a_page_that_was_reloaded_since(screen: Screen, root: Path, model: ModelServer):
    view = open_notebook(screen, root, "late/late.ipynb", one=LATE)
    script(model, call("read_notebook"), call("run_cells", cell_ids=["one"]), say("It ran."))
    screen.send("Run it")
    screen.wait_turn(0, "answered")
    screen.reload()
    view.wait_kernel_known()
    (root / "late" / "go").touch()
    view.wait_text("one", "late word\n")
    screen.page.wait_for_function(NOT_DIRTY, arg=view.path)
    assert "late word\n" in file_cells(root / "late/late.ipynb")["one"].outputs[-1].text


@pytest.mark.parametrize("command", ["notebook:restart-kernel", "kill"])
def test_a_kernel_that_goes_under_a_running_cell_ends_it_and_the_next_one_runs(
    screen: Screen, root: Path, lab: Lab, model: ModelServer, command: str
):
    name = f"gone-{command[:4]}/gone.ipynb"
    view = open_notebook(screen, root, name, one=WAITS, two="print('after')")
    script(
        model,
        call("read_notebook"),
        call("run_cells", cell_ids=["one"]),
        call("run_cells", cell_ids=["two"]),
        say("Done."),
    )
    screen.send("Run them")
    view.wait_text("one", "begun")
    if command == "kill":
        os.kill(int((root / name).with_name("pid").read_text()), signal.SIGKILL)
    else:
        kernel = "window.jupyterapp.serviceManager.sessions.running()"
        screen.page.evaluate(
            f"path => [...{kernel}].filter(one => one.path === path).forEach(one => "
            "void window.jupyterapp.serviceManager.kernels.connectTo({model: one.kernel}).restart())",
            view.path,
        )
    screen.wait_turn(0, "answered")
    view.wait_idle("one")
    first, second = [item for item in turns_at(lab, name)[0]["items"] if item.get("tool") == "run_cells"]
    assert first["status"] == "failed"
    assert "all variables are gone" in first["result"].lower()
    assert second["status"] == "completed"
    assert view.text("two") == "after\n"
    assert "begun" in view.text("one")
