"""A hostile day: two pages, reloads, renames, kernels that die or are changed under a running cell, and much of everything."""

from pathlib import Path

from support.browser import Screen
from support.lab import Lab
from support.model_server import ModelServer
from support.notebook_desk import call, open_notebook, say, script, session_at
from support.notebook_view import file_cells

PICTURES = """
import base64, os
from IPython.display import Image, display
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=")
for number in range(13):
    display(Image(data=PNG + os.urandom(450_000), format="png"))
""".strip()

WAITS = """
import time
from pathlib import Path
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
