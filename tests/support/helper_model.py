"""What the scripted model of the background role says: a plan, a title, a summary, and the part of a worker. Loaded by the model server."""

import json
from typing import Any

PLAN = {
    "approach": "Look at the prices before anything is changed, then mend the sum and prove it.",
    "steps": ["Read the data", "Mend the sum", "Run the tests"],
    "tools": ["read_file", "edit_file", "run_shell"],
}
TITLE = "Sum of the prices"
SUMMARY = "The user asked for long stories about prices; three were told."
PART = [
    {"text": "I look.", "tool_calls": [{"name": "run_code", "arguments": {"code": "print('part done')"}}]},
    {"text": "The part is **done**."},
]


def decide(request: Any) -> dict[str, Any]:
    system = str(request.messages[0].get("content", ""))
    if "You plan the work" in system:
        return {"text": json.dumps(PLAN)}
    if request.tools:
        spoken = sum(message.get("role") == "assistant" for message in request.messages)
        return PART[min(spoken, len(PART) - 1)]
    return {"text": TITLE if "title" in system.lower() else SUMMARY}
