"""A model that does what the message says: the model server loads this file (``--program …/orders.py:decide``), so it needs nothing but the
standard library.

Each line of the last message with orders is one step: ``shell LINE``, ``code LINE``, ``write PATH TEXT``, ``edit PATH OLD=>NEW`` (read first); all
lines ``part ORDER`` together are one step, each handed to a worker.
"""

import re
from typing import Any

ORDER = re.compile(r"^(shell|code|write|edit|part) (.+)$", re.MULTILINE)
DONE = "That is all."


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def carried_out(verb: str, rest: str) -> list[dict[str, Any]]:
    match verb:
        case "shell":
            return [call("run_shell", command=rest)]
        case "code":
            return [call("run_code", code=rest)]
        case "write":
            path, _, text = rest.partition(" ")
            return [call("write_file", path=path, content=text + "\n")]
        case "edit":
            path, _, change = rest.partition(" ")
            old, _, new = change.partition("=>")
            return [call("read_file", path=path), call("edit_file", path=path, old_text=old, new_text=new)]
        case _:
            return [call("delegate", title=f"Part: {rest}", task=rest)]


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)


def decide(request: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = request.messages
    orders: list[tuple[str, str]] = []
    asked = -1
    for index, message in enumerate(messages):
        found = ORDER.findall(text_of(message)) if message.get("role") == "user" else []
        if found:
            asked, orders = index, found
    steps = [carried_out(*order) for order in orders if order[0] != "part"]
    parts = [call for order in orders if order[0] == "part" for call in carried_out(*order)]
    steps = [*([parts] if parts else []), *steps]
    spoken = sum(message.get("role") == "assistant" for message in messages[asked + 1 :])
    return {"tool_calls": steps[spoken]} if spoken < len(steps) else {"text": DONE}
