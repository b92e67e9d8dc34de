"""What the host does and knows is said where it belongs: plans, corrections, shortened contexts, workers, limits."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect
from support.browser import Screen
from support.helper_model import PLAN
from support.jobs import LONG_TEXT, call
from support.lab import Lab
from support.model_server import ModelServer

HELPER = Path(__file__).parents[1] / "support" / "helper_model.py"
SETTINGS = """
[roles.background]
endpoint = "helper"
[endpoints.helper]
base_url = "{helper}"
model = "helper-1"
protocol = "tools"
[endpoints.small]
base_url = "{main}"
model = "small-1"
protocol = "tools"
context_length = 16384
[endpoints.small.price]
prompt = 1.0
completion = 2.0
[endpoints.talker]
base_url = "{main}"
model = "talker-1"
protocol = "chat"
"""


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(program="builtin:echo") as server:
        yield server


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, root: Path, model: ModelServer) -> Iterator[Lab]:
    with ModelServer(program=f"{HELPER}:decide") as helper:
        settings = SETTINGS.format(helper=helper.url, main=model.url)
        home = tmp_path_factory.mktemp("home")
        with Lab(
            home=home,
            root=root,
            endpoint=model.url,
            app="jupyterlab",
            arguments=["--LabApp.expose_app_in_browser=True"],
            settings=settings,
        ) as lab:
            yield lab


def script(model: ModelServer, *turns: dict[str, Any]) -> None:
    model.ctl("script", {"turns": list(turns), "advance": "assistant_messages", "on_end": "last"})


def session(screen: Screen, lab: Lab, **fields: Any) -> str:
    """A new session with these fields, in sight."""
    session_id = str(lab.client().create_session(space_root="prices", **fields)["session_id"])
    screen.open_session(session_id)
    return session_id


def above(first: Locator, second: Locator) -> bool:
    one, two = first.bounding_box(), second.bounding_box()
    assert one is not None and two is not None
    return one["y"] + one["height"] <= two["y"]


def test_a_plan_stands_under_the_request_and_a_title_is_written(screen: Screen, lab: Lab, model: ModelServer):
    script(model, {"text": "It is planned well.", "tps": 2, "chunk_chars": 4})
    session(screen, lab, mode="edit")
    screen.send("Look at the prices, mend the sum that is wrong, and run the tests")
    plan = screen.panel.get_by_role("group", name="Plan")
    expect(plan).to_contain_text(PLAN["approach"])
    expect(plan.get_by_role("listitem")).to_have_text(PLAN["steps"])
    screen.shot("plan")
    screen.wait_turn(0, "answered")
    expect(plan.get_by_role("button", name="Plan")).to_have_attribute("aria-expanded", "false")
    expect(plan).to_contain_text("3 steps")
    expect(screen.panel.get_by_role("heading")).to_have_text("Sum of the prices")


def test_a_correction_is_read_before_the_answer_that_it_corrects(screen: Screen, lab: Lab, model: ModelServer):
    script(model, {"text": "I fixed the sum in `prices.py`, and all tests pass now."})
    session(screen, lab, mode="auto")
    screen.send("Fix the sum in prices.py")
    screen.wait_turn(0, "answered")
    correction = screen.panel.get_by_role("note", name="Correction").last
    expect(correction).to_contain_text("What really happened")
    assert above(correction, screen.panel.get_by_label("Answer").last)
    screen.shot("correction")


def test_the_context_is_measured_and_made_shorter_on_request(screen: Screen, lab: Lab, model: ModelServer):
    script(model, {"text": 4 * LONG_TEXT}, {"text": 4 * LONG_TEXT}, {"text": 4 * LONG_TEXT}, {"text": "The end."})
    session(screen, lab, mode="ask", endpoint="small", title="Stories")
    for number, words in enumerate(["Tell one", "Tell another", "And another", "Stop"]):
        screen.send(words)
        screen.wait_turn(number, "answered")
        screen.wait_ready()
    gauge = screen.panel.get_by_role("button", name="Context:")
    expect(gauge).to_contain_text("of 16.4k")
    before = gauge.text_content()
    gauge.click()
    sheet = screen.panel.get_by_role("group", name="Context")
    expect(sheet).to_contain_text("of at most 16,384 tokens")
    screen.shot("context")
    sheet.get_by_role("button", name="Compact now").click()
    notice = screen.panel.get_by_role("note", name="Context made shorter")
    expect(notice).to_contain_text("The conversation was made shorter")
    screen.wait_ready()
    expect(gauge).not_to_have_text(str(before))
    expect(screen.turns.first).to_contain_text("word399")
    expect(screen.turns.first.locator(".jp-Pernix-facts")).to_contain_text("cost 0.00")
    screen.shot("compacted")


def test_a_worker_is_shown_in_the_call_that_it_works_for_and_asks_there(screen: Screen, lab: Lab, model: ModelServer):
    part = call("delegate", title="One part", task="Do one part of the work and say what came of it.")
    script(model, {"text": "I hand it over.", "tool_calls": [part]}, {"text": "The worker did it."})
    session_id = session(screen, lab, mode="edit")
    screen.send("Hand it over")
    worker = screen.panel.get_by_role("group", name="Worker: One part")
    allow = worker.get_by_role("button", name="Allow once")
    expect(allow).to_be_visible(timeout=60_000)
    expect(screen.panel.locator('.jp-Pernix-state[data-state="awaiting_workers"]')).to_contain_text(
        "A worker needs you"
    )
    screen.shot("worker-asks")
    allow.click()
    screen.wait_turn(0, "answered")
    expect(worker).to_contain_text("The part is done.")
    expect(worker).to_contain_text("Answered")
    screen.shot("worker")
    worker.get_by_role("button", name="Open its session").click()
    expect(screen.panel).to_contain_text("Works for")
    expect(screen.calls("run_code")).to_contain_text("part done")
    screen.panel.get_by_role("button", name="Sessions").click()
    expect(screen.panel.get_by_role("list", name="Sessions")).not_to_contain_text("One part")
    screen.open_session(session_id)


def test_a_model_that_can_only_talk_and_a_limit_are_said_plainly(screen: Screen, lab: Lab, model: ModelServer):
    script(model, {"text": "I can only talk."})
    session(
        screen,
        lab,
        mode="edit",
        endpoint="talker",
        budget={"rounds": None, "seconds": None, "tokens": 50_000, "cost": None, "changed_lines": 100},
    )
    screen.send("Talk")
    screen.wait_turn(0, "answered")
    expect(screen.panel.get_by_role("note", name="Chat only")).to_contain_text("cannot read, run or change anything")
    expect(screen.panel.get_by_label("Answer")).to_contain_text("I can only talk.")
    left = screen.panel.get_by_role("note", name="Budget")
    expect(left).to_contain_text("of 50k tokens, 100 of 100 changed lines")
    screen.shot("chat-only")


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Light"])
def test_everything_stays_readable_in_a_narrow_panel(screen: Screen, lab: Lab, theme: str):
    screen.theme(theme)
    titled = {session["title"]: session["session_id"] for session in lab.client().sessions()}
    screen.open_session(str(titled["Sum of the prices"]))
    screen.panel.evaluate("node => { node.style.maxWidth = '300px'; }")
    screen.panel.get_by_role("button", name="Plan").click()
    screen.settle()
    overflow = screen.panel.evaluate(
        "panel => [...panel.querySelectorAll('*')].filter(node => node.getBoundingClientRect().right >"
        " panel.getBoundingClientRect().right + 1 && !node.closest('pre, .jp-Pernix-announcer')).map(node => node.className)"
    )
    assert overflow == []
    screen.shot(f"narrow-{theme[-5:].strip()}")
