"""Tab behind ``%pernix`` and ``%%pernix``."""

from collections.abc import Callable

from ...client import Client
from ...errors import ServerError
from .commands import COMMANDS, Here
from .options import LIMITS, OPTIONS
from .words import MODES

TABLES = (
    "events",
    "sessions",
    "turns",
    "steps",
    "tool_calls",
    "executions",
    "approvals",
    "messages",
    "file_changes",
    "cell_changes",
)
_SQL = ("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "DESCRIBE")


def completions(here: Here, line: str) -> list[str]:
    """Words that may stand where the line ends."""
    words = line.split()
    begun = words[1:] if line[-1:].isspace() else words[1:-1]
    if line[:1].isspace():
        return []
    if words[0] == "%%pernix":
        return _after_option(here, begun[-1] if begun else "") or [*OPTIONS, *([] if begun else ["sql"])]
    if not begun:
        return list(COMMANDS)
    return _after_command(here, begun[0])


def _after_option(here: Here, option: str) -> list[str]:
    match option:
        case "--mode":
            return list(MODES)
        case "--session":
            return ["new", *_sessions(here)]
        case "--model" | "--endpoint":
            return _models(here)
        case "--budget":
            return [f"{name}=" for name in LIMITS]
        case "sql":
            return [*_SQL, *TABLES]
        case _:
            return []


def _after_command(here: Here, command: str) -> list[str]:
    match command:
        case "open":
            return ["new", *_sessions(here)]
        case "attach" | "detach" | "stop":
            return _sessions(here)
        case "model":
            return _models(here)
        case "mode":
            return list(MODES)
        case "budget":
            return ["none", *(f"{name}=" for name in LIMITS)]
        case "sql":
            return [*_SQL, *TABLES]
        case _:
            return []


def _sessions(here: Here) -> list[str]:
    return _asked(here, lambda client: [str(one["session_id"]) for one in client.sessions()])


def _models(here: Here) -> list[str]:
    return _asked(here, lambda client: [str(one["name"]) for one in client.endpoints()["endpoints"]])


def _asked(here: Here, names: Callable[[Client], list[str]]) -> list[str]:
    try:
        client = here.found()
        return names(client) if client is not None else []
    except ServerError:
        return []
