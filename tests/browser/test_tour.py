"""A newcomer without any model sees the whole product on real parts."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from support.browser import Screen


@pytest.fixture(scope="module")
def endpoint() -> str:
    return ""


def test_the_tour_runs_from_the_welcome_and_says_that_it_is_one(screen: Screen, root: Path):
    screen.command("jupyter-pernix:open-panel")
    welcome = screen.panel.get_by_label("Welcome")
    expect(welcome).to_be_visible()
    screen.shot("welcome")
    screen.panel.get_by_role("button", name="Take the tour").click()
    expect(screen.panel.get_by_role("note").first).to_contain_text("Recorded tour — not a model")
    screen.wait_turn(0, "answered")
    screen.wait_ready()
    expect(screen.calls("run_shell").first).to_contain_text("1 failed")
    expect(screen.calls("run_shell").last).to_contain_text("6 passed")
    expect(screen.calls("run_code").last.locator("img")).to_be_visible()
    assert "yield rest" in (root / "pernix-tour/csv_import/lines.py").read_text()
    assert list((root / "pernix-tour/pernix-runs").glob("*.ipynb"))
