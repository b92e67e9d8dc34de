"""A real Jupyter server with our extension, in the test's own event loop, and a client for its API."""

import json
import logging
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx
from jupyter_server.serverapp import ServerApp
from traitlets.config import Config

from jupyter_pernix.events import Stored, decode_stored
from jupyter_pernix.serverext.app import PernixApp
from jupyter_pernix.serverext.surroundings import Carry

TOKEN = "test-token"
JSON = dict[str, Any]

_OTHERS = ("jupyter_lsp", "jupyter_server_terminals", "jupyterlab", "notebook_shim")


@dataclass(kw_only=True)
class Message:
    """One server-sent event."""

    event: str
    id: int | None
    data: JSON


@dataclass(kw_only=True)
class Served:
    """``http`` has the API as its base address and carries the token."""

    app: ServerApp
    extension: PernixApp
    root: Path
    url: str
    http: httpx.AsyncClient

    async def get(self, path: str, **params: Any) -> Any:
        response = await self.http.get(path, params=params)
        assert response.status_code == 200, response.text
        return response.json()

    async def post(self, path: str, body: Any = None, *, status: int) -> Any:
        response = await self.http.post(path, json={} if body is None else body)
        assert response.status_code == status, (response.status_code, response.text)
        return response.json() if response.content else None

    async def new_session(self, **fields: Any) -> str:
        return (await self.post("/sessions", fields, status=201))["session_id"]

    async def submit(self, session_id: str, text: str, **fields: Any) -> str:
        return (await self.post(f"/sessions/{session_id}/turns", {"text": text, **fields}, status=202))["turn_id"]

    async def log(self, session_id: str) -> list[Stored]:
        return [decode_stored(json.dumps(event)) for event in await self.get("/events", session=session_id)]

    @asynccontextmanager
    async def stream(
        self, *, headers: dict[str, str] | None = None, **params: Any
    ) -> AsyncGenerator[AsyncIterator[Message]]:
        async with self.http.stream("GET", "/stream", params=params, headers=headers) as response:
            assert response.status_code == 200, await response.aread()
            assert response.headers["content-type"].startswith("text/event-stream")
            yield messages(response.aiter_lines())

    async def wait(self, session_id: str, fact: Callable[[JSON], bool], *, after: int = 0) -> list[JSON]:
        """The session's stored events up to and with the first of which ``fact`` is true; comes back when its stream is cut."""
        seen: list[JSON] = []
        with anyio.fail_after(30):
            while True:
                async with self.stream(session=session_id, after=seen[-1]["seq"] if seen else after) as stream:
                    async for message in stream:
                        if message.event == "pernix":
                            seen.append(message.data)
                            if fact(message.data):
                                return seen

    async def wait_idle(self, session_id: str, *, after: int = 0) -> list[JSON]:
        return await self.wait(session_id, lambda event: event.get("after") == "idle_ready", after=after)


async def messages(lines: AsyncIterator[str]) -> AsyncGenerator[Message]:
    event, id_, data = "", None, ""
    async for line in lines:
        if not line:
            if data:
                yield Message(event=event, id=id_, data=json.loads(data))
            event, id_, data = "", None, ""
            continue
        key, _, value = line.partition(": ")
        match key:
            case "event":
                event = value
            case "id":
                id_ = int(value)
            case "data":
                data = value
            case _:
                assert line.startswith(":"), line


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@asynccontextmanager
async def served(
    root: Path,
    data_folder: Path,
    *,
    carry: Carry | None = None,
    config: Config | None = None,
    authenticated: bool = True,
) -> AsyncGenerator[Served]:
    ServerApp.clear_instance()
    settings = Config(
        {
            "ServerApp": {
                "jpserver_extensions": {"jupyter_pernix": True} | dict.fromkeys(_OTHERS, False),
                "allow_unauthenticated_access": False,
            },
            "IdentityProvider": {"token": TOKEN},
            "PernixApp": {"data_folder": str(data_folder)},
            "NotebookNotary": {"db_file": ":memory:"},
        }
    )
    settings.merge(config or {})
    app = ServerApp.instance(
        config=settings,
        root_dir=str(root),
        port=free_port(),
        port_retries=0,
        open_browser=False,
        allow_root=True,
        base_url="/a%40b/",
        log_level=logging.WARNING,
    )
    app.init_signal = lambda: None
    app.initialize(argv=[])
    (extension,) = app.extension_manager.extension_apps["jupyter_pernix"]
    assert isinstance(extension, PernixApp)
    extension.carry = carry
    await app.extension_manager.start_all_extensions()
    url = f"http://127.0.0.1:{app.port}/a%40b/pernix/api"
    headers = {"Authorization": f"token {TOKEN}"} if authenticated else {}
    try:
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=30, trust_env=False) as http:
            yield Served(app=app, extension=extension, root=root, url=url, http=http)
    finally:
        with anyio.CancelScope(shield=True):
            await app._cleanup()
            app.http_server.stop()
            await app.http_server.close_all_connections()
            app.kernel_manager.context.destroy()
            ServerApp.clear_instance()
