"""How executions end, and what is known afterwards, with real kernels."""

import os
import signal
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from jupyter_pernix.errors import KernelDied
from jupyter_pernix.ids import new_execution_id
from jupyter_pernix.kernel.executor import FRESH
from jupyter_pernix.kernel.provision import Kernels, own_manager
from jupyter_pernix.records import OutputOp

from .conftest import Cells, Ran, kernel_environ

pytestmark = pytest.mark.kernel


async def wait_text(ran: list[Ran], text: str) -> Ran:
    """The first execution in the list, once it has printed ``text``."""
    with anyio.fail_after(30):
        while not ran or text not in ran[0].text:
            await (ran[0].told.wait() if ran else anyio.lowlevel.checkpoint())
    return ran[0]


async def test_twenty_thousand_prints_arrive_whole_in_few_steps(cells: Cells):
    ran = await cells("for i in range(20000): print(i)")
    assert ran.text == "".join(f"{i}\n" for i in range(20000))
    assert len(ran.ops) < 60
    assert (ran.result.status, ran.result.detail) == ("ok", "")


async def test_the_first_line_is_told_while_the_code_runs(cells: Cells):
    ran: list[Ran] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: cells("import time; print('first')\nwhile True: time.sleep(0.05)", into=ran))
        await wait_text(ran, "first")
        await cells.executor.interrupt()
    assert ran[0].result.status == "cancelled"
    assert ran[0].kinds == ["stream", "error"]


async def test_a_flood_is_bounded_in_the_record_and_whole_in_its_side_file(python: Cells, tmp_path: Path):
    ran = await python("for i in range(40): print(str(i % 10) * 499_999)")
    assert len(str(ran.outputs)) < 500_000
    assert f"the whole text is in side/{ran.execution_id}.txt" in str(ran.outputs)
    whole = (tmp_path / "side" / f"{ran.execution_id}.txt").read_text()
    assert whole == "".join(f"{str(i % 10) * 499_999}\n" for i in range(40))
    assert ran.outputs[-1]["text"].endswith("9" * 1000 + "\n")


async def test_variables_stay_between_executions(python: Cells, tmp_path: Path):
    await python("x = 41")
    ran = await python("import os; x + 1, os.getcwd()")
    assert ran.outputs[0]["data"]["text/plain"] == f"(42, {str(tmp_path)!r})"
    assert (ran.result.status, ran.result.execution_count, python.executor.language) == ("ok", 2, "python")


async def test_a_deadline_interrupts_and_keeps_what_was_printed(cells: Cells):
    ran = await cells("import time\nfor i in range(600): print(i, flush=True); time.sleep(0.1)", deadline=1.0)
    assert (ran.result.status, ran.result.ename) == ("timeout", "KeyboardInterrupt")
    assert ran.result.detail == "The code was interrupted after 1 s."
    assert ran.text.startswith("0\n1\n")
    assert (await cells("i > 0")).outputs[0]["data"]["text/plain"] == "True"


async def test_a_deadline_reaches_a_top_level_await(cells: Cells):
    with anyio.fail_after(20):
        ran = await cells("import asyncio; await asyncio.sleep(60)", deadline=0.5)
    assert (ran.result.status, ran.result.ename) == ("timeout", "CancelledError")


async def test_code_that_ignores_interrupts_costs_the_kernel_and_the_next_code_is_told(python: Cells):
    await python("x = 1")
    ran = await python(
        "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('deaf', flush=True); time.sleep(100)",
        deadline=0.5,
    )
    assert ran.result.status == "timeout"
    assert ran.result.detail.endswith("The kernel was restarted: all variables are gone.")
    assert ran.text == "deaf\n"
    after = await python("x")
    assert (after.result.ename, after.result.detail, after.result.execution_count) == ("NameError", FRESH, 1)
    assert (await python("1")).result.detail == ""


async def test_cancelling_interrupts_and_still_tells_the_outputs(cells: Cells):
    ran: list[Ran] = []
    async with anyio.create_task_group() as tasks:
        code = "import time\ntry:\n    print('begun', flush=True); time.sleep(60)\nfinally:\n    print('cleaned up'); y = 2"
        tasks.start_soon(lambda: cells(code, into=ran))
        await wait_text(ran, "begun")
        tasks.cancel_scope.cancel()
    assert ran[0].text == "begun\ncleaned up\n"
    assert ran[0].kinds[-1] == "error"
    after = await cells("y")
    assert (after.outputs[0]["data"]["text/plain"], after.result.detail) == ("2", "")


async def test_cancelling_at_once_leaves_a_usable_kernel(cells: Cells):
    await cells("z = 3")
    with anyio.move_on_after(0.001):
        await cells("import time; time.sleep(60)")
    with anyio.fail_after(20):
        after = await cells("z")
    assert (after.outputs[0]["data"]["text/plain"], after.result.status) == ("3", "ok")


async def test_executions_wait_for_each_other(cells: Cells):
    ran: list[Ran] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: cells("import time; time.sleep(0.3); print('one')", into=ran))
        await anyio.lowlevel.checkpoint()
        tasks.start_soon(lambda: cells("print('two')", into=ran))
    first = ran[0].result.execution_count
    assert first is not None
    assert [(one.text, one.result.execution_count) for one in ran] == [("one\n", first), ("two\n", first + 1)]


async def test_an_interrupt_while_nothing_runs_does_no_harm(cells: Cells):
    await cells("1")
    await cells.executor.interrupt()
    assert (await cells("print('fine')")).text == "fine\n"


async def test_a_killed_kernel_keeps_its_outputs_and_says_what_happened(python: Cells):
    with anyio.fail_after(20):
        ran = await python(
            "import os, signal, time\nx = 1\nprint('x', flush=True); time.sleep(0.3); os.kill(os.getpid(), signal.SIGKILL)"
        )
    assert (ran.result.status, ran.text) == ("dead", "x\n")
    assert "killed by signal 9 (SIGKILL, probably out of memory)" in ran.result.detail
    after = await python("print('x' in globals())")
    assert (after.text, after.result.status) == ("False\n", "ok")
    assert after.result.detail.startswith(FRESH)


async def test_a_kernel_that_died_while_idle_is_replaced_and_the_next_code_is_told(python: Cells):
    pid = int((await python("import os; print(os.getpid())")).text)
    os.kill(pid, signal.SIGKILL)
    await anyio.to_thread.run_sync(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with anyio.fail_after(20):
        after = await python("print('two')")
    assert (after.text, after.result.status) == ("two\n", "ok")
    assert (
        after.result.detail == f"{FRESH} The one before: it was killed by signal 9 (SIGKILL, probably out of memory)."
    )


async def test_exiting_with_a_code_is_told(python: Cells):
    ran = await python("import os; os._exit(3)")
    assert ran.result.status == "dead"
    assert "it exited with code 3" in ran.result.detail


async def test_a_restart_by_somebody_else_is_noticed(python: Cells):
    manager = python.executor._process._manager
    ran: list[Ran] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: python("import time; print('begun', flush=True); time.sleep(60)", into=ran))
        await wait_text(ran, "begun")
        await manager.restart_kernel(python.executor.kernel_id, now=True)
    assert (ran[0].result.status, ran[0].text) in [("restarted", "begun\n"), ("dead", "begun\n")]
    assert (await python("1")).result.detail.startswith(FRESH)


async def test_a_kernel_that_somebody_shut_down_is_started_again(python: Cells):
    await python("x = 1")
    first = python.executor.kernel_id
    await python.executor._process._manager.shutdown_kernel(first, now=True)
    after = await python("print('again')")
    assert (after.text, python.executor.kernel_id == first) == ("again\n", False)
    assert after.result.detail.startswith(FRESH)


async def test_closing_ends_what_runs(python: Cells):
    ran: list[Ran] = []
    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: python("import time; print('begun', flush=True); time.sleep(60)", into=ran))
            await wait_text(ran, "begun")
            await python.executor.aclose()
    assert (ran[0].result.status, ran[0].text) == ("dead", "begun\n")


async def test_a_closed_executor_refuses(python: Cells):
    await python.executor.aclose()
    await python.executor.aclose()
    with pytest.raises(KernelDied):
        await python("1")


async def test_an_update_changes_the_output_of_an_earlier_execution(cells: Cells):
    first = await cells("h = display('one', display_id='d')")
    second = await cells("from IPython.display import update_display; update_display('two', display_id='d')")
    assert first.outputs[0]["data"]["text/plain"] == "'two'"
    assert ([op.op for op in first.late], second.outputs) == (["replace"], [])


async def test_a_display_that_is_updated_all_the_time_is_told_now_and_then(cells: Cells):
    code = "import time\nh = display(0, display_id=True)\nfor i in range(1, 300): h.update(i); time.sleep(0.002)"
    ran = await cells(code)
    assert ran.outputs[0]["data"]["text/plain"] == "299"
    assert len(ran.ops) < 30


async def test_late_output_goes_to_the_execution_that_caused_it(cells: Cells):
    code = "import asyncio\nasync def late():\n    await asyncio.sleep(0.3)\n    print('late')\ntask = asyncio.create_task(late())"
    first = await cells(code)
    second = await cells("await task; print('second')")
    await cells("1")
    assert (first.text, second.text) == ("late\n", "second\n")
    assert [op.op for op in first.late] == ["append"]


async def test_late_output_is_passed_on_while_nothing_runs(kernels: Kernels, tmp_path: Path):
    told = anyio.Event()

    async def saw() -> None:
        if first and first[0].late:
            told.set()

    first: list[Ran] = []
    cells = Cells(await kernels.start("", tmp_path, kernel_environ()), saw=saw)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cells.executor.attend)
        await cells("import threading; threading.Timer(0.4, lambda: print('late')).start()", into=first)
        with anyio.fail_after(20):
            await told.wait()
        tasks.cancel_scope.cancel()
    assert first[0].text == "late\n"


async def test_code_that_asks_for_input_fails_and_says_so(cells: Cells):
    ran = await cells("name = input('who? ')")
    assert (ran.result.status, ran.result.ename) == ("error", "StdinNotImplementedError")
    assert "nobody is there to answer" in ran.result.detail


async def test_a_failed_magic_has_an_error_output(cells: Cells):
    ran = await cells("%no_such_magic")
    assert (ran.result.status, ran.result.ename, ran.kinds) == ("error", "UsageError", ["stream", "error"])


async def test_the_exit_code_of_a_shell_line_is_told(cells: Cells):
    failed, fine = await cells("!sh -c 'exit 3'"), await cells("!true")
    assert (failed.result.status, failed.result.detail) == ("ok", "The last shell command in it exited with code 3.")
    assert (fine.result.detail, (await cells("1")).result.detail) == ("", "")


async def test_a_script_that_fails_under_run_has_failed(cells: Cells, tmp_path: Path):
    (tmp_path / "bad.py").write_text("print('in script')\n1/0\n")
    ran = await cells(f"%run {tmp_path / 'bad.py'}")
    assert (ran.result.status, ran.result.ename) == ("error", "ZeroDivisionError")
    assert ran.text.startswith("in script\n")


async def test_figures_are_shown(cells: Cells):
    shown = await cells("import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()")
    last = await cells("fig = plt.figure(); fig.gca().plot([1]); plt.close(fig); fig")
    assert [output["output_type"] for output in (*shown.outputs, *last.outputs)] == ["display_data", "execute_result"]
    assert all(len(output["data"]["image/png"]) > 1000 for output in (*shown.outputs, *last.outputs))


async def test_a_listener_that_fails_is_not_swallowed_and_the_kernel_stays_usable(cells: Cells):
    async def broken(op: OutputOp) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await cells.executor.execute("print(1)", execution_id=new_execution_id(), on_output=broken)
    assert (await cells("print(2)")).text == "2\n"


async def test_a_listener_that_is_slow_loses_nothing(kernels: Kernels, tmp_path: Path):
    async def slow() -> None:
        await anyio.sleep(0.02)

    cells = Cells(await kernels.start("", tmp_path, kernel_environ()), saw=slow)
    ran = await cells("for i in range(60): display(i)")
    assert [output["data"]["text/plain"] for output in ran.outputs] == [str(i) for i in range(60)]


async def test_code_that_utf8_cannot_hold_runs(cells: Cells):
    assert (await cells("print('\udcff')")).result.status in ("ok", "error")
    assert (await cells("print(chr(0xdcff) == 1)")).text == "False\n"


async def test_an_attached_kernel_is_shared_and_left_running(tmp_path: Path):
    manager = own_manager()
    mine, theirs = Kernels(manager), Kernels(manager)
    try:
        user = Cells(await theirs.start("python3", tmp_path, kernel_environ()))
        await user("x = 5")
        agent = Cells(await mine.attach(user.executor.kernel_id))
        assert agent.executor.place == "attached"
        ran: list[Ran] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(
                lambda: user("import time; print('users', flush=True); time.sleep(1.0); print('end')", into=ran)
            )
            await wait_text(ran, "users")
            answer = await agent("x", deadline=0.2)
        assert answer.outputs[0]["data"]["text/plain"] == "5"
        assert (answer.text, ran[0].text) == ("", "users\nend\n")
        await mine.aclose()
        assert (await user("x")).result.status == "ok"
    finally:
        await mine.aclose()
        await theirs.aclose()


@pytest.mark.filterwarnings("ignore:Passing unrecognized arguments to super.KernelSpec.:DeprecationWarning")
async def test_a_bash_kernel_runs_and_is_interrupted(kernels: Kernels, bash_spec: str, tmp_path: Path):
    bash = Cells(await kernels.start(bash_spec, tmp_path, kernel_environ()))
    await bash("X=5")
    assert (await bash("echo $X; echo err >&2")).text == "5\nerr\n"
    assert bash.executor.language == "bash"
    ran = await bash("echo begun; sleep 30", deadline=1.0)
    assert ran.result.status == "timeout"
    assert (await bash("echo alive")).text.endswith("alive\n")
