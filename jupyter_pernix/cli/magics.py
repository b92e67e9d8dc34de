"""``jupyter pernix magics``: load ``%pernix`` in every IPython kernel of this user, or stop doing so."""

import argparse
import json
import os
from pathlib import Path

from .connection import UsageError

_NAME = "jupyter_pernix"


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("magics", help="load %%pernix in every IPython kernel, without %%load_ext")
    parser.add_argument("action", choices=["enable", "disable", "status"])
    parser.set_defaults(command=magics_command)


def magics_command(options: argparse.Namespace) -> int:
    path = config_path()
    enabled = _NAME in _extensions(_read(path))
    if options.action != "status" and enabled != (options.action == "enable"):
        _write(path, enable=options.action == "enable")
        enabled = not enabled
    state = "loaded in every new IPython kernel" if enabled else "not loaded by itself; use %load_ext jupyter_pernix"
    print(f"%pernix is {state} ({path})")
    return 0


def config_path() -> Path:
    # Imported here: the other commands do not need IPython.
    from IPython.paths import locate_profile

    try:
        return Path(locate_profile("default")) / "ipython_kernel_config.json"
    except OSError:
        from IPython.paths import get_ipython_dir

        return Path(get_ipython_dir()) / "profile_default" / "ipython_kernel_config.json"


def _read(path: Path) -> dict:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as exc:
        raise UsageError(f"{path} is not JSON ({exc}); correct it first") from exc
    return config if isinstance(config, dict) else {}


def _extensions(config: dict) -> list[str]:
    return list(config.get("IPKernelApp", {}).get("extra_extensions", []))


def _write(path: Path, *, enable: bool) -> None:
    config = _read(path)
    others = [name for name in _extensions(config) if name != _NAME]
    config.setdefault("IPKernelApp", {})["extra_extensions"] = [*others, _NAME] if enable else others
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}.tmp")
    fresh.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    fresh.replace(path)
