"""What must hold of a store after a crash, whatever was going on; in words where it does not. Pure."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from jupyter_pernix.agent.legality import illegalities
from jupyter_pernix.events import (
    ApprovalResolved,
    Stored,
    ToolCallFinished,
    ToolCallRequested,
    ToolCallStarted,
    WorkerSpawned,
)
from jupyter_pernix.ids import CallId, SessionId

from .crash_script import tokens_in

COUNTED = ("run_shell", "run_code", "edit_file")
"""Tools whose effect, had twice, leaves two lines."""


def told(lines: Iterable[bytes]) -> tuple[dict[int, bytes], list[str]]:
    """What was acknowledged, by ``seq``, and what is wrong with that alone."""
    events: dict[int, bytes] = {}
    faults: list[str] = []
    last = 0
    for line in lines:
        seq = int(json.loads(line)["seq"])
        if events.get(seq, line) != line:
            faults.append(f"{seq} was told of twice, differently")
        if seq <= last:
            faults.append(f"{seq} was told of after {last}")
        events[seq] = line
        last = seq
    return events, faults


def kept(events: Mapping[int, bytes], known: Mapping[int, bytes]) -> tuple[int, int]:
    """How many of these events are lost, and how many are there otherwise than they were told."""
    return len(events.keys() - known.keys()), sum(known.get(seq, line) != line for seq, line in events.items())


def illegal(log: Sequence[Stored], *, at_rest: bool = True) -> list[str]:
    """Of every session."""
    sessions: dict[SessionId, list[Stored]] = {}
    for stored in log:
        sessions.setdefault(stored.event.session_id, []).append(stored)
    return [f"{name}: {what}" for name, own in sessions.items() for what in illegalities(own, at_rest=at_rest)]


@dataclass(kw_only=True)
class _Call:
    requested: ToolCallRequested
    begun: bool = False
    allowed: bool = False
    finished: ToolCallFinished | None = None

    @property
    def effects(self) -> tuple[int, int]:
        """How often it may have had its effect, as the log tells it: at least, at most. None of the scripted calls fails with it."""
        if self.finished is not None and self.finished.status == "completed":
            return 1, 1
        failed = self.finished is not None and self.finished.status == "failed"
        return 0, int(self.begun and not failed)


def unexplained(log: Sequence[Stored], effects: Mapping[str, int]) -> list[str]:
    """Effects that the log does not explain, completed calls whose effect is not there, and calls that were made again though nobody
    knew what had become of them and nobody was asked. ``effects``: how often each token's effect was found."""
    calls, parents = _calls(log)
    found: list[str] = []
    by_token: dict[str, list[_Call]] = {token: [] for token in effects}
    for call in calls.values():
        if call.requested.tool in (*COUNTED, "write_file"):
            for token in tokens_in(json.dumps(call.requested.arguments))[:1]:
                by_token.setdefault(token, []).append(call)
    for token, own in by_token.items():
        if any(call.requested.tool not in COUNTED for call in own):
            continue
        least, most = sum(call.effects[0] for call in own), sum(call.effects[1] for call in own)
        if not least <= effects.get(token, 0) <= most:
            found.append(f"{token} happened {effects.get(token, 0)} times, the log says {least} to {most}")
        for before, after in pairwise(own):
            unknown = before.finished is not None and before.finished.status == "unknown"
            parent = parents.get(after.requested.session_id)
            allowed = after.allowed or (parent is not None and parent in calls and calls[parent].allowed)
            if unknown and after.begun and not allowed:
                found.append(f"{token} was made again unasked: {after.requested.call_id}")
    return found


def _calls(log: Sequence[Stored]) -> tuple[dict[CallId, _Call], dict[SessionId, CallId]]:
    calls: dict[CallId, _Call] = {}
    parents: dict[SessionId, CallId] = {}
    for stored in log:
        event = stored.event
        match event:
            case ToolCallRequested():
                calls[event.call_id] = _Call(requested=event)
            case ToolCallStarted() if event.call_id in calls:
                calls[event.call_id].begun = True
            case ToolCallFinished() if event.call_id in calls:
                calls[event.call_id].finished = event
            case ApprovalResolved() if event.call_id in calls:
                calls[event.call_id].allowed = event.choice.startswith("allow") and event.by != "host"
            case WorkerSpawned():
                parents[event.worker_id] = event.call_id
            case _:
                pass
    return calls, parents


def effects_in(texts: Iterable[str]) -> Counter[str]:
    return Counter(token for text in texts for line in text.splitlines() for token in tokens_in(line))
