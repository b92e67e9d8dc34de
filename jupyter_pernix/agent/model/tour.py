"""The tour: recorded turns of one job, played as if a model said them. Files, commands and kernel are real; only the words are stored.

What comes next depends on the conversation alone (how often the assistant has spoken in it), so a tour that was stopped, or whose
server died, goes on where it was. ``turns.json`` is a list of ``{"text"?, "tool_calls"?: [{"name", "arguments"}]}``.
"""

import importlib.util
import json
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import cast

import anyio

from ...config import Price
from ...ids import SessionId
from ...ports import Clock
from ...records import JSON, ModelProtocol, Timings
from ..context import is_unanswered
from .conversation import Conversation
from .parts import CallPart, ModelCall, Part, Reply, RequestSize, TextPart, ToolSpec

REQUEST = "Find why this CSV import drops the last row. Fix it, add a regression test, then plot the monthly totals."
"""The request that the recorded turns answer."""

OVER = (
    "The recorded tour ends here; there is no model behind it that could answer. To work with one, add an endpoint in the "
    "panel (any OpenAI-compatible address and, where it needs one, a key), or run `jupyter pernix local` to serve a GGUF "
    "file on this machine. Then choose it for this session and send your message again."
)

_NEEDS = ("pytest", "pandas", "matplotlib")
_LEFT_OUT = ("turns.json", "__pycache__", ".pytest_cache", ".ipynb_checkpoints", "pernix-runs")
_TEXT_PIECE, _TEXT_RATE = 6, 240.0
_CALL_PIECE, _CALL_RATE = 24, 960.0


def tour_source() -> Path:
    """The example that the tour works on: inside an installed package, or in a checkout beside it.

    :raises FileNotFoundError: if this installation carries none
    """
    package = Path(__file__).parents[2]
    for folder in (package / "_tour" / "csv_import", package.parent / "examples" / "csv_import"):
        if (folder / "turns.json").is_file():
            return folder
    raise FileNotFoundError("this installation of jupyter_pernix carries no tour")


def tour_missing() -> list[str]:
    """Packages that the tour's commands and code need and this environment lacks."""
    return [name for name in _NEEDS if importlib.util.find_spec(name) is None]


def prepare_tour(root: Path) -> str:
    """Copy the example to a fresh folder under ``root``; gives its name, relative to ``root``."""
    source, number = tour_source(), 1
    while True:
        name = "pernix-tour" if number == 1 else f"pernix-tour-{number}"
        try:
            (root / name).mkdir(parents=True)
        except FileExistsError:
            number += 1
            continue
        shutil.copytree(source, root / name, ignore=shutil.ignore_patterns(*_LEFT_OUT), dirs_exist_ok=True)
        return name


def load_turns() -> list[JSON]:
    return cast("list[JSON]", json.loads((tour_source() / "turns.json").read_text(encoding="utf-8")))


class _AnyioClock:
    def monotonic(self) -> float:
        return anyio.current_time()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


class TourModel:
    """Implements ``parts.Model``. Without ``turns`` it plays the example's; the clock sets the pace at which text appears."""

    endpoint: str = "tour"
    name: str = "recorded tour"
    protocol: ModelProtocol = "tools"
    sees = False
    context_length: int | None = None
    price: Price | None = None

    def __init__(self, turns: Sequence[JSON] | None = None, *, clock: Clock | None = None) -> None:
        self._turns = load_turns() if turns is None else turns
        self._clock: Clock = clock or _AnyioClock()

    def learn_limit(self, tokens: int) -> None:
        self.context_length = tokens

    def size(self, conversation: Conversation) -> RequestSize:
        return RequestSize(prompt_bytes=conversation.text_size, prefix_bytes=0)

    @asynccontextmanager
    async def stream(
        self, conversation: Conversation, tools: Sequence[ToolSpec], *, session_id: SessionId
    ) -> AsyncGenerator[AsyncIterator[Part]]:
        spoken = sum(message["role"] == "assistant" and not is_unanswered(message) for message in conversation.messages)
        turn = self._turns[spoken] if spoken < len(self._turns) else {"text": OVER}
        async with aclosing(self._play(turn, spoken)) as parts:
            yield parts

    async def _play(self, turn: JSON, spoken: int) -> AsyncGenerator[Part]:
        begun = self._clock.monotonic()
        text = str(turn.get("text", ""))
        for piece in _pieces(text, _TEXT_PIECE):
            yield TextPart(text=piece)
            await self._clock.sleep(len(piece) / _TEXT_RATE)
        calls: list[ModelCall] = []
        for index, call in enumerate(cast("list[JSON]", turn.get("tool_calls", []))):
            raw = json.dumps(call["arguments"], ensure_ascii=False)
            for piece in _pieces(raw, _CALL_PIECE):
                yield CallPart(index=index, name=call["name"], text=piece)
                await self._clock.sleep(len(piece) / _CALL_RATE)
            wire_id = f"tour_{spoken}_{index}"
            calls.append(ModelCall(wire_id=wire_id, name=call["name"], arguments=call["arguments"], raw=raw))
        yield Reply(
            text=text,
            thought="",
            calls=tuple(calls),
            finish_reason="tool_calls" if calls else "stop",
            timings=Timings(total=self._clock.monotonic() - begun),
        )


def _pieces(text: str, length: int) -> Iterator[str]:
    for start in range(0, len(text), length):
        yield text[start : start + length]
