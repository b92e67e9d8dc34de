"""Looking into a kernel beside the code that runs there, with real kernels."""

import anyio
import pytest

from jupyter_pernix.errors import KernelError

from .conftest import Cells, Ran

pytestmark = pytest.mark.kernel

NAMES = "__import__('json').dumps({'x': x})"


async def wait_text(ran: list[Ran], text: str) -> None:
    with anyio.fail_after(30):
        while not ran or text not in ran[0].text:
            await (ran[0].told.wait() if ran else anyio.lowlevel.checkpoint())


async def test_an_idle_kernel_tells_a_value_and_counts_nothing(cells: Cells):
    before = await cells("x = 5")
    assert await cells.executor.inspect_expression(NAMES) == {"x": 5}
    after = await cells("x")
    assert after.result.execution_count == (before.result.execution_count or 0) + 1
    assert not cells.executor.busy


async def test_running_code_is_looked_into_while_it_runs(cells: Cells):
    ran: list[Ran] = []
    async with anyio.create_task_group() as tasks:
        code = "import time\nx = 7; print('begun', flush=True)\nwhile x == 7: time.sleep(0.01)"
        tasks.start_soon(lambda: cells(code, into=ran))
        await wait_text(ran, "begun")
        assert cells.executor.busy
        assert await cells.executor.inspect_expression(NAMES) == {"x": 7}
        await cells.executor.interrupt()
    assert ran[0].result.status == "cancelled"


async def test_what_threads_print_stays_with_their_cell_while_it_is_looked_into(cells: Cells):
    code = (
        "import threading, time\nx = 1\n"
        "def chat():\n    for i in range(400): print('line', i, flush=True); time.sleep(0.002)\n"
        "worker = threading.Thread(target=chat); worker.start(); print('begun', flush=True); worker.join()"
    )
    ran: list[Ran] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: cells(code, into=ran))
        await wait_text(ran, "begun")
        for _ in range(10):
            assert await cells.executor.inspect_expression(NAMES) == {"x": 1}
    # Pieces of one line may be swapped: the kernel sends what it holds for the question and for the cell one after the other.
    assert sorted(ran[0].text) == sorted("begun\n" + "".join(f"line {i}\n" for i in range(400)))


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("nowhere", "NameError"),
        ("1 +", "SyntaxError"),
        ("3", "not JSON"),
        ("'[1]'", "not a JSON object"),
    ],
)
async def test_what_cannot_be_told_is_a_kernel_error(cells: Cells, expression: str, complaint: str):
    with pytest.raises(KernelError, match=complaint):
        await cells.executor.inspect_expression(expression)


async def test_a_question_that_takes_too_long_is_given_up_and_the_kernel_goes_on(cells: Cells):
    slow = "(__import__('time').sleep(1.5), '{}')[1]"
    with pytest.raises(KernelError, match=r"did not answer within 0\.2 s"):
        await cells.executor.inspect_expression(slow, deadline=0.2)
    assert (await cells("x = 2; x")).outputs[0]["data"]["text/plain"] == "2"
    assert await cells.executor.inspect_expression(NAMES) == {"x": 2}


async def test_no_subshell_is_left_behind(cells: Cells):
    count = "__import__('json').dumps({'n': sum('subshell' in t.name for t in __import__('threading').enumerate())})"
    await cells("1")
    slow = "(__import__('time').sleep(0.5), '{}')[1]"
    with pytest.raises(KernelError):
        await cells.executor.inspect_expression(slow, deadline=0.1)
    with anyio.fail_after(20):
        while await cells.executor.inspect_expression(count) != {"n": 1}:  # its own one
            await anyio.lowlevel.checkpoint()
