"""Executions that a cell carries out for its session."""

from typing import Any

import anyio
import pytest

from jupyter_pernix.errors import Conflict, KernelError, NotFound
from jupyter_pernix.events import ExecutionFinished, ExecutionOutput, ExecutionStarted
from jupyter_pernix.ids import CallId, ExecutionId, SessionId, new_execution_id
from jupyter_pernix.ports import Executor
from jupyter_pernix.records import ExecutionResult, OutputOp
from jupyter_pernix.serverext import incell
from jupyter_pernix.serverext.incell import InCellExecutions, InCellExecutor

from .carrying import Told, Turn
from .conftest import Serve

ONE, SESSION = ExecutionId("exe_1"), SessionId("ses_1")
DONE = ExecutionResult(status="ok", execution_count=3)
OPS = [
    OutputOp(op="append", output={"output_type": "stream", "name": "stdout", "text": str(number)}) for number in "12"
]


class Cell:
    """An executor of one session, and what it took."""

    def __init__(self, *, listening: bool = True) -> None:
        self.executions = InCellExecutions()
        self.executor = InCellExecutor(
            self.executions,
            SESSION,
            kernel_name="python3",
            listeners=lambda _: int(listening),
            beside=self.beside,
        )
        self.taken: list[OutputOp] = []
        self.result: ExecutionResult | None = None

    async def beside(self) -> Executor:
        raise KernelError("not from here")

    async def take(self, op: OutputOp) -> None:
        await anyio.lowlevel.checkpoint()
        self.taken.append(op)

    async def execute(self, deadline: float | None = None) -> None:
        self.result = await self.executor.execute("1", execution_id=ONE, on_output=self.take, deadline=deadline)


async def test_outputs_and_result_of_the_cell_reach_the_turn_in_order() -> None:
    cell = Cell()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(cell.execute)
            await cell.executions.outputs(ONE, OPS)
            await cell.executions.outputs(ONE, OPS)
            await cell.executions.finish(ONE, DONE)
    assert (cell.taken, cell.result) == (OPS * 2, DONE)
    assert (cell.executor.place, cell.executor.language) == ("in_cell", "python")


async def test_an_answer_that_comes_before_the_turn_waits_is_not_lost() -> None:
    cell = Cell()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(cell.executions.finish, ONE, DONE)
            await anyio.wait_all_tasks_blocked()
            group.start_soon(cell.execute)
    assert cell.result == DONE


async def test_a_finished_execution_takes_nothing_more() -> None:
    cell = Cell()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(cell.execute)
            await cell.executions.finish(ONE, DONE)
        for late in (cell.executions.outputs(ONE, OPS), cell.executions.finish(ONE, DONE)):
            with pytest.raises((NotFound, Conflict)):
                await late


async def test_an_unknown_execution_is_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incell, "_OPENING_SECONDS", 0.01)
    with pytest.raises(NotFound):
        await InCellExecutions().finish(ONE, DONE)


async def test_no_result_within_the_deadline_is_a_timeout() -> None:
    cell = Cell()
    with anyio.fail_after(5):
        await cell.execute(deadline=0.01)
    assert cell.result is not None
    assert cell.result.status == "timeout"


async def test_a_cell_that_no_longer_listens_is_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incell, "_WATCH_SECONDS", 0.01)
    monkeypatch.setattr(incell, "_ALONE_SECONDS", 0.03)
    cell = Cell(listening=False)
    with anyio.fail_after(5):
        await cell.execute()
    assert cell.result is not None
    assert cell.result.status == "dead"


async def run_in_cell(turn: Turn) -> None:
    executor = await turn.host.executor()
    execution_id, call = new_execution_id(), CallId(await turn.request())
    ids: dict[str, Any] = {**turn.ids, "execution_id": execution_id}
    await turn.host.append(
        ExecutionStarted(**ids, call_id=call, place=executor.place, kernel_name=executor.kernel_name, code="1 + 1")
    )

    async def keep(op: OutputOp) -> None:
        await turn.host.append(ExecutionOutput(**ids, op=op.op, index=op.index, output=op.output, text=op.text))

    result = await executor.execute("1 + 1", execution_id=execution_id, on_output=keep)
    await turn.host.append(
        ExecutionFinished(
            **ids,
            status=result.status,
            execution_count=result.execution_count,
            ename="",
            evalue="",
            detail="",
            duration=0.1,
        )
    )
    await turn.end(call)


@pytest.mark.server
async def test_a_cell_executes_for_its_session_over_http(serve: Serve) -> None:
    async with serve(carry=Told(run_in_cell)) as server:
        session = await server.new_session(place="in_cell", kernel_name="")
        with anyio.fail_after(20):
            async with server.stream(session=session) as stream:
                await anext(stream)
                await server.submit(session, "go")
                async for message in stream:
                    if message.data["type"] == "execution.started":
                        break
                assert (message.data["place"], message.data["code"]) == ("in_cell", "1 + 1")
                path = f"/executions/{message.data['execution_id']}"
                output = {"output_type": "stream", "name": "stdout", "text": "2\n"}
                await server.post(f"{path}/outputs", {"ops": [{"op": "append", "output": output}]}, status=204)
                await server.post(f"{path}/finish", {"status": "ok", "execution_count": 4}, status=204)
        await server.wait_idle(session)
        execution = (await server.get(f"/sessions/{session}"))["turns"][0]["items"][0]["execution"]
        assert (execution["status"], execution["execution_count"], execution["outputs"]) == ("ok", 4, [output])
