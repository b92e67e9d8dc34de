"""What a server lists about itself: its models, its kind, the length of its context. Each server tells it in a place of its own."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

import anyio

from ...errors import EndpointFailed, EndpointUnreachable, ModelError
from ...records import JSON, EndpointKind
from .calls import as_object
from .client import Endpoint
from .faults import classify_body, not_a_stream
from .http import place
from .sight import listed_sight, told_sight

LIST_WITHIN = 15.0
_LONGEST_LIST = 8 * 1024 * 1024

_OWNERS: Mapping[str, EndpointKind] = {
    "vllm": "vllm",
    "sglang": "sglang",
    "llamacpp": "llama.cpp",
    "library": "ollama",
    "organization_owner": "lmstudio",
}


@dataclass(frozen=True, kw_only=True)
class Listing:
    """``entries`` as the server gave them; empty when it lists nothing. ``server`` is its ``Server`` header."""

    entries: list[JSON] = field(default_factory=list[JSON])
    server: str = ""

    @property
    def names(self) -> list[str]:
        return [str(entry["id"]) for entry in self.entries if entry.get("id")]

    def entry(self, model: str) -> JSON:
        """What is listed under this name or one of its aliases, else nothing."""
        for entry in self.entries:
            aliases = cast(list[Any], entry.get("aliases") or [])
            if model in (entry.get("id"), entry.get("root"), *aliases) or f"{model}:latest" == entry.get("id"):
                return entry
        return {}

    def has(self, model: str) -> bool:
        return bool(self.entry(model))


def root_of(base_url: str) -> str:
    """The address of the server itself: some things are told there and not below ``/v1``."""
    return base_url.removesuffix("/v1")


async def get_json(
    endpoint: Endpoint, url: str, *, within: float = LIST_WITHIN, body: JSON | None = None
) -> tuple[JSON, str]:
    """A JSON object from the endpoint's server, and the ``Server`` header.

    :raises ModelError: if there is none
    """
    method, content = ("GET", None) if body is None else ("POST", json.dumps(body).encode())
    try:
        with endpoint.translated(), anyio.fail_after(within):
            async with endpoint.client.stream(method, url, content=content) as response:
                text = b""
                async for piece in response.aiter_bytes():
                    text += piece
                    if len(text) > _LONGEST_LIST:
                        raise not_a_stream("a body without end")
    except TimeoutError as exc:
        raise EndpointUnreachable(f"{place(url)} did not answer within {within:g} s") from exc
    if response.status_code != 200:
        raise classify_body(response.status_code, text, response.headers)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise not_a_stream("a web page" if text.lstrip()[:1] == b"<" else "something that is not JSON") from exc
    return {"data": value} if isinstance(value, list) else as_object(value), response.headers.get("server", "")


async def list_models(endpoint: Endpoint) -> Listing:
    """The models that the endpoint serves; none when it has no such list.

    :raises ModelError: if the endpoint cannot be used
    """
    try:
        answer, server = await get_json(endpoint, f"{endpoint.base_url}/models")
    except EndpointFailed as exc:
        if exc.status in (404, 405, 501) and urlsplit(endpoint.base_url).path not in ("", "/"):
            return Listing()
        if exc.kind == "protocol" and await _is_one_below(endpoint):
            exc.hint = f"write the base URL as {place(endpoint.base_url)}/v1"
        raise
    return listing_of(answer, server)


def listing_of(answer: JSON, server: str) -> Listing:
    data = answer.get("data") or answer.get("models")
    entries = [as_object(entry) for entry in cast(list[Any], data)] if isinstance(data, list) else []
    return Listing(entries=entries, server=server)


async def _is_one_below(endpoint: Endpoint) -> bool:
    try:
        answer, _ = await get_json(endpoint, f"{endpoint.base_url}/v1/models")
    except ModelError:
        return False
    return isinstance(answer.get("data"), list)


def guess_kind(listing: Listing) -> EndpointKind:
    """Which server it is, by what its list says."""
    if listing.server.lower().startswith("llama.cpp"):
        return "llama.cpp"
    owners = (str(entry.get("owned_by", "")).lower() for entry in listing.entries)
    for owner in owners:
        if owner in _OWNERS:
            return _OWNERS[owner]
    return "openai"


# ---- context length -------------------------------------------------------------------------------------------------------

_LISTED = (
    "max_model_len",
    "loaded_context_length",
    "context_length",
    "context_window",
    "max_context_length",
    "context_len",
)


async def context_length(endpoint: Endpoint, kind: EndpointKind, model: str, listing: Listing) -> int | None:
    """Tokens that fit into one request, if the server tells."""
    entry = listing.entry(model)
    listed = _number(entry, *_LISTED) or _number(as_object(entry.get("meta")), "n_ctx")
    if listed:
        return listed
    try:
        return await _asked(endpoint, kind, model)
    except ModelError:
        return None


async def _asked(endpoint: Endpoint, kind: EndpointKind, model: str) -> int | None:
    root = root_of(endpoint.base_url)
    match kind:
        case "llama.cpp" | "local":
            props, _ = await get_json(endpoint, f"{root}/props")
            return _number(as_object(props.get("default_generation_settings")), "n_ctx") or _number(props, "n_ctx")
        case "sglang":
            return await _first_told(
                endpoint,
                [f"{root}/{path}" for path in ("get_model_info", "model_info", "get_server_info", "server_info")],
            )
        case "ollama":
            return await _ollama(endpoint, root, model)
        case "lmstudio":
            answer, _ = await get_json(endpoint, f"{root}/api/v0/models")
            entries = [as_object(entry) for entry in cast(list[Any], answer.get("data") or [])]
            return _number(Listing(entries=entries).entry(model), *_LISTED)
        case _:
            return None


async def _first_told(endpoint: Endpoint, urls: list[str]) -> int | None:
    for url in urls:
        try:
            answer, _ = await get_json(endpoint, url)
        except ModelError:
            continue
        told = _number(answer, *_LISTED)
        if told:
            return told
    return None


async def _ollama(endpoint: Endpoint, root: str, model: str) -> int | None:
    """What the loaded model has, or is set to; the length it was trained with is no promise, but better than nothing."""
    running, _ = await get_json(endpoint, f"{root}/api/ps")
    for item in cast(list[Any], running.get("models") or []):
        loaded = as_object(item)
        if loaded.get("name") in (model, f"{model}:latest") and _number(loaded, "context_length"):
            return _number(loaded, "context_length")
    shown, _ = await get_json(endpoint, f"{root}/api/show", body={"model": model})
    for line in str(shown.get("parameters") or "").splitlines():
        words = line.split()
        if words[:1] == ["num_ctx"] and words[1].isdigit():
            return int(words[1])
    info = as_object(shown.get("model_info"))
    return next((_number(info, key) for key in info if key.endswith(".context_length")), None)


# ---- sight ------------------------------------------------------------------------------------------------------------------


async def sight(endpoint: Endpoint, kind: EndpointKind, model: str, listing: Listing) -> bool | None:
    """Whether the model sees pictures, if the server tells."""
    listed = listed_sight(listing.entry(model))
    if listed is not None:
        return listed
    root = root_of(endpoint.base_url)
    match kind:
        case "llama.cpp" | "local":
            questions: list[tuple[str, JSON | None]] = [(f"{root}/props", None)]
        case "sglang":
            questions = [(f"{root}/{path}", None) for path in ("model_info", "get_model_info")]
        case "ollama":
            questions = [(f"{root}/api/show", {"model": model})]
        case "lmstudio":
            questions = [(f"{root}/api/v0/models/{model}", None)]
        case _:
            questions = []
    for url, body in questions:
        try:
            answer, _ = await get_json(endpoint, url, body=body)
        except ModelError:
            continue
        told = listed_sight(answer) if kind == "lmstudio" else told_sight(answer)
        if told is not None:
            return told
    return None


def _number(source: JSON, *keys: str) -> int | None:
    for key in keys:
        value = source.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None
