"""The local model."""

from jupyter_server.auth.decorator import authorized
from tornado import web

from ...errors import InvalidInput, ModelError
from ...records import LocalStart
from .base import PernixHandler, problem_of


class LocalHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        self.answer(await (await self.runtime()).local.status())

    @web.authenticated
    @authorized
    async def post(self) -> None:
        wanted = self.record(LocalStart)
        if not wanted.path or "\0" in wanted.path or len(wanted.path) > 4096:
            raise InvalidInput("$.path", "this is not the path of a file")
        if not 256 <= wanted.context_length <= 4_194_304:
            raise InvalidInput("$.context_length", "between 256 and 4194304 tokens")
        runtime = await self.runtime()
        try:
            started = await runtime.local.start(wanted)
        except ModelError as exc:
            # The file or this installation is at fault, not an endpoint behind us.
            self.answer(problem_of(exc), status=409)
            return
        self.answer(started, status=202)

    @web.authenticated
    @authorized
    async def delete(self) -> None:
        await (await self.runtime()).local.stop()
        self.answer(status=204)
