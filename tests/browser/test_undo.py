"""Files that the agent changed, seen as differences and put back in the panel: in a real JupyterLab, in a git repository and outside one."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect
from support.browser import Screen
from support.model_server import ModelServer

ORDERS = Path(__file__).parents[1] / "support" / "orders.py"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with ModelServer(program=f"{ORDERS}:decide") as model:
        yield model.url


@pytest.fixture
def folder(root: Path, request: pytest.FixtureRequest) -> Path:
    """A folder with two files, outside of any repository."""
    folder = root / request.node.originalname
    folder.mkdir()
    (folder / "one.txt").write_text("first\nsecond\n")
    (folder / "two.txt").write_text("alpha\n")
    return folder


def begin(screen: Screen, folder: Path, mode: str = "auto") -> None:
    screen.new_session(folder.name)
    screen.choose_mode(mode)


def files_of(screen: Screen, turn: int, words: str) -> Locator:
    """What a turn's foot shows of its files, opened."""
    foot = screen.turns.nth(turn)
    foot.get_by_role("button", name=words).click()
    shown = foot.get_by_role("group", name="Files changed by this turn")
    expect(shown).to_be_visible()
    return shown


def test_one_file_of_a_turn_is_put_back(screen: Screen, folder: Path):
    begin(screen, folder)
    screen.send("edit one.txt second=>2nd\nwrite new.txt hello\nedit two.txt alpha=>beta")
    screen.wait_turn(0, "answered")
    screen.wait_ready()
    shown = files_of(screen, 0, "3 files changed")
    one = shown.get_by_role("group", name="All changes of one.txt")
    expect(one).to_contain_text("-second")
    expect(one).to_contain_text("+2nd")
    expect(shown.get_by_role("group", name="All changes of new.txt")).to_contain_text("new")
    screen.shot("undo-files-light")
    one.get_by_role("button", name="Put back: one.txt").click()
    expect(shown.get_by_role("status")).to_contain_text("Put back: 1 file.")
    expect(one).to_contain_text("put back")
    expect(one.get_by_role("button", name="Put back: one.txt")).to_have_count(0)
    expect(screen.calls("edit_file").first).to_contain_text("put back")
    assert (folder / "one.txt").read_text() == "first\nsecond\n"
    assert (folder / "two.txt").read_text() == "beta\n"
    screen.reload()
    screen.command("jupyter-pernix:open-panel")
    expect(screen.calls("edit_file").first).to_contain_text("put back")


def test_a_turn_is_put_back_and_the_one_before_it_stays(screen: Screen, folder: Path):
    begin(screen, folder)
    screen.send("edit one.txt first=>1st")
    screen.wait_turn(0, "answered")
    screen.wait_ready()
    screen.send("edit one.txt second=>2nd\nwrite more.txt text")
    screen.wait_turn(1, "answered")
    screen.wait_ready()
    shown = files_of(screen, 1, "2 files changed")
    shown.get_by_role("button", name="Put back all of this turn").click()
    asked = shown.get_by_role("group", name="Put back all of this turn")
    expect(asked).to_be_focused()
    expect(asked).to_contain_text("more.txt")
    asked.get_by_role("button", name="Put back all of this turn").click()
    expect(shown.get_by_role("status")).to_contain_text("Put back: 2 files.")
    assert (folder / "one.txt").read_text() == "1st\nsecond\n"
    assert not (folder / "more.txt").exists()


def test_all_of_a_session_is_put_back_but_what_was_changed_by_hand_is_left(screen: Screen, folder: Path):
    begin(screen, folder)
    screen.send("edit one.txt first=>1st\nedit two.txt alpha=>beta")
    screen.wait_turn(0, "answered")
    screen.wait_ready()
    (folder / "two.txt").write_text("by hand\n")
    shown = files_of(screen, 0, "2 files changed")
    shown.get_by_role("button", name="Undo all of this session's changes").click()
    asked = shown.get_by_role("group", name="Undo all of this session's changes")
    expect(asked.get_by_role("listitem")).to_have_text(
        ["one.txt", "two.txt (changed by somebody else since, so it is left as it is)"]
    )
    expect(asked).to_contain_text("Not put back: what code changed in the kernel")
    screen.shot("undo-confirm-light")
    asked.get_by_role("button", name="Leave them as they are").click()
    expect(asked).to_have_count(0)
    assert (folder / "one.txt").read_text() == "1st\nsecond\n"
    shown.get_by_role("button", name="Undo all of this session's changes").click()
    asked.get_by_role("button", name="Undo all of this session's changes").click()
    status = shown.get_by_role("status")
    expect(status).to_contain_text("Put back: 1 file. Left as it is: 1")
    expect(status).to_contain_text("two.txt: ")
    screen.shot("undo-refused-light")
    assert (folder / "one.txt").read_text() == "first\nsecond\n"
    assert (folder / "two.txt").read_text() == "by hand\n"


def test_what_a_command_changed_in_a_repository_is_put_back(screen: Screen, folder: Path):
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-C", str(folder)]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "begin"]):
        subprocess.run([*git, *command], check=True)
    begin(screen, folder)
    screen.send("shell printf 'third\\n' >> one.txt")
    screen.wait_turn(0, "answered")
    screen.wait_ready()
    shown = files_of(screen, 0, "Files changed")
    one = shown.get_by_role("group", name="All changes of one.txt")
    expect(one).to_contain_text("by a command or a cell")
    expect(one).to_contain_text("+third")
    one.get_by_role("button", name="Put back: one.txt").click()
    expect(shown.get_by_role("status")).to_contain_text("Put back: 1 file.")
    expect(screen.calls("run_shell")).to_contain_text("Put back: one.txt")
    assert (folder / "one.txt").read_text() == "first\nsecond\n"


def test_nothing_is_put_back_while_a_turn_runs(screen: Screen, folder: Path):
    begin(screen, folder)
    screen.send("edit one.txt first=>1st")
    screen.wait_turn(0, "answered")
    screen.wait_ready()
    shown = files_of(screen, 0, "1 file changed")
    screen.choose_mode("edit")
    screen.send("shell touch waits.txt")
    expect(screen.panel.locator("[data-question]")).to_be_visible()
    shown.get_by_role("button", name="Put back: one.txt").click()
    expect(screen.panel.get_by_role("alert")).to_be_visible()
    assert (folder / "one.txt").read_text() == "1st\nsecond\n"
    screen.panel.locator("[data-question]").get_by_role("button", name="Reject").click()
    screen.wait_turn(1, "answered")
