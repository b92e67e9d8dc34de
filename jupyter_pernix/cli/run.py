"""``jupyter pernix run`` and ``jupyter pernix tour``: one turn in a terminal."""

import argparse
import contextlib
import math
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args
from urllib.parse import urlsplit

from ..client import JSON, Client
from ..livetext import neutral
from ..records import Mode
from .committing import NotCommitted, commit_files, subject
from .connection import UsageError, connected
from .follow import Follow


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    run = commands.add_parser("run", help="give the agent a request and follow it to its end")
    run.add_argument("request", help='what to do; "-" reads it from standard input')
    run.add_argument("--mode", choices=get_args(Mode), help="what the agent may do without asking")
    run.add_argument("--space", type=Path, metavar="DIR", help="folder to work in (default: this one)")
    run.add_argument("--session", metavar="ID", help="go on with this session")
    run.add_argument("--endpoint", metavar="URL|NAME", help="an OpenAI-compatible address, or a known endpoint")
    run.add_argument("--model", default="", help="model at that address (default: the first it lists)")
    run.add_argument("--api-key-env", metavar="VAR", help="variable that holds the key for that address")
    run.add_argument(
        "--notebook", type=Path, metavar="PATH", help="attach a new session to this notebook: code runs in its kernel"
    )
    run.add_argument("--kernel", default="", metavar="NAME", help="kernelspec for a new session")
    run.add_argument("--title", default="", help="title for a new session")
    run.add_argument(
        "--commit",
        nargs="?",
        const="",
        metavar="MESSAGE",
        help="when the turn ends with an answer: commit the files that the session changed, and nothing else",
    )
    limits = run.add_argument_group("limits of this turn, before those in the settings")
    for name, kind, says in _LIMITS:
        limits.add_argument(f"--max-{name}", type=kind, metavar="N", help=says)
    _common(run)
    run.set_defaults(command=run_command)
    tour = commands.add_parser("tour", help="a recorded tour through a whole job; needs no model")
    tour.add_argument(
        "--space", type=Path, metavar="DIR", help="folder in which the tour makes its own (default: this one)"
    )
    _common(tour)
    tour.set_defaults(command=tour_command)


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", dest="as_json", help="print the stored events, one a line")
    parser.add_argument(
        "--timeout", type=_seconds, metavar="SECONDS", help="stop the turn after this long (exit code 9)"
    )


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < math.inf:
        raise ValueError(text)
    return seconds


def _count(text: str) -> int:
    count = int(text)
    if count <= 0:
        raise ValueError(text)
    return count


_LIMITS = (
    ("rounds", _count, "requests to the model (exit code 7)"),
    ("tokens", _count, "tokens read and written (exit code 8)"),
    ("seconds", _seconds, "seconds of work (exit code 9)"),
    ("cost", _seconds, "cost, in the currency of the endpoint's price (exit code 11)"),
    ("lines", _count, "lines added and removed in files (exit code 12)"),
)


def _budget(client: Client, options: argparse.Namespace) -> JSON | None:
    """The limits that were given, the others as in the settings; ``None``: none was given."""
    given = {name: getattr(options, f"max_{name}") for name, _, _ in _LIMITS}
    given["changed_lines"] = given.pop("lines")
    if all(value is None for value in given.values()):
        return None
    settings = {setting["key"]: setting["value"] for setting in client.settings()}
    held = {name: settings[f"budget.{name}"] for name in given if f"budget.{name}" in settings}
    return held | {name: value for name, value in given.items() if value is not None}


def run_command(options: argparse.Namespace) -> int:
    text = sys.stdin.read() if options.request == "-" else options.request
    if not text.strip():
        raise UsageError("the request is empty")
    can_ask = not options.as_json and options.request != "-" and sys.stdin.isatty() and sys.stderr.isatty()
    with (
        connected(options.space, needs_root=options.session is None) as (client, space_root),
        _endpoint(client, options) as endpoint,
    ):
        if options.session:
            session, after = _continued(client, options, endpoint)
        else:
            session, after = _created(client, options, endpoint, space_root), 0
        budget = _budget(client, options)
        turn = client.submit(session["session_id"], text, origin="cli", can_ask=can_ask, budget=budget)
        code = _follow(client, session["session_id"], turn["turn_id"], after, options, can_ask=can_ask)
        if options.commit is not None:
            return _commit(client, session["session_id"], code, options.commit or subject(text))
        return code


def _commit(client: Client, session_id: str, code: int, message: str) -> int:
    """The exit code: that of the turn, or 1 if there was something to commit and it could not be."""
    if code:
        print("not committed: the turn did not end with an answer", file=sys.stderr)
        return code
    try:
        commit = commit_files(client, client.session(session_id), message)
    except NotCommitted as exc:
        print(neutral(f"not committed: {exc}"), file=sys.stderr)
        return 1
    print(f"committed {commit}" if commit else "nothing to commit", file=sys.stderr)
    return 0


def tour_command(options: argparse.Namespace) -> int:
    with connected(options.space) as (client, _):
        session = client.start_tour()
        for event in client.past_events(session["session_id"]):
            if event["type"] == "turn.submitted":
                return _follow(client, session["session_id"], event["turn_id"], 0, options, can_ask=False)
    raise AssertionError("a tour is created with its turn")


def _follow(
    client: Client, session_id: str, turn_id: str, after: int, options: argparse.Namespace, *, can_ask: bool
) -> int:
    follow = Follow(
        client, session_id, turn_id, after, as_json=options.as_json, can_ask=can_ask, seconds=options.timeout
    )
    code = follow.to_the_end()
    if not options.as_json:
        view = client.session(session_id)
        follow.screen.note(f"session {session_id}, notebook {neutral(str(view['record_path']))}")
    return code


def _created(client: Client, options: argparse.Namespace, endpoint: str | None, space_root: str) -> JSON:
    notebook = {"notebook": _notebook(options, space_root)} if options.notebook is not None else {}
    return client.create_session(
        title=options.title,
        space_root=space_root,
        mode=options.mode,
        endpoint=endpoint,
        kernel_name=options.kernel,
        origin="cli",
        **notebook,
    )


def _notebook(options: argparse.Namespace, space_root: str) -> str:
    """The notebook relative to the server's root, as ``space_root`` is."""
    space = (options.space or Path()).resolve()
    path = Path(options.notebook).resolve()
    if not path.is_relative_to(space):
        raise UsageError(
            f"{str(options.notebook)!r} is not in {space}, the folder that the session works in; see --space"
        )
    below = path.relative_to(space).as_posix()
    return f"{space_root}/{below}" if space_root else below


def _continued(client: Client, options: argparse.Namespace, endpoint: str | None) -> tuple[JSON, int]:
    if options.space is not None or options.kernel or options.title or options.notebook is not None:
        raise UsageError("--space, --notebook, --kernel and --title are for new sessions; this one has them already")
    session = client.session(options.session)
    after = int(session["last_seq"])
    changes = {"mode": options.mode, "endpoint": endpoint}
    if any(changes.values()):
        client.change_session(options.session, **{name: value for name, value in changes.items() if value})
    return session, after


@contextlib.contextmanager
def _endpoint(client: Client, options: argparse.Namespace) -> Iterator[str | None]:
    """The name of the endpoint to use. An address that is given is known to the server for this one turn."""
    if options.endpoint is None or "://" not in options.endpoint:
        if options.model or options.api_key_env:
            raise UsageError("--model and --api-key-env belong to an --endpoint that is an address")
        yield options.endpoint
        return
    name = "run-" + re.sub(r"[^a-z0-9]+", "-", urlsplit(options.endpoint).netloc.lower().rpartition("@")[2]).strip("-")
    key = ""
    if options.api_key_env:
        key = os.environ.get(options.api_key_env, "")
        if not key:
            raise UsageError(f"the variable {options.api_key_env} is not set")
    endpoint = client.add_endpoint(name=name, base_url=options.endpoint, model=options.model, api_key=key)
    if endpoint["status"] == "failed" and endpoint["hint"]:
        print(neutral(endpoint["hint"]), file=sys.stderr)
    try:
        yield name
    finally:
        client.remove_endpoint(name)
