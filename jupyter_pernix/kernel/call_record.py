"""What a run notebook keeps of turns, tool calls and approvals, as JSON and as plain text. Long texts are shortened."""

from datetime import datetime
from typing import Any, cast

import msgspec

from ..records import (
    JSON,
    ApprovalView,
    CallView,
    CellChangeView,
    ExecutionView,
    FileChange,
    TurnView,
    WorkerView,
)
from .bundles import shorten
from .record_text import TEXT_LIMIT, change_text


def time_of(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None


def turn_metadata(turn: TurnView) -> JSON:
    finished, started = turn.finished_at, turn.started_at
    return {
        "turn_id": turn.turn_id,
        "origin": turn.origin,
        "mode": turn.mode,
        "model": turn.model,
        "code": turn.code.value if turn.code is not None else None,
        "detail": shorten(turn.detail, TEXT_LIMIT),
        "usage": msgspec.to_builtins(turn.usage),
        "cost": turn.cost,
        "submitted_at": time_of(turn.submitted_at),
        "started_at": time_of(started),
        "finished_at": time_of(finished),
        "duration": (finished - started).total_seconds() if finished is not None and started is not None else None,
        "steps": [step.step_id for step in turn.steps],
    }


def approval_metadata(approval: ApprovalView | None) -> JSON | None:
    """What a cell's metadata keep of a question; the whole of it is in an output of its own."""
    if approval is None:
        return None
    return {
        "approval_id": approval.approval_id,
        "question": shorten(approval.question, TEXT_LIMIT),
        "choice": approval.choice,
        "text": shorten(approval.text, TEXT_LIMIT),
        "by": approval.by,
        "requested_at": time_of(approval.requested_at),
    }


def approval_json(approval: ApprovalView) -> JSON:
    """The whole question, as an output holds it."""
    return _short_values(msgspec.to_builtins(approval))


def inputs_metadata(execution: ExecutionView) -> list[JSON]:
    """Lines that the code asked for; ``text`` ``None``: a password, or no answer."""
    return [
        {"prompt": shorten(each.prompt, TEXT_LIMIT), "password": each.password, "text": each.text, "by": each.by}
        for each in execution.inputs
    ]


def call_metadata(call: CallView) -> JSON:
    return {
        "call_id": call.call_id,
        "tool": call.tool,
        "kind": call.kind,
        "title": shorten(call.title, TEXT_LIMIT),
        "arguments": _short_values(call.arguments),
        "status": call.status,
        "result": shorten(call.result, TEXT_LIMIT),
        "side_file": call.side_file,
        "duration": call.duration,
        "verdict": call.verdict,
        "rule": call.rule,
        "approval": approval_metadata(call.approval),
        "files": [_file(change) for change in call.files],
        "worker": _worker(call.worker),
        "cells": [_cell_change(view) for view in call.cells],
    }


def _cell_change(view: CellChangeView) -> JSON:
    """Without the outputs of the cell: they stand in its notebook."""
    known = cast(JSON, msgspec.to_builtins(view))
    change = cast(JSON, known["change"])
    for side in ("before", "after"):
        if change[side] is not None:
            change[side] |= {"outputs": [], "source": shorten(change[side]["source"], TEXT_LIMIT), "attachments": {}}
    return known


def _worker(worker: WorkerView | None) -> JSON | None:
    if worker is None:
        return None
    code = worker.code.value if worker.code is not None else None
    return {
        "worker_id": worker.worker_id,
        "title": shorten(worker.title, TEXT_LIMIT),
        "code": code,
        "answer": shorten(worker.answer, TEXT_LIMIT),
    }


def _short_values(value: Any) -> Any:
    """The same JSON with its long texts shortened."""
    if isinstance(value, str):
        return shorten(value, TEXT_LIMIT)
    if isinstance(value, dict):
        return {key: _short_values(item) for key, item in cast(JSON, value).items()}
    if isinstance(value, list):
        return [_short_values(item) for item in cast(list[Any], value)]
    return value


def _file(change: FileChange) -> JSON:
    return {**cast(JSON, msgspec.to_builtins(change)), "diff": shorten(change.diff, TEXT_LIMIT)}


def call_text(call: CallView) -> str:
    """The call for a viewer that knows only plain text."""
    parts = [f"{call.tool}: {shorten(call.title, TEXT_LIMIT)}" if call.title else call.tool]
    if call.approval is not None and call.approval.choice is not None:
        said = f" ({call.approval.text})" if call.approval.text else ""
        parts.append(f"approval: {call.approval.choice}{said}")
    if call.status == "unknown":
        parts.append("It is not known whether this had its effect.")
    if call.worker is not None:
        parts.append(f"worker {call.worker.worker_id}: {call.worker.code.value if call.worker.code else 'not done'}")
    parts += [change_text(view) for view in call.cells]
    parts += [shorten(change.diff, TEXT_LIMIT) or f"changed: {change.path}" for change in call.files]
    if call.result:
        parts.append(shorten(call.result, TEXT_LIMIT))
    return "\n".join(parts)
