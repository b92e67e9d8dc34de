"""What is in order and what is not: versions, store, endpoints, kernels, the browser extension."""

import platform
import shlex
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import anyio
import anyio.to_thread
import jupyter_core.paths

from .. import __version__
from ..config import RoleSettings
from ..records import EndpointInfo, Finding, Role
from .audit.examining import audit_finding
from .endpoints import TOUR, Endpoints

if TYPE_CHECKING:
    from .runtime import Runtime

_PACKAGES = ("jupyter_server", "jupyterlab", "duckdb", "ipykernel", "jupyter_client", "nbformat")


_DAMAGED = "What could be read is there, and the damaged files were kept. See whether the disk is sound, and make a copy of the folder."


async def examine(runtime: "Runtime") -> list[Finding]:
    return [
        _versions(),
        await _store(runtime),
        await audit_finding(runtime.store, runtime.trail),
        await anyio.to_thread.run_sync(_records, runtime),
        *_endpoints(runtime.endpoints.all()),
        *_default(runtime),
        *_roles(runtime.endpoints),
        *_roles_without(runtime),
        await _kernels(runtime),
        await anyio.to_thread.run_sync(_sandbox, runtime),
        await anyio.to_thread.run_sync(_labextension),
    ]


def _versions() -> Finding:
    found: list[str] = []
    missing: list[str] = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            missing.append(name)
    return Finding(
        name="versions",
        status="problem" if missing else "ok",
        detail=f"jupyter_pernix {__version__}, Python {platform.python_version()}, {', '.join(found)}"
        + (f"; missing: {', '.join(missing)}" if missing else ""),
        hint="Install jupyter_pernix again with its dependencies." if missing else "",
    )


async def _store(runtime: "Runtime") -> Finding:
    path = runtime.data_folder / "pernix.duckdb"
    size = (await anyio.Path(path).stat()).st_size
    store = runtime.store
    holds = f"{path}: {len(store.summaries())} sessions, {store.last_seq} events, {size / 1e6:.1f} MB"
    return Finding(
        name="store",
        status="warning" if store.warnings else "ok",
        detail="; ".join((holds, *store.warnings)),
        hint=_DAMAGED if store.warnings else "",
    )


def _records(runtime: "Runtime") -> Finding:
    folder = runtime.root
    try:
        probe = folder / f".pernix-{id(runtime):x}"
        probe.touch()
        probe.unlink()
    except OSError as exc:
        return Finding(
            name="run notebooks",
            status="problem",
            detail=f"{folder} cannot be written: {exc.strerror}",
            hint="Sessions work, but their notebooks and files need a folder that can be written.",
        )
    return Finding(name="run notebooks", status="ok", detail=f"{folder} can be written")


def _endpoints(endpoints: list[EndpointInfo]) -> list[Finding]:
    real = [endpoint for endpoint in endpoints if endpoint.name != TOUR]
    if not real:
        return [
            Finding(
                name="endpoints",
                status="warning",
                detail="no model is set up",
                hint="Add an endpoint, set OPENAI_API_KEY, serve a GGUF file with `jupyter pernix local`, or take the tour.",
            )
        ]
    return [_endpoint(endpoint) for endpoint in real]


def _roles_without(runtime: "Runtime") -> list[Finding]:
    """Roles whose endpoint is not there; one may still be added, so this is no error of the settings."""
    return [
        Finding(
            name=f"role {setting.key.split('.')[1]}",
            status="warning",
            detail=f"the settings name the endpoint {setting.value!r} ({setting.place or setting.source}), and there is none",
            hint=f"Correct `{setting.key}`, or add an endpoint of that name.",
        )
        for setting in runtime.config.explain("roles")
        if setting.key.endswith(".endpoint") and setting.value and not runtime.endpoints.has(setting.value)
    ]


def _default(runtime: "Runtime") -> list[Finding]:
    name = runtime.settings.endpoint
    if not name or runtime.endpoints.has(name):
        return []
    return [
        Finding(
            name="default endpoint",
            status="problem",
            detail=f"the settings name the endpoint {name!r}, and there is none",
            hint="Correct `endpoint` in the settings file, or add an endpoint of that name.",
        )
    ]


_HOW = {
    "tools": "acts by its own tool calls",
    "actions": "acts by one JSON object a step",
    "chat": "can only talk",
    None: "",
}
_WORDS = {"unknown": "not probed yet", "ready": "ready", "limited": "works with limits", "failed": "cannot be used"}
_STATUS: dict[str, Literal["ok", "warning", "problem"]] = {
    "unknown": "warning",
    "ready": "ok",
    "limited": "warning",
    "failed": "problem",
}
"""Only an endpoint that was asked is in order; one that nobody asked yet is no problem either."""


def _endpoint(endpoint: EndpointInfo) -> Finding:
    """All that a probe found: what it can do, what it cannot, and what could not be found out."""
    found = [f"{one.name} {one.detail}".strip() for one in endpoint.abilities if one.ok and one.name != "context"]
    missing = [
        f"no {one.name}: {one.detail}" if one.detail else f"no {one.name}"
        for one in endpoint.abilities
        if one.ok is False
    ]
    unsure = [f"{one.name}: {one.detail}" for one in endpoint.abilities if one.ok is None and one.detail]
    context = f"context of {endpoint.context_length} tokens" if endpoint.context_length else ""
    told = [_WORDS[endpoint.status], _HOW[endpoint.protocol], context, ", ".join(found) and f"has {', '.join(found)}"]
    hint = endpoint.hint
    if endpoint.status == "unknown" and not hint:
        hint = f"See whether it answers: jupyter pernix endpoints probe {shlex.quote(endpoint.name)}"
    return Finding(
        name=f"endpoint {endpoint.name}",
        status=_STATUS[endpoint.status],
        detail=f"{endpoint.base_url} {endpoint.model}: "
        + "; ".join(part for part in (*told, *missing, *unsure) if part),
        hint=hint,
    )


def _roles(endpoints: Endpoints) -> list[Finding]:
    """The roles that the settings give an endpoint which is there."""
    named = {role: endpoints.role(role) for role in get_args(Role)}
    return [
        _role(role, wanted, endpoints)
        for role, wanted in named.items()
        if wanted is not None and (not wanted.endpoint or endpoints.has(wanted.endpoint))
    ]


def _role(role: Role, wanted: RoleSettings, endpoints: Endpoints) -> Finding:
    name = wanted.endpoint or endpoints.default
    detail = name or "the first endpoint that answers"
    detail += f" with the model {wanted.model}" if wanted.model else ""
    detail += f", options {', '.join(wanted.options)}" if wanted.options else ""
    info = endpoints.info(name) if name else None
    failed = info is not None and info.status == "failed"
    return Finding(
        name=f"role {role}",
        status="warning" if failed else "ok",
        detail=f"{detail}, which cannot be used" if failed else detail,
        hint=info.hint if info is not None and failed else "",
    )


async def _kernels(runtime: "Runtime") -> Finding:
    names = sorted(await runtime.kernels.names())
    if not names:
        return Finding(
            name="kernels",
            status="problem",
            detail="no kernelspec is installed",
            hint="Install one: `pip install ipykernel`.",
        )
    return Finding(name="kernels", status="ok", detail=", ".join(names))


def _sandbox(runtime: "Runtime") -> Finding:
    # Imported here: the start of the server does not need it.
    from ..kernel.sandbox import finding

    return finding(wanted=runtime.settings.sandbox.on, limits=runtime.sandboxes.limits)


def _labextension() -> Finding:
    for folder in jupyter_core.paths.jupyter_path("labextensions"):
        if (Path(folder) / "jupyter_pernix" / "package.json").is_file():
            return Finding(name="browser extension", status="ok", detail=str(Path(folder) / "jupyter_pernix"))
    return Finding(
        name="browser extension",
        status="problem",
        detail="it is not installed where JupyterLab looks",
        hint="Install jupyter_pernix from a wheel, or build it in the checkout with `make lab`.",
    )
