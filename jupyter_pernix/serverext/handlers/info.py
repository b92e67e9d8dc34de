"""What this server is."""

from jupyter_server.auth.decorator import authorized
from tornado import web

from ... import __version__
from ...records import Record, SandboxStatus
from .base import PernixHandler


class Info(Record, frozen=True):
    """``last_seq``: of the last stored event. ``sessions``: how many there are."""

    version: str
    last_seq: int
    server_root: str
    data_dir: str
    data_dir_ok: bool
    sessions: int
    busy: int
    sandbox: SandboxStatus


class InfoHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        runtime = await self.runtime()
        self.answer(
            Info(
                version=__version__,
                last_seq=runtime.store.last_seq,
                server_root=str(runtime.root),
                data_dir=str(runtime.data_folder),
                data_dir_ok=True,
                sessions=len(runtime.store.summaries()),
                busy=runtime.sessions.busy,
                sandbox=await runtime.sandboxes.status(),
            )
        )
