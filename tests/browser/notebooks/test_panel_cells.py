"""What a session does in an open notebook, as the panel shows it: its changes, the cells that it ran, and the notebook itself."""

from pathlib import Path

from playwright.sync_api import Locator, expect
from support.browser import Screen
from support.model_server import ModelServer
from support.notebook_desk import call, edit, open_notebook, say, script
from support.notebook_view import NotebookView, base, write_notebook


def changes(screen: Screen) -> Locator:
    return screen.panel.locator(".jp-Pernix-cellChange")


def test_a_change_is_undone_from_the_panel_with_its_outputs(screen: Screen, root: Path, model: ModelServer):
    view = open_notebook(screen, root, "undone.ipynb", one="print('old')", two="y = 2")
    script(
        model,
        call("read_notebook"),
        call("run_cells", cell_ids=["one"]),
        edit("one", "print('old')", "print('new')"),
        call("run_cells", cell_ids=["one"]),
        call("edit_notebook", op="insert", behind="two", source="z = 3"),
        call("edit_notebook", op="delete", cell_id="two", base=base("y = 2")),
        say("Done."),
    )
    screen.send("Change it")
    screen.wait_turn(0, "answered")
    view.wait_text("one", "new")
    expect(changes(screen)).to_have_count(3)
    edited = changes(screen).first
    expect(edited.locator(".jp-mod-removed")).to_have_text("-print('old')\n")
    expect(edited.locator(".jp-mod-added")).to_have_text("+print('new')\n")
    screen.shot("panel_changes")
    edited.get_by_role("button", name="Undo", exact=True).click()
    expect(edited).to_have_attribute("data-status", "undone")
    expect(edited).to_contain_text("kernel")
    expect(edited).to_be_focused()
    assert view.sources["one"] == "print('old')"
    view.wait_text("one", "old")

    foot = screen.turns.first.locator("footer")
    expect(foot).to_contain_text("2 changes of cells")
    foot.get_by_role("button", name="Keep all").click()
    expect(foot).not_to_contain_text("of cells")
    expect(changes(screen).nth(1)).to_have_attribute("data-status", "kept")
    expect(changes(screen).nth(2)).to_have_attribute("data-status", "kept")
    assert list(view.sources.values()) == ["print('old')", "z = 3"]


def test_a_cell_that_ran_is_named_and_its_notebook_opened(screen: Screen, root: Path, model: ModelServer):
    open_notebook(screen, root, "named.ipynb", one="1 / 0")
    write_notebook(root / "other.ipynb", one="x = 1")
    screen.command("docmanager:open", path="other.ipynb")
    script(model, call("read_notebook"), call("run_cells", cell_ids=["one"]), say("It failed."))
    screen.send("Run it")
    screen.wait_turn(0, "answered")
    card = screen.calls("run_cells").first
    expect(card).to_contain_text("Run a cell: 1 / 0")
    expect(card).to_contain_text("ZeroDivisionError")
    expect(card).not_to_contain_text("does not show these outputs")
    card.get_by_role("button", name="named.ipynb").click()
    expect(screen.page.locator(".jp-NotebookPanel:visible")).to_contain_text("1 / 0")


def test_a_session_is_attached_and_detached_from_its_head(screen: Screen, root: Path, model: ModelServer):
    write_notebook(root / "attached.ipynb", one="x = 1")
    screen.command("docmanager:open", path="attached.ipynb")
    NotebookView(screen.page, "attached.ipynb").wait_kernel()
    screen.command("jupyter-pernix:new-session")
    screen.panel.get_by_role("button", name="Work in the open notebook").click()
    head = screen.panel.get_by_role("group", name="Works in this notebook and its kernel")
    expect(head).to_contain_text("attached.ipynb")
    expect(head).to_contain_text("Python 3")
    screen.shot("panel_attached")
    script(model, call("read_notebook"), call("run_cells", cell_ids=["one"]), say("It ran."))
    screen.send("Run it")
    screen.wait_turn(0, "answered")
    head.get_by_role("button", name="Detach from the notebook").click()
    expect(head).to_have_count(0)
    expect(screen.panel.get_by_label("Kernel", exact=True)).to_be_visible()


def test_a_variable_is_mentioned_and_what_the_model_was_told_can_be_read(
    screen: Screen, root: Path, model: ModelServer
):
    view = open_notebook(screen, root, "mentions.ipynb", one="prices = [1, 2, 3]\nprint('set')")
    screen.command("notebook:run-all-cells")
    view.wait_text("one", "set")
    script(model, say("It is 6."))
    field = screen.panel.get_by_role("textbox", name="Message", exact=True)
    field.press_sequentially("Add up @pri")
    offer = screen.panel.get_by_role("option", name="prices")
    expect(offer).to_contain_text("list · 3 items")
    screen.shot("panel_mention")
    field.press("Enter")
    expect(field).to_have_value("Add up @prices ")
    field.press("Enter")
    screen.wait_turn(0, "answered")
    told = screen.panel.get_by_role("group", name="What the model was told beside the message")
    told.get_by_role("button", name="@prices").click()
    expect(told.locator("pre")).to_contain_text("list")
    told.get_by_role("button", name="Environment").click()
    expect(told.locator("pre")).to_contain_text("The kernel is python3")
    screen.shot("panel_told")
