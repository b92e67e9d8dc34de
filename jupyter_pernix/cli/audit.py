"""``jupyter pernix audit``: whether the audit's files are as they were written, and what they say. Needs no running server."""

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .. import client as _client
from ..audit import Head, Line, check, day_files, lines_of, read_line
from ..client import Client
from ..errors import ServerAway
from ..livetext import neutral
from .audit_known import Found, Known, known_to_server, known_to_store
from .audit_words import Words
from .connection import UsageError

_SINCE = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d(?::\d\d(?::\d\d)?)?)?")
_FOLLOW_SECONDS = 0.5
_TRIES = 5


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "audit",
        help="check and read the chained record of what was done",
        description="Every decision, call, effect and approval is a line in a file a day, chained by hashes, without contents.",
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    verify = actions.add_parser(
        "verify", help="name every line that was changed, removed, moved or put in; exit code 1 if there is one"
    )
    verify.add_argument(
        "path", nargs="?", type=Path, help="a day's file or a folder of them, instead of the store's own"
    )
    verify.add_argument(
        "--head", type=_head, metavar="N:HASH", help="how far the chain must go, instead of what the store says"
    )
    verify.set_defaults(command=verify_command)
    show = actions.add_parser("show", help="all lines, to read")
    show.set_defaults(command=show_command)
    tail = actions.add_parser("tail", help="the last lines, to read")
    tail.add_argument("-n", type=int, default=20, dest="count", help="how many (20)")
    tail.add_argument("-f", "--follow", action="store_true", help="go on with what comes")
    tail.set_defaults(command=tail_command)
    for action in (verify, show, tail):
        action.add_argument("--since", type=_since, default="", metavar="DAY", help="from 2026-11-30 on")
        action.add_argument("--data-dir", type=Path, metavar="DIR", help="folder of the store")
        action.add_argument("--json", action="store_true", dest="as_json", help="for programs")
    for action in (show, tail):
        action.add_argument("--session", default="", metavar="ID", help="only lines of this session")


def _head(text: str) -> Head:
    found = re.fullmatch(r"(\d+):([0-9a-f]{64})", text)
    if found is None:
        raise argparse.ArgumentTypeError("it is a number, a colon and 64 hex digits")
    return Head(n=int(found[1]), hash=found[2])


def _since(text: str) -> str:
    if text and not _SINCE.fullmatch(text):
        raise argparse.ArgumentTypeError("it is a day as 2026-11-30, or a time as 2026-11-30T10:31")
    return text


# ---- verify -----------------------------------------------------------------------------------------------------------------


def verify_command(options: argparse.Namespace) -> int:
    """1 if something is wrong."""
    found = _files_alone(options) if options.path is not None else _with_head(options)
    if options.as_json:
        report = asdict(found.report) | {"head": found.report.head._asdict()}
        print(json.dumps({"sound": found.sound, **report, "known_to": found.known_to, "notes": found.notes}))
        return 0 if found.sound else 1
    for fault in found.report.faults:
        print(neutral(str(fault)))
    if found.report.more:
        print(f"… and {found.report.more} more")
    for note in [*found.notes, *_of_other_stores(found)]:
        print(neutral(note), file=sys.stderr)
    head = found.report.head
    days = f"{found.report.days} day{'s' * (found.report.days != 1)}"
    told = f"{found.report.lines:,} lines in {days}, to n={head.n} {head.hash}"
    if found.sound:
        print(f"sound: {told}; checked against {found.known_to}")
    else:
        print(f"not sound: {told}")
    return 0 if found.sound else 1


def _of_other_stores(found: Found) -> list[str]:
    if len(found.report.openings) < 2:
        return []
    return [
        f"A new store began with n={found.report.openings[-1]}: for the lines before it speaks their chain alone, and no store."
    ]


def _files_alone(options: argparse.Namespace) -> Found:
    path: Path = options.path
    if not path.exists():
        raise UsageError(f"there is no {str(path)!r}")
    paths = day_files(path) if path.is_dir() else [path]
    report = check(_from(paths, options.since), known=options.head, from_start=not options.since)
    notes = [] if options.head else ["Without --head N:HASH, lines that were cut off at the end are not noticed."]
    return Found(report=report, known_to="the given head" if options.head else "nothing but itself", notes=notes)


def _with_head(options: argparse.Namespace) -> Found:
    data_dir, client = _place(options)
    folder = data_dir / "audit"
    for _ in range(_TRIES):
        if options.head is not None:
            known = Known(head=options.head, to="the given head")
        else:
            known = known_to_server(client) if client is not None else known_to_store(data_dir)
        paths = _from(day_files(folder), options.since)
        within = options.head is not None or known.head.day >= options.since[:10]
        report = check(
            paths,
            known=known.head if within else None,
            from_start=not options.since,
            exact=known.exact,
            unfinished=known.unfinished,
        )
        if client is None or report.head.n <= known.head.n:
            break  # else lines have come while they were read
    return known.found(report)


def _place(options: argparse.Namespace) -> tuple[Path, Client | None]:
    """The data folder, and the server that has it open."""
    if options.data_dir is None:
        client = _client.find()
        return (Path(client.info()["data_dir"]), client) if client is not None else (_client.data_dir(), None)
    data_dir = options.data_dir.expanduser()
    if not data_dir.is_dir():
        raise UsageError(f"{str(options.data_dir)!r} is not a folder")
    address = _client.read_address(data_dir / "server.json")
    client = Client(address) if address is not None else None
    try:
        if client is not None:
            client.info()
    except ServerAway:
        client = None
    return data_dir, client


def _from(paths: list[Path], since: str) -> list[Path]:
    return [path for path in paths if path.stem >= since[:10]]


# ---- show and tail ----------------------------------------------------------------------------------------------------------


def show_command(options: argparse.Namespace) -> int:
    printer = _Printer(options)
    for line in lines_of(_from(day_files(_folder(options)), options.since)):
        printer.take(line)
    return 0


def tail_command(options: argparse.Namespace) -> int:
    folder, printer = _folder(options), _Printer(options)
    kept: list[Line] = []
    following = _Following(folder, options.since)
    for line in following.new():
        printer.learn(line)
        if printer.wants(line):
            kept = [*kept, line][-options.count :] if options.count > 0 else []
    for line in kept:
        printer.take(line)
    while options.follow:
        sys.stdout.flush()
        time.sleep(_FOLLOW_SECONDS)
        for line in following.new():
            printer.take(line)
    return 0


def _folder(options: argparse.Namespace) -> Path:
    if options.data_dir is not None:
        folder: Path = options.data_dir.expanduser() / "audit"
    else:
        folder = _place(options)[0] / "audit"
    if not day_files(folder):
        raise UsageError(f"there is no audit in {str(folder)!r}")
    return folder


class _Following:
    """Whole lines, each once, as the files grow."""

    def __init__(self, folder: Path, since: str) -> None:
        self._folder, self._since = folder, since
        self._read: dict[str, int] = {}

    def new(self) -> Iterator[Line]:
        for path in _from(day_files(self._folder), self._since):
            at = self._read.get(path.name, 0)
            if path.stat().st_size <= at:
                continue
            with path.open("rb") as file:
                file.seek(at)
                for raw in file:
                    if not raw.endswith(b"\n"):
                        break
                    at += len(raw)
                    line = read_line(raw[:-1])
                    if line is not None:
                        yield line
            self._read[path.name] = at


class _Printer:
    """Prints the lines that were asked for, with the day where it changes."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._session, self._since, self._as_json = options.session, options.since, options.as_json
        self._words, self._day = Words(), ""

    def wants(self, line: Line) -> bool:
        session: Any = line.fields.get("session", "")
        return line.at >= self._since and (not self._session or str(session).startswith(self._session))

    def learn(self, line: Line) -> None:
        self._words.say(line)

    def take(self, line: Line) -> None:
        said = self._words.say(line)
        if not self.wants(line):
            return
        if self._as_json:
            print(json.dumps(line.fields, ensure_ascii=False))
            return
        if line.at[:10] != self._day:
            self._day = line.at[:10]
            print(f"{self._day} (UTC)")
        print(neutral(said + ("" if line.sound else "   [this line was changed]")))
