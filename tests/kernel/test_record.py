"""The run notebook: a session's log, folded."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from jupyter_pernix import __version__
from jupyter_pernix.events import (
    ApprovalRequested,
    ApprovalResolved,
    Event,
    ExecutionFinished,
    ExecutionOutput,
    ExecutionStarted,
    FileChanged,
    MessageCompleted,
    PolicyDecided,
    ProblemNoticed,
    SessionCreated,
    Stored,
    ThoughtCompleted,
    ToolCallFinished,
    ToolCallRequested,
    TurnFinished,
    TurnStarted,
    TurnSubmitted,
)
from jupyter_pernix.fold import SessionFold
from jupyter_pernix.ids import ApprovalId, CallId, ExecutionId, SessionId, StepId, TurnId
from jupyter_pernix.kernel.record import TOOL_CALL_MIME, KernelIdentity, run_notebook, write_notebook
from jupyter_pernix.records import Budget, CallStatus, ExecutionStatus, FileChange, SessionView, TerminalCode, Usage

from .conftest import Cells

SESSION, TURN, STEP = SessionId("ses_1"), TurnId("trn_1"), StepId("stp_1")
BEGUN = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class Log:
    """A session's log, written event by event, one second apart."""

    def __init__(self, *, title: str = "Count rows", space: str = "space", kernel: str = "python3") -> None:
        self.stored: list[Stored] = []
        self.calls = 0
        path = f"{space}/pernix-runs/2026-11-30-count-rows.ipynb" if space else "pernix-runs/x.ipynb"
        self.add(
            SessionCreated(
                session_id=SESSION,
                title=title,
                space_root=space,
                record_path=path,
                mode="auto",
                endpoint="tour",
                kernel_name=kernel,
                place="own",
                origin="panel",
            )
        )

    def add(self, event: Event) -> None:
        moment = BEGUN + timedelta(seconds=len(self.stored))
        self.stored.append(Stored(seq=len(self.stored) + 1, recorded_at=moment, event=event))

    @property
    def view(self) -> SessionView:
        return SessionFold.of(SESSION, self.stored).view

    def turn(self, text: str) -> None:
        self.add(TurnSubmitted(session_id=SESSION, turn_id=TURN, text=text, origin="panel"))
        self.add(
            TurnStarted(
                session_id=SESSION,
                turn_id=TURN,
                mode="auto",
                endpoint="tour",
                model="m",
                protocol="tools",
                context_length=None,
                budget=Budget(),
            )
        )

    def end(self, code: TerminalCode = TerminalCode.ANSWERED, detail: str = "") -> None:
        usage = Usage(prompt_tokens=10, completion_tokens=2)
        self.add(TurnFinished(session_id=SESSION, turn_id=TURN, code=code, detail=detail, usage=usage))

    def say(self, text: str) -> None:
        self.add(MessageCompleted(session_id=SESSION, turn_id=TURN, step_id=STEP, text=text))

    def call(self, tool: str, title: str = "", **arguments: Any) -> CallId:
        self.calls += 1
        call_id = CallId(f"cal_{self.calls}")
        self.add(
            ToolCallRequested(
                session_id=SESSION,
                turn_id=TURN,
                step_id=STEP,
                call_id=call_id,
                wire_id="w",
                tool=tool,
                kind="execute" if tool == "run_code" else "read",
                title=title,
                arguments=arguments,
            )
        )
        return call_id

    def done(self, call_id: CallId, result: str = "", status: CallStatus = "completed") -> None:
        self.add(
            ToolCallFinished(
                session_id=SESSION, turn_id=TURN, call_id=call_id, status=status, result=result, duration=0.5
            )
        )

    def ran(
        self,
        code: str,
        *outputs: dict[str, Any],
        status: ExecutionStatus = "ok",
        count: int | None = 1,
        kernel: str = "python3",
        detail: str = "",
    ) -> CallId:
        call_id = self.call("run_code", "run code", code=code)
        execution_id = ExecutionId(f"exe_{self.calls}")
        where = {"session_id": SESSION, "turn_id": TURN}
        self.add(
            ExecutionStarted(
                **where, call_id=call_id, execution_id=execution_id, place="own", kernel_name=kernel, code=code
            )
        )
        for output in outputs:
            self.add(ExecutionOutput(**where, execution_id=execution_id, op="append", output=output))
        self.add(
            ExecutionFinished(
                **where,
                execution_id=execution_id,
                status=status,
                execution_count=count,
                ename="",
                evalue="",
                detail=detail,
                duration=1.25,
            )
        )
        self.done(call_id)
        return call_id


def stream(text: str, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


ERROR = {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["t"]}


def cells_of(log: Log, kind: str, **kwargs: Any) -> list[dict[str, Any]]:
    notebook = run_notebook(log.view, **kwargs)
    nbformat.validate(nbformat.from_dict(notebook))
    return [cell for cell in notebook["cells"] if cell["metadata"]["pernix"]["kind"] == kind]


def whole_log() -> Log:
    """A bit of everything."""
    log = Log()
    log.turn("How many rows has **data.csv**?")
    log.add(ThoughtCompleted(session_id=SESSION, turn_id=TURN, step_id=STEP, text="secret reasoning"))
    log.say("I look at the file.")
    log.done(log.call("read_file", "read data.csv", path="data.csv"), "a,b\n1,2")
    log.ran(
        "len(open('data.csv').readlines())",
        {"output_type": "execute_result", "data": {"text/plain": "3"}, "metadata": {}},
    )
    log.ran("1/0", stream("before\n"), ERROR, status="error", count=2)
    log.ran(
        "while True: pass", stream("tick\n"), status="timeout", count=3, detail="The code was interrupted after 5 s."
    )
    log.add(ProblemNoticed(session_id=SESSION, turn_id=TURN, text="The endpoint was slow.", hint="Wait."))
    log.done(log.call("finish", "finish", answer="Three."))
    log.say("Three.")
    log.end()
    return log


def test_the_notebook_tells_the_session_in_its_order():
    notebook = run_notebook(whole_log().view)
    nbformat.validate(nbformat.from_dict(notebook))
    assert [cell["metadata"]["pernix"]["kind"] for cell in notebook["cells"]] == [
        "title", "setup", "prompt", "answer", "tool", "code", "code", "code", "end", "problem", "answer",
    ]  # fmt: skip
    assert "secret reasoning" not in json.dumps(notebook)
    assert [cell["execution_count"] for cell in notebook["cells"] if cell["cell_type"] == "code"] == [
        None,
        None,
        1,
        2,
        3,
    ]


def test_the_metadata_say_which_session_turns_and_cells_these_are():
    log = whole_log()
    metadata = run_notebook(log.view)["metadata"]
    assert metadata["kernelspec"] == {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    pernix = metadata["pernix"]
    assert {key: pernix[key] for key in ("version", "session_id", "title", "space_root", "last_seq")} == {
        "version": __version__, "session_id": "ses_1", "title": "Count rows", "space_root": "space", "last_seq": len(log.stored),
    }  # fmt: skip
    (turn,) = pernix["turns"]
    assert (turn["turn_id"], turn["code"], turn["usage"]["prompt_tokens"]) == ("trn_1", "answered", 10)
    assert turn["duration"] == len(log.stored) - 3
    (code, *_) = cells_of(log, "code")
    assert code["metadata"]["pernix"] == {
        "session_id": "ses_1", "turn_id": "trn_1", "step_id": "stp_1", "call_id": "cal_2", "execution_id": "exe_2",
        "kind": "code", "status": "ok", "duration": 1.25,
    }  # fmt: skip


def test_equal_logs_give_equal_bytes(tmp_path: Path):
    for name in ("one", "two"):
        write_notebook(tmp_path / f"{name}.ipynb", run_notebook(whole_log().view))
    assert (tmp_path / "one.ipynb").read_bytes() == (tmp_path / "two.ipynb").read_bytes()


def test_cells_keep_their_ids_when_the_session_goes_on():
    log = Log()
    log.turn("a")
    log.say("b")
    before = [cell["id"] for cell in run_notebook(log.view)["cells"]]
    log.ran("1")
    log.say("c")
    log.end()
    after = [cell["id"] for cell in run_notebook(log.view)["cells"]]
    assert after[: len(before)] == before
    assert len(set(after)) == len(after)


def test_a_tool_call_has_its_own_output_beside_plain_text():
    log = Log()
    log.turn("t")
    call_id = log.call("edit_file", "edit a.py", path="a.py")
    log.add(
        PolicyDecided(
            session_id=SESSION,
            turn_id=TURN,
            call_id=call_id,
            action="write",
            verdict="ask",
            rule="r",
            mode="edit",
            targets=[],
        )
    )
    where: dict[str, Any] = {
        "session_id": SESSION,
        "turn_id": TURN,
        "call_id": call_id,
        "approval_id": ApprovalId("apr_1"),
    }
    log.add(ApprovalRequested(**where, question="Edit?", detail="d", choices=["allow_once", "reject_once"]))
    log.add(ApprovalResolved(**where, choice="allow_once", text="go on", by="panel"))
    change = FileChange(path="a.py", before="0", after="1", diff="-a\n+b")
    log.add(FileChanged(session_id=SESSION, turn_id=TURN, call_id=call_id, change=change))
    log.done(call_id, "edited")
    (cell,) = cells_of(log, "tool")
    assert cell["source"] == "# edit_file: edit a.py\n# completed, 0.50 s"
    assert cell["metadata"]["tags"] == ["skip-execution"]
    assert cell["metadata"]["pernix"]["approval"]["choice"] == "allow_once"
    data = cell["outputs"][0]["data"]
    assert data["text/plain"] == "edit_file: edit a.py\napproval: allow_once (go on)\n-a\n+b\nedited"
    call = data[TOOL_CALL_MIME]
    assert (call["tool"], call["arguments"], call["status"], call["result"]) == (
        "edit_file",
        {"path": "a.py"},
        "completed",
        "edited",
    )
    assert (call["verdict"], call["approval"]["by"], call["files"][0]["path"]) == ("ask", "panel", "a.py")


def test_code_that_was_refused_is_a_tool_call_and_not_a_code_cell():
    log = Log()
    log.turn("t")
    log.done(log.call("run_code", "run code", code="open('x', 'w')"), "refused", "failed")
    assert cells_of(log, "code") == []
    assert cells_of(log, "tool")[0]["source"].startswith("# run_code: run code\n# failed")


@pytest.mark.parametrize(
    ("status", "outputs", "tags", "told"),
    [
        ("ok", [], None, False),
        ("error", [ERROR], ["raises-exception"], False),
        ("ok", [ERROR], ["raises-exception"], False),
        ("timeout", [ERROR], ["skip-execution"], True),
        ("cancelled", [], ["skip-execution"], True),
        ("dead", [], ["skip-execution"], True),
        ("aborted", [], ["skip-execution"], True),
    ],
)
def test_code_is_marked_by_how_it_ended(
    status: ExecutionStatus, outputs: list[Any], tags: list[str] | None, told: bool
):
    log = Log()
    log.turn("t")
    log.ran("x", *outputs, status=status, detail="Why.")
    (cell,) = cells_of(log, "code")
    assert cell["metadata"].get("tags") == tags
    assert bool(cells_of(log, "end")) is told


def test_code_of_another_kernel_is_not_run_again_in_this_one():
    log = Log()
    log.turn("t")
    log.ran("1")
    log.ran("2")
    log.ran("ls", kernel="bash")
    assert [cell["metadata"].get("tags") for cell in cells_of(log, "code")] == [None, None, ["skip-execution"]]


def test_consecutive_streams_are_one_output():
    log = Log()
    log.turn("t")
    log.ran("x", stream("a"), stream("b"), stream("e", "stderr"), stream("c"))
    assert [output["text"] for output in cells_of(log, "code")[0]["outputs"]] == ["ab", "e", "c"]


def test_thoughts_are_included_when_asked_for():
    (cell,) = cells_of(whole_log(), "thought", include_thoughts=True)
    assert "secret reasoning" in cell["source"]


def test_a_turn_that_was_stopped_says_so():
    log = Log()
    log.turn("t")
    log.end(TerminalCode.BUDGET_ROUNDS, "60 rounds")
    assert cells_of(log, "end")[0]["source"] == "*The turn ended: budget rounds.* 60 rounds"


@pytest.mark.parametrize("space", ["", "space"])
def test_the_way_to_the_data_is_the_first_code(space: str):
    (cell,) = cells_of(Log(space=space), "setup")
    assert (cell["metadata"]["tags"], 'os.chdir("..")' in cell["source"]) == (["pernix-setup"], True)


@pytest.mark.parametrize(
    ("identity", "expected"),
    [
        (KernelIdentity(name="bash", display_name="Bash", language="bash"), 'case "$PWD"'),
        (KernelIdentity(name="ir", display_name="R", language="r"), "setwd"),
        (KernelIdentity(name="xcpp", display_name="C++", language="c++"), "The code below ran in `..`"),
    ],
)
def test_other_languages_find_the_data_their_own_way(identity: KernelIdentity, expected: str):
    log = Log()
    log.turn("t")
    log.done(log.call("read_file", "a\nb"))
    assert expected in cells_of(log, "setup", kernel=identity)[0]["source"]
    comment = "//" if identity.language == "c++" else "#"
    assert all(line.startswith(comment) for line in cells_of(log, "tool", kernel=identity)[0]["source"].splitlines())


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


HOSTILE = "<script>alert(1)</script>\n# not a heading\n```\n<img src=x onerror=alert(2)>\ud800\x00"


def test_hostile_text_never_becomes_live_and_can_be_written(tmp_path: Path):
    log = Log(title=HOSTILE)
    log.turn(HOSTILE)
    log.say(HOSTILE)
    log.done(log.call("read_file", HOSTILE, path=HOSTILE, number=float("nan")), HOSTILE)
    log.ran(
        f"'{HOSTILE}'",
        stream(HOSTILE),
        {"output_type": "bogus", "x": HOSTILE},
        {**ERROR, "evalue": HOSTILE},
        status="error",
    )
    log.add(ProblemNoticed(session_id=SESSION, turn_id=TURN, text=HOSTILE))
    log.end(TerminalCode.INTERNAL_ERROR, HOSTILE)
    path = tmp_path / "hostile.ipynb"
    write_notebook(path, run_notebook(log.view))
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda constant: pytest.fail(constant))
    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert "alert(1)</script>" not in page
    assert "<img src=x" not in page
    tool = next(cell for cell in notebook.cells if cell.metadata.pernix.kind == "tool")
    assert all(line.startswith("# ") for line in tool.source.splitlines())


def test_a_long_session_stays_readable():
    log = Log()
    log.turn("x" * 300_000)
    log.done(log.call("read_file", "y" * 300_000, content="z" * 300_000), "r" * 300_000)
    (tool,) = cells_of(log, "tool")
    assert len(json.dumps(tool)) < 150_000


# ---- the file -----------------------------------------------------------------------------------------------------------


def test_a_notebook_is_written_as_jupyter_would_write_it(tmp_path: Path):
    path = tmp_path / "new" / "folder" / "run.ipynb"
    notebook = run_notebook(whole_log().view)
    write_notebook(path, notebook)
    read = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    assert read == nbformat.from_dict(notebook)
    assert path.read_text(encoding="utf-8") == nbformat.writes(read) + "\n"
    assert names_in(path.parent) == ["run.ipynb"]


def test_outputs_of_every_kind_are_written_as_jupyter_would_write_them(tmp_path: Path):
    log = Log()
    log.turn("Draw\n\nit \u2028 please \x1b[1m.\x0b")
    data: dict[str, Any] = {
        "text/html": "<p>\n</p>\n",
        "image/svg+xml": "<svg>\r\n</svg>",
        "application/javascript": "a()\nb()",
        "application/json": {"z": [1, 2.5, [], {}, None, True, -0.0, 2**70], "a": "one\ntwo"},
        "application/vnd.x+json": "one\ntwo",
        "image/png": "aGk=\n",
        "text/plain": "",
    }
    log.ran(
        "1\n2\n",
        stream("a\nb\x85c\n"),
        {"output_type": "display_data", "data": data, "metadata": {"é": {"width": 3}}},
        {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": 1},
        ERROR,
    )
    log.end()
    path = tmp_path / "run.ipynb"
    write_notebook(path, run_notebook(log.view))
    read = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(read)
    assert path.read_text(encoding="utf-8") == nbformat.writes(read) + "\n"
    (shown, _) = (output for cell in read.cells for output in cell.get("outputs", ()) if "data" in output)
    assert shown["data"] == data


def test_numbers_of_any_size_are_read_as_they_were(tmp_path: Path):
    numbers = [1e-7, 1e22, 123456789012345678.0, 5e-324, 1.7976931348623157e308, 0.1]
    log = Log()
    log.turn("a")
    log.done(log.call("read_file", "b", numbers=numbers), "c")
    path = tmp_path / "run.ipynb"
    write_notebook(path, run_notebook(log.view))
    tool = next(cell for cell in nbformat.read(path, as_version=4).cells if cell.metadata.pernix.kind == "tool")
    assert tool.outputs[0].data[TOOL_CALL_MIME].arguments == {"numbers": numbers}


def test_a_file_that_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path):
    path = tmp_path / "run.ipynb"
    path.mkdir()
    with pytest.raises(OSError):
        write_notebook(path, run_notebook(Log().view))
    assert names_in(tmp_path) == ["run.ipynb"]


def test_the_mode_of_the_file_is_kept_and_a_link_is_replaced_not_followed(tmp_path: Path):
    path, target = tmp_path / "run.ipynb", tmp_path / "elsewhere"
    write_notebook(path, run_notebook(Log().view))
    path.chmod(0o640)
    write_notebook(path, run_notebook(whole_log().view))
    assert path.stat().st_mode & 0o777 == 0o640
    target.write_text("mine")
    path.unlink()
    path.symlink_to(target)
    write_notebook(path, run_notebook(Log().view))
    assert (target.read_text(), path.is_symlink()) == ("mine", False)


# ---- again, for real ----------------------------------------------------------------------------------------------------


@pytest.mark.kernel
async def test_what_ran_is_recorded_converts_and_runs_again(python: Cells, tmp_path: Path):
    (tmp_path / "data.csv").write_text("a\n1\n2\n")
    log = Log(space="")
    log.turn("Read the data, please.")
    codes = [
        "rows = open('data.csv').read().split(); rows",
        "raise ValueError('on purpose')",
        "import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()",
        "print(len(rows)); import os, signal; None",
        "os.kill(os.getpid(), signal.SIGKILL)",
    ]
    for code in codes:
        ran = await python(code)
        log.ran(
            code, *ran.outputs, status=ran.result.status, count=ran.result.execution_count, detail=ran.result.detail
        )
    log.done(log.call("read_file", "read data.csv"), "a 1 2")
    log.say("Done.")
    log.end()

    path = tmp_path / "pernix-runs" / "run.ipynb"
    write_notebook(path, run_notebook(log.view))
    notebook = nbformat.read(path, as_version=4)
    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert "data:image/png;base64," in page

    client = NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(path.parent)}})
    again = await client.async_execute()
    results = {cell.source: cell.outputs for cell in again.cells if cell.metadata.pernix.kind == "code"}
    assert results[codes[0]][0]["data"]["text/plain"] == "['a', '1', '2']"
    assert results[codes[1]][0]["ename"] == "ValueError"
    assert "image/png" in results[codes[2]][0]["data"]
    assert results[codes[3]][0]["text"] == "3\n"
    assert results[codes[4]] == []
    tool = next(cell for cell in again.cells if cell.metadata.pernix.kind == "tool")
    assert TOOL_CALL_MIME in tool.outputs[0]["data"]
