"""``jupyter pernix local``: serve a GGUF file on this machine."""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from .. import client as _client
from .. import headless
from ..client import JSON, Client
from ..livetext import neutral
from .connection import UsageError, connected
from .follow import signals_as_interrupt


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("local", help="serve a GGUF file as a model on this machine")
    parser.set_defaults(command=list_command)
    actions = parser.add_subparsers(metavar="ACTION")
    actions.add_parser("list", help="files that could be served").set_defaults(command=list_command)
    actions.add_parser("status", help="what is served now").set_defaults(command=status_command)
    actions.add_parser("stop", help="stop serving").set_defaults(command=stop_command)
    start = actions.add_parser(
        "start", help="serve this file; without a running Jupyter server it stays in the foreground"
    )
    start.add_argument("path", type=Path)
    start.add_argument("--context-length", type=int, default=8192)
    start.set_defaults(command=start_command)


def list_command(options: argparse.Namespace) -> int:
    with connected() as (client, _):
        status = client.local()
    for model in status["models"]:
        _print_model(model)
    if not status["models"]:
        print("No GGUF file was found in the usual caches; give the path of one to `jupyter pernix local start`.")
    if not status["installed"]:
        print(neutral(status["hint"]))
    return 0


def status_command(options: argparse.Namespace) -> int:
    client = _client.find()
    served = [model for model in client.local()["models"] if model["state"] != "available"] if client else []
    for model in served:
        _print_model(model)
    if not served:
        print("No local model is served.")
    return 0


def stop_command(options: argparse.Namespace) -> int:
    client = _client.find()
    if client is not None:
        client.stop_local()
    print("No local model is served now.")
    return 0


def start_command(options: argparse.Namespace) -> int:
    path = options.path.expanduser().resolve()
    if not path.is_file():
        raise UsageError(f"{str(options.path)!r} is not a file")
    client, server = headless.connect(Path())
    try:
        with signals_as_interrupt():
            ready = _started(client, str(path), options.context_length)
            if ready and server is not None:
                print("Ctrl-C stops it. It serves every `jupyter pernix run` meanwhile.", file=sys.stderr)
                while True:
                    time.sleep(3600)
            return 0 if ready else 1
    except KeyboardInterrupt:
        client.stop_local()
        return 130
    finally:
        if server is not None:
            server.stop()


def _started(client: Client, path: str, context_length: int) -> bool:
    """True once the model answers; says meanwhile what it does."""
    said = ""
    for model in _states(client, client.start_local(path, context_length)):
        line = neutral(model["detail"] or model["state"])
        if line != said:
            print(line, file=sys.stderr, flush=True)
            said = line
        if model["state"] == "ready":
            print(f"served at {model['base_url']} as endpoint 'local'")
            return True
        if model["state"] == "failed":
            return False
    return False


def _states(client: Client, model: JSON) -> Iterator[JSON]:
    yield model
    while True:
        time.sleep(0.5)
        now = [each for each in client.local()["models"] if each["path"] == model["path"]]
        if not now:
            return
        yield now[0]


def _print_model(model: JSON) -> None:
    size = model["size_bytes"] / 1e9
    place = f" at {model['base_url']}" if model["base_url"] else ""
    detail = f" ({model['detail']})" if model["detail"] else ""
    print(neutral(f"{model['state']:9}  {size:5.1f} GB  {model['path']}{place}{detail}"))
