"""The static picture of a widget, as text and as HTML, for wherever the widget itself does not run. Pure.

The HTML has no scripts, loads nothing and needs no style sheet: a table that also reads well where its few inline styles are taken
out. Whatever a model or a tool wrote is escaped text in it.
"""

import html
from collections.abc import Iterable, Sequence
from datetime import datetime

from ...livetext import duration, neutral, one_line, state_word
from ...records import JSON

_STATUS = {"pending": "waiting", "in_progress": "running", "completed": "done", "unknown": "may have run"}
_MARKS = {"pending": "·", "in_progress": "▸", "completed": "✓", "failed": "✗", "cancelled": "✗", "unknown": "?"}
_LIMITS = {"rounds": "steps", "tokens": "tokens", "cost": "cost", "changed_lines": "changed lines"}
GIBI = 1024**3
_DETAIL = 2_000


def _escaped(text: str) -> str:
    return html.escape(neutral(text))


def _count(value: float | None) -> str:
    return "?" if value is None else f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"


def _title(session: JSON) -> str:
    return one_line(session["title"], 80) or "(untitled)"


def _heading(session: JSON) -> str:
    return f"{_title(session)} · {state_word(session['state'])}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """``rows`` are HTML; texts in ``head`` are plain."""
    cells = "".join(f'<th style="text-align: left">{_escaped(name)}</th>' for name in head)
    lines = "".join(
        "<tr>" + "".join(f'<td style="text-align: left">{cell}</td>' for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{lines}</tbody></table>"


def _plain_table(rows: list[list[str]]) -> str:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))] if rows else []
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _page(what: str, about: str, body: str) -> str:
    return f"<div><p><strong>{_escaped(what)}</strong> {_escaped(about)}</p>{body}</div>"


# ---- tool calls -------------------------------------------------------------------------------------------------------------


def _seconds(call: JSON) -> str:
    return duration(call["duration"]) if call["duration"] is not None else ""


def _detail(call: JSON) -> str:
    """What the call was about and what came of it, as text."""
    execution: JSON | None = call["execution"]
    arguments: JSON = call["arguments"]
    asked = str(arguments.get("command") or arguments.get("code") or (execution or {}).get("code") or "")
    diffs = [str(change["diff"]) for change in call["files"]]
    return "\n\n".join(text.strip("\n") for text in (asked, *diffs, str(call["result"])) if text.strip())


def calls_text(session: JSON, calls: Sequence[JSON]) -> str:
    rows = [[_MARKS[call["status"]], one_line(call["title"] or call["tool"], 90), _seconds(call)] for call in calls]
    return f"Tool calls of {_heading(session)}\n{_plain_table(rows) or 'none yet'}"


def calls_html(session: JSON, calls: Sequence[JSON]) -> str:
    rows: list[list[str]] = []
    for call in calls:
        title, detail = _escaped(one_line(call["title"] or call["tool"], 160)), _detail(call)
        if detail:
            shown = detail if len(detail) <= _DETAIL else f"{detail[:_DETAIL]}\n…"
            title = f"<details><summary>{title}</summary><pre>{_escaped(shown)}</pre></details>"
        status = str(call["status"])
        rows.append([title, _escaped(_STATUS.get(status, status)), _escaped(_seconds(call))])
    return _page(
        "Tool calls", _heading(session), _table(["call", "state", "time"], rows) if rows else "<p>none yet</p>"
    )


# ---- trace ------------------------------------------------------------------------------------------------------------------


def _between(start: str | None, end: str | None) -> float:
    if not start or not end:
        return 0.0
    return max(0.0, (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())


def shares(turn: JSON) -> dict[str, float]:
    """Seconds in which the model read and wrote, tools ran, and a person was waited for, as far as they are over."""
    steps = [step["timings"] for step in turn["steps"] if step["timings"]]
    reading = sum(min(times["first_token"] or times["total"], times["total"]) for times in steps)
    questions = [call["approval"] for call in turn["items"] if call["approval"]]
    inputs = [each for call in turn["items"] if call["execution"] for each in call["execution"]["inputs"]]
    asked = sum(_between(each["requested_at"], each["answered_at"]) for each in inputs)
    return {
        "model reading": reading,
        "model writing": sum(times["total"] for times in steps) - reading,
        "tools": max(0.0, sum(call["duration"] or 0.0 for call in turn["items"]) - asked),
        "waiting for you": sum(_between(each["requested_at"], each["resolved_at"]) for each in questions) + asked,
    }


def _shares_line(turn: JSON) -> str:
    return " · ".join(f"{name} {duration(seconds)}" for name, seconds in shares(turn).items() if seconds > 0)


def _steps(turn: JSON) -> list[list[str]]:
    rows: list[list[str]] = []
    for step in turn["steps"]:
        usage, times = step["usage"] or {}, step["timings"] or {}
        prompt, cached = usage.get("prompt_tokens"), usage.get("cached_tokens")
        computed = prompt - cached if prompt is not None and cached is not None else None
        first, total = times.get("first_token"), times.get("total")
        calls = [
            one_line(call["title"] or call["tool"], 50) for call in turn["items"] if call["step_id"] == step["step_id"]
        ]
        rows.append(
            [
                str(len(rows) + 1) if step["purpose"] == "act" else str(step["purpose"]),
                _count(prompt),
                _count(cached),
                _count(computed),
                _count(usage.get("completion_tokens")),
                duration(first) if first is not None else "?",
                duration(total) if total is not None else "…",
                ", ".join(calls),
            ]
        )
    return rows


_STEP_HEAD = ["step", "prompt", "cached", "computed", "written", "first token", "in all", "calls"]


def trace_text(session: JSON, turns: Sequence[JSON]) -> str:
    if not turns:
        return f"Trace of {_heading(session)}\nno turn yet"
    turn = turns[-1]
    table = _plain_table([_STEP_HEAD, *_steps(turn)])
    return f"Trace of {_heading(session)}\n{one_line(turn['text'], 90)}\n{_shares_line(turn)}\n{table}"


def trace_html(session: JSON, turns: Sequence[JSON]) -> str:
    if not turns:
        return _page("Trace", _heading(session), "<p>no turn yet</p>")
    turn = turns[-1]
    rows = [[_escaped(cell) for cell in row] for row in _steps(turn)]
    about = f"<p>{_escaped(one_line(turn['text'], 160))}<br>{_escaped(_shares_line(turn))}</p>"
    return _page("Trace", _heading(session), about + _table(_STEP_HEAD, rows))


# ---- budget -----------------------------------------------------------------------------------------------------------------


def _budget_rows(used: Sequence[JSON]) -> list[list[str]]:
    rows = [["", "", "used", "limit"]]
    for each in used:
        if each["used"] is not None or each["limit"] is not None:
            amount = "no price" if each["used"] is None else _count(each["used"])
            limit = "none" if each["limit"] is None else _count(each["limit"])
            rows.append([str(each["of"]), _LIMITS[each["what"]], amount, limit])
    return rows


def budget_text(session: JSON, used: Sequence[JSON]) -> str:
    return f"Budget of {_heading(session)}\n{_plain_table(_budget_rows(used))}"


def budget_html(session: JSON, used: Sequence[JSON]) -> str:
    head, *rows = _budget_rows(used)
    return _page("Budget", _heading(session), _table(head, [[_escaped(cell) for cell in row] for row in rows]))


# ---- GPUs -------------------------------------------------------------------------------------------------------------------


def _gib(size: int | None) -> str:
    return "?" if size is None else f"{size / GIBI:.1f} GiB"


def _gpu_rows(gpus: JSON) -> list[list[str]]:
    rows = [["GPU", "used", "free", "in all", "busy", "who"]]
    for device in gpus["devices"]:
        who = [f"{each['name'] or 'process'} {each['pid']}: {_gib(each['used_bytes'])}" for each in device["processes"]]
        part = "" if device["slice"] is None else f".{device['slice']}"
        rows.append(
            [
                f"{device['index']}{part} {one_line(device['name'], 50)}",
                _gib(device["used_bytes"]),
                _gib(device["free_bytes"]),
                _gib(device["total_bytes"]),
                "?" if device["utilization"] is None else f"{device['utilization']} %",
                ", ".join(who[:8]) or device["problem"],
            ]
        )
    return rows


def vram_text(gpus: JSON) -> str:
    return _plain_table(_gpu_rows(gpus)) if gpus["devices"] else str(gpus["detail"])


def vram_html(gpus: JSON) -> str:
    head, *rows = _gpu_rows(gpus)
    driver = f"driver {gpus['driver']}" if gpus["driver"] else ""
    if not rows:
        return _page("GPU memory", "", f"<p>{_escaped(str(gpus['detail']))}</p>")
    return _page("GPU memory", driver, _table(head, [[_escaped(cell) for cell in row] for row in rows]))
