"""How the audit stands, for a person and for the command line."""

import anyio.to_thread

from ...audit import Head, check, day_files
from ...records import Finding, Record
from ..store import EventStore
from .trail import Trail

_MOST_BYTES = 64 * 1024 * 1024
"""Of files that are read again for ``doctor``; of more only the last days are."""


class AuditHead(Record, frozen=True):
    """``n``, ``hash``, ``day``: the last line that the files must hold; ``n`` 0: none. ``on``: it is being written. ``folder`` is absolute.
    ``problem``: a sentence, or ""."""

    n: int
    hash: str
    day: str
    on: bool
    store_id: str
    folder: str
    problem: str


async def audit_head(store: EventStore, trail: Trail) -> AuditHead:
    """:raises StoreError: if the store cannot note how far the files go"""
    await store.settle_audit()
    now = await anyio.to_thread.run_sync(trail.now)
    state = now.state
    head = state.head if state is not None else Head()
    return AuditHead(
        n=head.n,
        hash=head.hash,
        day=head.day,
        on=state is not None and state.on,
        store_id=state.store_id if state is not None else "",
        folder=str(trail.folder),
        problem=now.problem,
    )


async def audit_finding(store: EventStore, trail: Trail) -> Finding:
    told = await audit_head(store, trail)
    if not told.n:
        detail = told.problem or "off, by the setting `audit`"
        return Finding(name="audit", status="problem" if told.problem else "warning", detail=detail, hint=_hint(told))
    return await anyio.to_thread.run_sync(_examined, told, trail)


def _examined(told: AuditHead, trail: Trail) -> Finding:
    files, whole, size = day_files(trail.folder), True, 0
    for place, path in enumerate(reversed(files)):
        size += path.stat().st_size
        if size > _MOST_BYTES and place:
            files, whole = files[-place:], False
            break
    report = check(files, known=Head(n=told.n, hash=told.hash, day=told.day), from_start=whole, exact=False)
    detail = f"{told.folder}: {told.n} lines" + ("" if told.on else "; switched off")
    if not whole:
        detail += f", of which the last {report.lines} were read again"
    wrong = [told.problem] if told.problem else []
    wrong += [str(fault) for fault in report.faults[:3]]
    return Finding(
        name="audit",
        status="problem" if wrong else "ok" if told.on else "warning",
        detail="; ".join([detail, *wrong]),
        hint=_hint(told) if wrong or not told.on else "",
    )


def _hint(told: AuditHead) -> str:
    if told.problem or told.on:
        return "`jupyter pernix audit verify` names every place. The log itself is in the store."
    return "Set `audit = true` to keep one; it goes on from where it is then."
