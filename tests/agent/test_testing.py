"""The fakes that are shipped."""

from pathlib import Path

import pytest

from jupyter_pernix.agent import testing
from jupyter_pernix.agent.run import Run
from jupyter_pernix.agent.testing import FakeClock, FakeExecutor, MemoryHost, Says, ScriptedModel, ScriptedModels, call
from jupyter_pernix.errors import InvalidTransition
from jupyter_pernix.ports import Clock, Executor, TurnHost
from jupyter_pernix.records import SessionState


async def test_the_example_of_the_docstring_runs(tmp_path: Path) -> None:
    source = (testing.__doc__ or "").partition("::\n\n")[2]
    (tmp_path / "data.csv").write_text("a\n1\n2\n3\n")
    body = "async def example():\n" + source
    names = {"Run": Run, "MemoryHost": MemoryHost, "ScriptedModel": ScriptedModel, "Says": Says, "call": call}
    names["ScriptedModels"] = ScriptedModels
    names["tmp_path"] = tmp_path  # type: ignore[assignment]
    exec(compile(body, "docstring", "exec"), names)
    await names["example"]()  # type: ignore[operator]


def test_the_fakes_are_the_ports_that_they_stand_for(tmp_path: Path) -> None:
    host: TurnHost = MemoryHost(space=tmp_path, side=tmp_path)
    executor: Executor = FakeExecutor()
    clock: Clock = FakeClock()
    assert (host.can_ask, executor.language, clock.monotonic()) == (False, "python", 0.0)


async def test_a_move_that_the_table_lacks_changes_nothing(tmp_path: Path) -> None:
    host = MemoryHost(space=tmp_path, side=tmp_path)
    host.submit("x")
    with pytest.raises(InvalidTransition):
        await host.move("turn_ended")
    assert (host.state, len(host.log)) == (SessionState.IDLE_READY, 2)


async def test_the_clock_moves_only_when_somebody_sleeps() -> None:
    clock = FakeClock()
    await clock.sleep(7.0)
    clock.advance(1.0)
    assert (clock.monotonic(), clock.slept) == (8.0, [7.0])
