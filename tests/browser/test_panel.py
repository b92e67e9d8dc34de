"""The panel as a person uses it, on a real JupyterLab with a scripted model."""

import re
from pathlib import Path

import nbformat
from playwright.sync_api import Locator, expect
from support.browser import Screen
from support.jobs import ANSWER_MARK, MAIN_REQUEST


def image_width(picture: Locator) -> int:
    """Natural width in pixels; 0 until it is decoded."""
    return picture.evaluate("image => image.complete ? image.naturalWidth : 0")


def is_focused(element: Locator) -> bool:
    return element.evaluate("node => node === document.activeElement")


def test_the_main_job_in_edit_mode_survives_a_reload(screen: Screen, root: Path):
    screen.new_session("csv_import")
    screen.choose_mode("edit")
    screen.send(MAIN_REQUEST)

    shell = screen.calls("run_shell").first
    expect(shell).to_contain_text("python -m pytest -q")
    expect(shell).to_contain_text("Needs you")
    screen.shot("approval")
    shell.get_by_role("button", name="Allow for this session").click()
    expect(shell).to_contain_text("1 failed, 4 passed", timeout=60_000)
    expect(shell).to_have_attribute("data-status", "failed")

    code = screen.calls("run_code").first
    code.get_by_role("button", name="Allow for this session").click(timeout=90_000)
    expect(screen.calls("run_shell").nth(1)).to_contain_text("6 passed")
    answer = screen.panel.get_by_label("Answer").last
    expect(answer).to_contain_text("The last row", timeout=90_000)
    expect(screen.turns.first).to_have_attribute("data-code", "")
    screen.reload()

    expect(screen.turns.first).to_contain_text(MAIN_REQUEST)
    screen.wait_turn(0, "answered")
    screen.wait_ready()
    expect(screen.turns).to_have_count(1)
    expect(screen.calls()).to_have_count(9)
    expect(screen.panel.get_by_label("Answer").filter(has_text=ANSWER_MARK)).to_have_count(1)
    expect(screen.panel.get_by_label("Answer").last.get_by_role("table")).to_contain_text("173.3")
    expect(screen.panel.get_by_role("button", name="Allow for this session")).to_have_count(0)
    picture = screen.calls("run_code").nth(1).locator("img")
    picture.scroll_into_view_if_needed()
    expect(picture).to_be_visible()
    assert image_width(picture) > 300
    expect(picture).to_have_attribute("alt", re.compile(r"Figure size \d+x\d+ with 1 Axes"))

    assert "    if rest:\n        yield rest\n" in (root / "csv_import/csv_import/lines.py").read_text()
    assert "a_last_line_without_a_newline_is_kept" in (root / "csv_import/tests/test_lines.py").read_text()
    [record] = (root / "csv_import/pernix-runs").glob("*.ipynb")
    notebook = nbformat.read(record, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)

    screen.panel.get_by_role("button", name="Open run notebook").click()
    opened = screen.page.locator(".jp-NotebookPanel img")
    expect(opened.first).to_be_visible()


def test_a_turn_is_stopped_and_the_session_goes_on(screen: Screen):
    screen.new_session("prices")
    screen.choose_mode("auto")
    screen.send("Sleep in the kernel")
    code = screen.calls("run_code")
    expect(code).to_contain_text("asleep", timeout=60_000)
    screen.panel.get_by_role("button", name="Stop", exact=True).click()
    screen.wait_turn(0, "cancelled")
    screen.wait_ready()
    expect(code).to_have_attribute("data-status", "cancelled")
    expect(screen.turns.first).to_contain_text("Stopped")
    screen.send("Say hello")
    screen.wait_turn(1, "answered")
    expect(screen.turns.nth(1)).to_contain_text("Hello from the scripted model.")


def test_a_message_that_is_sent_while_it_works_is_queued_and_then_answered(screen: Screen):
    screen.new_session("prices")
    screen.send("Tell a long story")
    expect(screen.panel.get_by_label("Answer")).to_contain_text("word3")
    screen.send("Say hello")
    queue = screen.panel.get_by_role("list", name="Queued messages")
    expect(queue).to_contain_text("Say hello")
    screen.shot("queued")
    screen.wait_turn(0, "answered")
    screen.wait_turn(1, "answered")
    expect(queue).to_have_count(0)
    expect(screen.turns.nth(0)).to_contain_text("word399")
    expect(screen.turns.nth(1)).to_contain_text("Hello from the scripted model.")


def test_the_mode_is_kept_and_obeyed(screen: Screen):
    screen.new_session("prices")
    screen.choose_mode("ask")
    screen.send("Sleep in the kernel")
    screen.wait_turn(0, "answered")
    refused = screen.calls("run_code")
    expect(refused).to_have_attribute("data-status", "failed")
    expect(refused).to_contain_text("Refused")
    screen.choose_mode("plan")
    screen.wait_ready()
    screen.reload()
    expect(screen.panel.get_by_label("Mode", exact=True)).to_have_value("plan")


def test_a_question_is_answered_and_a_turn_stopped_by_keyboard_alone(screen: Screen):
    screen.new_session("prices")
    screen.choose_mode("edit")
    screen.send("Sleep in the kernel")
    code = screen.calls("run_code")
    expect(code).to_contain_text("Needs you", timeout=60_000)
    allow = code.get_by_role("button", name="Allow once")
    for _ in range(12):
        screen.page.keyboard.press("Shift+Tab")
        if is_focused(allow):
            break
    expect(allow).to_be_enabled()
    screen.page.keyboard.press("Enter")
    expect(code).to_contain_text("asleep", timeout=60_000)
    expect(code.locator(".jp-Pernix-callHead")).to_be_focused()
    screen.page.keyboard.press("Escape")
    screen.wait_turn(0, "cancelled")


def test_a_reader_stays_where_he_scrolled_to_and_the_way_to_the_end_covers_nothing(screen: Screen):
    screen.new_session("prices")
    screen.send("Tell a long story")
    expect(screen.panel.get_by_label("Answer")).to_contain_text("word350")
    conversation = screen.panel.get_by_label("Conversation")
    conversation.evaluate("node => node.scrollTo(0, 40)")
    to_end = screen.panel.get_by_role("button", name="Jump to latest")
    expect(to_end).to_be_visible()
    screen.wait_turn(0, "answered")
    assert conversation.evaluate("node => node.scrollTop") == 40
    text, button = conversation.bounding_box(), to_end.bounding_box()
    assert text is not None and button is not None
    assert text["y"] + text["height"] <= button["y"]
    to_end.click()
    expect(to_end).to_have_count(0)
    expect(conversation).to_be_focused()
    assert conversation.evaluate("node => node.scrollHeight - node.scrollTop - node.clientHeight") < 2


def test_the_panel_opens_wide_enough_and_keeps_the_width_that_its_user_gave_it(screen: Screen):
    screen.command("jupyter-pernix:open-panel")
    width = "() => document.querySelector('#jp-Pernix-workspace').clientWidth"
    screen.page.wait_for_function(f"() => Math.abs(({width})() - 420) < 5")
    box = screen.panel.bounding_box()
    assert box is not None
    screen.page.mouse.move(box["x"] - 1, 400)
    screen.page.mouse.down()
    screen.page.mouse.move(box["x"] + 79, 400, steps=4)
    with screen.page.expect_response(lambda response: "/lab/api/workspaces" in response.url):
        screen.page.mouse.up()
    screen.page.wait_for_function(f"() => Math.abs(({width})() - 340) < 5")
    screen.reload()
    screen.command("jupyter-pernix:open-panel")
    screen.page.wait_for_function(f"() => Math.abs(({width})() - 340) < 5")


def test_the_line_of_states_stays_one_line_in_a_narrow_panel(screen: Screen):
    screen.new_session("prices")
    screen.panel.evaluate("node => { node.style.maxWidth = '300px'; }")
    line = screen.panel.locator(".jp-Pernix-stateLine")
    before = line.bounding_box()
    screen.send("Tell a long story")
    expect(screen.panel.locator('.jp-Pernix-state[data-state="processing"]')).to_be_visible()
    assert before is not None and line.bounding_box() == before
