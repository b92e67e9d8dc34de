"""What real endpoints send, one case a quirk: ``tests/cases/endpoint_quirks.json``."""

import json
from pathlib import Path
from typing import Any

import pytest

from jupyter_pernix.agent.model.faults import classify_body
from jupyter_pernix.agent.model.parts import Part, Reply, TextPart
from jupyter_pernix.agent.model.stream import ReplyReader
from jupyter_pernix.errors import (
    ContextOverflow,
    EndpointFailed,
    EndpointRefused,
    ModelError,
    ModelMissing,
    RateLimited,
    StreamBroken,
    ToolsUnsupported,
)

QUIRKS: list[dict[str, Any]] = json.loads((Path(__file__).parents[2] / "cases/endpoint_quirks.json").read_text())[
    "quirks"
]

KIND_TO_ERROR = {
    "auth": EndpointRefused,
    "quota": EndpointRefused,
    "context": ContextOverflow,
    "rate_limit": RateLimited,
    "no_tools": ToolsUnsupported,
    "no_model": ModelMissing,
    "dropped": StreamBroken,
    "truncated_call": StreamBroken,
}


def pieces(quirk: dict[str, Any]) -> list[bytes]:
    if quirk["wire"] == "hex_chunks":
        return [bytes.fromhex(piece) for piece in quirk["sse"]]
    return [quirk["sse"].encode()]


def read(quirk: dict[str, Any]) -> tuple[list[Part], ModelError | None]:
    """All parts, and the error that ended them."""
    if quirk["status"] != 200:
        return [], classify_body(quirk["status"], b"".join(pieces(quirk)), quirk.get("headers", {}))
    reader = ReplyReader({name: {} for name in quirk.get("tools", [])})
    parts: list[Part] = []
    try:
        for piece in pieces(quirk):
            parts += reader.feed(piece)
        parts += reader.close(dropped=quirk.get("close") == "abrupt")
    except ModelError as exc:
        return parts, exc
    return parts, None


def check_error(error: ModelError, expected: dict[str, Any], parts: list[Part], content: str) -> None:
    kind = expected["kind"]
    assert type(error) is KIND_TO_ERROR.get(kind, EndpointFailed), error
    if isinstance(error, EndpointFailed):
        assert error.kind == kind
    assert error.retryable is expected["retryable"]
    assert getattr(error, "limit", None) == expected.get("limit")
    assert getattr(error, "retry_after", None) == expected.get("retry_after")
    if "status" in expected:
        assert getattr(error, "status", None) == expected["status"]
    for key in ("param", "tool"):
        if key in expected and isinstance(error, EndpointFailed):
            assert error.place == expected[key]
    if kind == "truncated_call":
        assert repr(expected["tool"]) in str(error)
    if "hint" in expected:
        assert error.hint.startswith(expected["hint"])
    assert "".join(part.text for part in parts if isinstance(part, TextPart)).strip() == content.strip()
    assert "sk-" not in str(error)
    assert "<" not in str(error)


@pytest.mark.parametrize("quirk", QUIRKS, ids=[quirk["id"] for quirk in QUIRKS])
def test_quirk_is_read_as_what_it_means(quirk: dict[str, Any]) -> None:
    expected = quirk["expected"]
    parts, error = read(quirk)
    wanted = expected["error"]
    if error is not None:
        assert wanted is not None, error
        check_error(error, wanted, parts, expected["content"])
        return
    reply = parts[-1]
    assert isinstance(reply, Reply)
    if wanted is not None:
        assert wanted["kind"] == "bad_arguments"
        (call,) = reply.calls
        assert (call.name, call.arguments, call.raw) == (wanted["tool"], None, "{}")
        assert call.fault
    else:
        assert [{"name": call.name, "arguments": call.arguments} for call in reply.calls] == expected["tool_calls"]
        assert all(json.loads(call.raw) == call.arguments for call in reply.calls)
    assert len({call.wire_id for call in reply.calls}) == len(reply.calls)
    assert reply.text.strip() == expected["content"].strip()
    assert reply.thought.strip() in (expected["reasoning"], expected.get("reasoning_alt"))
    assert reply.finish_reason == expected["finish"]
    usage = {"prompt_tokens": reply.usage.prompt_tokens, "completion_tokens": reply.usage.completion_tokens}
    assert (None if reply.usage.prompt_tokens is None else usage) == expected["usage"]
    assert not any(isinstance(part, Reply) for part in parts[:-1])


@pytest.mark.parametrize("quirk", QUIRKS, ids=[quirk["id"] for quirk in QUIRKS])
def test_quirk_does_not_depend_on_how_the_network_cuts_it(quirk: dict[str, Any]) -> None:
    body = b"".join(pieces(quirk))
    # Every byte alone; the one huge body only in two.
    cuts = list(range(len(body))) if len(body) < 20_000 else [len(body) // 2]
    cut_up = {
        **quirk,
        "wire": "hex_chunks",
        "sse": [body[a:b].hex() for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)],
    }
    whole, error = read(quirk)
    parts, other_error = read(cut_up)
    assert (type(other_error), str(other_error)) == (type(error), str(error))
    if error is None:
        assert isinstance(whole[-1], Reply)
        assert isinstance(parts[-1], Reply)
        assert (parts[-1].text, parts[-1].thought) == (whole[-1].text, whole[-1].thought)
