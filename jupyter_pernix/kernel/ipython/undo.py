"""``%pernix undo``: what the last question changed in notebooks and files is taken back, and what was done besides is said."""

from collections.abc import Iterator
from urllib.parse import quote

from ...client import JSON, Client
from ...errors import RequestFailed


def undone(client: Client, session_id: str) -> str:
    """What was taken back and what was not, in words."""
    turn = next((turn for turn in reversed(client.session(session_id)["turns"]) if turn["started_at"]), None)
    if turn is None:
        return "nothing was asked in this session yet; there is nothing to undo"
    if turn["code"] is None:
        return "the last question is still at work; stop it first: %pernix stop"
    calls = [item for item in turn["items"] if item["type"] == "call"]
    taken_back = _take_back(client, session_id, turn["turn_id"]) if any(call.get("cells") for call in calls) else []
    files = _put_back(client, session_id, turn["turn_id"], calls)
    said = [*taken_back, *files] or ["no cells of notebooks and no files were changed by the last question"]
    return "\n".join([*said, *_left(calls)])


def _put_back(client: Client, session_id: str, turn_id: str, calls: list[JSON]) -> list[str]:
    """Of the files that were changed by name; what commands did is only said."""
    paths = dict.fromkeys(change["path"] for call in calls for change in call.get("files") or [])
    if not paths:
        return []
    try:
        done = client.undo_files(session_id, turn_id=turn_id, paths=[*paths])
    except RequestFailed as exc:
        return [f"the changes of files could not be undone: {exc}"]
    return [f"{one['path']}: {f'not put back: {reason}' if (reason := one['reason']) else 'put back'}" for one in done]


def _take_back(client: Client, session_id: str, turn_id: str) -> list[str]:
    path = f"/sessions/{quote(session_id, safe='')}/turns/{quote(turn_id, safe='')}/changes"
    try:
        changes: list[JSON] = client.request("POST", path, {"decision": "undo"})
    except RequestFailed as exc:
        return [f"the changes of cells could not be undone: {exc}"]
    return [_change(change) for change in changes]


def _change(view: JSON) -> str:
    change, detail = view["change"], view.get("detail") or ""
    words = {"undone": "undone", "refused": "was never made", "kept": "stays, you kept it"}
    state = words.get(view["status"], f"not undone ({view['status']})")
    return f"{change['path']}, cell {change['cell_id']}, {change['op']}: {state}{f'; {detail}' if detail else ''}"


def _left(calls: list[JSON]) -> Iterator[str]:
    ran = sum(1 for call in calls if call.get("execution"))
    if ran:
        yield f"not undone: what {ran} {'piece' if ran == 1 else 'pieces'} of code did, e.g. to variables; restart the kernel to be rid of it"
    shell = sum(1 for call in calls if call["tool"] == "run_shell" and call["status"] == "completed")
    if shell:
        yield f"not undone: what {shell} shell {'command' if shell == 1 else 'commands'} did"
