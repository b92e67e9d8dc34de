"""What a folder asks to start, in a real JupyterLab: shown as it is, started after a yes, and not any more when that is taken back."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect
from support.browser import Screen
from support.model_server import ModelServer

ORDERS = Path(__file__).parents[1] / "support" / "orders.py"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with ModelServer(program=f"{ORDERS}:decide") as model:
        yield model.url


def test_a_command_of_the_folder_is_started_after_its_user_allowed_it_in_the_panel(screen: Screen, root: Path):
    space = root / "prices"
    marks = root / "marks"
    (space / ".pernix").mkdir(exist_ok=True)
    command = f"echo ran >> {marks}"
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}]}
    (space / ".pernix" / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    screen.new_session("prices")
    screen.choose_mode("auto")
    screen.send("shell ls")
    screen.wait_turn(0, "answered")
    expect(screen.panel).to_contain_text("asks to start a command around the agent's calls. It is not started")
    assert not marks.exists()

    screen.command("pernix:permissions")
    commands = screen.panel.get_by_role("region", name="Commands of this folder")
    expect(commands.get_by_label("Command that waits")).to_have_text(command)
    expect(commands).to_contain_text("Asked for by .pernix/hooks.json")
    screen.shot("gate-consents-light")
    commands.get_by_role("button", name=f"Allow to start: {command}").press("Enter")
    expect(commands).to_contain_text("may be started")
    screen.panel.get_by_role("button", name="Back to the session").click()
    screen.send("shell ls")
    screen.wait_turn(1, "answered")
    assert marks.read_text() == "ran\n"

    screen.command("pernix:permissions")
    commands.get_by_role("button", name=f"Do not start any more: {command}").click()
    expect(commands.get_by_label("Command that waits")).to_have_text(command)
    screen.panel.get_by_role("button", name="Back to the session").click()
    screen.send("shell ls")
    screen.wait_turn(2, "answered")
    assert marks.read_text() == "ran\n"
