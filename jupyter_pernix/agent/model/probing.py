"""What an endpoint is and can do, found out by asking it.

``probe`` asks in a bounded time and names every failure with what to do. Native tool calls are earned: under the real system text
and with the real tools, the endpoint must have made one, in its own field and with the right argument, and must have taken the
result; a call written into the text does not count.
"""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import anyio
import msgspec

from ...config import Deadlines, EndpointSettings
from ...errors import (
    EndpointFailed,
    EndpointRefused,
    EndpointUnreachable,
    ModelError,
    ModelMissing,
    ToolsUnsupported,
)
from ...records import JSON, Ability, Constraint, EndpointInfo, EndpointKind, ModelProtocol
from .client import Endpoint
from .constraint import constraint_fields, ways_of
from .listing import Listing, context_length, guess_kind, list_models, sight
from .options import merged
from .parts import CallPart, Part, Reply, TextPart
from .rehearsal import ACTIONS, WIRE_TOOLS, how_to_call, is_action, judged, opening, plain, with_result

Source = Literal["settings", "environment", "saved", "found", "local", "tour"]

ANSWER_WITHIN = 120.0
"""Seconds for one answer: a small model without a GPU reads the real system text and tools for half a minute."""
GLANCE_WITHIN = 5.0
SMALL_CONTEXT = 4096
"""The system text and the tools alone take half of this."""


async def probe(
    settings: EndpointSettings,
    *,
    name: str,
    source: Source = "settings",
    default: bool = False,
    environ: Mapping[str, str] | None = None,
) -> EndpointInfo:
    """Ask the endpoint what it is and can do. Never raises for what the endpoint does; the answer says it."""
    return await _probed(settings, _ask, name=name, source=source, default=default, environ=environ)


async def glance(settings: EndpointSettings, *, name: str, environ: Mapping[str, str] | None = None) -> EndpointInfo:
    """What an endpoint tells without a request to its model, for one whose model and protocol are set: its models and the length
    of its context. Takes a few seconds at most; what is not told then stays unknown, and is no failure."""

    async def look(endpoint: Endpoint, found: _Found) -> None:
        with anyio.move_on_after(GLANCE_WITHIN):
            await _look(endpoint, found)
        if not found.abilities:
            found.note("reachable", None, f"it told nothing within {GLANCE_WITHIN:g} s")
        found.failed = False

    info = await _probed(settings, look, name=name, environ=environ)
    return msgspec.structs.replace(info, status="unknown", hint="")


async def _probed(
    settings: EndpointSettings,
    ask: Callable[[Endpoint, "_Found"], Awaitable[None]],
    *,
    name: str,
    source: Source = "settings",
    default: bool = False,
    environ: Mapping[str, str] | None = None,
) -> EndpointInfo:
    key = settings.key(os.environ if environ is None else environ)
    found = _Found(settings=settings)
    try:
        endpoint = Endpoint(settings.base_url, key=key, deadlines=Deadlines(first_token=ANSWER_WITHIN))
    except ModelError as exc:
        found.fail("reachable", exc)
    else:
        try:
            await ask(endpoint, found)
        finally:
            await endpoint.aclose()
    return EndpointInfo(
        name=name,
        kind=found.kind,
        base_url=settings.base_url,
        model=found.model,
        models=found.models,
        protocol=found.protocol,
        constraint=found.constraint,
        context_length=found.context_length,
        vision=found.vision,
        has_key=bool(key),
        source=source,
        status=found.status,
        abilities=[found.abilities[one] for one in _ORDER if one in found.abilities],
        hint=found.hint,
        default=default,
    )


# ---- one probe ----------------------------------------------------------------------------------------------------------

AbilityName = Literal["reachable", "key", "model", "context", "streams", "tools", "json_schema"]
_ORDER: tuple[AbilityName, ...] = ("reachable", "key", "model", "context", "streams", "tools", "json_schema")


@dataclass(kw_only=True)
class _Found:
    settings: EndpointSettings
    abilities: dict[AbilityName, Ability] = field(default_factory=dict[AbilityName, Ability])
    models: list[str] = field(default_factory=list[str])
    model: str = ""
    kind: EndpointKind = "openai"
    context_length: int | None = None
    vision: bool | None = None
    protocol: ModelProtocol | None = None
    constraint: Constraint | None = None
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

    def can(self, name: AbilityName) -> bool:
        return name in self.abilities and self.abilities[name].ok is True

    @property
    def options(self) -> JSON:
        """:raises ModelError: if one of them would break the protocol"""
        return merged(self.settings.options)

    def no_tools(self, fault: str, *, advice: str = "") -> None:
        advice = advice or how_to_call(self.kind)
        self.note("tools", False, f"{fault}; {advice}" if advice and advice not in fault else fault)
        self.hint = advice

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
    if not await _look(endpoint, found):
        return
    if found.kind == "local" and found.settings.protocol == "auto":
        # A small model on this machine's processor acts better by actions, and reads ten tools for half a minute.
        found.note("tools", None, "not tried: a model of this size acts better step by step")
        if not await _try_schema(endpoint, found):
            return
        if found.can("json_schema"):
            _decide(found)
            return
    if not await _try_tools(endpoint, found):
        return
    if "json_schema" not in found.abilities and not await _try_schema(endpoint, found):
        return
    _decide(found)


async def _look(endpoint: Endpoint, found: _Found) -> bool:
    """What can be learnt without asking the model anything; whether the probe can go on."""
    try:
        listing = await list_models(endpoint)
    except ModelError as exc:
        found.fail_by(exc)
        return False
    found.note("reachable", True)
    found.models = listing.names
    if found.kind == "openai":
        found.kind = guess_kind(listing)
    if not _choose_model(found, listing):
        return False
    told = found.settings.context_length
    found.context_length = told or await context_length(endpoint, found.kind, found.model, listing)
    sees = found.settings.vision
    found.vision = await sight(endpoint, found.kind, found.model, listing) if sees is None else sees
    _note_context(found)
    return True


def _note_context(found: _Found) -> None:
    length = found.context_length
    if length is None:
        found.note(
            "context", None, "not told; it is learnt from the first request that is too long, or set context_length"
        )
    elif length < SMALL_CONTEXT:
        advice = ": raise it (OLLAMA_CONTEXT_LENGTH, or num_ctx of the model)" if found.kind == "ollama" else ""
        found.note("context", False, f"{length} tokens are too few for the agent's instructions and a file{advice}")
    else:
        found.note("context", True, f"{length} tokens")


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


_RAMBLING = 600
"""Characters of text after which it is clear that the answer is nothing but text."""


async def _reply(endpoint: Endpoint, found: _Found, messages: list[JSON], **more: object) -> Reply:
    """The answer; its beginning is enough once it is clear what it is.

    :raises ModelError: also if the answer takes too long
    """
    body = {
        "temperature": 0,
        "max_tokens": 2000,
        **found.options,
        "model": found.model,
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
        **more,
    }
    for _ in range(len(body)):
        try:
            with anyio.fail_after(ANSWER_WITHIN):
                async with endpoint.post(json.dumps(body).encode()) as parts:
                    return await _beginning(parts)
        except TimeoutError as exc:
            raise EndpointFailed(
                f"no whole answer within {ANSWER_WITHIN:g} s", kind="server", hint="see whether the server is busy"
            ) from exc
        except EndpointFailed as exc:
            if exc.kind != "unsupported_param" or exc.place not in body or exc.place in ("model", "messages"):
                raise
            del body[exc.place]
    raise EndpointFailed("the endpoint refuses one parameter after another", kind="protocol")


async def _beginning(parts: AsyncIterator[Part]) -> Reply:
    """The whole answer, or as much of its text as shows that nothing else is coming; leaving it then stops the generation."""
    text = ""
    async for part in parts:
        if isinstance(part, Reply):
            return part
        if isinstance(part, CallPart):
            text = ""
            continue
        text += part.text if isinstance(part, TextPart) else ""
        if len(text) > _RAMBLING:
            return Reply(text=text, thought="", calls=(), finish_reason="stop")
    raise AssertionError("a stream ends with a Reply or an error")


async def _try_tools(endpoint: Endpoint, found: _Found) -> bool:
    """Whether the probe can go on; the ability is noted either way."""
    try:
        reply = await _reply(endpoint, found, opening(), tools=WIRE_TOOLS)
    except (EndpointUnreachable, EndpointRefused, ModelMissing) as exc:
        found.fail_by(exc)
        return False
    except ModelError as exc:
        found.no_tools(str(exc), advice=exc.hint if isinstance(exc, ToolsUnsupported) else "")
        return True
    _answered(found)
    verdict = judged(reply)
    if verdict.call is None:
        found.no_tools(verdict.fault)
        return True
    try:
        await _reply(endpoint, found, with_result(reply, verdict.call), tools=WIRE_TOOLS)
    except ModelError as exc:
        if not (isinstance(exc, EndpointFailed) and exc.kind == "empty_reply"):  # that took it and had nothing to add
            found.no_tools(f"it calls tools but does not take their results: {exc}")
            return True
    found.note("tools", True)
    return True


def _answered(found: _Found) -> None:
    """An answer proves the key, the model and the stream at once."""
    found.note("key", True)
    found.note("streams", True)
    if found.abilities["model"].ok is None:
        found.note("model", True, "not listed, but it answers")


async def _try_schema(endpoint: Endpoint, found: _Found) -> bool:
    """By which field of a request an answer can be held to a schema; where tools work, only OpenAI's own is tried."""
    fault = ""
    ways = ways_of(found.kind)
    for way in ways[:1] if found.can("tools") else ways:
        try:
            reply = await _reply(endpoint, found, plain(), **constraint_fields(ACTIONS, way))
        except (EndpointUnreachable, EndpointRefused, ModelMissing) as exc:
            found.fail_by(exc)
            return False
        except ModelError as exc:
            fault = fault or str(exc)
            continue
        _answered(found)
        if _is_enforced(reply):
            found.constraint = way
            found.note("json_schema", True, "" if way == "response_format" else f"by the field {way}")
            return True
        fault = fault or "the schema was taken but not enforced"
    found.note("json_schema", False, fault)
    return "streams" in found.abilities or await _try_chat(endpoint, found, plain())


def _is_enforced(reply: Reply) -> bool:
    try:
        return is_action(json.loads(reply.text))
    except (ValueError, RecursionError):
        return False


_TRY_ACTIONS = "choose a model or a server that can call tools, or one that enforces json_schema"


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
        needed: dict[str, AbilityName] = {"tools": "tools", "actions": "json_schema"}
        missing = needed.get(wanted)
        if missing and not found.can(missing):
            found.hint = (
                found.hint or f"the protocol is set to {wanted}, which this endpoint did not show; set it to auto"
            )
        return
    if found.can("tools"):
        found.protocol, found.hint = "tools", ""
    elif found.can("json_schema"):
        found.protocol = "actions"
        if found.hint:
            found.hint = f"it acts one step at a time by JSON; for native tool calls, {found.hint}"
    else:
        found.protocol = "chat"
        found.hint = f"it can only talk, not act: {found.hint or _TRY_ACTIONS}"
