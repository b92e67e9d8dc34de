"""What the scripted model does: the model server loads this file (``--program …/jobs.py:decide``), so it needs nothing but the standard library.

A job is chosen by words of the last user message; which of its turns comes next depends on how often the assistant has spoken since.
"""

import json
from pathlib import Path
from typing import Any

MAIN_REQUEST = (
    "Find why this CSV import drops the last row. Fix it, add a regression test, then plot the monthly totals."
)
ANSWER_MARK = "The last row is back."
PICTURE_MARK = "48 months"


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


REGRESSION_TEST = """

def test_a_last_line_without_a_newline_is_kept():
    assert list(split_lines(["a\\nb"])) == ["a\\n", "b"]
"""

LOAD_CODE = """
from csv_import import monthly_totals, read_readings

readings = read_readings("data/seattle-weather.csv")
totals = monthly_totals(readings)
print(len(readings), "readings,", len(totals), "months")
""".strip()

PLOT_CODE = """
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(8, 3))
axes.bar(range(len(totals)), list(totals.values()))
axes.set(title="Rain in Seattle by month", ylabel="mm")
plt.show()
""".strip()

WETTEST_CODE = """
wettest = weather.groupby(weather["date"].dt.month)["precipitation"].mean().round(2)
axes = wettest.plot.bar()
""".strip()

ANSWER = f"""{ANSWER_MARK} `split_lines` kept the text behind the last newline and never gave it out.

- **Fix:** it now gives out the rest at the end (`csv_import/lines.py`).
- **Test:** `test_a_last_line_without_a_newline_is_kept`.

| month | mm |
|---|---|
| 2012-01 | 173.3 |

```python
totals["2012-01"]
```
"""

MAIN_JOB: list[dict[str, Any]] = [
    {"text": "I look at the project first.", "tool_calls": [call("list_files", path=".")]},
    {
        "tool_calls": [
            call("read_file", path="csv_import/lines.py"),
            call("read_file", path="tests/test_lines.py"),
        ]
    },
    {"text": "Now the failing test.", "tool_calls": [call("run_shell", command="python -m pytest -q")]},
    {
        "text": "The remainder after the last newline is never given out.",
        "tool_calls": [
            call(
                "edit_file",
                path="csv_import/lines.py",
                old_text='            yield line + "\\n"\n',
                new_text='            yield line + "\\n"\n    if rest:\n        yield rest\n',
            )
        ],
    },
    {
        "tool_calls": [
            call(
                "edit_file",
                path="tests/test_lines.py",
                old_text='    assert list(split_lines(read_blocks(io.StringIO("")))) == []\n',
                new_text='    assert list(split_lines(read_blocks(io.StringIO("")))) == []\n' + REGRESSION_TEST,
            )
        ]
    },
    {"text": "Once more, with the fix.", "tool_calls": [call("run_shell", command="python -m pytest -q")]},
    {"tool_calls": [call("run_code", code=LOAD_CODE)]},
    {"text": "And the plot.", "tool_calls": [call("run_code", code=PLOT_CODE)]},
    {"text": ANSWER},
]

HOSTILE_REQUEST = "Say and do the hostile things"
HOSTILE_END = "That was all of it."


def hostile_payloads() -> list[dict[str, Any]]:
    """Texts that would run script or fetch from elsewhere if they became live: each calls ``__xss`` or names canary.invalid."""
    cases = Path(__file__).parents[1] / "cases" / "xss.json"
    return json.loads(cases.read_text(encoding="utf-8"))["payloads"]


def hostile_code(payloads: list[dict[str, Any]]) -> str:
    """Code that shows the payloads as outputs of their types, prints them, and ends in an error that carries one."""
    bundles = [(p["kind"].removeprefix("output:"), p["payload"]) for p in payloads if p["kind"].startswith("output:")]
    shown = [{kind: json.loads(text) if kind.endswith("json") else text} for kind, text in bundles]
    printed = [p["payload"] for p in payloads if p["kind"] == "ansi"]
    return (
        "import json\nfrom IPython.display import display\n"
        f"for bundle in json.loads({json.dumps(shown)!r}):\n    display(bundle, raw=True)\n"
        f"for text in json.loads({json.dumps(printed)!r}):\n    print(text)\n"
        f"raise RuntimeError({printed[0]!r} + '<img src=x onerror=__xss(900)>')"
    )


def hostile_job() -> list[dict[str, Any]]:
    payloads = hostile_payloads()
    texts = [p["payload"] for p in payloads if p["kind"] in ("html", "markdown", "latex", "exfil", "spoof")]
    names = [p["payload"] for p in payloads if p["kind"] == "name" and "\0" not in p["payload"]]
    turns: list[dict[str, Any]] = []
    # Few texts a message, so that one that is never closed does not hide the others.
    for start in range(0, len(texts), 6):
        name = names[len(turns) % len(names)]
        turns.append(
            {
                "text": "\n\n".join(texts[start : start + 6]),
                "tool_calls": [call("write_file", path=f"{name}.txt", content="\n".join(texts[start : start + 6]))],
            }
        )
    turns.append({"tool_calls": [call("list_files", path="."), call("run_code", code=hostile_code(payloads))]})
    turns.append({"text": f"{HOSTILE_END}\n\n" + "\n\n".join(texts[-6:])})
    return turns


LONG_TEXT = " ".join(f"word{number}" for number in range(400))

JOBS: dict[str, list[dict[str, Any]]] = {
    MAIN_REQUEST: MAIN_JOB,
    "Sleep in the kernel": [
        {
            "text": "It will take a while.",
            "tool_calls": [call("run_code", code="import time\nprint('asleep')\ntime.sleep(600)")],
        },
        {"text": "It is over."},
    ],
    "Tell a long story": [{"text": LONG_TEXT, "chunk_chars": 6, "tps": 60}],
    HOSTILE_REQUEST: hostile_job(),
    "Which month of the year is the wettest": [
        {"text": "I average the rain by month.", "tool_calls": [call("run_code", code=WETTEST_CODE)]},
        {"text": "**November** and **December** are the wettest; the means are in `wettest`."},
    ],
    "Say hello": [{"text": "Hello from the scripted model."}],
}


def text_of(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(str(part.get("text", "")) for part in content)


def decide(request: Any, answer_rate: str = "0") -> dict[str, Any]:
    """``answer_rate``: chunks a second of the last turn of a job, 0 = at once."""
    messages: list[dict[str, Any]] = request.messages
    asked = max((i for i, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    text = text_of(messages[asked]) if asked >= 0 else ""
    spoken = sum(message.get("role") == "assistant" for message in messages[asked + 1 :])
    for words, turns in JOBS.items():
        if words in text:
            turn = turns[min(spoken, len(turns) - 1)]
            return turn if turn.get("tool_calls") else {"tps": float(answer_rate), **turn}
    return {"text": f"echo: {text}"}
