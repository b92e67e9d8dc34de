"""Questions to the user, each kind of answer to them, and the permissions that come of it: in a real JupyterLab."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect
from support.browser import Screen
from support.lab import Lab
from support.model_server import ModelServer

ORDERS = Path(__file__).parents[1] / "support" / "orders.py"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with ModelServer(program=f"{ORDERS}:decide") as model:
        yield model.url


def question(screen: Screen, text: str = "") -> Locator:
    """The open question on the card that shows ``text``."""
    open_ = screen.page.locator("[data-question]")
    found = screen.calls().filter(has_text=text).filter(has=open_).last.locator("[data-question]")
    expect(found).to_be_visible(timeout=60_000)
    return found


def answer(asked: Locator, name: str) -> None:
    asked.get_by_role("button", name=name, exact=True).click()


def is_focused(element: Locator) -> bool:
    return element.evaluate("node => node === document.activeElement")


def test_a_question_says_why_and_its_yes_is_for_once(screen: Screen, root: Path):
    screen.new_session("prices")
    screen.choose_mode("edit")
    screen.send("shell touch once-a.txt\nshell touch once-a.txt")
    asked = question(screen, "touch once-a.txt")
    expect(asked).to_contain_text("Why you are asked:")
    expect(screen.panel.get_by_role("log", name="Session status")).to_contain_text("Needs you: Run this shell command?")
    for name in ("Allow once", "Allow for this session", "Reject"):
        described = asked.get_by_role("button", name=name, exact=True).get_attribute("aria-describedby") or ""
        shown = [screen.page.locator(f"[id='{one}']").text_content() or "" for one in described.split()]
        assert any("touch once-a.txt" in text for text in shown), described
    screen.shot("gate-question-light")
    answer(asked, "Allow once")
    expect(screen.calls("run_shell").first).to_contain_text("Allowed once")
    expect(screen.calls("run_shell")).to_have_count(2)
    answer(question(screen, "touch once-a.txt"), "Reject")
    screen.wait_turn(0, "answered")
    expect(screen.calls("run_shell").nth(1)).to_contain_text("Rejected")
    assert (root / "prices/once-a.txt").exists()


def test_a_yes_for_the_session_is_not_asked_again_in_it_but_in_another(screen: Screen, root: Path):
    screen.new_session("prices")
    screen.choose_mode("edit")
    screen.send("shell mkdir s-one\nshell mkdir s-two")
    answer(question(screen, "mkdir s-one"), "Allow for this session")
    screen.wait_turn(0, "answered")
    expect(screen.calls("run_shell").first).to_contain_text("Allowed for this session: remembered:")
    expect(screen.calls("run_shell").nth(1)).to_have_attribute("data-status", "completed")
    assert (root / "prices/s-two").is_dir()

    screen.command("jupyter-pernix:new-session")
    expect(screen.turns).to_have_count(0)
    screen.choose_mode("edit")
    screen.send("shell mkdir s-three")
    answer(question(screen, "mkdir s-three"), "Reject")
    screen.wait_turn(0, "answered")
    assert not (root / "prices/s-three").exists()


def test_an_always_is_listed_holds_in_another_session_and_is_removed(screen: Screen, root: Path):
    screen.new_session("prices")
    screen.choose_mode("edit")
    screen.send("shell mkdir -p always-one")
    answer(question(screen, "mkdir -p always-one"), "Always allow in this folder")
    screen.wait_turn(0, "answered")

    screen.command("jupyter-pernix:new-session")
    expect(screen.turns).to_have_count(0)
    screen.choose_mode("edit")
    screen.send("shell mkdir -p always-two")
    screen.wait_turn(0, "answered")
    expect(screen.calls("run_shell")).to_have_attribute("data-status", "completed")
    assert (root / "prices/always-two").is_dir()

    screen.command("pernix:permissions")
    rules = screen.panel.get_by_role("region", name="Allowed unasked")
    expect(rules).to_contain_text("mkdir")
    screen.shot("gate-permissions-light")
    remove = rules.get_by_role("button", name=re.compile("Remove the rule"))
    while remove.count() > 0:
        count = remove.count()
        remove.first.click()
        expect(remove).to_have_count(count - 1)
    screen.panel.get_by_role("button", name="Back to the session").click()
    screen.send("shell mkdir -p always-three")
    answer(question(screen, "mkdir -p always-three"), "Reject")
    screen.wait_turn(1, "answered")


def test_a_no_takes_the_words_along(screen: Screen, root: Path):
    screen.new_session("prices")
    screen.choose_mode("edit")
    screen.send("shell touch no.txt")
    asked = question(screen, "touch no.txt")
    field = asked.get_by_role("textbox", name="What to do instead")
    field.fill("read the file first")
    field.press("Enter")
    screen.wait_turn(0, "answered")
    call = screen.calls("run_shell")
    expect(call).to_contain_text("Rejected: read the file first")
    expect(call).to_contain_text("The user says: read the file first")
    assert not (root / "prices/no.txt").exists()


def test_rules_are_left_out_by_their_boxes(screen: Screen):
    screen.new_session("prices")
    screen.choose_mode("edit")
    screen.send("shell mkdir box > box.log")
    asked = question(screen, "mkdir box > box.log")
    boxes = asked.get_by_role("checkbox")
    assert boxes.count() >= 2
    boxes.last.uncheck()
    screen.shot("gate-rules")
    answer(asked, "Allow for this session")
    screen.wait_turn(0, "answered")
    screen.command("pernix:permissions")
    session = screen.panel.get_by_role("region", name="For this session only")
    expect(session.get_by_role("listitem")).to_have_count(boxes_left := 1)
    assert boxes_left == 1


def test_two_questions_at_once_are_each_answered(screen: Screen, root: Path):
    screen.new_session("prices")
    screen.choose_mode("edit")
    screen.send("part shell touch two-a.txt\npart shell touch two-b.txt")
    line = screen.panel.get_by_role("navigation", name="Open questions")
    expect(line).to_contain_text("2 questions wait:", timeout=60_000)
    screen.shot("gate-two")
    line.get_by_role("button").nth(1).click()
    focused = screen.page.locator("[data-question]:focus")
    expect(focused).to_be_visible()
    card = focused.evaluate("node => node.closest('.jp-Pernix-call').textContent")
    second = "two-b.txt" if "two-b.txt" in card else "two-a.txt"
    first = "two-a.txt" if second == "two-b.txt" else "two-b.txt"
    answer(question(screen, second), "Reject")
    expect(line).to_contain_text("1 question waits:")
    answer(question(screen, first), "Allow once")
    screen.wait_turn(0, "answered")
    expect(line).to_have_count(0)
    assert (root / "prices" / first).exists()
    assert not (root / "prices" / second).exists()


def test_a_question_is_there_after_a_reload_and_answered_by_keyboard_alone(screen: Screen, root: Path):
    screen.new_session("prices")
    screen.choose_mode("edit")
    screen.send("shell touch keyed.txt")
    question(screen, "touch keyed.txt")
    screen.reload()
    screen.command("jupyter-pernix:open-panel")
    asked = question(screen, "touch keyed.txt")
    screen.settle()  # JupyterLab gives the focus to what it restores.
    screen.page.keyboard.press("Control+Alt+q")
    expect(asked).to_be_focused()
    allow = asked.get_by_role("button", name="Allow once")
    expect(allow).to_have_attribute("aria-disabled", "false")
    screen.page.keyboard.press("Escape")
    screen.page.keyboard.press("Enter")
    expect(asked).to_be_focused()
    for _ in range(6):
        if is_focused(allow):
            break
        screen.page.keyboard.press("Tab")
    expect(allow).to_be_focused()
    screen.page.keyboard.press("Space")
    screen.wait_turn(0, "answered")
    expect(screen.calls("run_shell")).to_have_attribute("data-status", "completed")
    assert (root / "prices/keyed.txt").exists()


def test_what_is_typed_while_a_question_appears_answers_nothing(screen: Screen, root: Path):
    screen.new_session("prices")
    screen.choose_mode("edit")
    field = screen.panel.get_by_role("textbox", name="Message", exact=True)
    field.fill("shell touch typed.txt")
    field.press("Enter")
    expect(field).to_have_value("")
    typed = ""
    while screen.panel.locator("[data-question]").count() == 0 or len(typed) < 40:
        screen.page.keyboard.type("y \t"[:2])
        typed += "y "
    for key in ("y", "Space", "a"):
        screen.page.keyboard.press(key)
    asked = question(screen, "touch typed.txt")
    assert is_focused(field)
    assert field.input_value() == typed + "y a"
    expect(asked).to_be_visible()
    assert not (root / "prices/typed.txt").exists()
    assert screen.lab.client().request("GET", "/approvals") != []
    field.fill("")
    answer(asked, "Reject")
    screen.wait_turn(0, "answered")


def test_a_click_meant_for_something_else_answers_nothing(screen: Screen):
    """Each answer is pressed in the very moment in which the question is drawn."""
    screen.page.evaluate(
        """() => {
            window.pressed = 0;
            new MutationObserver(() => {
                for (const button of document.querySelectorAll('[data-question] button:not([data-pressed])')) {
                    button.dataset.pressed = 'yes';
                    button.click();
                    window.pressed++;
                }
            }).observe(document.body, { childList: true, subtree: true });
        }"""
    )
    screen.new_session("prices")
    screen.choose_mode("edit")
    screen.send("shell touch early.txt")
    asked = question(screen, "touch early.txt")
    expect(asked.get_by_role("button", name="Reject")).to_have_attribute("aria-disabled", "false")
    assert screen.page.evaluate("() => window.pressed") >= 2
    answer(asked, "Reject")
    screen.wait_turn(0, "answered")


def test_a_question_that_nobody_answers_says_how_long_it_waits_and_ends(
    browser: Browser, tmp_path: Path, root: Path, endpoint: str
):
    settings = "[permissions]\nexpires = 8.0\n"
    arguments = ["--LabApp.expose_app_in_browser=True"]
    with Lab(
        home=tmp_path, root=root, endpoint=endpoint, app="jupyterlab", arguments=arguments, settings=settings
    ) as lab:
        screen = Screen(browser, lab)
        try:
            screen.open()
            screen.new_session("prices")
            screen.choose_mode("edit")
            screen.send("shell touch late.txt")
            asked = question(screen, "touch late.txt")
            expect(asked).to_contain_text(re.compile(r"It waits for \d+ s more; without an answer it is not done\."))
            screen.wait_turn(0, "answered")
            expect(screen.calls("run_shell")).to_contain_text("Not answered in time, so it was not done")
            assert not (root / "prices/late.txt").exists()
            assert screen.errors == []
        finally:
            screen.close()


def test_rules_are_added_and_removed_by_hand_and_a_deny_rule_holds(screen: Screen, root: Path):
    screen.new_session("prices")
    screen.choose_mode("auto")
    screen.panel.get_by_role("button", name="Permissions: not sandboxed").click()
    page = screen.panel.get_by_role("group", name="Permissions")
    expect(page).to_contain_text("Not sandboxed")
    expect(page).to_contain_text("run with all your rights on this machine")
    never = page.get_by_role("region", name="Never allowed")
    field = never.get_by_role("textbox")
    field.fill("mkdir")
    field.press("Enter")
    expect(never.get_by_role("listitem")).to_contain_text("Commands with mkdir")
    unasked = page.get_by_role("region", name="Allowed unasked")
    wrong = unasked.get_by_role("textbox")
    wrong.fill("sudo")
    wrong.press("Enter")
    expect(screen.panel.get_by_role("alert")).to_be_visible()
    expect(wrong).to_have_value("sudo")
    screen.shot("gate-permissions-alert")
    screen.panel.get_by_role("button", name="Dismiss").click()
    screen.panel.get_by_role("button", name="Back to the session").click()
    screen.send("shell mkdir denied")
    screen.wait_turn(0, "answered")
    call = screen.calls("run_shell")
    expect(call).to_contain_text("Refused")
    expect(call).to_contain_text("mkdir")
    screen.shot("gate-denied")
    assert not (root / "prices/denied").exists()
    screen.command("pernix:permissions")
    never.get_by_role("button", name="Remove the rule mkdir").click()
    expect(never.get_by_role("listitem")).to_have_count(0)
    screen.panel.get_by_role("button", name="Back to the session").click()
    screen.send("shell mkdir denied")
    screen.wait_turn(1, "answered")
    assert (root / "prices/denied").is_dir()


def test_the_mode_says_whether_it_is_sandboxed(screen: Screen):
    screen.new_session("prices")
    expect(screen.panel.get_by_label("Mode", exact=True)).to_have_attribute("title", re.compile(r"Not sandboxed\.$"))
    screen.command("pernix:permissions")
    sandbox = screen.panel.get_by_role("region", name="Sandbox")
    expect(sandbox.get_by_role("heading")).to_have_text("Not sandboxed")
    status: Any = screen.lab.client().info().get("sandbox")
    switch = sandbox.get_by_role("checkbox", name="Run what this session runs in a sandbox")
    if status is None or not status["works"]:
        expect(switch).to_have_count(0)
        expect(sandbox).to_contain_text("not known" if status is None else status["why"])
        return
    switch.click()
    expect(sandbox.get_by_role("heading")).to_have_text("Sandboxed, no network")
    sandbox.get_by_role("checkbox", name="Let it reach the network").click()
    expect(sandbox.get_by_role("heading")).to_have_text("Sandboxed, with network")
    screen.shot("gate-sandboxed")
    screen.panel.get_by_role("button", name="Back to the session").click()
    expect(screen.panel.get_by_label("Mode", exact=True)).to_have_attribute(
        "title", re.compile(r"Sandboxed, with network\.$")
    )
