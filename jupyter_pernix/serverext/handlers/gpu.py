"""The GPUs of this machine."""

import anyio.to_thread
from jupyter_server.auth.decorator import authorized
from tornado import web

from .base import PernixHandler


class GpuDevicesHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        runtime = await self.runtime()
        self.answer(await anyio.to_thread.run_sync(runtime.devices.read))
