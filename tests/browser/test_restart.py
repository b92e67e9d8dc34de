"""``kill -9`` of the server under an open page: what it left is shown as what it is, and what waits for the user still works."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from support.browser import Screen
from support.jobs import call
from support.lab import Lab
from support.model_server import ModelServer
from support.watch import wait_event

SLOW = "import pathlib, time\nwith open('runs.txt', 'a') as runs:\n    runs.write('once\\n')\nprint('begun', flush=True)\ntime.sleep(600)"


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(program="builtin:echo") as server:
        yield server


@pytest.fixture(scope="module")
def endpoint(model: ModelServer) -> str:
    return model.url


@pytest.fixture
def screen(browser: Browser, lab: Lab, request: pytest.FixtureRequest) -> Iterator[Screen]:
    """JupyterLab, loaded. Its own requests fail while the server is gone, so only what came alive is looked at afterwards."""
    screen = Screen(browser, lab)
    try:
        screen.open()
        yield screen
        screen.shot(request.node.name)
        assert (screen.foreign, screen.ran) == ([], [])
    finally:
        screen.close()


def script(model: ModelServer, *turns: dict[str, Any]) -> None:
    model.ctl("script", {"turns": list(turns), "advance": "assistant_messages", "on_end": "last"})


def newest(lab: Lab) -> str:
    return str(lab.client().sessions()[0]["session_id"])


def close_dialogs(screen: Screen) -> None:
    """JupyterLab says in a dialog that its server is gone."""
    screen.page.locator(".jp-Dialog").evaluate_all("dialogs => dialogs.forEach(dialog => dialog.remove())")


def test_a_question_is_asked_again_with_the_same_id_and_answered_in_the_same_page(
    screen: Screen, lab: Lab, model: ModelServer
):
    script(model, {"text": "I would run this.", "tool_calls": [call("run_code", code="print(6 * 7)")]}, {"text": "42."})
    screen.new_session("prices")
    screen.choose_mode("edit")
    screen.send("Multiply")
    allow = screen.panel.get_by_role("button", name="Allow once")
    expect(allow).to_be_visible(timeout=60_000)
    session_id = newest(lab)
    asked = wait_event(lab.client(), session_id, "approval.requested")

    lab.kill()
    expect(screen.panel.get_by_role("status", name="Connection")).to_contain_text("Connection lost")
    screen.shot("connection-lost")
    lab.start()
    expect(screen.panel.get_by_role("status", name="Connection")).to_have_count(0, timeout=60_000)
    close_dialogs(screen)
    expect(screen.panel.locator('.jp-Pernix-state[data-state="awaiting_user"]')).to_contain_text("Needs you")
    allow.click()
    screen.wait_turn(0, "answered")
    expect(screen.calls("run_code")).to_contain_text("42")
    expect(screen.turns.first.get_by_role("note", name="Resumed")).to_have_count(1)

    events = list(lab.client().past_events(session_id))
    assert {e["approval_id"] for e in events if e["type"].startswith("approval.")} == {asked["approval_id"]}
    assert sum(e["type"] == "tool_call.started" for e in events) == 1


def test_a_call_that_may_have_run_is_said_so_is_not_run_again_and_the_work_goes_on(
    screen: Screen, lab: Lab, root: Path, model: ModelServer
):
    script(model, {"text": "I start.", "tool_calls": [call("run_code", code=SLOW)]}, {"text": "It had begun once."})
    screen.new_session("prices")
    screen.choose_mode("auto")
    screen.send("Start it")
    code = screen.calls("run_code")
    expect(code.get_by_label("Outputs")).to_contain_text("begun", timeout=60_000)
    lab.kill()
    lab.start()
    screen.open()
    screen.open_session(newest(lab))
    screen.wait_turn(0, "interrupted")
    expect(code).to_have_attribute("data-status", "unknown")
    expect(code).to_contain_text("May have run")
    expect(code).to_contain_text("it is not run again by itself")
    screen.shot("may-have-run")
    screen.panel.get_by_role("button", name="Go on").click()
    screen.wait_turn(1, "answered")
    expect(screen.turns.nth(1)).to_contain_text("It had begun once.")
    assert (root / "prices/runs.txt").read_text(encoding="utf-8") == "once\n"


def test_a_paused_turn_is_still_paused_and_goes_on(screen: Screen, lab: Lab, root: Path, model: ModelServer):
    wait = "import pathlib, time\nprint('waiting')\nwhile not pathlib.Path('go-on').exists():\n    time.sleep(0.05)"
    script(model, {"tool_calls": [call("run_code", code=wait)]}, {"text": "Done after all."})
    screen.new_session("prices")
    screen.choose_mode("auto")
    screen.send("Do it")
    expect(screen.panel.get_by_label("Outputs")).to_contain_text("waiting", timeout=60_000)
    screen.panel.get_by_role("button", name="Pause", exact=True).click()
    (root / "prices/go-on").touch()
    paused = screen.panel.get_by_role("group", name="Paused")
    expect(paused).to_be_visible()
    lab.kill()
    lab.start()
    screen.open()
    screen.open_session(newest(lab))
    paused.get_by_role("button", name="Resume").click()
    screen.wait_turn(0, "answered")
    expect(screen.turns.first).to_contain_text("Done after all.")
    expect(screen.turns.first.get_by_role("note", name="Resumed")).to_have_count(1)
