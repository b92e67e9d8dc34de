"""The agent's code in the user's own cell: what is shown, what is recorded, and what stays as it was."""

import json
import threading
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from jupyter_pernix.client import Address, Client
from jupyter_pernix.errors import RequestFailed
from jupyter_pernix.fold import apply_output
from jupyter_pernix.kernel.ipython.incell import InCell
from jupyter_pernix.records import OutputOp


class Recorder(Client):
    """Stands for the server: folds what is posted."""

    def __init__(self) -> None:
        super().__init__(Address("http://127.0.0.1:9/", "", 0, ""))
        self.outputs: list[dict[str, Any]] = []
        self.results: list[dict[str, Any]] = []
        self.gone = self.refuses = False
        self.posted = threading.Event()

    def post_outputs(self, execution_id: str, ops: list[dict[str, Any]]) -> None:
        assert len(json.dumps(ops)) < 8 * 1024 * 1024
        self.posted.set()
        if self.gone:
            raise RequestFailed("no such execution", status=404)
        if self.refuses:
            raise RequestFailed("too large", status=413)
        for op in ops:
            apply_output(self.outputs, OutputOp(**op))

    def finish_execution(self, execution_id: str, result: dict[str, Any]) -> None:
        self.results.append(result)


@pytest.fixture
def server() -> Recorder:
    return Recorder()


@pytest.fixture
def incell(shell: InteractiveShell, server: Recorder) -> InCell:
    return InCell(shell, server)


def test_code_sees_and_changes_the_users_variables(shell: InteractiveShell, incell: InCell, server: Recorder):
    shell.user_ns["x"] = 20
    result = incell.run("exe_1", "x += 1\ny = x * 2")
    assert (shell.user_ns["x"], shell.user_ns["y"]) == (21, 42)
    assert server.results == [result]
    assert result["status"] == "ok"


def test_outputs_are_shown_and_recorded_in_order(incell: InCell, server: Recorder):
    code = (
        "import sys\nfrom IPython.display import display, HTML\n"
        "print('one')\nprint('two', file=sys.stderr)\ndisplay(HTML('<b>three</b>'))\n'four'"
    )
    with capture_output() as shown:
        incell.run("exe_1", code)
    kinds = [(output["output_type"], output.get("name") or sorted(output["data"])) for output in server.outputs]
    assert kinds == [
        ("stream", "stdout"),
        ("stream", "stderr"),
        ("display_data", ["text/html", "text/plain"]),
        ("execute_result", ["text/plain"]),
    ]
    assert server.outputs[3]["data"] == {"text/plain": "'four'"}
    assert (shown.stdout, shown.stderr) == ("one\n", "two\n")
    assert [output.data["text/plain"] for output in shown.outputs][1] == "'four'"


def test_a_semicolon_keeps_a_value_quiet(incell: InCell, server: Recorder):
    incell.run("exe_1", "1 + 1;")
    assert server.outputs == []


def test_history_and_underscore_stay_the_users(shell: InteractiveShell, incell: InCell):
    shell.run_cell("10 + 1", store_history=True)
    before = (shell.execution_count, list(shell.user_ns["In"]), dict(shell.user_ns["Out"]), shell.user_ns["_"])
    incell.run("exe_1", "'not mine'")
    after = (shell.execution_count, list(shell.user_ns["In"]), dict(shell.user_ns["Out"]), shell.user_ns["_"])
    assert after == before


@pytest.mark.parametrize(
    ("code", "ename", "evalue"),
    [
        ("1 / 0", "ZeroDivisionError", "division by zero"),
        ("x = 1 +* 2", "SyntaxError", "invalid syntax"),
        ("raise LookupError('<b>')", "LookupError", "<b>"),
    ],
)
def test_an_error_is_an_outcome_with_a_traceback(incell: InCell, server: Recorder, code: str, ename: str, evalue: str):
    result = incell.run("exe_1", code)
    error = server.outputs[-1]
    assert (result["status"], result["ename"], error["output_type"], error["ename"]) == ("error", ename, "error", ename)
    assert evalue in result["evalue"] and evalue in error["evalue"]
    assert ename in "\n".join(error["traceback"])


def test_the_shell_is_as_before_even_after_an_error(shell: InteractiveShell, incell: InCell):
    import sys

    before = (sys.stdout, sys.stderr, sys.displayhook, shell.display_pub)
    incell.run("exe_1", "1 / 0")
    assert (sys.stdout, sys.stderr, sys.displayhook, shell.display_pub) == before
    assert "_showtraceback" not in shell.__dict__


def test_an_interrupt_is_an_outcome_of_its_own(incell: InCell, server: Recorder):
    results_before_the_stop: list[Any] = []
    result = incell.run(
        "exe_1", "raise KeyboardInterrupt", on_interrupt=lambda: results_before_the_stop.append(list(server.results))
    )
    assert result["status"] == "cancelled"
    assert (results_before_the_stop, server.results) == ([[]], [result])


def test_code_that_awaits_runs_while_a_loop_is_running(shell: InteractiveShell, incell: InCell, server: Recorder):
    shell.autoawait = True

    async def in_a_cell() -> None:
        incell.run("exe_1", "import asyncio\nawait asyncio.sleep(0)\nprint('awaited')\nz = 5")

    import asyncio

    asyncio.run(in_a_cell())
    assert shell.user_ns["z"] == 5
    assert server.outputs == [{"output_type": "stream", "name": "stdout", "text": "awaited\n"}]
    assert server.results[0]["status"] == "ok"


def test_code_is_interrupted_when_the_server_gives_up_on_it(incell: InCell, server: Recorder):
    server.gone = True
    result = incell.run("exe_1", "import time\nprint('started')\ntime.sleep(60)")
    assert result["status"] == "aborted"
    assert server.results == []


def test_code_is_interrupted_when_another_face_stops_it(incell: InCell, server: Recorder):
    stopper = threading.Thread(target=lambda: (server.posted.wait(10), incell.end("exe_1")))
    stopper.start()
    result = incell.run("exe_1", "import time\nprint('started')\ntime.sleep(60)")
    stopper.join()
    assert result["status"] == "aborted"


def test_the_end_of_another_execution_interrupts_nothing(incell: InCell):
    incell.end("exe_0")
    assert incell.run("exe_1", "1")["status"] == "ok"


def test_figures_are_shown_and_recorded(incell: InCell, server: Recorder, shell: InteractiveShell):
    shell.enable_gui = lambda gui=None: None  # type: ignore[method-assign]
    shell.run_line_magic("matplotlib", "inline")
    incell.run("exe_1", "import matplotlib.pyplot as plt\nfig, ax = plt.subplots(figsize=(1, 1))\nax.plot([1, 2]);")
    pictures = [output["data"].get("image/png") for output in server.outputs if output["output_type"] == "display_data"]
    assert len(pictures) == 1 and pictures[0].startswith("iVBOR")


def test_large_outputs_go_in_bodies_that_the_server_takes(incell: InCell, server: Recorder):
    shown = "{'text/html': 'x' * 3_000_000, 'image/png': 'A' * 3_999_996}"
    code = f"from IPython.display import display\nfor _ in range(4):\n    display({shown}, raw=True)"
    with capture_output():
        result = incell.run("exe_1", code)
    assert [len(output["data"]["image/png"]) for output in server.outputs] == [3_999_996] * 4
    assert result["detail"] == ""


def test_outputs_that_the_server_refuses_are_said_to_be_missing(incell: InCell, server: Recorder):
    server.refuses = True
    result = incell.run("exe_1", "print('x')")
    assert (result["status"], result["detail"]) == ("ok", "not all outputs could be stored: too large")


def test_what_is_said_after_the_end_is_shown_and_not_recorded(incell: InCell, server: Recorder):
    with capture_output() as shown:
        incell.run("exe_1", "import sys\nkept = sys.stdout\nprint('in time')")
        incell._shell.user_ns["kept"].write("too late")
    assert shown.stdout == "in time\ntoo late"
    assert server.outputs == [{"output_type": "stream", "name": "stdout", "text": "in time\n"}]


def test_nothing_ends_the_kernel_or_counts_as_a_cell_of_the_users(
    shell: InteractiveShell, incell: InCell, server: Recorder
):
    shell.user_ns["_"], count = "mine", shell.execution_count
    result = incell.run(
        "exe_1", "for _ in range(3): pass\nget_ipython().run_cell('1', store_history=True)\nget_ipython().ask_exit()"
    )
    assert (result["ename"], shell.user_ns["_"], shell.execution_count) == ("RuntimeError", "mine", count)
    assert "run_cell" not in shell.__dict__ and "ask_exit" not in shell.__dict__
