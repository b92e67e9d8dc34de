"""The main job on real parts: real server, real kernel, real files; a scripted model over real HTTP, and the recorded tour."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import nbclient
import nbconvert
import nbformat
import pytest
from support.jobs import ANSWER_MARK, MAIN_REQUEST, PICTURE_MARK
from support.lab import Lab, copy_examples
from support.model_server import ModelServer
from support.watch import wait_event

from jupyter_pernix.events import decode_stored
from jupyter_pernix.fold import SessionFold
from jupyter_pernix.ids import SessionId
from jupyter_pernix.records import JSON

pytestmark = [pytest.mark.server, pytest.mark.kernel, pytest.mark.timeout(180)]

JOBS = Path(__file__).parent / "support" / "jobs.py"


@dataclass(frozen=True)
class Done:
    """The job after its end: by whom it was done, where, and what the server tells of it."""

    by: str
    space: Path
    view: JSON
    events: list[JSON]
    record: Path

    @property
    def calls(self) -> list[JSON]:
        return [item for item in self.view["turns"][0]["items"] if item["type"] == "call"]

    def results(self, tool: str) -> list[str]:
        return [call["result"] for call in self.calls if call["tool"] == tool]

    def notebook(self) -> Any:
        return nbformat.read(self.record, as_version=nbformat.NO_CONVERT)


@pytest.fixture(scope="module", params=["scripted", "tour"])
def done(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    root = copy_examples(tmp_path_factory.mktemp("work") / "root")
    with (
        ModelServer(program=f"{JOBS}:decide") as model,
        Lab(home=tmp_path_factory.mktemp("home"), root=root, endpoint=model.url) as lab,
    ):
        client = lab.client()
        if request.param == "tour":
            summary = client.start_tour()
            turn_id = (
                next(client.past_events(summary["session_id"]), {}).get("turn_id")
                or client.session(summary["session_id"])["turns"][0]["turn_id"]
            )
        else:
            summary = client.create_session(space_root="csv_import", mode="auto", endpoint="scripted")
            turn_id = client.submit(summary["session_id"], MAIN_REQUEST, origin="api", can_ask=False)["turn_id"]
        session_id = str(summary["session_id"])
        wait_event(client, session_id, "session.state_changed", turn_id=turn_id, reason="turn_ended")
        view = client.session(session_id)
        yield Done(
            by=request.param,
            space=root / view["space_root"],
            view=view,
            events=list(client.past_events(session_id)),
            record=root / view["record_path"],
        )


def test_the_turn_is_answered(done: Done):
    turn = done.view["turns"][0]
    assert (turn["code"], turn["detail"], turn["text"]) == ("answered", "", MAIN_REQUEST)
    assert done.view["state"] == "idle_ready"
    last = turn["items"][-1]
    assert last["type"] == "message"
    if done.by == "scripted":
        assert ANSWER_MARK in last["text"]


def test_every_call_does_what_it_should(done: Done):
    failed = [call for call in done.calls if call["status"] != "completed"]
    assert [(call["tool"], call["status"]) for call in failed] == [("run_shell", "failed")]
    assert failed[0]["result"] == done.results("run_shell")[0]
    assert {call["verdict"] for call in done.calls} == {"allow"}
    assert {"list_files", "read_file", "run_shell", "edit_file", "run_code"} == {call["tool"] for call in done.calls}


def test_the_tests_are_red_before_the_fix_and_green_after_it(done: Done):
    before, after = done.results("run_shell")
    assert "1 failed, 4 passed" in before
    assert "6 passed" in after


def test_the_fix_and_its_test_are_in_the_files(done: Done):
    assert "    if rest:\n        yield rest\n" in (done.space / "csv_import/lines.py").read_text()
    assert "def test_a_last_line_without_a_newline_is_kept" in (done.space / "tests/test_lines.py").read_text()
    changed = [change["path"] for call in done.calls for change in call["files"]]
    assert changed == ["csv_import/lines.py", "tests/test_lines.py"]
    again = subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=done.space, capture_output=True, text=True)
    assert (again.returncode, "6 passed" in again.stdout) == (0, True)


def test_the_regression_test_fails_without_the_fix(done: Done, tmp_path: Path):
    fixed = (done.space / "csv_import/lines.py").read_text()
    folder = copy_examples(tmp_path / "root") / "csv_import"
    (folder / "tests/test_lines.py").write_text((done.space / "tests/test_lines.py").read_text())
    broken = (folder / "csv_import/lines.py").read_text()
    assert fixed != broken
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "tests/test_lines.py"], cwd=folder, capture_output=True, text=True
    )
    assert (answer.returncode, "1 failed, 2 passed" in answer.stdout) == (1, True)


def test_the_kernel_keeps_its_variables_and_gives_a_picture(done: Done):
    first, second = (call["execution"] for call in done.calls if call["tool"] == "run_code")
    assert (first["status"], first["execution_count"], second["status"], second["execution_count"]) == (
        "ok",
        1,
        "ok",
        2,
    )
    assert "1461" in "".join(output.get("text", "") for output in first["outputs"])
    assert any("image/png" in output.get("data", {}) for output in second["outputs"])
    if done.by == "scripted":
        assert PICTURE_MARK in first["outputs"][0]["text"]


def test_the_log_folds_to_what_the_server_shows(done: Done):
    fold = SessionFold(SessionId(done.view["session_id"]))
    for event in done.events:
        fold.add(decode_stored(json.dumps(event)))
    assert json.loads(msgspec.json.encode(fold.view)) == done.view


def test_the_log_is_complete(done: Done):
    seqs = [event["seq"] for event in done.events]
    assert seqs == sorted(set(seqs))
    kinds = [event["type"] for event in done.events]
    assert kinds[0] == "session.created"
    for began, ended in [
        ("turn.started", "turn.finished"),
        ("step.started", "step.finished"),
        ("tool_call.requested", "policy.decided"),
        ("tool_call.started", "tool_call.finished"),
        ("execution.started", "execution.finished"),
    ]:
        assert kinds.count(began) == kinds.count(ended) > 0, (began, ended)
    decided = {event["call_id"]: event["seq"] for event in done.events if event["type"] == "policy.decided"}
    started = {event["call_id"]: event["seq"] for event in done.events if event["type"] == "tool_call.started"}
    assert decided.keys() == started.keys()
    assert all(decided[call] < started[call] for call in started)


def test_the_run_notebook_is_valid_and_tells_the_whole_story(done: Done):
    notebook = done.notebook()
    nbformat.validate(notebook)
    cells = notebook.cells
    assert [cell.cell_type for cell in cells].count("code") >= 2
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    assert MAIN_REQUEST in text
    assert done.view["turns"][0]["items"][-1]["text"].strip()[:40] in text
    executed = [cell for cell in cells if cell.cell_type == "code" and cell.execution_count]
    assert [cell.execution_count for cell in executed] == [1, 2]
    assert any("image/png" in output.get("data", {}) for cell in executed for output in cell.outputs)
    assert any("pernix" in cell.metadata for cell in cells)
    assert notebook.metadata.pernix["session_id"] == done.view["session_id"]


def test_the_run_notebook_converts_to_a_page_with_the_picture(done: Done):
    page, _ = nbconvert.HTMLExporter().from_filename(str(done.record))
    assert "data:image/png;base64," in page


def test_the_code_of_the_run_notebook_runs_again(done: Done):
    notebook = done.notebook()
    nbclient.NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(done.space)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    assert any("image/png" in output.get("data", {}) for output in outputs)
