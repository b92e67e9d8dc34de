"""What the scripted model of ``sessions.py`` says: a turn of four calls and an answer, each written as fast as a model on one GPU
writes for many. A message with the word ``quick`` is answered at once; one with ``kernel`` runs code too."""

import random
from typing import Any

FIRST_TOKEN_MS = 100, 400
TOKENS_A_SECOND = 20, 40
"""Between these, another for each request, so that fifty sessions do not march in step."""

_WORDS = "The numbers of the first file are read and added up, then they are set beside those of the second one. "


def decide(req: Any) -> dict[str, Any]:
    last = max(place for place, one in enumerate(req.messages) if one["role"] == "user")
    text = str(req.messages[last]["content"])
    step = sum(one["role"] == "assistant" for one in req.messages[last:])
    if "quick" in text:
        return {"text": "Done. " + _WORDS}
    calls = [
        {"name": "list_files", "arguments": {}},
        {"name": "read_file", "arguments": {"path": "numbers.txt"}},
        {"name": "run_shell", "arguments": {"command": "wc -l numbers.txt"}},
        {"name": "run_code", "arguments": {"code": "for n in range(20): print(n)"}}
        if "kernel" in text
        else {"name": "read_file", "arguments": {"path": "more.txt"}},
    ]
    chance = random.Random(f"{text} {step}")
    pace = {
        "tps": chance.uniform(*TOKENS_A_SECOND),
        "first_token_ms": chance.uniform(*FIRST_TOKEN_MS),
        "chunk_chars": 4,
    }
    if step < len(calls):
        return {"text": _WORDS, "tool_calls": [calls[step]], **pace}
    return {"text": _WORDS * 2, **pace}
