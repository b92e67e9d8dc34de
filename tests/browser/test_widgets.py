"""The widgets in a notebook of a real JupyterLab: live, and as pictures when their kernel is gone; nothing in them comes alive."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Locator, expect
from support.browser import Screen
from support.jobs import hostile_job
from support.lab import Lab
from support.model_server import ModelServer
from support.watch import wait_finished

from jupyter_pernix.client import JSON

from .conftest import IN_BROWSER
from .test_cells import KERNEL_READY
from .test_hostile import LIVE, TEMPTING

TESTS = Path(__file__).parents[1]
NVML = """import sys
from gpu.nvml import GIB, Card, FakeNvml, process
sys.modules[__name__] = FakeNvml(Card(compute=[process(4001, 17 * GIB), process(4002, 2 * GIB)]), names={4001: "/usr/bin/python3"})
"""
"""Stands in the server's path before the real ``pynvml``."""
MIME = "application/vnd.pernix.widget+json"


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(program="builtin:echo") as server:
        yield server


@pytest.fixture(scope="module")
def endpoint(model: ModelServer) -> str:
    return model.url


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, root: Path, endpoint: str) -> Iterator[Lab]:
    home, stand_in = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("nvml")
    (stand_in / "pynvml.py").write_text(NVML)
    lab = Lab(home=home, root=root, endpoint=endpoint, mode="auto", app="jupyterlab", arguments=[IN_BROWSER])
    lab.environ["PYTHONPATH"] = f"{stand_in}:{TESTS}"
    with lab:
        yield lab


def script(model: ModelServer, turns: list[JSON]) -> None:
    model.ctl("script", {"turns": turns, "advance": "assistant_messages", "on_end": "last"})


def run_code(text: str, say: str = "") -> JSON:
    return {"text": say, "tool_calls": [{"name": "run_code", "arguments": {"code": text}}]}


def open_notebook(screen: Screen, root: Path, name: str, *cells: str, outputs: list[Any] | None = None) -> Locator:
    """A notebook with these cells, none of them run; ``outputs``: of the first."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book.cells[0].outputs = outputs or []
    nbformat.write(book, root / name)
    screen.command("docmanager:open", path=name)
    screen.page.wait_for_function(KERNEL_READY, arg=name)
    return screen.page.locator(".jp-NotebookPanel:visible")


def run_all(screen: Screen) -> None:
    screen.page.evaluate("() => { void window.jupyterapp.commands.execute('notebook:run-all-cells'); }")


def shut_down_kernels(screen: Screen) -> None:
    screen.page.evaluate("() => window.jupyterapp.serviceManager.sessions.shutdownAll()")


def ask(lab: Lab, session: str, text: str) -> None:
    client = lab.client()
    wait_finished(client, session, str(client.submit(session, text, origin="api", can_ask=False)["turn_id"]))


def live(notebook: Locator, kind: str) -> Locator:
    return notebook.locator(f'[data-pernix="{kind}"]')


def stale(notebook: Locator) -> Locator:
    """What says of itself that it is a picture of an earlier moment."""
    return notebook.get_by_text("Not live: as it was on").filter(visible=True)


def test_each_widget_follows_its_session_and_stands_as_a_picture_without_its_kernel(
    screen: Screen, lab: Lab, root: Path, model: ModelServer
):
    script(model, [run_code("print('seen', 6 * 7)", "I look."), run_code("1 / 0"), {"text": "Forty-two."}])
    session = str(lab.client().create_session(space_root="prices", mode="auto", budget={"rounds": 40})["session_id"])
    cells = [
        f"from jupyter_pernix.widgets import *\nToolCalls({session!r})",
        f"Trace({session[:14]!r})",
        "Budget()",
        "Vram()",
    ]
    notebook = open_notebook(screen, root, "widgets.ipynb", *cells)
    run_all(screen)
    calls, trace, budget = (live(notebook, kind) for kind in ("tool_calls", "trace", "budget"))
    expect(calls).to_contain_text("No tool call yet.")
    expect(trace).to_contain_text("No turn yet.")
    expect(budget).to_contain_text("0 of 40")

    ask(lab, session, "How much is it?")
    cards = calls.locator(".jp-Pernix-call[data-tool]")
    expect(cards).to_have_count(2)
    expect(cards.first).to_have_attribute("data-status", "completed")
    expect(cards.first).to_contain_text("seen 42")
    expect(cards.last).to_contain_text("ZeroDivisionError")
    expect(trace.locator(".jp-Pernix-legend")).to_contain_text("Model reading")
    expect(trace.locator(".jp-Pernix-traceBar.jp-mod-tool")).to_have_count(2)
    expect(trace.locator(".jp-Pernix-steps tbody tr")).to_have_count(3)
    expect(budget).to_contain_text("3 of 40")
    expect(budget).to_contain_text("Answered")
    gpus = live(notebook, "vram")
    expect(gpus).to_contain_text("119 GiB free")
    expect(gpus).to_contain_text("python3 (4001) 17.0 GiB")
    expect(stale(notebook)).to_have_count(0)

    # The picture that the kernel sends at the end of the turn is what the notebook keeps.
    pictures = notebook.locator(".jp-PernixStill-picture")
    for picture in pictures.all()[:3]:
        expect(picture.locator(".jp-PernixWidget-head")).to_contain_text("Ready")
        expect(picture.locator(".jp-Pernix-call, .jp-Pernix-traceBar, .jp-Pernix-foot").first).to_be_attached()
    screen.command("docmanager:save")
    shut_down_kernels(screen)
    expect(stale(notebook)).to_have_count(4)
    screen.reload()
    expect(stale(notebook)).to_have_count(4)
    expect(notebook.locator(".jp-PernixStill-live:visible, .jp-PernixStill.jp-mod-live")).to_have_count(0)
    expect(notebook).not_to_contain_text("Error displaying widget")
    expect(pictures.nth(0).locator(".jp-Pernix-call[data-tool]")).to_have_count(2)
    expect(pictures.nth(0)).to_contain_text("seen 42")
    expect(pictures.nth(1).locator(".jp-Pernix-traceBar.jp-mod-tool")).to_have_count(2)
    expect(pictures.nth(2)).to_contain_text("3 of 40")
    expect(pictures.nth(3)).to_contain_text("119 GiB free")

    # Saved, it reads without our extension too: text and a plain table.
    (output,) = nbformat.read(root / "widgets.ipynb", as_version=4).cells[0].outputs
    assert "✓  Run code: print('seen', 6 * 7)" in output["data"]["text/plain"]
    assert "<table>" in output["data"]["text/html"]


def test_a_widget_is_live_again_after_a_reload_while_its_kernel_runs(
    screen: Screen, lab: Lab, root: Path, model: ModelServer
):
    script(model, [run_code("print('first')"), {"text": "One."}, run_code("print('second')"), {"text": "Two."}])
    session = str(lab.client().create_session(space_root="prices", mode="auto")["session_id"])
    notebook = open_notebook(
        screen, root, "again.ipynb", f"from jupyter_pernix.widgets import *\nToolCalls({session!r})"
    )
    run_all(screen)
    ask(lab, session, "Once")
    cards = live(notebook, "tool_calls").locator(".jp-Pernix-call[data-tool]")
    expect(cards).to_have_count(1)
    screen.command("docmanager:save")
    screen.reload()
    expect(cards).to_have_count(1)
    ask(lab, session, "Twice")
    expect(cards).to_have_count(2)
    expect(stale(notebook)).to_have_count(0)


def test_a_restart_of_the_kernel_leaves_the_picture(screen: Screen, lab: Lab, root: Path, model: ModelServer):
    session = str(lab.client().create_session(title="Kept", space_root="prices", mode="auto")["session_id"])
    notebook = open_notebook(screen, root, "restart.ipynb", f"from jupyter_pernix.widgets import *\nTrace({session!r})")
    run_all(screen)
    expect(live(notebook, "trace")).to_contain_text("Kept")
    screen.page.evaluate(
        "name => [...window.jupyterapp.shell.widgets('main')].find(widget => widget.title.label === name)"
        ".context.sessionContext.session.kernel.restart()",
        "restart.ipynb",
    )
    expect(stale(notebook)).to_have_count(1)
    screen.page.wait_for_function(KERNEL_READY, arg="restart.ipynb")
    expect(stale(notebook)).to_have_count(1)
    run_all(screen)
    expect(live(notebook, "trace")).to_contain_text("Kept")
    expect(stale(notebook)).to_have_count(0)


def assert_harmless(screen: Screen, notebook: Locator) -> None:
    notebook.first.evaluate(TEMPTING)
    screen.settle()
    outputs = notebook.locator(".jp-Cell-outputArea")
    for output in outputs.all():
        assert output.evaluate(LIVE) == []
        assert output.locator("script, iframe, object, embed, form, base, meta, link").count() == 0
    assert (screen.ran, screen.foreign) == ([], [])


def test_hostile_texts_stay_text_live_and_in_the_pictures(screen: Screen, lab: Lab, root: Path, model: ModelServer):
    script(model, hostile_job())
    title = "<img src=x onerror=__xss(901)>"
    session = str(lab.client().create_session(title=title, space_root="prices", mode="auto")["session_id"])
    ask(lab, session, "Show me all of it")
    head = "from jupyter_pernix.widgets import *"
    notebook = open_notebook(screen, root, "hostile.ipynb", f"{head}\nToolCalls({session!r})", f"Trace({session!r})")
    run_all(screen)
    calls = live(notebook, "tool_calls")
    expect(calls).to_contain_text("onerror=__xss(901)")
    expect(calls.locator('.jp-Pernix-call[data-tool="run_code"]')).to_contain_text("RuntimeError")
    for card in calls.locator(".jp-Pernix-callHead[aria-expanded=false]").all():
        card.click()
    expect(live(notebook, "trace").locator(".jp-Pernix-traceBar").first).to_be_visible()
    assert_harmless(screen, notebook)

    screen.command("docmanager:save")
    shut_down_kernels(screen)
    expect(stale(notebook)).to_have_count(2)
    for card in notebook.locator(".jp-PernixStill-picture .jp-Pernix-callHead[aria-expanded=false]").all():
        card.click()
    assert_harmless(screen, notebook)

    # As a viewer without our extension shows it: the HTML, here even trusted.
    saved = nbformat.read(root / "hostile.ipynb", as_version=4)
    html = [
        nbformat.v4.new_output("display_data", data={"text/html": cell.outputs[0]["data"]["text/html"]})
        for cell in saved.cells
    ]
    plain = open_notebook(screen, root, "plain.ipynb", "pass", outputs=html)
    expect(plain).to_contain_text("onerror=__xss(901)")
    screen.page.evaluate(
        "() => { const panel = window.jupyterapp.shell.currentWidget;"
        " for (const cell of panel.content.model.cells) cell.trusted = true; }"
    )
    expect(plain.locator(".jp-RenderedHTML summary").first).to_be_visible()
    assert_harmless(screen, plain)


@pytest.mark.parametrize(
    "data",
    [
        {
            "kind": "tool_calls",
            "model_id": "x",
            "state": {"session": {"title": 3}, "order": [0], "entry0": {"title": {}}},
        },
        {"kind": "trace", "state": {"order": "no"}},
        {"kind": "budget", "state": {"session": None, "used": 7}},
        {"kind": "vram", "state": {"gpus": []}},
        {"kind": "nothing"},
        "text",
    ],
)
def test_a_notebook_may_keep_anything_in_the_place_of_a_picture(
    screen: Screen, lab: Lab, root: Path, data: Any, request: pytest.FixtureRequest
):
    output = nbformat.v4.new_output("display_data", data={MIME: data, "text/plain": "as text"})
    after = nbformat.v4.new_output("stream", text="what follows")
    notebook = open_notebook(screen, root, f"odd{abs(hash(request.node.name))}.ipynb", "pass", outputs=[output, after])
    expect(notebook).to_contain_text("what follows")
