"""``jupyter pernix doctor``: what is here, what is wrong, what to do. Looks at this environment first, then asks the server."""

import argparse
import importlib.metadata
import json
import platform
import sys
from pathlib import Path

import msgspec

from .. import __version__, headless
from .. import client as _client
from ..client import Client
from ..errors import ServerError
from ..livetext import neutral
from ..records import Finding
from .screen import paint

_PACKAGES = ("jupyterlab", "jupyter_server", "ipykernel", "duckdb", "httpx", "msgspec")
_COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}
_MARKS = {"ok": "✓", "warning": "!", "problem": "✗"}


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("doctor", help="check versions, store, endpoints, kernels and extensions")
    parser.add_argument("--json", action="store_true", dest="as_json", help="one finding a line")
    parser.add_argument("--no-start", action="store_true", help="do not start a server to look through its eyes")
    parser.set_defaults(command=doctor_command)


def doctor_command(options: argparse.Namespace) -> int:
    """1 if there is a problem."""
    findings = [versions(), settings(), server_extension(), browser_extension()]
    findings += _server(start=not options.no_start)
    findings.append(sandbox())  # a server's own, which knows its settings, comes first
    known = dict[str, Finding]()
    for finding in findings:
        known.setdefault(finding.name, finding)
    for finding in known.values():
        if options.as_json:
            print(msgspec.json.encode(finding).decode())
            continue
        mark = paint(_MARKS[finding.status], _COLOURS[finding.status], sys.stdout)
        print(f"{mark} {finding.name}: {neutral(finding.detail)}")
        if finding.hint:
            print("    " + neutral(finding.hint).replace("\n", "\n    "))
    return 1 if any(finding.status == "problem" for finding in known.values()) else 0


def versions() -> Finding:
    found = [f"jupyter_pernix {__version__}", f"Python {platform.python_version()}"]
    missing: list[str] = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    if missing:
        hint = f"{sys.executable} -m pip install {' '.join(missing)}"
        return Finding(name="versions", status="problem", detail=f"missing: {', '.join(missing)}", hint=hint)
    return Finding(name="versions", status="ok", detail=", ".join(found))


def settings() -> Finding:
    # Imported here: doctor must be able to say that one of these is missing.
    from jupyter_core.paths import jupyter_config_dir

    from ..errors import ConfigError
    from .config import local

    path = Path(jupyter_config_dir()) / "pernix" / "config.toml"
    try:
        told = local(Path()).explain()
    except ConfigError as exc:
        hint = "correct it there; `jupyter pernix config` tells when all is right"
        return Finding(name="settings", status="problem", detail=str(exc), hint=hint)
    changed = sum(setting.source != "default" for setting in told)
    files = f"{path}; " if path.exists() else ""
    return Finding(
        name="settings", status="ok", detail=f"{files}{changed} not as by default" if changed else "all defaults"
    )


def server_extension() -> Finding:
    from jupyter_core.paths import jupyter_config_path

    enabled: bool | None = None
    for folder in reversed(jupyter_config_path()):
        for name in ("jupyter_server_config.json", "jupyter_server_config.d/jupyter_pernix.json"):
            enabled = _enabled(Path(folder) / name, enabled)
    if enabled:
        return Finding(name="server extension", status="ok", detail="enabled")
    return Finding(
        name="server extension",
        status="problem",
        detail="disabled" if enabled is False else "not enabled in this environment",
        hint="jupyter server extension enable jupyter_pernix",
    )


def _enabled(path: Path, before: bool | None) -> bool | None:
    try:
        return json.loads(path.read_text())["ServerApp"]["jpserver_extensions"]["jupyter_pernix"]
    except (OSError, ValueError, KeyError, TypeError):
        return before


def browser_extension() -> Finding:
    from jupyter_core.paths import jupyter_path

    for folder in jupyter_path("labextensions"):
        package = Path(folder) / "jupyter_pernix" / "package.json"
        if package.is_file():
            version = json.loads(package.read_text()).get("version", "")
            if version == __version__:
                return Finding(name="browser extension", status="ok", detail=f"version {version} in {package.parent}")
            return Finding(
                name="browser extension",
                status="warning",
                detail=f"version {version} in {package.parent}, while the package is {__version__}",
                hint="install jupyter_pernix again, then reload the page",
            )
    return Finding(
        name="browser extension",
        status="problem",
        detail="JupyterLab would not find it",
        hint=f"{sys.executable} -m pip install --force-reinstall jupyter_pernix",
    )


def sandbox() -> Finding:
    # Imported here, as above.
    from ..kernel.sandbox import Limits, finding

    return finding(wanted=False, limits=Limits())


def _server(*, start: bool) -> list[Finding]:
    """What the running server finds, or one started for the question."""
    try:
        client = _client.find()
        if client is not None:
            return [_running(client), *_asked(client)]
        if not start:
            return [Finding(name="server", status="ok", detail="none is running")]
        with headless.Headless(Path()) as client:
            none = Finding(
                name="server", status="ok", detail="none was running; one was started for this check and stopped"
            )
            return [none, *_asked(client)]
    except ServerError as exc:
        return [Finding(name="server", status="problem", detail=str(exc), hint=exc.hint)]


def _running(client: Client) -> Finding:
    info = client.info()
    detail = f"{client.address.url}, process {client.address.pid}, root {info.get('server_root', client.address.root)}"
    if info.get("version") not in (None, __version__):
        return Finding(
            name="server",
            status="warning",
            detail=f"{detail}; it runs version {info['version']}, this command is {__version__}",
            hint="restart the Jupyter server",
        )
    return Finding(name="server", status="ok", detail=detail)


def _asked(client: Client) -> list[Finding]:
    return [msgspec.convert(finding, Finding) for finding in client.doctor()]
