"""``jupyter pernix pause``, ``resume``, ``stop`` and ``compact``: what can be done to a session from outside."""

import argparse
import sys

from ..client import JSON, Client
from ..errors import RequestFailed
from ..livetext import neutral, state_word
from .connection import connected
from .follow import Follow
from .records import begin_from, known_here, record_of
from .screen import compaction_line
from .sessions import full_id


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    for name, says, command in (
        ("pause", "pause the turn that runs, at its next step", pause_command),
        ("resume", "go on with a paused or interrupted turn, and follow it to its end", resume_command),
        ("stop", "stop what runs in a session", stop_command),
        ("compact", "make a session's conversation shorter for the model", compact_command),
    ):
        parser = commands.add_parser(name, help=says)
        record = ", or its run notebook" if name == "resume" else ""
        parser.add_argument("session", metavar="SESSION", help=f"its id, or the beginning of its id{record}")
        if name == "resume":
            parser.add_argument(
                "--json", action="store_true", dest="as_json", help="print the stored events, one a line"
            )
        parser.set_defaults(command=command)


def pause_command(options: argparse.Namespace) -> int:
    with connected() as (client, _):
        summary = client.pause(_id(client, options.session))
    print(
        f"{summary['session_id']} is {state_word(summary['state'])}; go on with: jupyter pernix resume {summary['session_id']}"
    )
    return 0


def stop_command(options: argparse.Namespace) -> int:
    with connected() as (client, _):
        summary = client.stop(_id(client, options.session))
    print(f"{summary['session_id']} is {state_word(summary['state'])}")
    return 0


def resume_command(options: argparse.Namespace) -> int:
    can_ask = not options.as_json and sys.stdin.isatty() and sys.stderr.isatty()
    record = record_of(options.session)
    with connected(record.path.parent if record is not None else None) as (client, _):
        if record is not None and not known_here(client, record):
            return begin_from(client, record, as_json=options.as_json)
        session_id = record.session_id if record is not None else _id(client, options.session)
        after = int(client.session(session_id)["last_seq"])
        try:
            turn = client.resume(session_id)
        except RequestFailed as exc:
            raise _with_way_on(exc, session_id) from exc
        follow = Follow(client, session_id, turn["turn_id"], after, as_json=options.as_json, can_ask=can_ask)
        return follow.to_the_end()


def _with_way_on(exc: RequestFailed, session_id: str) -> RequestFailed:
    """Where nothing is left to go on with, the session still takes another request."""
    way = f'give it its next request with: jupyter pernix run --session {session_id} "…"'
    return RequestFailed(str(exc), status=exc.status, hint=exc.hint or (way if exc.status == 409 else ""))


def compact_command(options: argparse.Namespace) -> int:
    with connected() as (client, _):
        session_id = _id(client, options.session)
        after = int(client.session(session_id)["last_seq"])
        client.compact(session_id)
        for message in client.events(after, session_id):
            if message.kind == "pernix":
                _tell(message.data)
                if message.data["type"] == "session.state_changed" and message.data["after"] == "idle_ready":
                    return 0 if message.data["reason"] == "settled" else 130
    raise AssertionError("a stream has no end")


def _tell(event: JSON) -> None:
    if event["type"] == "context.compacted":
        print(compaction_line(event))
    elif event["type"] in ("problem.noticed", "step.retry_scheduled"):
        print(" ".join(neutral(str(event[key])) for key in ("text", "hint") if event.get(key)), file=sys.stderr)


def _id(client: Client, given: str) -> str:
    return full_id(client.sessions("all", workers=True), given)
