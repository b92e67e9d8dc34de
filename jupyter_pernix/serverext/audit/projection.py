"""Events of the log → lines of the audit: ids, names, sizes and digests, never a prompt, an argument, a content or a secret. Pure.

The same event gives the same line whenever it is read, so lines that were lost in a crash come back as they were. Each tag is either in
``KINDS`` or in ``LEFT_OUT``; a line's ``kind`` is the event's tag.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from .guards import Digests

JSON = dict[str, Any]
Facts = Callable[[JSON, Digests], JSON]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _size(value: Any) -> int:
    return len(value.encode("utf-8", "replace")) if isinstance(value, str) else 0


def _text(name: str, value: Any, digests: Digests) -> JSON:
    """How long a text is, and its digest."""
    return {f"{name}_bytes": _size(value), name: digests.of(value)} if isinstance(value, str) and value else {}


def _number(value: Any) -> Any:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _flag(value: Any) -> Any:
    return value if isinstance(value, bool) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []  # type: ignore[return-value]


def _count(value: Any) -> int | None:
    return len(value) if isinstance(value, list | dict) and value else None  # type: ignore[arg-type]


def _budget(value: Any) -> JSON | None:
    return {str(name): _number(limit) for name, limit in value.items()} if isinstance(value, dict) else None  # type: ignore[misc]


def _session_created(event: JSON, digests: Digests) -> JSON:
    return {
        "mode": digests.word(event.get("mode")),
        "endpoint": digests.word(event.get("endpoint")),
        "kernel": digests.word(event.get("kernel_name")),
        "place": digests.word(event.get("place")),
        "origin": digests.word(event.get("origin")),
        "space": digests.path(event.get("space_root")),
        "budget": _budget(event.get("budget")),
        "parent": digests.id(event.get("parent")),
        "sandbox": _flag(event.get("sandbox")),
        "network": _flag(event.get("network")),
    }


def _session_configured(event: JSON, digests: Digests) -> JSON:
    return {
        "mode": digests.word(event.get("mode")),
        "endpoint": digests.word(event.get("endpoint")),
        "kernel": digests.word(event.get("kernel_name")),
        "budget": _budget(event.get("budget")),
        "sandbox": _flag(event.get("sandbox")),
        "network": _flag(event.get("network")),
    }


def _turn_started(event: JSON, digests: Digests) -> JSON:
    return {
        "mode": digests.word(event.get("mode")),
        "endpoint": digests.word(event.get("endpoint")),
        "model": digests.word(event.get("model")),
        "budget": _budget(event.get("budget")),
    }


def _turn_finished(event: JSON, digests: Digests) -> JSON:
    usage = event.get("usage")
    tokens: JSON = usage if isinstance(usage, dict) else {}
    return {
        "code": digests.word(event.get("code")),
        "prompt_tokens": _number(tokens.get("prompt_tokens")),
        "completion_tokens": _number(tokens.get("completion_tokens")),
        "cost": _number(event.get("cost")),
    }


def _call_requested(event: JSON, digests: Digests) -> JSON:
    raw = event.get("raw")
    arguments = raw if isinstance(raw, str) and raw else msgspec.json.encode(event.get("arguments") or {}).decode()
    return {
        "step": digests.id(event.get("step_id")),
        "tool": digests.tool(event.get("tool")),
        "tool_kind": digests.word(event.get("kind")),
        **_text("arguments", arguments, digests),
    }


def _call_finished(event: JSON, digests: Digests) -> JSON:
    return {
        "status": digests.word(event.get("status")),
        "seconds": _number(event.get("duration")),
        **_text("result", event.get("result"), digests),
        "pictures": _count(event.get("pictures")),
    }


def _decided(event: JSON, digests: Digests) -> JSON:
    targets = [str(one) for one in _list(event.get("targets"))]
    return {
        "action": digests.word(event.get("action")),
        "verdict": digests.word(event.get("verdict")),
        "rule": digests.rule(event.get("rule")),
        "mode": digests.word(event.get("mode")),
        "ruling": digests.word(event.get("ruling")),
        "targets": [digests.of(one) for one in targets] or None,
        "effects": _count(event.get("effects")),
    }


def _approval_requested(event: JSON, digests: Digests) -> JSON:
    return {
        "approval": digests.id(event.get("approval_id")),
        "choices": [digests.word(one) for one in _list(event.get("choices"))],
        "rules": digests.rules(event.get("rules")),
        **_text("shown", event.get("detail"), digests),
        "expires_at": digests.word(event.get("expires_at")),
    }


def _approval_resolved(event: JSON, digests: Digests) -> JSON:
    return {
        "approval": digests.id(event.get("approval_id")),
        "choice": digests.word(event.get("choice")),
        "by": digests.word(event.get("by")),
        "rules": digests.rules(event.get("rules")),
        "text_bytes": _size(event.get("text")) or None,
    }


def _hook_ended(event: JSON, digests: Digests) -> JSON:
    return {
        "phase": digests.word(event.get("phase")),
        **_text("command", event.get("command"), digests),
        "decision": digests.word(event.get("decision")),
        "exit_code": _number(event.get("exit_code")),
        "seconds": _number(event.get("duration")),
    }


def _execution_started(event: JSON, digests: Digests) -> JSON:
    return {
        "execution": digests.id(event.get("execution_id")),
        "place": digests.word(event.get("place")),
        "kernel": digests.word(event.get("kernel_name")),
        **_text("code", event.get("code"), digests),
        "notebook": digests.path(event.get("notebook")),
        "cell": digests.word(event.get("cell_id")),
    }


def _execution_finished(event: JSON, digests: Digests) -> JSON:
    return {
        "execution": digests.id(event.get("execution_id")),
        "status": digests.word(event.get("status")),
        "error": digests.error(event.get("ename")),
        "seconds": _number(event.get("duration")),
    }


def _cell_change(event: JSON, digests: Digests) -> JSON:
    change = event.get("change")
    found: JSON = change if isinstance(change, dict) else {}
    return {
        "change": digests.id(found.get("change_id")),
        "notebook": digests.path(found.get("path")),
        "cell": digests.word(found.get("cell_id")),
        "op": digests.word(found.get("op")),
        **_source("before", found.get("before"), digests),
        **_source("after", found.get("after"), digests),
    }


def _source(name: str, snapshot: Any, digests: Digests) -> JSON:
    return _text(name, snapshot.get("source"), digests) if isinstance(snapshot, dict) else {}  # type: ignore[misc]


def _file_changed(event: JSON, digests: Digests) -> JSON:
    change = event.get("change")
    found: JSON = change if isinstance(change, dict) else {}
    return {
        "path": digests.path(found.get("path")),
        "before": digests.sha256(found.get("before")),
        "after": digests.sha256(found.get("after")),
        "added_lines": _number(found.get("added_lines")),
        "removed_lines": _number(found.get("removed_lines")),
    }


def _file_restored(event: JSON, digests: Digests) -> JSON:
    return {
        "undo": digests.id(event.get("undo_id")),
        "path": digests.path(event.get("path")),
        "before": digests.sha256(event.get("before")),
        "after": digests.sha256(event.get("after")),
    }


def _worker_reported(event: JSON, digests: Digests) -> JSON:
    return {
        "worker": digests.id(event.get("worker_id")),
        "code": digests.word(event.get("code")),
        **_text("answer", event.get("answer"), digests),
    }


KINDS: dict[str, Facts] = {
    "session.created": _session_created,
    "session.configured": _session_configured,
    "session.archived": lambda event, digests: {"archived": _flag(event.get("archived"))},
    "session.attached": lambda event, digests: {
        "notebook": digests.path(event.get("path")),
        "kernel_id": digests.identity(event.get("kernel_id")),
        "kernel": digests.word(event.get("kernel_name")),
    },
    "session.detached": lambda event, digests: {},
    "turn.submitted": lambda event, digests: {
        "origin": digests.word(event.get("origin")),
        "can_ask": _flag(event.get("can_ask")),
        **_text("text", event.get("text"), digests),
    },
    "turn.edited": lambda event, digests: _text("text", event.get("text"), digests),
    "turn.started": _turn_started,
    "turn.resumed": lambda event, digests: {},
    "turn.finished": _turn_finished,
    "step.fallback_taken": lambda event, digests: {
        "endpoint": digests.word(event.get("endpoint")),
        "model": digests.word(event.get("model")),
        "failed_endpoint": digests.word(event.get("failed_endpoint")),
        "failed_model": digests.word(event.get("failed_model")),
    },
    "instructions.read": lambda event, digests: {
        "name": digests.path(event.get("name")),
        "digest": digests.sha256(event.get("digest")),
    },
    "tool_call.requested": _call_requested,
    "tool_call.started": lambda event, digests: {},
    "tool_call.finished": _call_finished,
    "policy.decided": _decided,
    "approval.requested": _approval_requested,
    "approval.resolved": _approval_resolved,
    "hook.ended": _hook_ended,
    "execution.started": _execution_started,
    "execution.finished": _execution_finished,
    "input.requested": lambda event, digests: {
        "execution": digests.id(event.get("execution_id")),
        "input": digests.id(event.get("input_id")),
        "password": _flag(event.get("password")),
    },
    "input.answered": lambda event, digests: {
        "execution": digests.id(event.get("execution_id")),
        "input": digests.id(event.get("input_id")),
        "by": digests.word(event.get("by")),
        "answered": event.get("by") != "host",
    },
    "kernel.restarted": lambda event, digests: {"kernel": digests.word(event.get("kernel_name"))},
    "cell.change_requested": _cell_change,
    "cell.changed": lambda event, digests: {
        "change": digests.id(event.get("change_id")),
        "owner": digests.word(event.get("owner")),
    },
    "cell.change_refused": lambda event, digests: {"change": digests.id(event.get("change_id"))},
    "cell.change_resolved": lambda event, digests: {
        "change": digests.id(event.get("change_id")),
        "decision": digests.word(event.get("decision")),
        "by": digests.word(event.get("by")),
    },
    "file.changed": _file_changed,
    "files.kept": lambda event, digests: {
        "how": digests.word(event.get("how")),
        "where": digests.sha256(event.get("where")),
        "path": digests.path(event.get("path")),
    },
    "files.undo_requested": lambda event, digests: {
        "undo": digests.id(event.get("undo_id")),
        "paths": [digests.path(one) for one in _list(event.get("paths"))],
        "by": digests.word(event.get("by")),
    },
    "file.restored": _file_restored,
    "file.restore_refused": lambda event, digests: {
        "undo": digests.id(event.get("undo_id")),
        "path": digests.path(event.get("path")),
    },
    "worker.spawned": lambda event, digests: {
        "worker": digests.id(event.get("worker_id")),
        **_text("task", event.get("task"), digests),
    },
    "worker.reported": _worker_reported,
}
"""By tag, what its line says beside ids and time."""

LEFT_OUT = frozenset(
    {
        "session.renamed",
        "session.state_changed",
        "step.started",
        "step.retry_scheduled",
        "step.finished",
        "context.compacted",
        "plan.updated",
        "turn.context_added",
        "message.completed",
        "thought.completed",
        "execution.output",
        "execution.mirrored",
        "widgets.saved",
        "problem.noticed",
    }
)
"""What is said and shown, and how the model was asked: no decision, and nothing was done by it."""


class Entry(NamedTuple):
    """What a line of the audit says; ``seq`` of its event, 0 if it has none."""

    at: str
    kind: str
    seq: int
    fields: JSON


_START = b'{"type":"'


def entry_of(seq: int, microseconds: int, body: bytes, digests: Digests) -> Entry | None:
    """``None``: the event is not audited, or a newer program wrote it."""
    if not body.startswith(_START):
        return None
    kind = body[len(_START) : body.find(b'"', len(_START))].decode("utf-8", "replace")
    facts = KINDS.get(kind)
    if facts is None:
        return None
    event: JSON = msgspec.json.decode(body)
    fields: JSON = {"session": digests.id(event.get("session_id")), "seq": seq}
    for name, key in (("turn", "turn_id"), ("call", "call_id")):
        if event.get(key):
            fields[name] = digests.id(event[key])
    fields |= {name: value for name, value in facts(event, digests).items() if value is not None}
    return Entry(at=time_of(microseconds), kind=kind, seq=seq, fields=fields)


@lru_cache(64)
def time_of(microseconds: int) -> str:
    """Microseconds since 1970 as a line has them."""
    return (_EPOCH + timedelta(microseconds=microseconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def entries_of(payload: bytes, digests: Digests) -> list[Entry]:
    """What is audited of the lines of a journal's record."""
    found: list[Entry] = []
    for line in payload.split(b"\n"):
        if line:
            seq, microseconds, _, body = line.split(b"\t", 3)
            entry = entry_of(int(seq), int(microseconds), body, digests)
            if entry is not None:
                found.append(entry)
    return found
