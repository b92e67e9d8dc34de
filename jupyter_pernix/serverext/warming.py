"""What a process does at its first turn and never again, done before somebody waits for it: modules are loaded, patterns compiled, and
a small turn is carried in memory, against an answer that stands here. Nothing is stored, asked or shown; nothing is lost without it.
"""

import json
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from ..records import JSON

if TYPE_CHECKING:
    from ..agent.model.client import ChatModel
    from ..events import TurnFinished

_SECONDS = 20.0
_CALLS = 4
_REQUEST = "List the files of this folder, then say in one sentence what they are."


async def warm_up(is_free: Callable[[], bool]) -> None:
    """``surroundings.Warm``: load what a turn needs in a worker thread, then rehearse one. May be cancelled at any time."""
    await anyio.to_thread.run_sync(_load, abandon_on_cancel=True)
    if not is_free():
        return
    with (
        anyio.move_on_after(_SECONDS),
        tempfile.TemporaryDirectory(prefix="pernix-", ignore_cleanup_errors=True) as folder,
    ):
        await _rehearse(Path(folder))


def _load() -> None:
    import httpx  # noqa: F401 - loaded here so that the first turn finds it

    from ..agent.model import client, transport
    from ..agent.run import Run
    from ..agent.testing import MemoryHost
    from ..agent.tools.registry import TOOLS
    from ..kernel import record

    _ = (client, transport, record, Run, MemoryHost)
    for tool in TOOLS.values():
        _ = tool.spec


async def _rehearse(folder: Path) -> "TurnFinished":
    from ..agent.run import Run
    from ..agent.run_settings import OneModel, RunSettings
    from ..agent.testing import MemoryHost
    from ..kernel.record import run_notebook, write_notebook

    host = MemoryHost(space=folder, side=folder / "side")
    turn_id = host.submit(_REQUEST)
    model = _model()
    try:
        finished = await Run(host, turn_id, host.log, OneModel(model), RunSettings(scout=False)).carry()
    finally:
        await model.aclose()
    await anyio.to_thread.run_sync(write_notebook, folder / "run.ipynb", run_notebook(host.view))
    return finished


class _Answer:
    """What a server would send: a call, or after ``_CALLS`` of them the answer."""

    status_code = 200
    headers: Mapping[str, str] = MappingProxyType({})

    def __init__(self, chunks: list[bytes]) -> None:
        self.stream = self
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk

    async def aclose(self) -> None:
        """There is no connection."""


def _model() -> "ChatModel":
    from ..agent.model.client import ChatModel, Endpoint

    class Recorded(Endpoint):
        count = 0

        async def _send(self, body: bytes, headers: Mapping[str, str]) -> Any:
            self.count += 1
            return _Answer(_chunks(self.count))

    # No request leaves this object; the address is one that answers nobody.
    return ChatModel(Recorded("http://127.0.0.1:9/v1"), name="rehearsal", endpoint_name="rehearsal")


def _chunks(number: int) -> list[bytes]:
    usage: JSON = {"prompt_tokens": 1, "completion_tokens": 1}
    if number > _CALLS:
        deltas: list[JSON] = [{"role": "assistant", "content": "They are "}, {"content": "none."}]
    else:
        function = {"name": "list_files", "arguments": json.dumps({"path": ".", "pattern": f"*.{number}"})}
        deltas = [
            {"content": "I look."},
            {"tool_calls": [{"index": 0, "id": f"c{number}", "type": "function", "function": function}]},
        ]
    choices: list[JSON] = [{"index": 0, "delta": delta} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": "tool_calls" if number <= _CALLS else "stop"})
    events = [{"choices": [choice]} for choice in choices] + [{"choices": [], "usage": usage}]
    return [b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events) + b"data: [DONE]\n\n"]
