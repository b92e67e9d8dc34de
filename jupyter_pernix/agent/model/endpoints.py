"""What an endpoint is and can do, found out by asking it; and the model that fits.

``probe`` asks in a bounded time and names every failure with what to do. Native tool calls are earned: the endpoint must have made
one, in its own field and with the right argument, and must have taken the result; a call written into the text does not count.
``discover`` looks at the usual ports of this machine and nowhere else.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import anyio

from ...config import Deadlines, EndpointSettings
from ...errors import (
    EndpointFailed,
    EndpointRefused,
    EndpointUnreachable,
    ModelError,
    ModelMissing,
    ToolsUnsupported,
)
from ...records import JSON, Ability, EndpointInfo, EndpointKind, ModelProtocol
from .actions import ActionModel
from .client import ChatModel, Endpoint
from .discovery import discover
from .listing import Listing, context_length, guess_kind, list_models
from .options import merged
from .parts import Reply

__all__ = ["connect", "discover", "probe"]

Source = Literal["settings", "environment", "saved", "found", "local", "tour"]

ANSWER_WITHIN = 60.0
_NUMBER = 7
_SYSTEM = "You are an agent in a notebook. You act by calling the tools that you are given."
_REQUEST = f"Note the number {_NUMBER}."
_TOOL: JSON = {
    "type": "function",
    "function": {
        "name": "note_number",
        "description": "Note a number for later.",
        "parameters": {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
    },
}
_SCHEMA: JSON = {
    "anyOf": [
        {
            "type": "object",
            "properties": {"action": {"const": name}},
            "required": ["action"],
            "additionalProperties": False,
        }
        for name in ("note_number", "finish")
    ]
}
_TRY_ACTIONS = "choose a model or a server that can call tools, or one that enforces json_schema"


async def probe(
    settings: EndpointSettings,
    *,
    name: str,
    source: Source = "settings",
    default: bool = False,
    environ: Mapping[str, str] | None = None,
) -> EndpointInfo:
    """Ask the endpoint what it is and can do. Never raises for what the endpoint does; the answer says it."""
    key = settings.key(os.environ if environ is None else environ)
    found = _Found(settings=settings)
    try:
        endpoint = Endpoint(settings.base_url, key=key, deadlines=Deadlines(first_token=ANSWER_WITHIN))
    except ModelError as exc:
        found.fail("reachable", exc)
    else:
        try:
            await _ask(endpoint, found)
        finally:
            await endpoint.aclose()
    return EndpointInfo(
        name=name,
        kind=found.kind,
        base_url=settings.base_url,
        model=found.model,
        models=found.models,
        protocol=found.protocol,
        context_length=found.context_length,
        has_key=bool(key),
        source=source,
        status=found.status,
        abilities=[found.abilities[one] for one in _ORDER if one in found.abilities],
        hint=found.hint,
        default=default,
    )


def connect(
    settings: EndpointSettings,
    info: EndpointInfo,
    *,
    deadlines: Deadlines | None = None,
    environ: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> ChatModel | ActionModel:
    """The model for an endpoint that was probed; close it with ``aclose``. ``options`` are a role's, over the endpoint's own.

    :raises ModelError: if the endpoint is not usable, or an option would break the protocol
    """
    fields = merged(settings.options, options)
    protocol = info.protocol
    if protocol is None and settings.protocol in ("tools", "actions", "chat"):
        protocol = settings.protocol
    if protocol is None:
        raise EndpointFailed(f"the endpoint {info.name!r} is not usable", kind="protocol", hint=info.hint)
    model = info.model or settings.model
    if not model:
        raise ModelMissing(f"the endpoint {info.name!r} names no model", hint="set the model of this endpoint")
    key = settings.key(os.environ if environ is None else environ)
    endpoint = Endpoint(settings.base_url, key=key, deadlines=deadlines)
    limit = settings.context_length or info.context_length
    price = settings.price
    if protocol == "actions":
        return ActionModel(
            endpoint,
            name=model,
            endpoint_name=info.name,
            context_length=limit,
            price=price,
            options=fields,
            constraint=info.constraint or "response_format",
        )
    return ChatModel(
        endpoint,
        name=model,
        endpoint_name=info.name,
        protocol=protocol,
        context_length=limit,
        price=price,
        options=fields,
    )


# ---- one probe ----------------------------------------------------------------------------------------------------------

AbilityName = Literal["reachable", "key", "model", "streams", "tools", "json_schema"]
_ORDER: tuple[AbilityName, ...] = ("reachable", "key", "model", "streams", "tools", "json_schema")


@dataclass(kw_only=True)
class _Found:
    settings: EndpointSettings
    abilities: dict[AbilityName, Ability] = field(default_factory=dict[AbilityName, Ability])
    models: list[str] = field(default_factory=list[str])
    model: str = ""
    kind: EndpointKind = "openai"
    context_length: int | None = None
    protocol: ModelProtocol | None = None
    hint: str = ""
    failed: bool = False

    def __post_init__(self) -> None:
        self.kind, self.model = self.settings.kind, self.settings.model

    @property
    def status(self) -> Literal["unknown", "ready", "limited", "failed"]:
        if self.failed or self.protocol is None:
            return "failed"
        return "limited" if self.protocol == "chat" else "ready"

    def note(self, name: AbilityName, ok: bool | None, detail: str = "") -> None:
        self.abilities[name] = Ability(name=name, ok=ok, detail=detail)

    def fail(self, name: AbilityName, error: ModelError) -> None:
        """This ends the probe: without it nothing else can work."""
        self.note(name, False, str(error))
        self.failed = True
        self.hint = error.hint

    def fail_by(self, error: ModelError) -> None:
        match error:
            case EndpointUnreachable():
                self.fail("reachable", error)
            case EndpointRefused():
                self.fail("key", error)
            case ModelMissing():
                self.fail("model", error)
                self.hint = self.model_hint or error.hint
            case _:
                self.fail("streams", error)

    @property
    def model_hint(self) -> str:
        return f"the endpoint serves: {', '.join(self.models[:8])}" if self.models else ""


async def _ask(endpoint: Endpoint, found: _Found) -> None:
    try:
        listing = await list_models(endpoint)
    except ModelError as exc:
        found.fail_by(exc)
        return
    found.note("reachable", True)
    found.models = listing.names
    if found.kind == "openai":
        found.kind = guess_kind(listing)
    if not _choose_model(found, listing):
        return
    found.context_length = found.settings.context_length or await context_length(
        endpoint, found.kind, found.model, listing
    )
    if not await _try_tools(endpoint, found):
        return
    if not await _try_json_schema(endpoint, found):
        return
    _decide(found)


def _choose_model(found: _Found, listing: Listing) -> bool:
    if not found.model:
        if not listing.names:
            found.fail(
                "model",
                ModelMissing(
                    "the endpoint names no model", hint="load a model there, or set the model of this endpoint"
                ),
            )
            return False
        found.model = listing.names[0]
    if listing.has(found.model):
        found.note("model", True)
    else:
        found.note("model", None, "not listed")
    return True


async def _reply(endpoint: Endpoint, found: _Found, messages: list[JSON], **more: object) -> Reply:
    """:raises ModelError: also if the answer takes too long"""
    body = {
        "model": found.model,
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0,
        "max_tokens": 1000,
        **more,
    }
    for _ in range(4):
        try:
            with anyio.fail_after(ANSWER_WITHIN):
                async with endpoint.post(json.dumps(body).encode()) as parts:
                    reply = [part async for part in parts][-1]
                    assert isinstance(reply, Reply)
                    return reply
        except TimeoutError as exc:
            raise EndpointFailed(
                f"no whole answer within {ANSWER_WITHIN:g} s", kind="server", hint="see whether the server is busy"
            ) from exc
        except EndpointFailed as exc:
            if exc.kind != "unsupported_param" or exc.place not in body or exc.place in ("model", "messages"):
                raise
            del body[exc.place]
    raise EndpointFailed("the endpoint refuses one parameter after another", kind="protocol")


async def _try_tools(endpoint: Endpoint, found: _Found) -> bool:
    """Whether the probe can go on; the ability is noted either way."""
    messages: list[JSON] = [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": _REQUEST}]
    try:
        reply = await _reply(endpoint, found, messages, tools=[_TOOL])
    except (EndpointUnreachable, EndpointRefused, ModelMissing) as exc:
        found.fail_by(exc)
        return False
    except ModelError as exc:
        found.note("tools", False, str(exc))
        if isinstance(exc, ToolsUnsupported):
            found.hint = exc.hint
        return True
    _answered(found)
    call = next(iter(reply.calls), None)
    if call is None or call.name != "note_number" or call.arguments != {"number": _NUMBER}:
        how = "wrote the call into its text" if "note_number" in reply.text else "made no call, or a wrong one"
        found.note("tools", False, f"asked for a tool call, it {how}")
        return True
    messages += [
        {
            "role": "assistant",
            "content": reply.text or None,
            "tool_calls": [
                {"id": call.wire_id, "type": "function", "function": {"name": call.name, "arguments": call.raw}}
            ],
        },
        {"role": "tool", "tool_call_id": call.wire_id, "content": "noted"},
    ]
    try:
        await _reply(endpoint, found, messages, tools=[_TOOL])
    except EndpointFailed as exc:
        if exc.kind != "empty_reply":  # it took the result and had nothing to add
            found.note("tools", False, f"it calls tools but does not take their results: {exc}")
            return True
    except ModelError as exc:
        found.note("tools", False, f"it calls tools but does not take their results: {exc}")
        return True
    found.note("tools", True)
    return True


def _answered(found: _Found) -> None:
    """An answer proves the key, the model and the stream at once."""
    found.note("key", True)
    found.note("streams", True)
    if found.abilities["model"].ok is None:
        found.note("model", True, "not listed, but it answers")


async def _try_json_schema(endpoint: Endpoint, found: _Found) -> bool:
    shape: JSON = {"type": "json_schema", "json_schema": {"name": "action", "strict": True, "schema": _SCHEMA}}
    messages: list[JSON] = [
        {"role": "system", "content": "You are friendly. You answer in plain words."},
        {"role": "user", "content": "Say hello to me."},
    ]
    try:
        reply = await _reply(endpoint, found, messages, response_format=shape)
    except (EndpointUnreachable, EndpointRefused, ModelMissing) as exc:
        found.fail_by(exc)
        return False
    except ModelError as exc:
        found.note("json_schema", False, str(exc))
        return "streams" in found.abilities or await _try_chat(endpoint, found, messages)
    _answered(found)
    try:
        enforced = json.loads(reply.text).get("action") in ("note_number", "finish")
    except (ValueError, AttributeError):
        enforced = False
    found.note("json_schema", enforced, "" if enforced else "the schema was taken but not enforced")
    return True


async def _try_chat(endpoint: Endpoint, found: _Found, messages: list[JSON]) -> bool:
    try:
        await _reply(endpoint, found, messages)
    except ModelError as exc:
        found.fail_by(exc)
        return False
    _answered(found)
    return True


def _decide(found: _Found) -> None:
    wanted = found.settings.protocol
    if wanted in ("tools", "actions", "chat"):
        found.protocol = wanted
        missing = {"tools": "tools", "actions": "json_schema"}.get(wanted)
        if missing and not next(one for one in found.abilities.values() if one.name == missing).ok:
            found.hint = (
                found.hint or f"the protocol is set to {wanted}, which this endpoint did not show; set it to auto"
            )
        return
    if found.abilities["tools"].ok:
        found.protocol, found.hint = "tools", ""
    elif found.abilities["json_schema"].ok:
        found.protocol = "actions"
    else:
        found.protocol = "chat"
        found.hint = found.hint or f"it can only talk, not act: {_TRY_ACTIONS}"
