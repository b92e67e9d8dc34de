"""Model servers on this machine, looked for at their usual ports. Loopback only, all at once, one second each."""

from dataclasses import dataclass

import anyio

from ...config import Deadlines
from ...errors import EndpointFailed, EndpointRefused, EndpointUnreachable, ModelError
from ...records import Discovery, EndpointKind
from .client import Endpoint
from .listing import get_json, guess_kind, listing_of

WITHIN = 1.0


@dataclass(frozen=True, kw_only=True)
class Usual:
    kind: EndpointKind
    port: int
    title: str


USUAL = (
    Usual(kind="ollama", port=11434, title="Ollama"),
    Usual(kind="vllm", port=8000, title="vLLM"),
    Usual(kind="sglang", port=30000, title="SGLang"),
    Usual(kind="llama.cpp", port=8080, title="llama.cpp"),
    Usual(kind="lmstudio", port=1234, title="LM Studio"),
)


async def discover(usual: tuple[Usual, ...] = USUAL) -> list[Discovery]:
    """One entry for each usual port, in their order; takes a little over a second."""
    found: dict[int, Discovery] = {}

    async def look(one: Usual) -> None:
        found[one.port] = await _look(one)

    async with anyio.create_task_group() as group:
        for one in usual:
            group.start_soon(look, one)
    return [found[one.port] for one in usual]


async def _look(one: Usual) -> Discovery:
    base_url = f"http://127.0.0.1:{one.port}/v1"
    endpoint = Endpoint(base_url, deadlines=Deadlines(connect=WITHIN))
    try:
        answer, server = await get_json(endpoint, f"{base_url}/models", within=WITHIN)
    except EndpointRefused:
        return Discovery(kind=one.kind, base_url=base_url, found=True, detail="a server is there and wants a key")
    except EndpointUnreachable:
        return Discovery(
            kind=one.kind, base_url=base_url, found=False, detail=f"{one.title}: nothing answers on port {one.port}"
        )
    except EndpointFailed as exc:
        if exc.status == 503:
            return Discovery(
                kind=one.kind, base_url=base_url, found=True, detail="a server is there and still loads its model"
            )
        return Discovery(
            kind=one.kind, base_url=base_url, found=False, detail=f"port {one.port} is taken by something else"
        )
    except ModelError as exc:
        return Discovery(kind=one.kind, base_url=base_url, found=False, detail=str(exc))
    finally:
        await endpoint.aclose()
    if not isinstance(answer.get("data"), list):
        return Discovery(
            kind=one.kind, base_url=base_url, found=False, detail=f"port {one.port} is taken by something else"
        )
    listing = listing_of(answer, server)
    names = listing.names
    detail = f"serves {', '.join(names[:4])}" + (" …" if len(names) > 4 else "") if names else "no model is loaded"
    return Discovery(kind=guess_kind(listing), base_url=base_url, found=True, detail=detail)
