"""Code that asks for a line, in real kernels."""

from collections.abc import Awaitable, Callable

import anyio
import pytest

from jupyter_pernix.ids import new_execution_id
from jupyter_pernix.kernel.executor import KernelExecutor
from jupyter_pernix.records import ExecutionResult, OutputOp

from .conftest import Cells

pytestmark = pytest.mark.kernel


class User:
    """Answers what is asked, in order; after the last answer never."""

    def __init__(self, *answers: str | None) -> None:
        self.asked: list[tuple[str, bool]] = []
        self.waiting = anyio.Event()
        self.left_waiting = False
        self._answers = list(answers)

    async def __call__(self, prompt: str, password: bool) -> str | None:
        self.asked.append((prompt, password))
        if self._answers:
            return self._answers.pop(0)
        self.waiting.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.left_waiting = True
        raise AssertionError


async def ran(
    executor: KernelExecutor, code: str, user: Callable[[str, bool], Awaitable[str | None]], **options: float
) -> tuple[ExecutionResult, str]:
    ops: list[OutputOp] = []

    async def on_output(op: OutputOp) -> None:
        ops.append(op)

    result = await executor.execute(
        code, execution_id=new_execution_id(), on_output=on_output, ask_input=user, **options
    )
    return result, "".join(op.text or (op.output or {}).get("text", "") for op in ops)


@pytest.fixture
def executor(cells: Cells) -> KernelExecutor:
    cells.executor.on_late = None
    return cells.executor


async def test_two_lines_are_asked_one_after_the_other(executor: KernelExecutor):
    user = User("é", "2")
    result, text = await ran(executor, "a = input('a? '); b = input('b? '); print(a + b)", user)
    assert (result.status, text, user.asked) == ("ok", "é2\n", [("a? ", False), ("b? ", False)])


async def test_a_password_is_asked_as_one(executor: KernelExecutor):
    user = User("s3cret")
    result, text = await ran(executor, "import getpass; print(len(getpass.getpass('PW: ')))", user)
    assert (result.status, text, user.asked) == ("ok", "6\n", [("PW: ", True)])


async def test_an_answer_never_given_interrupts_the_code(executor: KernelExecutor):
    result, _ = await ran(executor, "input('name? ')", User(None))
    assert (result.status, result.ename) == ("cancelled", "KeyboardInterrupt")
    assert "the user did not give any" in result.detail
    assert (await ran(executor, "print('alive')", User()))[1] == "alive\n"


async def test_waiting_for_the_user_does_not_count_against_the_deadline(executor: KernelExecutor):
    async def slow(prompt: str, password: bool) -> str:
        await anyio.sleep(1.5)
        return "late"

    result, text = await ran(executor, "print(input('? '))", slow, deadline=1.0)
    assert (result.status, text) == ("ok", "late\n")


async def test_the_deadline_holds_before_and_after_an_answer(executor: KernelExecutor):
    result, _ = await ran(executor, "input('? ')\nimport time; time.sleep(60)", User("x"), deadline=0.5)
    assert result.status == "timeout"


async def test_an_interrupt_while_the_user_is_asked_ends_the_question(executor: KernelExecutor):
    user = User()
    results: list[ExecutionResult] = []
    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            results.append((await ran(executor, "input('? ')", user))[0])

        tasks.start_soon(run)
        with anyio.fail_after(20):
            await user.waiting.wait()
        await executor.interrupt()
    assert (results[0].status, user.left_waiting) == ("cancelled", True)
    assert (await ran(executor, "print(input())", User("next")))[1] == "next\n"


async def test_cancelling_while_the_user_is_asked_leaves_a_usable_kernel(executor: KernelExecutor):
    user = User()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ran, executor, "input('? '); input('again? ')", user)
        with anyio.fail_after(20):
            await user.waiting.wait()
        tasks.cancel_scope.cancel()
    assert (user.asked, user.left_waiting) == ([("? ", False)], True)
    assert (await ran(executor, "print(1)", User()))[1] == "1\n"


async def test_a_kernel_that_dies_while_the_user_is_asked_ends_the_question(python: Cells):
    user = User()
    result, _ = await ran(
        python.executor,
        "import os, signal, threading\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGKILL)).start()\ninput('? ')",
        user,
    )
    assert (result.status, user.left_waiting) == ("dead", True)


async def test_a_listener_that_fails_to_ask_ends_the_execution(executor: KernelExecutor):
    async def broken(prompt: str, password: bool) -> str:
        raise RuntimeError("no screen")

    with pytest.raises(RuntimeError, match="no screen"):
        await ran(executor, "input('? ')", broken)
    with anyio.fail_after(20):
        assert (await ran(executor, "print(2)", User()))[1] == "2\n"


async def test_nobody_to_ask_is_an_error_at_once(cells: Cells):
    seen = await cells("input('? ')")
    assert (seen.result.status, seen.result.ename) == ("error", "StdinNotImplementedError")
