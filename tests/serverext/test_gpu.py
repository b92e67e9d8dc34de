"""The GPUs over HTTP."""

import pytest
from gpu.nvml import GIB, Card, FakeNvml

from jupyter_pernix.gpu.devices import Devices

from .conftest import Serve

pytestmark = pytest.mark.server


async def test_the_gpus_are_read_when_they_are_asked_for(serve: Serve) -> None:
    async with serve() as server:
        runtime = await server.extension.runtime()
        runtime.devices = Devices(lambda: FakeNvml(Card()))
        (device,) = (await server.get("/gpu/devices"))["devices"]
        assert (device["name"], device["total_bytes"]) == ("NVIDIA H200", 139 * GIB)


async def test_a_machine_without_a_gpu_answers_with_a_sentence(serve: Serve) -> None:
    async with serve() as server:
        runtime = await server.extension.runtime()
        runtime.devices = Devices(lambda: FakeNvml(begin=12))
        found = await server.get("/gpu/devices")
        assert (found["devices"], found["detail"][:22]) == ([], "no NVIDIA GPU found: t")
