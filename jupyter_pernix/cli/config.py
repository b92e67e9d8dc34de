"""``jupyter pernix config``: each setting, and which layer gave it."""

import argparse
import json
import os
import sys
import textwrap
from pathlib import Path
from typing import Any

import msgspec

from .. import client as _client
from .. import config, headless
from ..livetext import neutral
from .screen import paint, width

_KEY_WIDTH, _VALUE_WIDTH = 34, 30


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "config",
        help="show each setting and where it came from",
        description="Show each setting and where it came from: as the running server has them, or as one that is started in this "
        "folder would. Keys of endpoints are not shown.",
    )
    parser.add_argument("key", nargs="?", default="", metavar="KEY", help="one setting, or a table as budget, in full")
    parser.add_argument("--json", action="store_true", dest="as_json", help="one setting a line")
    parser.set_defaults(command=config_command)


def config_command(options: argparse.Namespace) -> int:
    found, whose = _settings(options.key)
    if options.as_json:
        for setting in found:
            print(msgspec.json.encode(setting).decode())
        return 0
    print(neutral(whose), file=sys.stderr)
    if options.key:
        print("\n\n".join(_in_full(setting) for setting in found))
    else:
        for setting in found:
            print(_line(setting))
    return 0


def _settings(key: str) -> tuple[list[config.Setting], str]:
    """What is set, and for whom."""
    assignments = headless.assignments.get()
    client = None if assignments else _client.find()
    if client is not None:
        told = msgspec.convert(client.request("GET", "/config"), list[config.Setting])
        return config.part(told, key), f"as the running server has them (process {client.address.pid})"
    layered = local(Path(), assignments=assignments)
    return layered.explain(key), f"as a server started in {Path().resolve()} would have them"


def local(root: Path, *, assignments: tuple[str, ...] = ()) -> config.Layered:
    """The settings of a server that is started in ``root``, without what Jupyter's own configuration gives.

    :raises ConfigError: if a layer is wrong
    """
    # Imported here: doctor must be able to say that it is missing.
    from jupyter_core.paths import jupyter_config_dir

    folder = Path(jupyter_config_dir()) / "pernix"
    return config.resolve(
        config_file=folder / "config.toml",
        project_file=root.resolve() / config.PROJECT_FILE,
        environ=os.environ,
        assignments=assignments,
        endpoints=config.known_endpoints(folder),
    )


def _line(setting: config.Setting) -> str:
    place = f"{setting.source}: {_short(setting.place)}" if setting.place else setting.source
    value = f"{_text(setting.value):<{_VALUE_WIDTH}}"
    if setting.source == "default":
        return paint(neutral(f"{setting.key:<{_KEY_WIDTH}} {value} {place}"), "dim", sys.stdout)
    return neutral(f"{setting.key:<{_KEY_WIDTH}} {value} {place}")


def _in_full(setting: config.Setting) -> str:
    lines = [paint(neutral(f"{setting.key} = {_text(setting.value)}"), "bold", sys.stdout)]
    if setting.doc:
        lines += textwrap.wrap(setting.doc, width(), initial_indent="    ", subsequent_indent="    ")
    for layer in reversed(setting.layers):
        holds = layer.source == setting.source and not layer.note
        note = f" ({layer.note})" if layer.note else ""
        lines.append(
            neutral(
                f"  {'→' if holds else ' '} {layer.source:<12}  {_text(layer.value)}  {_short(layer.place)}{note}"
            ).rstrip()
        )
    return "\n".join(lines)


def _text(value: Any) -> str:
    """As it is written in a file."""
    return "none" if value is None else json.dumps(value, ensure_ascii=False)


def _short(place: str) -> str:
    home = str(Path.home())
    return f"~{place[len(home) :]}" if home != "/" and place.startswith(home + os.sep) else place
