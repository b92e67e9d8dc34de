"""A line of the audit as a person reads it. Pure."""

from collections.abc import Callable
from typing import Any

from ..audit import BREAK_FOUND, OPENED, SWITCHED_OFF, SWITCHED_ON, Line

JSON = dict[str, Any]

_CHOICES = {
    "allow_once": "allowed once",
    "allow_session": "allowed for the session",
    "allow_always": "allowed always",
    "reject_once": "declined",
    "reject_always": "declined always",
}
_VERDICTS = {"allow": "allowed", "ask": "asked", "refuse": "refused"}


class Words:
    """Says lines, one after the other; it remembers which tool a call is of."""

    def __init__(self) -> None:
        self._tools: dict[str, str] = {}

    def say(self, line: Line) -> str:
        """``10:31:02 ses_… run_shell asked (rule mode:edit:shell)``"""
        fields = line.fields
        call = str(fields.get("call", ""))
        if line.kind == "tool_call.requested":
            self._tools[call] = str(fields.get("tool", "?"))
        tool = self._tools.get(call, call)
        say = _WORDS.get(line.kind)
        told = say(fields) if say is not None else line.kind
        parts = [line.at[11:19], str(fields.get("session", "")), tool, told]
        return " ".join(part for part in parts if part)


def _rules(fields: JSON) -> str:
    rules = fields.get("rules")
    if not isinstance(rules, list) or not rules:
        return ""
    texts = [repr(str(one)) for one in rules]  # type: ignore[misc]
    return f" (rule{'s' * (len(texts) > 1)} {', '.join(texts)})"


def _denying(fields: JSON) -> str:
    return (" (it denies)" if fields.get("deny") else "") + (" for all spaces" if fields.get("everywhere") else "")


def _configured(fields: JSON) -> str:
    names = ("mode", "endpoint", "kernel", "budget", "sandbox", "network")
    changed = [f"{name} is {_value(fields[name])}" for name in names if name in fields]
    return "settings: " + (", ".join(changed) or "unchanged")


def _value(value: Any) -> str:
    return {True: "on", False: "off"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _decided(fields: JSON) -> str:
    verdict = _VERDICTS.get(str(fields.get("verdict")), str(fields.get("verdict")))
    return f"{verdict} (rule {str(fields.get('rule', ''))!r}, mode {fields.get('mode')})"


def _resolved(fields: JSON) -> str:
    choice = _CHOICES.get(str(fields.get("choice")), str(fields.get("choice")))
    return f"asked → {choice} by {fields.get('by')}{_rules(fields)}"


def _path(fields: JSON) -> str:
    return str(fields.get("path", "?"))


def _file(fields: JSON) -> str:
    before, after = fields.get("before"), fields.get("after")
    did = "created" if before is None else "deleted" if after is None else "changed"
    lines = f" (+{fields.get('added_lines', 0)} −{fields.get('removed_lines', 0)})" if after is not None else ""
    return f"{did} {_path(fields)}{lines}"


def _cell(fields: JSON) -> str:
    return f"is about to {fields.get('op')} cell {fields.get('cell')} of {fields.get('notebook')}"


def _submitted(fields: JSON) -> str:
    nobody = "" if fields.get("can_ask", True) else "; nobody can be asked"
    return f"a message of {fields.get('text_bytes', 0)} bytes from {fields.get('origin')}{nobody}"


def _took(fields: JSON) -> str:
    return f" after {fields['seconds']:.1f} s" if isinstance(fields.get("seconds"), int | float) else ""


_WORDS: dict[str, Callable[[JSON], str]] = {
    OPENED: lambda f: f"the audit of store {f.get('store')} begins",
    SWITCHED_OFF: lambda f: "the audit was switched off",
    SWITCHED_ON: lambda f: (
        f"the audit was switched on again; events {f.get('seq_before')} to {f.get('seq_now')} are not in it"
    ),
    BREAK_FOUND: lambda f: f"the server found the files changed: {f.get('found')}",
    "rule.saved": lambda f: f"rule {str(f.get('rule'))!r} saved by {f.get('by')}" + _denying(f),
    "rule.removed": lambda f: f"rule {str(f.get('rule'))!r} removed by {f.get('by')}" + _denying(f),
    "consent.given": lambda f: f"command {str(f.get('digest'))[:16]} of the folder may be started, says {f.get('by')}",
    "consent.taken": lambda f: (
        f"command {str(f.get('digest'))[:16]} of the folder may not be started, says {f.get('by')}"
    ),
    "endpoint.added": lambda f: f"endpoint {f.get('endpoint')} added by {f.get('by')}",
    "endpoint.removed": lambda f: f"endpoint {f.get('endpoint')} removed by {f.get('by')}",
    "endpoint.chosen": lambda f: f"endpoint {f.get('endpoint')} made the default by {f.get('by')}",
    "session.created": lambda f: f"session created from {f.get('origin')}, mode {f.get('mode')}",
    "session.configured": _configured,
    "session.archived": lambda f: "archived" if f.get("archived") else "taken out of the archive",
    "session.attached": lambda f: f"attached to {f.get('notebook')}, kernel {f.get('kernel_id')}",
    "session.detached": lambda f: "detached from its notebook",
    "turn.submitted": _submitted,
    "turn.edited": lambda f: "a message that waited was changed",
    "turn.started": lambda f: f"turn started, mode {f.get('mode')}, model {f.get('model')} of {f.get('endpoint')}",
    "turn.resumed": lambda f: "turn goes on after a restart of the server",
    "turn.finished": lambda f: f"turn finished: {f.get('code')}",
    "step.fallback_taken": lambda f: f"endpoint {f.get('failed_endpoint')} failed, {f.get('endpoint')} took over",
    "instructions.read": lambda f: f"instructions {f.get('name')} read",
    "tool_call.requested": lambda f: f"requested, {f.get('arguments_bytes', 0)} bytes of arguments",
    "tool_call.started": lambda f: "started",
    "tool_call.finished": lambda f: f"{f.get('status')}{_took(f)}",
    "policy.decided": _decided,
    "approval.requested": lambda f: f"waits for an answer{_rules(f)}",
    "approval.resolved": _resolved,
    "hook.ended": lambda f: f"hook {f.get('phase')} says {f.get('decision')} (exit code {f.get('exit_code')})",
    "execution.started": lambda f: f"runs {f.get('code_bytes', 0)} bytes of code in {f.get('kernel') or 'a kernel'}",
    "execution.finished": lambda f: f"code ended: {f.get('status')}{_took(f)}",
    "input.requested": lambda f: "code asks for a password" if f.get("password") else "code asks for a line",
    "input.answered": lambda f: f"answered by {f.get('by')}",
    "kernel.restarted": lambda f: f"kernel {f.get('kernel')} was restarted",
    "cell.change_requested": _cell,
    "cell.changed": lambda f: f"cell changed by way of {f.get('owner')}",
    "cell.change_refused": lambda f: "the cell could not be changed",
    "cell.change_resolved": lambda f: f"change of a cell: {f.get('decision')} by {f.get('by')}",
    "file.changed": _file,
    "files.kept": lambda f: f"what the files were is kept ({f.get('how')})",
    "files.undo_requested": lambda f: f"undo of {len(f.get('paths', []))} files by {f.get('by')}",
    "file.restored": lambda f: f"{_path(f)} was put back",
    "file.restore_refused": lambda f: f"{_path(f)} could not be put back",
    "worker.spawned": lambda f: f"handed to worker {f.get('worker')}",
    "worker.reported": lambda f: f"worker {f.get('worker')} ended: {f.get('code')}",
}
