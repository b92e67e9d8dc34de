"""Run notebooks of recorded logs, whole and spoilt: always the same bytes, always valid, never with a secret in them."""

import json
import os
import random
import re
from pathlib import Path
from typing import Any

import msgspec
import nbformat
import papermill
import pytest
from nbclient import NotebookClient

from jupyter_pernix import events as ev
from jupyter_pernix.fold import SessionFold
from jupyter_pernix.ids import ApprovalId, ChangeId, ExecutionId, InputId, SessionId
from jupyter_pernix.kernel.languages import KernelIdentity, identity_of
from jupyter_pernix.kernel.provision import Kernels, own_manager
from jupyter_pernix.kernel.record import APPROVAL_MIME, PLAN_MIME, TOOL_CALL_MIME, run_notebook, write_notebook
from jupyter_pernix.masking import Masker
from jupyter_pernix.records import CellChange, CellSnapshot, ContextItem, Picture, Plan, PlanStep, SessionView

from .test_record import SESSION, TURN, Log, cells_of, stream, whole_log

FOLDER = Path(__file__).parents[1] / "cases" / "logs"
LOGS = sorted(path.name for path in FOLDER.glob("*.json"))
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def recorded(name: str) -> list[dict[str, Any]]:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))["log"]


def folded(log: list[dict[str, Any]]) -> SessionView:
    stored = [ev.decode_stored(msgspec.json.encode(event)) for event in log]
    return SessionFold.of(stored[0].event.session_id, stored).view


def written(view: SessionView, path: Path) -> bytes:
    write_notebook(path, run_notebook(view))
    return path.read_bytes()


@pytest.mark.parametrize("name", LOGS)
def test_equal_logs_give_equal_bytes_however_they_were_read(name: str, tmp_path: Path):
    log = recorded(name)
    shuffled = [dict(reversed(event.items())) for event in log]
    one = written(folded(log), tmp_path / "one.ipynb")
    two = written(folded(shuffled), tmp_path / "two.ipynb")
    again = SessionFold(SessionId(log[0]["session_id"]))
    for event in [*log[: len(log) // 2], *log]:  # a reader that reconnects sees some events twice
        again.add(ev.decode_stored(msgspec.json.encode(event)))
    assert one == two == written(again.view, tmp_path / "three.ipynb")
    nbformat.validate(nbformat.reads(one.decode(), as_version=4))


@pytest.mark.parametrize("name", LOGS)
def test_each_part_of_a_log_is_a_valid_notebook_whose_cells_stay(name: str):
    log = recorded(name)
    before: list[str] = []
    for end in range(1, len(log) + 1):
        notebook = run_notebook(folded(log[:end]))
        nbformat.validate(nbformat.from_dict(notebook))
        ids = [cell["id"] for cell in notebook["cells"]]
        assert len(set(ids)) == len(ids)
        assert [each for each in ids if each in before] == [each for each in before if each in ids]
        before = ids


HOSTILE: list[Any] = [
    "<script>alert(1)</script>",
    "\u202e\x00\x1b[31m",
    "```\n# x\n~~~",
    "a\r\nb\u2028c",
    "../../etc/passwd",
    "x" * 40_000,
    "",
    "![x](https://evil.example/?a)",
]
STRANGE_OUTPUTS: list[Any] = [
    {"output_type": "bogus"},
    {"output_type": "display_data", "data": {"model/gltf+json": {"a": 1}, "text/x+json": [1], "image/png": {"no": 1}}},
    {"output_type": "display_data", "data": {"application/vnd.x+json": {"n": None}, "text/html": ["<b>", 3]}},
    {"output_type": "error", "traceback": "no list", "ename": None},
    {"output_type": "stream", "text": [1, "a"]},
    {"output_type": "execute_result", "data": None, "execution_count": -4},
    {"output_type": "execute_result", "data": {"": "", "plain": "x"}, "execution_count": True, "metadata": []},
]


@pytest.mark.parametrize("output", STRANGE_OUTPUTS)
def test_every_output_becomes_a_valid_one(output: dict[str, Any]):
    log = Log()
    log.turn("t")
    log.ran("x", output)
    assert len(cells_of(log, "code")[0]["outputs"]) == 1


def spoilt(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        if "output_type" in value and chance.random() < 0.3:
            return chance.choice(STRANGE_OUTPUTS)
        return {
            key: item if key in ("type", "seq", "recorded_at") else spoilt(item, chance) for key, item in value.items()
        }
    if isinstance(value, list):
        return [spoilt(item, chance) for item in value]
    if isinstance(value, str) and not value.startswith(("ses_", "trn_")) and " " in value and chance.random() < 0.3:
        return chance.choice(HOSTILE)
    return value


@pytest.mark.parametrize("seed", range(40))
def test_hostile_logs_give_valid_notebooks(seed: int, tmp_path: Path):
    chance = random.Random(seed)
    log = recorded(chance.choice(LOGS))
    kept = [event for event in log[1:] if chance.random() > 0.1]
    view = folded([log[0], *(json.loads(json.dumps(spoilt(event, chance))) for event in kept)])

    body = written(view, tmp_path / "run.ipynb")

    notebook = nbformat.reads(body.decode(), as_version=4)
    nbformat.validate(notebook)
    json.loads(body, parse_constant=lambda constant: pytest.fail(constant))
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            assert re.search(r"(?<!\\)(?:<script|\]\(https://evil)", cell.source.replace("```\n<script", "")) is None


# ---- what a session in notebooks brings


def attached_log() -> Log:
    log = Log()
    log.turn("Look at the plot.")
    where: dict[str, Any] = {"session_id": SESSION, "turn_id": TURN}
    for item in (
        ContextItem(kind="environment", name="python3", text="cwd: /home/me\npython 3.11"),
        ContextItem(
            kind="cell",
            name="c1",
            text="```\n<b>x</b>",
            pictures=[Picture(mime="image/png", data=PIXEL), Picture(mime="text/html", data="x")],
        ),
    ):
        log.add(ev.TurnContextAdded(**where, item=item))
    log.add(
        ev.PlanUpdated(
            **where,
            plan=Plan(
                approach="First\n# look", steps=[PlanStep(text="Look <b>"), PlanStep(text="Done", status="completed")]
            ),
        )
    )
    edit = log.call("edit_notebook", "edit a cell", op="edit", cell_id="c1")
    before = CellSnapshot(cell_id="c1", cell_type="code", source="a = 1\nb = 2", outputs=[stream("old")])
    after = CellSnapshot(cell_id="c1", cell_type="code", source="a = 1\nb = 3", outputs=[])
    change = CellChange(
        change_id=ChangeId("chg_1"), path="a.ipynb", op="edit", cell_id="c1", before=before, after=after
    )
    log.add(ev.CellChangeRequested(**where, call_id=edit, change=change))
    log.add(ev.CellChanged(**where, call_id=edit, change_id=change.change_id, owner="page"))
    log.done(edit, "changed")
    call_id = log.call("run_cells", "run two cells", cell_ids=["c1", "c2"])
    approval: dict[str, Any] = {**where, "call_id": call_id, "approval_id": ApprovalId("apr_1")}
    log.add(ev.ApprovalRequested(**approval, question="Run?", detail="a = 1", choices=["allow_once", "reject_once"]))
    log.add(ev.ApprovalResolved(**approval, choice="allow_once", text="", by="panel"))
    for number, code in enumerate(["a = 1", "name = input('Name? ')"], 1):
        execution_id = ExecutionId(f"exe_{number}")
        log.add(
            ev.ExecutionStarted(
                **where, call_id=call_id, execution_id=execution_id, place="attached", kernel_name="python3", code=code,
                notebook="a.ipynb", cell_id=f"c{number}",
            )
        )  # fmt: skip
        if number == 2:
            for prompt, password, text in (
                ("Name? ", False, "Ada"),
                ("Password: ", True, None),
                ("API key: ", False, "plain-words"),
            ):
                asked = InputId(f"inp_{prompt}")
                log.add(
                    ev.InputRequested(
                        **where, execution_id=execution_id, input_id=asked, prompt=prompt, password=password
                    )
                )
                log.add(ev.InputAnswered(**where, execution_id=execution_id, input_id=asked, text=text, by="panel"))
        log.add(
            ev.ExecutionFinished(
                **where,
                execution_id=execution_id,
                status="ok",
                execution_count=number,
                ename="",
                evalue="",
                detail="",
                duration=0.1,
            )
        )
    log.done(call_id, "ran")
    log.end()
    return log


def test_cells_of_a_notebook_are_told_with_their_place():
    log = attached_log()
    cells = [cell["metadata"] for cell in cells_of(log, "code")]
    assert [(each["pernix"]["notebook"], each["pernix"]["cell_id"], each["pernix"]["place"]) for each in cells] == [
        ("a.ipynb", "c1", "attached"),
        ("a.ipynb", "c2", "attached"),
    ]
    assert [each["tags"] for each in cells] == [["raises-exception"], ["raises-exception"]]
    (title,) = cells_of(log, "title")
    assert "`a.ipynb`, whose own cells are not part of this record" in title["source"]


def test_a_changed_cell_is_shown_as_a_diff_and_kept_without_its_outputs():
    (tool,) = cells_of(attached_log(), "tool")
    data = tool["outputs"][0]["data"]
    assert "edit cell c1 of a.ipynb: made" in data["text/plain"]
    assert "-b = 2\n+b = 3" in data["text/plain"]
    (change,) = data[TOOL_CALL_MIME]["cells"]
    assert (change["status"], change["owner"], change["change"]["before"]["outputs"]) == ("made", "page", [])
    assert change["change"]["after"]["source"] == "a = 1\nb = 3"


def test_what_the_model_was_told_is_there_with_its_pictures():
    environment, cell = cells_of(attached_log(), "context")
    assert environment["source"].startswith(
        "*Told to the model with the request, where the code runs:* python3\n\n```\ncwd: /home/me"
    )
    assert cell["attachments"] == {"picture-1.png": {"image/png": PIXEL}}
    assert "![picture](attachment:picture-1.png)" in cell["source"]
    assert cell["source"].startswith("*Told to the model with the request, a cell:* c1\n\n````\n```\n<b>x</b>\n````")


def test_lines_that_code_asked_for_are_told_and_passwords_never():
    (told,) = cells_of(attached_log(), "input")
    assert told["source"].split("\n\n") == [
        "*The code asked* “Name?”: “Ada”.",
        "*The code asked* “Password:”: a password, which is not kept.",
        "*The code asked* “API key:”: “••••(answer)”.",
    ]
    (_, code) = cells_of(attached_log(), "code")
    assert [each["text"] for each in code["metadata"]["pernix"]["inputs"]] == ["Ada", None, "••••(answer)"]


def test_questions_and_plans_have_outputs_of_their_own():
    (approval,) = cells_of(attached_log(), "approval")
    data = approval["outputs"][0]["data"]
    assert (approval["source"], data[APPROVAL_MIME]["choice"]) == ("# question: Run?", "allow_once")
    assert data["text/plain"] == "Question: Run?\na = 1\nAnswer: allowed once (by panel)"
    assert data["text/markdown"] == "**Question:** Run?\n\n```\na = 1\n```\n\n**Answer:** allowed once (by panel)"
    (plan,) = cells_of(attached_log(), "plan")
    data = plan["outputs"][0]["data"]
    assert (plan["source"], data[PLAN_MIME]["approach"]) == ("# plan: First # look", "First\n# look")
    assert data["text/markdown"] == "**Plan:** First \\# look\n\n- · Look \\<b\\>\n- ✓ Done"


def test_pictures_that_a_tool_gave_are_shown():
    log = Log()
    log.turn("t")
    call_id = log.call("read_notebook", "read a.ipynb")
    log.add(
        ev.ToolCallFinished(
            session_id=SESSION, turn_id=TURN, call_id=call_id, status="completed", result="r", duration=1.0,
            pictures=[Picture(mime="image/png", data=PIXEL), Picture(mime="image/svg+xml", data="PHN2Zz4=")],
        )
    )  # fmt: skip
    (tool,) = cells_of(log, "tool")
    assert [list(output["data"]) for output in tool["outputs"]] == [[TOOL_CALL_MIME, "text/plain"], ["image/png"]]


def test_the_language_is_told_as_the_kernel_tells_it():
    info = {
        "name": "python",
        "version": "3.12.1",
        "codemirror_mode": {"name": "ipython", "version": 3},
        "nbconvert_exporter": "python",
    }
    identity = KernelIdentity(name="py312", display_name="Python 3.12", language="python", info=info)
    metadata = run_notebook(whole_log().view, kernel=identity)["metadata"]
    assert metadata["language_info"] == info
    likely = run_notebook(whole_log().view)["metadata"]["language_info"]
    assert set(likely) == {
        "codemirror_mode",
        "file_extension",
        "mimetype",
        "name",
        "nbconvert_exporter",
        "pygments_lexer",
        "version",
    }


def test_the_state_of_widgets_is_kept_when_it_is_known():
    models = {"m1": {"model_name": "LabelModel", "state": {"value": "key is AKIAIOSFODNN7EXAMPLE"}}}
    view = whole_log().view
    assert "widgets" not in run_notebook(view)["metadata"]
    view.widgets = models
    (state,) = run_notebook(view)["metadata"]["widgets"].values()
    assert (state["version_major"], state["version_minor"], [*state["state"]]) == (2, 0, ["m1"])
    assert "AKIAIOSFODNN7EXAMPLE" not in str(state)


# ---- secrets

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
KNOWN = "known/value<7>&more"


def secret_log() -> Log:
    """A secret in every place that a log has."""
    log = Log(title=f"Use {TOKEN}")
    log.turn(f"My key is {TOKEN}, the other {KNOWN}.")
    where: dict[str, Any] = {"session_id": SESSION, "turn_id": TURN}
    log.add(ev.TurnContextAdded(**where, item=ContextItem(kind="variable", name=KNOWN, text=f"token: {TOKEN} {KNOWN}")))
    log.add(ev.PlanUpdated(**where, plan=Plan(approach=f"Use {TOKEN}", steps=[PlanStep(text=KNOWN)])))
    log.say(f"I use _{TOKEN}_ and `{KNOWN}`.")
    call_id = log.call(
        "run_shell", f"curl {TOKEN}", command=f"curl -H 'X: {TOKEN}' {KNOWN}", env={"password": "hunter22"}
    )
    approval: dict[str, Any] = {**where, "call_id": call_id, "approval_id": ApprovalId("apr_1")}
    log.add(ev.ApprovalRequested(**approval, question=f"Run {TOKEN}?", detail=KNOWN, choices=["allow_once"]))
    log.add(ev.ApprovalResolved(**approval, choice="allow_once", text=TOKEN, by="panel"))
    log.done(call_id, f"{TOKEN}\n{json.dumps(KNOWN)}")
    log.ran(
        f"key = '{TOKEN}'\npassword = 'hunter22'",
        stream(TOKEN[:20]),
        stream(TOKEN[20:] + "\n" + KNOWN[:5] + "\n" + KNOWN[5:]),
        {
            "output_type": "execute_result",
            "data": {"text/html": f"<p>{KNOWN.replace('/', '%2F')}</p>", "application/json": {"k": TOKEN}},
            "metadata": {"m": TOKEN},
        },
        {"output_type": "error", "ename": "E", "evalue": TOKEN, "traceback": [f"\x1b[31m{TOKEN}", KNOWN]},
    )
    log.add(ev.ProblemNoticed(session_id=SESSION, turn_id=TURN, text=f"401: {TOKEN}", hint=KNOWN))
    log.end()
    return log


def test_no_secret_is_written_wherever_it_stood(tmp_path: Path):
    path = tmp_path / "run.ipynb"
    write_notebook(path, run_notebook(secret_log().view, masker=Masker([KNOWN])))
    body = path.read_text(encoding="utf-8")
    flat = (
        body.replace("\\n", "")
        .replace('",\n', "")
        .replace("\n", "")
        .replace(" ", "")
        .replace('"', "")
        .replace("\\", "")
    )
    for secret in (TOKEN, TOKEN[8:], "hunter22", KNOWN, "known/value", "known\\/value"):
        assert secret not in body and secret not in flat
    assert body.count("••••") > 15
    nbformat.validate(nbformat.reads(body, as_version=4))


# ---- again, for real


@pytest.mark.kernel
async def test_a_record_of_all_kinds_runs_again_to_its_end(tmp_path: Path):
    log = attached_log()
    log.ran("print(1 + 1)")
    path = tmp_path / "pernix-runs" / "run.ipynb"
    write_notebook(path, run_notebook(log.view))
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(path.parent)}})
    again = await client.async_execute()
    codes = [cell for cell in again.cells if cell.metadata.pernix.kind == "code"]
    assert codes[-1].outputs[0]["text"] == "2\n"
    assert codes[1].outputs[0]["ename"] == "StdinNotImplementedError"


@pytest.mark.kernel
async def test_the_language_that_is_told_without_asking_is_what_the_kernel_says(tmp_path: Path):
    """Else JupyterLab marks a record as changed as soon as it is opened."""
    kernels = Kernels(own_manager())
    try:
        await kernels.start("python3", tmp_path, os.environ)
        said = kernels.language_info("python3")
    finally:
        await kernels.aclose()
    assert said["name"] == "python" and "version" in said
    assert identity_of("python3").language_info == said
    spec = kernels.kernelspecs()["python3"]
    assert identity_of("python3").display_name == spec.display_name


@pytest.mark.kernel
def test_papermill_runs_a_record_to_its_end(tmp_path: Path):
    # papermill takes every error for a failure, whatever a cell's tags say
    (tmp_path / "data.csv").write_text("a\n1\n")
    log = Log()
    log.turn("t")
    log.add(ev.PlanUpdated(session_id=SESSION, turn_id=TURN, plan=Plan(approach="Look")))
    log.done(log.call("read_file", "read data.csv"), "a 1")
    log.ran("rows = open('data.csv').read().split()", stream("old"))
    log.ran("while True: pass", status="timeout")
    log.ran("print(len(rows))")
    log.end()
    path = tmp_path / "pernix-runs" / "run.ipynb"
    write_notebook(path, run_notebook(log.view))
    done = papermill.execute_notebook(
        str(path), str(tmp_path / "out.ipynb"), cwd=str(path.parent), progress_bar=False, log_output=False
    )
    codes = [cell for cell in done.cells if cell.metadata.get("pernix", {}).get("kind") == "code"]
    assert [len(cell.outputs) for cell in codes] == [0, 0, 1]
    assert codes[2].outputs[0]["text"] == "2\n"
