"""What nearly every chunk of a stream is: one choice with a piece of text or of calls and nothing else. Reading these by their shape
costs a third of looking for everything that some server puts somewhere; whatever does not fit is read by ``stream.Assembler.chunk``,
which gives the same parts for these too.
"""

from typing import Any, Literal

import msgspec


class Function(msgspec.Struct, forbid_unknown_fields=True):
    name: str | None = None
    arguments: str | None = None


class Fragment(msgspec.Struct, forbid_unknown_fields=True):
    index: int
    function: Function
    id: str | None = None
    type: str | None = None


class Delta(msgspec.Struct, forbid_unknown_fields=True):
    role: str | None = None
    content: str | None = None
    tool_calls: list[Fragment] | None = None


class Choice(msgspec.Struct, forbid_unknown_fields=True):
    delta: Delta
    index: Literal[0] = 0
    finish_reason: str | None = None
    logprobs: None = None
    stop_reason: None = None


class _Chunk(msgspec.Struct, forbid_unknown_fields=True):
    choices: tuple[Choice]
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    id: Any = None
    created: Any = None
    model: Any = None
    system_fingerprint: Any = None
    service_tier: Any = None
    usage: None = None


_decode = msgspec.json.Decoder(_Chunk).decode


def plain_choice(data: str) -> Choice | None:
    """The choice of a plain chunk; ``None``: it is of another shape, or no JSON."""
    try:
        return _decode(data).choices[0]
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
