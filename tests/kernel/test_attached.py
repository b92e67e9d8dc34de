"""Kernels that belong to a user who works in them too; a second client plays the user."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from jupyter_client.multikernelmanager import AsyncMultiKernelManager
from jupyter_core.utils import ensure_async

from jupyter_pernix.kernel.executor import FRESH, GONE
from jupyter_pernix.kernel.provision import Kernels, own_manager

from .conftest import Cells, Ran, kernel_environ

pytestmark = pytest.mark.kernel

RESTARTED = f"The kernel was restarted. {GONE}"


class Shared:
    """One kernel, its ``user`` and the ``agent`` who is attached to it."""

    def __init__(self, manager: AsyncMultiKernelManager, user: Cells, agent: Cells) -> None:
        self.manager, self.user, self.agent = manager, user, agent
        self.losses: list[str] = []
        self.lost = anyio.Event()
        agent.executor.on_restart = self._lost

    async def _lost(self, text: str) -> None:
        self.losses.append(text)
        self.lost.set()

    async def restart(self) -> None:
        """As the user does it from a menu."""
        await self.manager.restart_kernel(self.user.executor.kernel_id, now=True)


@pytest.fixture
async def shared(tmp_path: Path) -> AsyncIterator[Shared]:
    manager = own_manager()
    theirs, mine = Kernels(manager, interrupt_grace=2.0), Kernels(manager, interrupt_grace=2.0, patience=1.5)
    user = Cells(await theirs.start("python3", tmp_path, kernel_environ()))
    yield Shared(manager, user, Cells(await mine.attach(user.executor.kernel_id)))
    await mine.aclose()
    await theirs.aclose()


async def wait_text(ran: list[Ran], text: str) -> None:
    with anyio.fail_after(30):
        while not ran or text not in ran[0].text:
            await (ran[0].told.wait() if ran else anyio.lowlevel.checkpoint())


async def test_a_busy_kernel_can_be_attached_to_and_its_code_is_waited_for(shared: Shared):
    theirs: list[Ran] = []
    late = Kernels(shared.manager)
    async with anyio.create_task_group() as tasks:
        code = "import time; print('users', flush=True)\nfor _ in range(25): time.sleep(0.1)\nprint('end'); x = 5"
        tasks.start_soon(lambda: shared.user(code, into=theirs))
        await wait_text(theirs, "users")
        with anyio.fail_after(20):
            agent = Cells(await late.attach(shared.user.executor.kernel_id))
        assert agent.executor.busy
        answer = await agent("x", deadline=1.0)
    assert answer.outputs[0]["data"]["text/plain"] == "5"
    assert (theirs[0].result.status, theirs[0].text) == ("ok", "users\nend\n")
    await late.aclose()


async def test_stopping_code_that_waits_leaves_the_users_code_alone(shared: Shared):
    theirs: list[Ran] = []
    mine: list[Ran] = []
    async with anyio.create_task_group() as tasks:
        code = "import time; print('users', flush=True)\nfor _ in range(10): time.sleep(0.1)\nprint('end')"
        tasks.start_soon(lambda: shared.user(code, into=theirs))
        await wait_text(theirs, "users")
        await shared.agent.executor.inspect_expression("'{}'")  # it has heard of the user's cell
        async with anyio.create_task_group() as agents:
            agents.start_soon(lambda: shared.agent("x = 'ran'", into=mine))
            with anyio.fail_after(10):
                while not shared.agent.executor.waits:  # noqa: ASYNC110
                    await anyio.sleep(0.01)
            await shared.agent.executor.interrupt()
    assert mine[0].result.status == "cancelled"
    assert "it was not run" in mine[0].result.detail
    assert (theirs[0].result.status, theirs[0].text) == ("ok", "users\nend\n")
    assert (await shared.user("x")).result.ename == "NameError"


async def test_code_is_not_run_when_the_users_code_takes_too_long(shared: Shared):
    theirs: list[Ran] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: shared.user("import time; print('users', flush=True); time.sleep(60)", into=theirs))
        await wait_text(theirs, "users")
        answer = await shared.agent("x = 1")
        await shared.user.executor.interrupt()
    assert (answer.result.status, answer.outputs) == ("not_run", [])
    assert "Other code has been running" in answer.result.detail


async def test_a_restart_by_the_user_is_noticed_while_nothing_runs(shared: Shared):
    await shared.agent("x = 1")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(shared.agent.executor.attend)
        await shared.restart()
        with anyio.fail_after(20):
            await shared.lost.wait()
        tasks.cancel_scope.cancel()
    after = await shared.agent("x")
    assert (after.result.ename, after.result.detail, shared.losses) == ("NameError", FRESH, [RESTARTED])
    assert (await shared.agent("1")).result.detail == ""


async def test_a_restart_by_the_user_while_code_runs_ends_it_and_is_told_once(shared: Shared):
    mine: list[Ran] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: shared.agent("import time; print('mine', flush=True); time.sleep(60)", into=mine))
        await wait_text(mine, "mine")
        await shared.restart()
    assert (mine[0].result.status, mine[0].text) == ("restarted", "mine\n")
    assert (await shared.agent("1")).result.detail == FRESH
    assert shared.losses == [RESTARTED]


async def test_a_restart_while_code_waits_for_its_turn_lets_it_run_in_the_new_kernel(shared: Shared):
    theirs: list[Ran] = []
    mine: list[Ran] = []
    shared.agent.executor.patience = 60.0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: shared.user("import time; print('users', flush=True); time.sleep(60)", into=theirs))
        await wait_text(theirs, "users")
        tasks.start_soon(lambda: shared.agent("print('mine')", into=mine))
        with anyio.fail_after(10):
            while not shared.agent.executor.waits:  # noqa: ASYNC110
                await anyio.sleep(0.01)
        await shared.restart()
    assert (mine[0].text, mine[0].result.status, mine[0].result.detail) == ("mine\n", "ok", FRESH)


async def test_an_interrupt_by_the_user_of_the_agents_code_is_an_error_in_it(shared: Shared):
    mine: list[Ran] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: shared.agent("import time; print('mine', flush=True); time.sleep(60)", into=mine))
        await wait_text(mine, "mine")
        await ensure_async(shared.manager.interrupt_kernel(shared.user.executor.kernel_id))
    assert (mine[0].result.status, mine[0].result.ename) == ("error", "KeyboardInterrupt")


async def test_late_outputs_of_the_agents_code_are_kept_while_the_user_goes_on(shared: Shared):
    first = await shared.agent(
        "import asyncio\nasync def late():\n    await go.wait(); print('late', flush=True)\n"
        "go = asyncio.Event(); task = asyncio.create_task(late()); print('now')"
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(shared.agent.executor.attend)
        theirs = await shared.user("print('users'); go.set()")
        with anyio.fail_after(20):
            while "late" not in first.text + theirs.text:
                await first.told.wait()
        tasks.cancel_scope.cancel()
    assert (first.text, theirs.text) == ("now\nlate\n", "users\n")
    assert len(first.late) == 1


async def test_a_dead_kernel_of_the_user_is_told(shared: Shared):
    ran = await shared.agent("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert ran.result.status in ("dead", "restarted")
    assert len(shared.losses) == 1
    assert shared.losses[0].endswith(GONE)
