"""Lines that running code asks for, answered in the panel on a real kernel."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, expect
from support.browser import Screen
from support.model_server import ModelServer

ASKS = """from getpass import getpass
name = input("Who? ")
word = getpass("Pass phrase: ")
print("hello", name, len(word))
"""
SECRET = "s3cret-phrase"


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(program="builtin:echo") as server:
        yield server


@pytest.fixture(scope="module")
def endpoint(model: ModelServer) -> str:
    return model.url


def script(model: ModelServer, *turns: dict[str, Any]) -> None:
    model.ctl("script", {"turns": list(turns), "advance": "assistant_messages", "on_end": "last"})


def run_code(code: str) -> dict[str, Any]:
    return {"text": "I run it.", "tool_calls": [{"name": "run_code", "arguments": {"code": code}}]}


def field(card: Locator) -> Locator:
    return card.locator(".jp-Pernix-inputs input")


def start(screen: Screen, text: str) -> Locator:
    """A new session whose model runs its code at once; the card of that code."""
    screen.new_session("csv_import")
    screen.choose_mode("auto")
    screen.send(text)
    return screen.calls("run_code").first


def test_code_gets_its_lines_from_the_panel_and_a_password_is_kept_nowhere(screen: Screen, model: ModelServer):
    script(model, run_code(ASKS), {"text": "It ran."})
    card = start(screen, "Ask me")
    expect(card).to_contain_text("Who?", timeout=60_000)
    expect(card).to_contain_text("Needs you")
    screen.shot("input_line")
    assert not field(card).evaluate("node => node === document.activeElement")
    field(card).fill("Ada")
    field(card).press("Enter")

    expect(card).to_contain_text("Answered: Ada")
    expect(card).to_contain_text("Pass phrase:")
    expect(field(card)).to_be_focused()
    expect(field(card)).to_have_attribute("type", "password")
    screen.reload()
    card = screen.calls("run_code").first
    field(card).fill(SECRET)
    screen.shot("input_password")
    card.get_by_role("button", name="Send").click()

    screen.wait_turn(0, "answered")
    expect(card.get_by_label("Outputs")).to_contain_text(f"hello Ada {len(SECRET)}")
    expect(field(card)).to_have_count(0)
    assert SECRET not in screen.page.content()


def test_a_line_that_is_not_answered_interrupts_the_code(screen: Screen, model: ModelServer):
    script(model, run_code('input("Sure? ")\nprint(6 * 7)'), {"text": "You would not say."})
    card = start(screen, "Ask me again")
    card.get_by_role("button", name="Do not answer").click(timeout=60_000)
    screen.wait_turn(0, "answered")
    expect(card).to_contain_text("Not answered")
    expect(card).to_have_attribute("data-status", "failed")
    expect(card.get_by_label("Outputs")).not_to_contain_text("42")


def test_a_question_in_another_session_is_counted_where_it_cannot_be_seen(screen: Screen, model: ModelServer):
    script(model, run_code('print(input("Which? "))'), {"text": "That one."})
    card = start(screen, "Ask me elsewhere")
    expect(field(card)).to_be_visible(timeout=60_000)
    screen.command("jupyter-pernix:new-session")
    expect(screen.panel.get_by_title("Other sessions need you")).to_have_text("1")
    screen.panel.get_by_role("button", name="Sessions").click()
    asks = screen.panel.get_by_role("listitem").filter(has_text="Needs you")
    expect(asks).to_have_count(1)
    asks.get_by_role("button").first.click()
    field(screen.calls("run_code").first).fill("this one")
    field(screen.calls("run_code").first).press("Enter")
    screen.wait_turn(0, "answered")
