"""Makes the picture of the README anew: ``python docs/screenshots.py``.

JupyterLab in Chromium, with the first example's job done for real: files, tests and kernel. What is said comes from the example's
stored turns, by the scripted model of the tests.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY / "tests"))

from support.browser import Screen, chromium  # noqa: E402
from support.jobs import MAIN_REQUEST  # noqa: E402
from support.lab import Lab, copy_examples  # noqa: E402
from support.model_server import ModelServer  # noqa: E402

TARGET = REPOSITORY / "docs/images/panel.png"
LARGEST = 400_000
IN_BROWSER = "--LabApp.expose_app_in_browser=True"
NOTEBOOK_BEGINS_AT = "A test that fails without this fix"


def stored_turns() -> list[dict[str, Any]]:
    """The example's turns, less the words by which the tour says what it is."""
    turns = json.loads((REPOSITORY / "examples/csv_import/turns.json").read_text(encoding="utf-8"))
    return [{**turns[0], "text": "I start with a look at the project."}, *turns[1:]]


def do_the_job(screen: Screen) -> None:
    screen.new_session("csv_import")
    screen.choose_mode("auto")
    screen.send(MAIN_REQUEST)
    screen.wait_turn(0, "answered")
    screen.wait_ready()


def open_the_record(screen: Screen) -> None:
    """The run notebook, scrolled to where the work is done."""
    screen.panel.get_by_role("button", name="Open run notebook").click()
    notebook = screen.page.locator(".jp-NotebookPanel")
    expect(notebook.locator(".jp-Pernix-call").first).to_be_visible()
    screen.page.wait_for_function(
        """() => window.jupyterapp.shell.currentWidget?.context?.sessionContext?.session?.kernel?.status === 'idle'"""
    )
    place = notebook.get_by_role("paragraph").filter(has_text=NOTEBOOK_BEGINS_AT)
    outer = notebook.locator(".jp-WindowedPanel-outer")
    for _ in range(40):
        if place.count():
            break
        outer.evaluate("node => node.scrollBy(0, 200)")
        screen.settle()
    place.evaluate("node => node.closest('.jp-Cell').scrollIntoView({block: 'start'})")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, ModelServer(program="builtin:echo") as model, chromium() as browser:
        model.ctl("script", {"turns": stored_turns(), "advance": "assistant_messages", "on_end": "last"})
        home = Path(folder) / "home"
        home.mkdir()
        root = copy_examples(Path(folder) / "root")
        with Lab(home=home, root=root, endpoint=model.url, app="jupyterlab", arguments=[IN_BROWSER]) as lab:
            screen = Screen(browser, lab)
            screen.open()
            do_the_job(screen)
            open_the_record(screen)
            conversation = screen.panel.get_by_label("Conversation")
            conversation.evaluate("node => node.scrollTo(0, node.scrollHeight)")
            screen.page.mouse.move(0, 0)
            screen.settle()
            screen.page.screenshot(path=str(TARGET))
            screen.close()
    if TARGET.stat().st_size > LARGEST:
        sys.exit(f"{TARGET} is larger than {LARGEST // 1000} kB")


if __name__ == "__main__":
    main()
