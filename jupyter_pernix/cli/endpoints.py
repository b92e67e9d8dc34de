"""``jupyter pernix endpoints``: which models there are, and how to add one."""

import argparse
import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import get_args

from ..client import JSON, Client
from ..errors import RequestFailed
from ..livetext import neutral
from ..records import EndpointKind
from .connection import UsageError, connected

_NONE = "No endpoint is known. Add one: jupyter pernix endpoints add NAME URL"


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("endpoints", help="list, add, try or remove model endpoints")
    parser.set_defaults(command=list_command)
    actions = parser.add_subparsers(metavar="ACTION")
    actions.add_parser("list", help="those that are known, and what they can do").set_defaults(command=list_command)
    actions.add_parser("discover", help="look for model servers on this machine").set_defaults(command=discover_command)
    add = actions.add_parser("add", help="add an OpenAI-compatible address and try it")
    add.add_argument("name")
    add.add_argument("url")
    add.add_argument("--model", default="", help="default: the first that it lists")
    add.add_argument("--kind", choices=get_args(EndpointKind), default="openai")
    add.add_argument("--protocol", choices=["auto", "tools", "actions", "chat"], default="auto")
    add.add_argument("--context-length", type=int)
    add.add_argument(
        "--vision",
        action=argparse.BooleanOptionalAction,
        help="show the model pictures, or none (if not given: when the endpoint says that it sees)",
    )
    key = add.add_mutually_exclusive_group()
    key.add_argument("--api-key-env", metavar="VAR", help="take the key from this variable")
    key.add_argument("--ask-key", action="store_true", help="type the key in; it is not shown")
    add.set_defaults(command=add_command)
    for action, command, text in (
        ("probe", probe_command, "try it now"),
        ("default", default_command, "use it for new sessions"),
        ("remove", remove_command, "forget it and its key"),
    ):
        one = actions.add_parser(action, help=text)
        one.add_argument("name")
        one.set_defaults(command=command)


def list_command(options: argparse.Namespace) -> int:
    with connected(Path()) as (client, _):
        _print_all(client.endpoints())
    return 0


def discover_command(options: argparse.Namespace) -> int:
    with connected() as (client, _):
        found = client.discover()
    _print_all(found)
    for discovery in found["discoveries"]:
        mark = "✓" if discovery["found"] else "·"
        print(f"{mark} {discovery['kind']} at {discovery['base_url']}: {neutral(discovery['detail'])}")
    return 0


def add_command(options: argparse.Namespace) -> int:
    key = ""
    if options.api_key_env:
        key = os.environ.get(options.api_key_env, "")
        if not key:
            raise UsageError(f"the variable {options.api_key_env} is not set")
    elif options.ask_key:
        key = getpass.getpass("API key: ")
    with connected() as (client, _):
        return _print_one(
            client.add_endpoint(
                name=options.name,
                base_url=options.url,
                model=options.model,
                api_key=key,
                kind=options.kind,
                protocol=options.protocol,
                context_length=options.context_length,
                vision=options.vision,
            )
        )


def probe_command(options: argparse.Namespace) -> int:
    with connected() as (client, _), _known(client):
        return _print_one(client.probe_endpoint(options.name))


def default_command(options: argparse.Namespace) -> int:
    with connected() as (client, _), _known(client):
        return _print_one(client.default_endpoint(options.name))


def remove_command(options: argparse.Namespace) -> int:
    with connected() as (client, _), _known(client):
        client.remove_endpoint(options.name)
    return 0


@contextmanager
def _known(client: Client) -> Iterator[None]:
    """Where an endpoint is not there, say which are.

    :raises RequestFailed: as what is inside does
    """
    try:
        yield
    except RequestFailed as exc:
        if exc.status != 404:
            raise
        names = ", ".join(endpoint["name"] for endpoint in client.endpoints()["endpoints"])
        hint = f"There are: {neutral(names)}" if names else _NONE
        raise RequestFailed(str(exc), status=exc.status, hint=hint) from exc


def _print_all(answer: JSON) -> None:
    for endpoint in answer["endpoints"]:
        _print_one(endpoint)
    if not answer["endpoints"]:
        print(_NONE)


def _print_one(endpoint: JSON) -> int:
    """0, or 1 if the endpoint cannot be used as it is."""
    star = "*" if endpoint["default"] else " "
    place = f" at {endpoint['base_url']}" if endpoint["base_url"] else ""
    print(neutral(f"{star} {endpoint['name']}: {endpoint['model'] or 'no model yet'}{place}, {endpoint['status']}"))
    can = [one["name"] for one in endpoint["abilities"] if one["ok"]]
    length = endpoint["context_length"]
    roles = f"role {', '.join(endpoint['roles'])}" if endpoint.get("roles") else ""
    sees = "sees pictures" if endpoint.get("vision") else ""
    told = [roles, f"context of {length} tokens" if length else "", ", ".join(can) and f"has {', '.join(can)}", sees]
    if any(told):
        print(neutral(f"    {'; '.join(part for part in told if part)}"))
    for ability in endpoint["abilities"]:
        if ability["ok"] is False:
            print(neutral(f"    {ability['name']}: {ability['detail']}"))
    if endpoint["hint"]:
        print(neutral(f"    {endpoint['hint']}"))
    return 1 if endpoint["status"] == "failed" else 0
