"""``jupyter pernix diff`` and ``jupyter pernix undo``: what a session has changed, and putting it back."""

import argparse
from typing import Any

from ..client import JSON, Client
from ..livetext import neutral
from .connection import UsageError, connected
from .sessions import full_id


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    diff = commands.add_parser("diff", help="show what a session has changed in files")
    diff.add_argument("session", metavar="SESSION", help="its id, or the beginning of its id")
    diff.add_argument(
        "paths", nargs="*", metavar="PATH", help="only these files or folders, relative to the session's folder"
    )
    diff.add_argument("--names", action="store_true", help="only the names, with the numbers of lines")
    diff.set_defaults(command=diff_command)
    _take_paths_anywhere(diff)
    undo = commands.add_parser(
        "undo", help="put files back to what they were before a session, or before one of its turns"
    )
    undo.add_argument("session", metavar="SESSION", help="its id, or the beginning of its id")
    undo.add_argument(
        "paths", nargs="*", metavar="PATH", help="only these files or folders, relative to the session's folder"
    )
    undo.add_argument(
        "--turn", default="", metavar="N|ID", help="what this turn and later ones did (1 is the first turn)"
    )
    undo.add_argument("--dry-run", action="store_true", help="only say what would be put back")
    undo.set_defaults(command=undo_command)
    _take_paths_anywhere(undo)


def _take_paths_anywhere(parser: argparse.ArgumentParser) -> None:
    """Let paths stand behind an option too, which the commands of a parser do not by themselves."""
    plain = parser.parse_known_args

    def parse(args: Any = None, namespace: Any = None) -> Any:
        parser.parse_known_args = plain  # type: ignore[method-assign] - what is called below calls it
        try:
            return parser.parse_known_intermixed_args(args, namespace)
        finally:
            parser.parse_known_args = parse  # type: ignore[method-assign]

    parser.parse_known_args = parse  # type: ignore[method-assign]


def diff_command(options: argparse.Namespace) -> int:
    with connected() as (client, _):
        session_id = full_id(client.sessions("all", workers=True), options.session)
        files = _chosen(client.files(session_id, diff=not options.names), options.paths)
    for file in files:
        if not options.names and file["diff"]:
            print(neutral(file["diff"]), end="")
            continue
        print(f"{_line(file)}{_said(file)}")
    if not files:
        print(
            "This session has not changed such a file." if options.paths else "This session has not changed any file."
        )
    return 0


def undo_command(options: argparse.Namespace) -> int:
    """1 if a file could not be put back."""
    with connected() as (client, _):
        session_id = full_id(client.sessions("all", workers=True), options.session)
        turns = [str(turn["turn_id"]) for turn in client.session(session_id)["turns"]]
        turn_id = _turn(options.turn, turns)
        if options.dry_run:
            return _would(client, session_id, options.paths, turns[turns.index(turn_id) :] if turn_id else turns)
        done = client.undo_files(session_id, turn_id=turn_id, paths=_relative(options.paths))
    for one in done:
        said = f"not put back: {one['reason']}" if one["reason"] else "put back"
        print(neutral(f"{one['path']}: {said}"))
    if not done:
        print("There is nothing to put back.")
    return 1 if any(one["reason"] for one in done) else 0


def _turn(given: str, turns: list[str]) -> str | None:
    if not given:
        return None
    if given.isascii() and given.isdigit():
        if not 1 <= int(given) <= len(turns):
            raise UsageError(f"this session has {len(turns)} turns; there is no turn {given}")
        return turns[int(given) - 1]
    found = [turn for turn in turns if turn.startswith(given)]
    if len(found) != 1:
        raise UsageError(f"{len(found) or 'no'} turns of this session have an id that begins with {given!r}")
    return found[0]


def _would(client: Client, session_id: str, paths: list[str], turns: list[str]) -> int:
    files = [
        file
        for file in _chosen(client.files(session_id), paths)
        if not file["undone"] and set(file["turns"]) & set(turns)
    ]
    for file in files:
        changed = (
            "would not be put back, since it was changed by somebody else" if _elses(file) else "would be put back"
        )
        print(f"{_line(file)}: {changed}")
    if not files:
        print("There is nothing to put back.")
    return 0


def _elses(file: JSON) -> bool:
    return file["now"] not in (file["after"], file["before"])


def _chosen(files: list[JSON], paths: list[str]) -> list[JSON]:
    wanted = _relative(paths)
    return [
        file
        for file in files
        if not wanted or any(one == file["path"] or one == "." or file["path"].startswith(f"{one}/") for one in wanted)
    ]


def _relative(paths: list[str]) -> list[str]:
    return [path.removeprefix("./").rstrip("/") or "." for path in paths]


def _line(file: JSON) -> str:
    made = "new" if file["before"] is None else "deleted" if file["after"] is None else "changed"
    return neutral(f"{file['path']} ({made}, +{file['added_lines']} -{file['removed_lines']})")


def _said(file: JSON) -> str:
    words = [
        "put back" if file["undone"] else "",
        "by a command" if file["by_commands"] else "",
        "changed by somebody else since" if _elses(file) and not file["undone"] else "",
    ]
    said = ", ".join(word for word in words if word)
    return f": {said}" if said else ""
