"""The user holds the reins: pausing, resuming, stopping, and what waits in the queue."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect
from support.browser import Screen
from support.jobs import call
from support.model_server import ModelServer

BLOCKED = "import pathlib, time\nprint('waiting for', {name!r})\nwhile not pathlib.Path({name!r}).exists():\n    time.sleep(0.05)\nprint('released')"


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(program="builtin:echo") as server:
        yield server


@pytest.fixture(scope="module")
def endpoint(model: ModelServer) -> str:
    return model.url


def script(model: ModelServer, *turns: dict[str, Any]) -> None:
    model.ctl("script", {"turns": list(turns), "advance": "assistant_messages", "on_end": "last"})


def blocked(name: str) -> dict[str, Any]:
    """Code that ends when a file of this name is there."""
    return call("run_code", code=BLOCKED.format(name=name))


def state(screen: Screen, name: str) -> Locator:
    return screen.panel.locator(f'.jp-Pernix-state[data-state="{name}"]')


def test_a_turn_is_paused_after_its_step_and_goes_on_when_it_is_resumed(screen: Screen, root: Path, model: ModelServer):
    script(
        model,
        {"text": "First one.", "tool_calls": [blocked("go-1")]},
        {"text": "Then two.", "tool_calls": [call("run_code", code="print('two')")]},
        {"text": "Both are done."},
    )
    screen.new_session("prices")
    screen.choose_mode("auto")
    screen.send("Do one and two")
    expect(screen.panel.get_by_label("Outputs")).to_contain_text("waiting for", timeout=60_000)
    screen.panel.get_by_role("button", name="Pause", exact=True).click()
    expect(state(screen, "pause_requested")).to_contain_text("Pausing after this step")
    screen.shot("pausing")
    (root / "prices/go-1").touch()
    expect(state(screen, "paused")).to_contain_text("Paused for")
    expect(screen.calls("run_code")).to_have_attribute("data-status", "completed")

    screen.reload()
    paused = screen.panel.get_by_role("group", name="Paused")
    expect(paused).to_contain_text("Paused until you resume it")
    expect(screen.calls("run_code")).to_have_count(1)
    screen.shot("paused")
    paused.get_by_role("button", name="Resume").click()
    screen.wait_turn(0, "answered")
    expect(screen.calls("run_code")).to_have_count(2)
    expect(screen.turns.first).to_contain_text("Both are done.")
    expect(paused).to_have_count(0)


def test_a_pause_is_taken_back_by_the_same_button_and_by_keyboard(screen: Screen, root: Path, model: ModelServer):
    script(model, {"tool_calls": [blocked("go-2")]}, {"text": "Done."})
    screen.new_session("prices")
    screen.choose_mode("auto")
    screen.send("Do it")
    expect(screen.panel.get_by_label("Outputs")).to_contain_text("waiting for", timeout=60_000)
    button = screen.panel.get_by_role("button", name="Pause", exact=True)
    button.focus()
    screen.page.keyboard.press("Enter")
    expect(state(screen, "pause_requested")).to_be_visible()
    resume = screen.panel.get_by_role("button", name="Resume the turn")
    expect(resume).to_be_focused()
    screen.page.keyboard.press("Enter")
    expect(state(screen, "processing")).to_be_visible()
    (root / "prices/go-2").touch()
    screen.wait_turn(0, "answered")


def test_a_queued_message_is_edited_in_place_and_another_is_withdrawn(screen: Screen, root: Path, model: ModelServer):
    script(model, {"tool_calls": [blocked("go-3")]}, {"text": "One."}, {"text": "Two."})
    screen.new_session("prices")
    screen.choose_mode("auto")
    screen.send("Do one")
    expect(screen.panel.get_by_label("Outputs")).to_contain_text("waiting for", timeout=60_000)
    screen.send("Do tow")
    screen.send("Never mind")
    queue = screen.panel.get_by_role("list", name="Queued messages")
    expect(queue.get_by_role("listitem")).to_have_count(2)
    screen.shot("queue")

    first = queue.get_by_role("listitem").first
    first.get_by_role("button", name="Edit message").click()
    field = queue.get_by_role("textbox", name="Queued message")
    expect(field).to_be_focused()
    field.fill("not this")
    field.press("Escape")
    expect(first).to_contain_text("Do tow")
    expect(state(screen, "processing")).to_be_visible()
    first.get_by_role("button", name="Edit message").click()
    field.fill("Do two")
    screen.shot("queue-editing")
    field.press("Enter")
    expect(first).to_contain_text("Do two")
    queue.get_by_role("listitem").nth(1).get_by_role("button", name="Withdraw").click()
    expect(queue.get_by_role("listitem")).to_have_count(1)

    (root / "prices/go-3").touch()
    screen.wait_turn(0, "answered")
    screen.wait_turn(1, "answered")
    screen.wait_turn(2, "cancelled")
    expect(screen.turns.nth(1)).to_contain_text("Do two")
    expect(screen.turns.nth(1)).to_contain_text("Two.")
    expect(screen.turns.nth(2)).to_contain_text("Withdrawn")
    expect(queue).to_have_count(0)


def test_a_wait_that_the_server_asked_for_is_counted_down_and_stopped_at_once(screen: Screen, model: ModelServer):
    script(model, {"text": "Never reached."})
    model.ctl("fault", {"kind": "status", "status": 429, "retry_after": 50, "times": 1})
    screen.new_session("prices")
    screen.send("Say something")
    waiting = screen.panel.get_by_role("group", name="Waiting")
    expect(waiting).to_contain_text("the server asked for it")
    expect(waiting).to_contain_text("2 of 4")
    expect(waiting).to_contain_text("s left")
    expect(state(screen, "processing")).to_contain_text("Waiting to ask again")
    expect(screen.panel.get_by_role("log", name="Session status")).to_contain_text("the server asked for it")
    screen.shot("waiting")
    screen.panel.get_by_role("button", name="Stop", exact=True).click()
    screen.wait_turn(0, "cancelled")
    screen.wait_ready()
    expect(waiting).to_have_count(0)
    expect(screen.turns.first.get_by_role("note", name="Asked again")).to_contain_text("the server asked for it")


def test_a_short_wait_passes_and_the_answer_comes(screen: Screen, model: ModelServer):
    script(model, {"text": "Here it is."})
    model.ctl("fault", {"kind": "status", "status": 503, "retry_after": 1, "times": 1})
    screen.new_session("prices")
    screen.send("Say something else")
    screen.wait_turn(0, "answered")
    expect(screen.turns.first.get_by_role("note", name="Asked again")).to_have_count(1)
    expect(screen.panel.get_by_role("group", name="Waiting")).to_have_count(0)
    expect(screen.turns.first).to_contain_text("Here it is.")
    facts = screen.turns.first.locator(".jp-Pernix-facts")
    expect(facts).to_contain_text("1 step")
    expect(facts).to_contain_text("unpriced")
