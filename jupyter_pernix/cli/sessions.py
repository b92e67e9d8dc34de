"""``jupyter pernix sessions`` and ``jupyter pernix show``."""

import argparse
from datetime import datetime

import msgspec

from ..client import JSON
from ..livetext import duration, neutral, one_line, state_word
from .connection import UsageError, connected
from .screen import MARKS, correction_lines, plan_lines, spending, width

_FEW = 5
"""Sessions that are listed where an id is not whole."""


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    sessions = commands.add_parser("sessions", help="list the sessions, newest first")
    sessions.add_argument("--all", action="store_true", dest="everything", help="archived ones too")
    sessions.add_argument("--workers", action="store_true", help="also those that work for another session")
    sessions.add_argument("--json", action="store_true", dest="as_json", help="one session a line")
    sessions.set_defaults(command=sessions_command)
    show = commands.add_parser("show", help="tell what happened in a session")
    show.add_argument("session", metavar="SESSION", help="its id, or the beginning of its id")
    show.add_argument("--json", action="store_true", dest="as_json", help="print its stored events, one a line")
    show.set_defaults(command=show_command)


def sessions_command(options: argparse.Namespace) -> int:
    with connected() as (client, _):
        sessions = client.sessions("all" if options.everything else "", workers=options.workers)
    for session in sessions:
        if options.as_json:
            print(msgspec.json.encode(session).decode())
            continue
        when = datetime.fromisoformat(session["updated_at"]).astimezone().strftime("%Y-%m-%d %H:%M")
        title = one_line(session["title"] or "(untitled)", max(width() - 70, 20))
        state = state_word(session["state"])
        if session.get("open_approvals") and session["state"] != "awaiting_user":
            state += f", {state_word('awaiting_user')}"
        parent = f"  worker of {session['parent']}" if session.get("parent") else ""
        print(f"{session['session_id']}  {when}  {state}{parent}  {title}")
    if not sessions and not options.as_json:
        print('There are no sessions yet. Start one with: jupyter pernix run "…"')
    return 0


def show_command(options: argparse.Namespace) -> int:
    with connected() as (client, _):
        session_id = full_id(client.sessions("all", workers=True), options.session)
        if options.as_json:
            for event in client.past_events(session_id):
                print(msgspec.json.encode(event).decode())
        else:
            print("\n".join(_told(client.session(session_id))))
    return 0


def full_id(sessions: list[JSON], given: str) -> str:
    """The one session whose id is or begins so; ``given`` itself if there is none, for the server to refuse.

    :raises UsageError: if more than one begins so
    """
    matches = [session for session in sessions if session["session_id"].startswith(given)]
    if len(matches) < 2 or any(session["session_id"] == given for session in matches):
        return matches[0]["session_id"] if len(matches) == 1 else given
    lines = [f"{one['session_id']}  {one_line(one['title'], 60) or '(untitled)'}" for one in matches[:_FEW]]
    more = f"\nand {len(matches) - _FEW} more" if len(matches) > _FEW else ""
    raise UsageError(
        f"{len(matches)} sessions have an id that begins with {given!r}; give more of it:\n" + "\n".join(lines) + more
    )


def _told(view: JSON) -> list[str]:
    lines = [
        f"{neutral(view['title']) or '(untitled)'}",
        f"{view['session_id']}: {state_word(view['state'])}, mode {view['mode']}, endpoint: {neutral(view['endpoint'] or 'the default')}",
        f"notebook {neutral(view['record_path'])}",
    ]
    if view.get("parent"):
        lines.append(f"worker of {view['parent']}")
    spent = spending(view.get("usage"), view.get("cost"))
    if spent:
        lines.append(spent)
    for turn in view["turns"]:
        lines += ["", *("> " + line for line in neutral(turn["text"]).splitlines())]
        lines += plan_lines(turn["plan"]) if turn.get("plan") else []
        for item in turn["items"]:
            lines += ["", *_item(item)] if item["type"] == "message" else _item(item)
        ending = turn["code"] or (state_word(view["state"]) if turn["started_at"] else "queued")
        if ending != "answered":
            lines.append(f"[{ending}] {neutral(turn['detail'])}".rstrip())
    if view.get("waiting"):
        lines.append(neutral(str(view["waiting"]["text"])))
    return lines


def _item(item: JSON) -> list[str]:
    match item["type"]:
        case "message":
            return correction_lines(item.get("corrections") or []) + neutral(item["text"]).splitlines()
        case "call":
            mark = MARKS.get(item["status"], "…")
            line = f"{mark} {one_line(item['title'], width() - 20)} {duration(item.get('duration'))}".rstrip()
            worker = item.get("worker")
            return [line, f"  ↳ worker {worker['worker_id']}: {worker['code'] or 'running'}"] if worker else [line]
        case "problem" | "notice":
            return [neutral(f"! {item['text']} {item['hint']}").rstrip()]
        case _:
            return []
