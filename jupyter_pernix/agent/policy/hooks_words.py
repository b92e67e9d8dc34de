"""What a hook is told and what it says, in the words that users of other agents know. Pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from ...records import JSON, HookDecision, HookPhase, Mode
from .plain import visible

LONGEST_REASON = 10_000
DENIES = 2
"""The exit code by which a hook denies."""

FAMILIAR: Mapping[str, str] = {
    "run_shell": "Bash",
    "read_file": "Read",
    "write_file": "Write",
    "edit_file": "Edit",
    "edit_notebook": "NotebookEdit",
    "read_notebook": "NotebookRead",
    "list_files": "Glob",
    "search_files": "Grep",
    "delegate": "Task",
}
"""Our name of a tool → the one that is known elsewhere; the others have only ours."""

_FIELDS: Mapping[str, Mapping[str, str]] = {
    "read_file": {"path": "file_path"},
    "write_file": {"path": "file_path"},
    "edit_file": {"path": "file_path", "old_text": "old_string", "new_text": "new_string"},
    "edit_notebook": {"path": "notebook_path", "source": "new_source", "op": "edit_mode"},
    "read_notebook": {"path": "notebook_path"},
    "delegate": {"task": "prompt", "title": "description"},
}
_MODES: Mapping[Mode, str] = {"ask": "default", "plan": "plan", "edit": "acceptEdits", "auto": "auto"}

_KNOWN = frozenset(
    {
        "continue",
        "decision",
        "hookSpecificOutput",
        "reason",
        "stopReason",
        "suppressOutput",
        "systemMessage",
    }
)
_KNOWN_SPECIFIC = frozenset({"additionalContext", "hookEventName", "permissionDecision", "permissionDecisionReason"})
_CHANGES = frozenset({"updatedInput", "updatedMCPToolOutput"})
_ORDER: tuple[HookDecision, ...] = ("deny", "ask", "allow")
_PERMISSIONS: Mapping[str, HookDecision] = {"allow": "allow", "deny": "deny", "ask": "ask"}
_DECISIONS: Mapping[str, HookDecision] = {"approve": "allow", "allow": "allow", "block": "deny", "deny": "deny"}


@dataclass(frozen=True, kw_only=True)
class Said:
    """``reason``: fit to be shown, "" if there is none. ``context``: what the model is to be told besides."""

    decision: HookDecision
    reason: str = ""
    context: str = ""


def names_of(tool: str) -> tuple[str, ...]:
    """The names by which a matcher may mean the tool."""
    return tuple(dict.fromkeys((FAMILIAR.get(tool, tool), tool)))


def told(
    phase: HookPhase,
    *,
    session_id: str,
    cwd: str,
    mode: Mode,
    tool: str,
    arguments: JSON,
    response: JSON | None = None,
) -> bytes:
    """The JSON object on a hook's input. Paths are absolute under the names known elsewhere, and as the model wrote them under ours."""
    body: dict[str, Any] = {
        "session_id": session_id,
        "cwd": cwd,
        "permission_mode": _MODES[mode],
        "pernix_mode": mode,
        "hook_event_name": phase,
        "tool_name": FAMILIAR.get(tool, tool),
        "pernix_tool": tool,
        "tool_input": {**arguments, **_familiar(tool, arguments, cwd)},
    }
    if response is not None:
        body["tool_response"] = response
    return msgspec.json.encode(body) + b"\n"


def _familiar(tool: str, arguments: JSON, cwd: str) -> JSON:
    found: JSON = {}
    for ours, theirs in _FIELDS.get(tool, {}).items():
        if ours in arguments:
            value = arguments[ours]
            is_path = ours == "path" and isinstance(value, str) and not value.startswith(("/", "~"))
            found[theirs] = f"{cwd}/{value}" if is_path else value
    return found


def said(phase: HookPhase, exit_code: int, out: bytes, err: bytes, *, cut: bool) -> Said:
    """What a hook that has ended says. ``cut``: it wrote more to its output than was kept."""
    if exit_code == DENIES:
        return Said(decision="deny", reason=_text(err) or "it gives no reason")
    if exit_code != 0:
        ended = f"it was ended by signal {-exit_code}" if exit_code < 0 else f"it ended with exit code {exit_code}"
        return failed(f"{ended}: {text}" if (text := _text(err)) else ended)
    if not out.lstrip().startswith(b"{"):
        return Said(decision="allow")
    if cut:
        return failed("it answered with more than can be read")
    try:
        return _answered(phase, _object(out))
    except ValueError as exc:
        return failed(f"its answer cannot be understood: {exc}")
    except RecursionError:
        return failed("its answer cannot be understood: it is too deep")


def failed(why: str) -> Said:
    return Said(decision="failed", reason=_short(visible(why)))


def _object(out: bytes) -> dict[str, Any]:
    """:raises ValueError: if it is no JSON object, or says one thing twice"""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key stands there twice")
        return found

    return json.loads(out.decode("utf-8"), object_pairs_hook=once)


def _answered(phase: HookPhase, given: dict[str, Any]) -> Said:
    """:raises ValueError: if anything in it is not known"""
    inner = _inner(given)
    strange = [
        *(key for key in given if key not in _KNOWN),
        *(key for key in inner if key not in _KNOWN_SPECIFIC | _CHANGES),
    ]
    if strange:
        raise ValueError(f"{strange[0][:100]!r} is not known")
    if inner.get("hookEventName", phase) != phase:
        raise ValueError(f"it is about {str(inner['hookEventName'])[:100]!r}, not {phase}")
    if _CHANGES & inner.keys():
        raise ValueError("it wants to change the call, which is not possible here")
    reason = _word(inner, "permissionDecisionReason") or _word(given, "reason")
    context = _short(visible(_word(inner, "additionalContext")))
    decisions: list[HookDecision] = [
        "allow",
        *_decision(inner, "permissionDecision", _PERMISSIONS),
        *_decision(given, "decision", _DECISIONS),
    ]
    goes_on = given.get("continue", True)
    if not isinstance(goes_on, bool):
        raise ValueError("continue is neither true nor false")
    if not goes_on:
        decisions.append("deny")
        reason = reason or _word(given, "stopReason")
    strictest = min(decisions, key=_ORDER.index)
    if strictest != "allow":
        reason = reason or "it gives no reason"
    return Said(decision=strictest, reason=_short(visible(reason)), context=context)


def _inner(given: dict[str, Any]) -> dict[str, Any]:
    try:
        return msgspec.convert(given.get("hookSpecificOutput", {}), dict[str, Any])
    except msgspec.ValidationError as exc:
        raise ValueError("hookSpecificOutput is no object") from exc


def _decision(given: dict[str, Any], key: str, known: Mapping[str, HookDecision]) -> list[HookDecision]:
    if key not in given:
        return []
    word = given[key]
    if not isinstance(word, str) or word not in known:
        raise ValueError(f"{key} is {str(word)[:100]!r}")
    return [known[word]]


def _word(given: dict[str, Any], key: str) -> str:
    text = given.get(key, "")
    if not isinstance(text, str):
        raise ValueError(f"{key} is no text")
    return text


def _text(raw: bytes) -> str:
    return _short(visible(raw.decode("utf-8", errors="replace").strip()))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 1] + "…"
