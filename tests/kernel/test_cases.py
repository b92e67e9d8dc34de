"""Recorded situations, each in a real kernel."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from jupyter_pernix.kernel.provision import Kernels

from .conftest import Cells, Ran, kernel_environ
from .matching import outputs_match

pytestmark = pytest.mark.kernel

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "cases" / "kernel_cases.json").read_text(encoding="utf-8")
)["cases"]


class Arrival:
    """Something was told; wait for the next."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    async def saw(self) -> None:
        self._event.set()
        self._event = anyio.Event()

    async def wait(self) -> None:
        await self._event.wait()


def fits(expected: dict[str, Any], ran: Ran) -> bool:
    if "outputs" not in expected:
        return True
    return outputs_match(expected["outputs"], ran.outputs, mode=expected.get("outputs_mode", "exact"))


async def faults(case: dict[str, Any], cells: Cells, arrival: Arrival) -> list[str]:
    """What is not as expected; output that comes late is waited for."""
    await cells("%reset -f")
    found: list[str] = []
    ran = [await cells(code, deadline=case.get("deadline")) for code in case["code"]]
    for number, (expected, seen) in enumerate(zip(case["expected"], ran, strict=True)):
        with anyio.move_on_after(10):
            while not fits(expected, seen):
                await arrival.wait()
        place = f"{case['id']}.{number} {case['title']}"
        if not fits(expected, seen):
            found.append(f"{place}: {json.dumps(seen.outputs)[:800]}")
        if expected.get("status") and seen.result.status != expected["status"]:
            found.append(f"{place}: {seen.result}")
        if expected.get("ename") and seen.result.ename != expected["ename"]:
            found.append(f"{place}: {seen.result}")
    return found


@pytest.mark.parametrize("group", sorted({case["group"] for case in CASES}))
async def test_each_recorded_case_comes_out_as_recorded(group: str, kernels: Kernels, tmp_path: Path):
    arrival = Arrival()
    executor = await kernels.start("python3", tmp_path, kernel_environ(PYTHONBREAKPOINT="0", JOB_X="seven"))
    cells = Cells(executor, saw=arrival.saw)
    found: list[str] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(executor.attend)
        for case in CASES:
            if case["group"] == group:
                found += await faults(case, cells, arrival)
        tasks.cancel_scope.cancel()
    assert found == []
