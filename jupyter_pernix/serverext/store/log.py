"""The event log, for the event loop: append, read, and what is derived from it. SQL stays in this package."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from ...errors import StoreError
from ...events import (
    Event,
    StepFinished,
    StepStarted,
    Stored,
    ToolCallRequested,
    TurnStarted,
    Unknown,
    decode_event,
    encode_event,
    event_type,
)
from ...ids import ApprovalId, SessionId
from ...records import SessionState, SessionSummary
from .views import SETTING_TYPES, Counts, Summaries
from .writer import Receipt, Row, Writer, reading_failed

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

T = TypeVar("T")
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Wire:
    """A stored event as it goes over HTTP: ``data`` is the flat JSON object."""

    seq: int
    session_id: SessionId
    data: bytes


class EventStore:
    """The log of all sessions in one DuckDB file; make one with ``open``.

    ``publish`` is called on the event loop with each committed group of events, in order of ``seq``, before the ``append`` that
    brought them returns.
    """

    def __init__(self, writer: Writer, cursor: "DuckDBPyConnection", publish: Callable[[list[Stored]], None]) -> None:
        self._writer = writer
        self._cursor = cursor
        self._publish = publish
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="pernix-store-reader")
        self._last_seq = writer.last_seq
        self._summaries = Summaries()
        self._models: dict[SessionId, str] = {}

    @classmethod
    async def open(cls, path: Path, *, publish: Callable[[list[Stored]], None] = lambda _: None) -> "EventStore":
        """Open or create the file.

        :raises StoreLocked: if another server holds it
        :raises StoreTooNew: if a newer program wrote it
        :raises StoreError: if it cannot be read
        """
        loop = asyncio.get_running_loop()
        writer = Writer(path, loop)
        cursor = await loop.run_in_executor(None, writer.open)
        store = cls(writer, cursor, publish)
        store._summaries = await store._read(_rebuild_summaries)
        return store

    @property
    def last_seq(self) -> int:
        """Of the last event that was published."""
        return self._last_seq

    def summary(self, session_id: SessionId) -> SessionSummary | None:
        return self._summaries.get(session_id)

    def summaries(self) -> list[SessionSummary]:
        """Newest first."""
        return self._summaries.all()

    async def append(self, events: Sequence[Event | Unknown]) -> list[Stored]:
        """Store the events side by side, all or none; returns once they are durable. Cancelling the wait does not undo it.

        :raises StoreError: if they could not be stored; none of them is then
        """
        if not events:
            return []
        pairs = [self._row(event) for event in events]
        future: asyncio.Future[list[Stored]] = asyncio.get_running_loop().create_future()

        def answer(receipt: Receipt | StoreError) -> None:
            if isinstance(receipt, StoreError):
                if not future.done():
                    future.set_exception(receipt)
                return
            stored = [
                Stored(seq=seq, recorded_at=receipt.recorded_at, event=event)
                for seq, (event, _) in enumerate(pairs, start=receipt.first_seq)
            ]
            self._committed(stored)
            if not future.done():
                future.set_result(stored)

        self._writer.submit([row for _, row in pairs], answer)
        return await future

    async def events(
        self, session_id: SessionId | None = None, *, after: int = 0, limit: int | None = None
    ) -> list[Stored]:
        """Stored events with ``seq`` above ``after``, in order; of one session, or of all."""
        return await self._read(lambda cursor: _stored(_select(cursor, session_id, after=after, limit=limit)))

    async def wire(
        self, session_id: SessionId | None = None, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Wire]:
        """As ``events``, not decoded: what a reader over HTTP gets. Nothing above ``until`` is given."""
        return await self._read(
            lambda cursor: _wire(_select(cursor, session_id, after=after, until=until, limit=limit))
        )

    async def unfinished(self) -> dict[SessionId, list[Stored]]:
        """For each session that has a turn without an end, or is not idle, the events of its turns without an end, in order."""
        found = await self._read(_unfinished)
        for summary in self.summaries():
            if summary.state is not SessionState.IDLE_READY:
                found.setdefault(summary.session_id, [])
        return found

    async def approval(self, approval_id: ApprovalId) -> tuple[SessionId, bool] | None:
        """The session that a question was asked in, and whether it is answered; ``None``: there is no such question."""
        return await self._read(lambda cursor: _approval(cursor, approval_id))

    async def aclose(self) -> None:
        """Store what waits and close the file. May be called twice."""
        loop = asyncio.get_running_loop()
        self._reader.shutdown(wait=False)
        await loop.run_in_executor(None, self._close)

    def _close(self) -> None:
        self._reader.shutdown(wait=True)
        self._cursor.close()
        self._writer.close()

    def _committed(self, stored: list[Stored]) -> None:
        self._last_seq = stored[-1].seq
        for one in stored:
            self._summaries.add(one)
        self._publish(stored)

    async def _read(self, query: "Callable[[DuckDBPyConnection], T]") -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._reader, query, self._cursor)
        except RuntimeError as exc:
            raise StoreError("the store is closed") from exc
        except Exception as exc:
            failure = reading_failed(exc)
            if failure is None:
                raise
            raise failure from exc

    def _row(self, event: Event | Unknown) -> tuple[Event | Unknown, Row]:
        event, body = _body(event)
        session_id = event.session_id
        model = tool = kind = prompt_tokens = completion_tokens = None
        match event:
            case TurnStarted() | StepStarted():
                model = self._models[session_id] = event.model
            case StepFinished():
                model = self._models.get(session_id)
                prompt_tokens, completion_tokens = event.usage.prompt_tokens, event.usage.completion_tokens
            case ToolCallRequested():
                tool, kind = event.tool, event.kind
            case _:
                pass
        return event, Row(
            session_id=session_id,
            turn_id=_turn_id(event),
            type=event_type(event),
            model=model,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            tool=tool,
            kind=kind,
            body=body,
        )


def _turn_id(event: Event | Unknown) -> str | None:
    turn_id: object = event.body.get("turn_id") if isinstance(event, Unknown) else getattr(event, "turn_id", None)
    return turn_id if isinstance(turn_id, str) else None


def _body(event: Event | Unknown) -> tuple[Event | Unknown, str]:
    """The event's JSON. Half a surrogate pair, which a program's output may hold, is no text: it becomes U+FFFD, for every reader."""
    try:
        return event, encode_event(event).decode()
    except UnicodeEncodeError:
        raw: Any = msgspec.to_builtins(event.body if isinstance(event, Unknown) else event)
        body = _encode(_whole(raw))
        return decode_event(body), body.decode()


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}  # type: ignore[misc]
    if isinstance(value, list):
        return [_whole(item) for item in value]  # type: ignore[misc]
    return value


# ---- queries, on the reading thread -------------------------------------------------------------------------------------

_Record = tuple[int, datetime, str, str]
"""seq, recorded_at without zone, session_id, body"""


def _select(
    cursor: "DuckDBPyConnection",
    session_id: str | None,
    *,
    after: int,
    until: int | None = None,
    limit: int | None = None,
) -> list[_Record]:
    where, values = ["seq > ?"], list[object]([after])
    if until is not None:
        where.append("seq <= ?")
        values.append(until)
    if session_id is not None:
        where.append("session_id = ?")
        values.append(session_id)
    sql = f"SELECT seq, recorded_at, session_id, body FROM events WHERE {' AND '.join(where)} ORDER BY seq"
    if limit is not None:
        sql += " LIMIT ?"
        values.append(limit)
    return cursor.execute(sql, values).fetchall()


def _stored(records: Iterable[_Record]) -> list[Stored]:
    return [
        Stored(seq=seq, recorded_at=recorded_at.replace(tzinfo=UTC), event=decode_event(body))
        for seq, recorded_at, _, body in records
    ]


def _wire(records: Iterable[_Record]) -> list[Wire]:
    return [
        Wire(
            seq,
            SessionId(session_id),
            # The same bytes as ``events.encode_stored``, without reading the body.
            _encode({"seq": seq, "recorded_at": recorded_at.replace(tzinfo=UTC)})[:-1] + b"," + body.encode()[1:],
        )
        for seq, recorded_at, session_id, body in records
    ]


def _rebuild_summaries(cursor: "DuckDBPyConnection") -> Summaries:
    marks = ", ".join("?" for _ in SETTING_TYPES)
    settings = cursor.execute(
        f"""
        SELECT seq, recorded_at, session_id, body FROM events
        WHERE type IN ({marks})
           OR seq IN (SELECT max(seq) FROM events WHERE type = 'session.state_changed' GROUP BY session_id)
        ORDER BY seq
        """,
        list(SETTING_TYPES),
    ).fetchall()
    counts = cursor.execute(
        """
        SELECT session_id, max(seq), arg_max(recorded_at, seq), count(*) FILTER (type = 'turn.submitted'),
               count(*) FILTER (type = 'approval.requested') - count(*) FILTER (type = 'approval.resolved')
        FROM events GROUP BY session_id
        """
    ).fetchall()
    return Summaries.rebuild(
        _stored(settings),
        [
            Counts(
                session_id=session_id,
                last_seq=last_seq,
                updated_at=updated_at.replace(tzinfo=UTC),
                turns=turns,
                open_approvals=max(0, open_approvals),
            )
            for session_id, last_seq, updated_at, turns, open_approvals in counts
        ],
    )


def _unfinished(cursor: "DuckDBPyConnection") -> dict[SessionId, list[Stored]]:
    records: list[_Record] = cursor.execute(
        """
        SELECT seq, recorded_at, session_id, body FROM events
        WHERE turn_id IN (
            SELECT turn_id FROM events WHERE type = 'turn.submitted'
            EXCEPT SELECT turn_id FROM events WHERE type = 'turn.finished'
        )
        ORDER BY seq
        """
    ).fetchall()
    found: dict[SessionId, list[Stored]] = {}
    for stored, record in zip(_stored(records), records, strict=True):
        found.setdefault(SessionId(record[2]), []).append(stored)
    return found


def _approval(cursor: "DuckDBPyConnection", approval_id: str) -> tuple[SessionId, bool] | None:
    rows = cursor.execute(
        """
        SELECT session_id, type FROM events
        WHERE type IN ('approval.requested', 'approval.resolved') AND body ->> '$.approval_id' = ?
        """,
        [approval_id],
    ).fetchall()
    if not rows:
        return None
    return SessionId(rows[0][0]), any(type_ == "approval.resolved" for _, type_ in rows)
