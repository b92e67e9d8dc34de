"""A record run again: from the menu of JupyterLab, in which its cards stay, and by the command, which compares."""

import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import expect
from support.browser import Screen
from support.isolation import isolated_environ
from support.lab import Lab
from support.model_server import ModelServer
from support.notebook_desk import call, say, script
from support.notebook_view import NotebookView

ALL_RUN = """path => { const panel = [...window.jupyterapp.shell.widgets('main')].find(one => one.context?.path === path);
  const code = [...panel.context.model.cells].filter(cell => cell.type === 'code');
  return code.every(cell => cell.executionState === 'idle') &&
    code.filter(cell => cell.getMetadata('pernix').kind === 'code').every(cell => cell.executionCount !== null); }"""
CLEAR_COUNTS = """path => { const panel = [...window.jupyterapp.shell.widgets('main')].find(one => one.context?.path === path);
  [...panel.context.model.cells].filter(cell => cell.type === 'code').forEach(cell => { cell.executionCount = null; }); }"""


def replayed(path: Path, home: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "jupyter_pernix.cli", "replay", str(path)]
    return subprocess.run(command, env=isolated_environ(home), capture_output=True, text=True, timeout=90)


def test_a_record_runs_again_in_the_page_and_by_the_command(
    screen: Screen, lab: Lab, root: Path, model: ModelServer, tmp_path: Path
):
    folder = root / "sums"
    folder.mkdir()
    (folder / "data.csv").write_text("3\n4\n")
    (folder / "README.md").write_text("# sums\n")
    script(
        model,
        call("run_code", code="rows = [int(line) for line in open('data.csv')]\nprint(len(rows), 'rows')"),
        call("read_file", path="README.md"),
        call("edit_file", path="README.md", old_text="# sums", new_text="# Sums"),
        call("run_code", code="sum(rows)"),
        say("The sum is **7**."),
    )
    screen.new_session("sums")
    screen.send("Add them up")
    screen.wait_turn(0, "answered")
    screen.wait_ready()
    path = next(str(one["record_path"]) for one in lab.client().sessions() if one["space_root"] == "sums")
    screen.panel.get_by_role("button", name="Open run notebook").click()
    view = NotebookView(screen.page, path)
    view.wait_kernel()
    book = screen.page.locator(".jp-NotebookPanel:visible")
    edited = book.locator('.jp-Pernix-mime .jp-Pernix-call[data-tool="edit_file"]')
    expect(edited).to_contain_text("README.md")
    before = {cell_id: view.outputs(cell_id) for cell_id in view.code_cells}

    screen.page.evaluate(CLEAR_COUNTS, path)
    screen.page.evaluate("() => void window.jupyterapp.commands.execute('notebook:restart-run-all')")
    screen.page.locator(".jp-Dialog button.jp-mod-accept").click()
    screen.page.wait_for_function(ALL_RUN, arg=path)
    after = {cell_id: view.outputs(cell_id) for cell_id in before}
    assert [uncounted(outputs) for outputs in after.values()] == [uncounted(outputs) for outputs in before.values()]
    expect(edited).to_contain_text("README.md")
    screen.shot("record_run_again")

    view.save()
    again = replayed(root / path, tmp_path / "home")
    assert re.findall(r"^(.) \[\d+\].*  (same|differs|failed)", again.stdout, re.M) == [("✓", "same")] * 2
    assert (again.returncode, again.stdout.splitlines()[-1], again.stderr) == (0, "2 same", "")

    (folder / "data.csv").write_text("3\n5\n")
    other = replayed(root / path, tmp_path / "home")
    assert (other.returncode, other.stdout.splitlines()[-1]) == (1, "1 same, 1 differs")
    assert "-7" in other.stdout
    assert "+8" in other.stdout


def uncounted(outputs: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{key: value for key, value in output.items() if key != "execution_count"} for output in outputs]
