"""What stands behind ``%pernix``: one function for each word, which gives the text to print or an object to show."""

from collections.abc import Callable
from typing import Any, Protocol
from urllib.parse import quote

from ...client import JSON, Client
from ...livetext import one_line, state_word
from .notebook import notebook_path, own_kernel_id
from .options import Wishes, budget_of
from .table import result_table
from .turn import CellFailed
from .undo import undone
from .words import HELP, MODES

ROWS = 10_000


class Here(Protocol):
    """The kernel's side, as the commands know it. ``session_id`` "": its cells have no session yet. ``wishes``: for when they get one."""

    session_id: str
    wishes: Wishes

    def connected(self) -> Client:
        """:raises ServerError: if there is no server and none can be started"""
        ...

    def found(self) -> Client | None:
        """The server that is there."""
        ...

    def fix(self, more: str) -> Any: ...


# ---- the words --------------------------------------------------------------------------------------------------------------


def status(here: Here, text: str) -> str:
    client = here.found()
    if client is None:
        return "No Jupyter server with jupyter_pernix is running; the next %%pernix cell starts one."
    info = client.info()
    lines = [f"server: {client.address.url}, root {info.get('server_root') or client.address.root}"]
    lines += [f"endpoint: {_endpoint(one)}" for one in client.endpoints()["endpoints"]]
    if not here.session_id:
        return "\n".join([*lines, "session: none yet; the next %%pernix cell makes one"])
    view = client.session(here.session_id)
    title = view["title"] or "(untitled)"
    lines.append(f"session: {here.session_id}, {state_word(view['state'])}, mode {view['mode']}, {title}")
    lines.append(f"notebook: {view['record_path']}")
    return "\n".join(lines)


def sessions(here: Here, text: str) -> str:
    lines = [
        f"{'*' if one['session_id'] == here.session_id else ' '} {one['session_id']}  {state_word(one['state'])}  "
        f"{one_line(one['title'], 70) or '(untitled)'}"
        for one in here.connected().sessions()
    ]
    return "\n".join(lines) or "There are no sessions yet."


def open_(here: Here, text: str) -> str:
    if not text:
        raise CellFailed("name the session: %pernix open ID; %pernix sessions lists them, %pernix open new begins one")
    if text == "new":
        here.session_id = ""
        return "the next %%pernix cell begins a new session"
    client = here.connected()
    view = client.session(full_id(client, text))
    check_not_busy_here(view)
    here.session_id = view["session_id"]
    where = "" if view["place"] == "in_cell" else "; its code runs in a kernel of its own, not in this one"
    return f"the next %%pernix cell goes on with {view['title'] or '(untitled)'}{where}; notebook {view['record_path']}"


def attach(here: Here, text: str) -> str:
    client = here.connected()
    path = notebook_path(client)
    if not path:
        raise CellFailed("this kernel does not know its notebook; attach a session in the Pernix panel instead")
    if text:
        session_id = full_id(client, text)
        client.request("POST", f"/sessions/{quote(session_id, safe='')}/notebook", {"path": path})
    else:
        session_id = client.create_session(notebook=path, **given(here.wishes))["session_id"]
    return (
        f"session {session_id} works in {path} now: it can read, edit and run its cells, in this kernel. "
        "Ask it in the Pernix panel; %%pernix cells keep a session of their own."
    )


def detach(here: Here, text: str) -> str:
    if not text:
        raise CellFailed("name the session: %pernix detach ID; %pernix sessions lists them")
    client = here.connected()
    session_id = full_id(client, text)
    client.request("DELETE", f"/sessions/{quote(session_id, safe='')}/notebook")
    return f"session {session_id} is no longer attached to a notebook"


def stop(here: Here, text: str) -> str:
    if not here.session_id and not text:
        return "this kernel has no session yet"
    client = here.connected()
    session_id = full_id(client, text) if text else here.session_id
    open_turns = [turn for turn in client.session(session_id)["turns"] if turn["code"] is None]
    for turn in open_turns:
        client.cancel(session_id, turn["turn_id"])
    return "stopping" if open_turns else "nothing is running in this session"


def model(here: Here, text: str) -> str:
    client = here.connected()
    if not text:
        current = client.session(here.session_id)["endpoint"] if here.session_id else here.wishes.model
        lines = [
            f"{'*' if one['name'] == current else ' '} {_endpoint(one)}" for one in client.endpoints()["endpoints"]
        ]
        return (
            "\n".join(lines)
            or "There are no endpoints yet; add one in the Pernix panel or with: jupyter pernix endpoints add"
        )
    name = endpoint_of(client, text)
    here.wishes.model = name
    if here.session_id:
        client.change_session(here.session_id, endpoint=name)
    return f"{_of_session(here)} answers with {name}"


def mode(here: Here, text: str) -> str:
    if not text:
        client = here.connected()
        now = client.session(here.session_id)["mode"] if here.session_id else here.wishes.mode or "that of the settings"
        return f"mode: {now}; there is {', '.join(MODES)}"
    if text not in MODES:
        raise CellFailed(f"{text!r} is no mode; there is {', '.join(MODES)}")
    here.wishes.mode = text
    if here.session_id:
        here.connected().change_session(here.session_id, mode=text)
    return f"{_of_session(here)} works in the mode {text}"


def budget(here: Here, text: str) -> str:
    if text:
        wanted = {
            "rounds": None,
            "seconds": None,
            **(budget_of(text.replace(",", " ").split()) if text != "none" else {}),
        }
        here.wishes.budget = wanted
        if here.session_id:
            here.connected().change_session(here.session_id, budget=wanted)
        return f"{_of_session(here)} may use {limits(wanted)}, over all its questions"
    if not here.session_id:
        return f"limits of the next session: {limits(here.wishes.budget or {})}, over all its questions"
    view = here.connected().session(here.session_id)
    turns = [turn for turn in view["turns"] if turn.get("usage")]
    tokens = sum((turn["usage"].get(key) or 0) for turn in turns for key in ("prompt_tokens", "completion_tokens"))
    rounds = sum(len(turn["steps"]) for turn in view["turns"])
    return f"limits: {limits(view.get('budget') or {})}; used: {rounds} rounds, {tokens:,} tokens"


def undo(here: Here, text: str) -> str:
    if not here.session_id:
        return "this kernel has no session yet; there is nothing to undo"
    return undone(here.connected(), here.session_id)


def sql(here: Here, text: str) -> Any:
    """A DataFrame, or a ``Table`` where pandas is not installed."""
    if not text.strip():
        raise CellFailed(
            "write a query, e.g. %pernix sql SELECT tool, count(*) FROM tool_calls GROUP BY tool; FROM information_schema.tables lists what there is"
        )
    return result_table(here.connected().request("POST", "/sql", {"query": text, "limit": ROWS}))


def fix(here: Here, text: str) -> Any:
    return here.fix(text)


def help_(here: Here, text: str) -> str:
    return HELP


COMMANDS: dict[str, Callable[[Here, str], Any]] = {
    "status": status,
    "sessions": sessions,
    "open": open_,
    "attach": attach,
    "detach": detach,
    "stop": stop,
    "model": model,
    "mode": mode,
    "budget": budget,
    "undo": undo,
    "fix": fix,
    "sql": sql,
    "help": help_,
}
"""The same words as in ``words.WORDS``."""


# ---- what several need ------------------------------------------------------------------------------------------------------


def full_id(client: Client, given: str) -> str:
    """The one session whose id begins so; ``given`` itself if there is none or more than one, for the server to say so."""
    matches = [one["session_id"] for one in client.sessions("all") if one["session_id"].startswith(given)]
    return matches[0] if len(matches) == 1 else given


def check_not_busy_here(view: JSON) -> None:
    """:raises CellFailed: if the session's code would wait for the very cell that asks"""
    notebook = view.get("notebook") or {}
    if view.get("place") == "attached" and notebook.get("kernel_id") == own_kernel_id():
        raise CellFailed(
            f"the code of {view['session_id']} runs in this kernel, which is busy with the cell that asks; "
            "ask it in the Pernix panel, or ask here with --new"
        )


def endpoint_of(client: Client, given: str) -> str:
    """The endpoint that is called so, or that serves the model that is.

    :raises CellFailed: if there is none
    """
    endpoints = client.endpoints()["endpoints"]
    for key in ("name", "model"):
        for one in endpoints:
            if one[key] == given:
                return str(one["name"])
    there = ", ".join(f"{one['name']} ({one['model'] or 'no model yet'})" for one in endpoints) or "none yet"
    raise CellFailed(f"there is no endpoint or model {given!r}; there is: {there}")


def given(wishes: Wishes) -> JSON:
    """For ``create_session``."""
    fields = {"mode": wishes.mode, "endpoint": wishes.model, "budget": wishes.budget}
    return {name: value for name, value in fields.items() if value is not None}


def limits(budget: JSON) -> str:
    words = {
        "rounds": "rounds",
        "tokens": "tokens",
        "seconds": "seconds",
        "cost": "of cost",
        "changed_lines": "changed lines",
    }
    return (
        ", ".join(f"{budget[key]:g} {word}" for key, word in words.items() if budget.get(key) is not None)
        or "no limits"
    )


def _endpoint(one: JSON) -> str:
    return f"{one['name']}, {one['model'] or 'no model yet'}, {one['status']}{' (default)' if one['default'] else ''}"


def _of_session(here: Here) -> str:
    return "the session" if here.session_id else "the next session"
