"""Sessions as files: exported, and begun from the record of another one."""

import anyio.to_thread
from jupyter_server.auth.decorator import authorized
from tornado import web

from ...ids import SessionId
from ...records import RecordImport
from ..imports import import_record
from ..run_notebooks import MEDIA, export_format
from .base import PernixHandler


class ExportHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def get(self, session_id: str) -> None:
        form = export_format(self.get_query_argument("format", "ipynb"))
        runtime = await self.runtime()
        known = SessionId(session_id)
        summary = runtime.sessions.summary(known)
        log = await runtime.store.events(known)
        body = await anyio.to_thread.run_sync(runtime.records.export, known, log, form)
        # a download: whatever a page holds, it is never shown as one of this server's
        self.set_header("Content-Disposition", f'attachment; filename="{_file_name(summary.record_path, form)}"')
        self.finish(body, set_content_type=MEDIA[form])


class ImportHandler(PernixHandler):
    @web.authenticated
    @authorized
    async def post(self) -> None:
        wanted = self.record(RecordImport)
        runtime = await self.runtime()
        created = await import_record(runtime.sessions, wanted, runtime.kernels.names)
        base = self.request.path.rpartition("/records/")[0]
        self.answer(created, status=201, location=f"{base}/sessions/{created.session_id}")


def _file_name(record_path: str, form: str) -> str:
    stem = record_path.rpartition("/")[2].removesuffix(".ipynb")
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in stem)
    return f"{safe or 'session'}.{form}"
