"""The event log, for the event loop: append, read, and what is derived from it. SQL stays in this package."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from ...errors import StoreError
from ...events import (
    Event,
    SessionAttached,
    StepFallbackTaken,
    StepFinished,
    StepStarted,
    Stored,
    TurnStarted,
    Unknown,
    decode_event,
    encode_event,
    encode_stored,
)
from ...ids import ApprovalId, ChangeId, InputId, SessionId
from ...records import SessionState, SessionSummary, SqlQuery, SqlResult
from . import cell_queries, queries
from .audit_rows import Auditor, AuditState, Ledger
from .database import Database, connect
from .recent import Recent, after
from .sql import SqlReader
from .views import Summaries
from .writer import Receipt, Row, Writer

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

log = logging.getLogger(__name__)

T = TypeVar("T")

Mask = Callable[[Event], Event]
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True)
class Wire:
    """A stored event as it goes over HTTP: ``data`` is the flat JSON object."""

    seq: int
    session_id: SessionId
    data: bytes


class EventStore:
    """The log of all sessions in one DuckDB file and the journal beside it; make one with ``open``.

    ``publish`` is called on the event loop with each committed group of events, in order of ``seq``, before the ``append`` that
    brought them returns. What is read contains every event whose ``append`` has returned. ``mask``: what is done to an event before
    anything of it is written or published.
    """

    def __init__(
        self,
        database: Database,
        thread: ThreadPoolExecutor,
        publish: Callable[[list[Stored]], None],
        mask: Mask | None = None,
    ) -> None:
        self._mask = mask
        self._database = database
        self._thread = thread
        self._publish = publish
        self._loop = asyncio.get_running_loop()
        self._taking = False
        self._closed = False
        self._writer = Writer(
            database.journal,
            database.journal_lock,
            self._loop,
            last_seq=database.taken,
            on_ripe=self._take_in_soon,
            on_durable=database.auditor.add if database.auditor is not None else None,
        )
        self._last_seq = database.taken
        self._recent = Recent(database.taken)
        self._summaries = Summaries()
        self._models: dict[SessionId, str] = {}
        self._sql = SqlReader(lambda: self._read(lambda _: connect(database.path)))

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        publish: Callable[[list[Stored]], None] = lambda _: None,
        auditor: Auditor | None = None,
        mask: Mask | None = None,
    ) -> "EventStore":
        """Open or create the files.

        :raises StoreLocked: if another server holds them
        :raises StoreTooNew: if a newer program wrote them
        :raises StoreError: if they cannot be read
        """
        thread = ThreadPoolExecutor(1, thread_name_prefix="pernix-store-database")
        database = Database(path, auditor=auditor)
        try:
            await asyncio.get_running_loop().run_in_executor(thread, database.open)
        except BaseException:
            thread.shutdown(wait=False)
            raise
        store = cls(database, thread, publish, mask)
        store._summaries = await store._read(queries.rebuild_summaries, fresh=False)
        store._writer.start()
        return store

    @property
    def last_seq(self) -> int:
        """Of the last event that was published."""
        return self._last_seq

    @property
    def warnings(self) -> Sequence[str]:
        """What was wrong with the files when they were opened, for a person; usually nothing."""
        return self._database.warnings

    def summary(self, session_id: SessionId) -> SessionSummary | None:
        return self._summaries.get(session_id)

    def summaries(self) -> list[SessionSummary]:
        """Newest first."""
        return self._summaries.all()

    # ---- appending ------------------------------------------------------------------------------------------------------

    async def append(self, events: Sequence[Event | Unknown]) -> list[Stored]:
        """Store the events side by side, all or none; returns once they are durable. Cancelling the wait does not undo it.

        :raises StoreError: if they could not be stored; none of them is then
        """
        if not events:
            return []
        kept: list[Event | Unknown] = []
        rows: list[Row] = []
        for event in events:
            one, body = _body(event if self._mask is None or isinstance(event, Unknown) else self._mask(event))
            kept.append(one)
            rows.append(Row(body, self._model(one)))
        future: asyncio.Future[list[Stored]] = self._loop.create_future()

        def answer(receipt: Receipt | StoreError) -> None:
            if isinstance(receipt, StoreError):
                if not future.done():
                    future.set_exception(receipt)
                return
            stored = [
                Stored(seq=seq, recorded_at=receipt.recorded_at, event=event)
                for seq, event in enumerate(kept, start=receipt.first_seq)
            ]
            self._committed(stored)
            if not future.done():
                future.set_result(stored)

        self._writer.submit(rows, answer)
        return await future

    def _model(self, event: Event | Unknown) -> str:
        """The model that an event is about but does not name."""
        match event:
            case TurnStarted() | StepStarted() | StepFallbackTaken():
                self._models[event.session_id] = event.model
            case StepFinished():
                return self._models.get(event.session_id, "")
            case _:
                pass
        return ""

    def _committed(self, stored: list[Stored]) -> None:
        self._last_seq = stored[-1].seq
        self._recent.add(stored)
        for one in stored:
            self._summaries.add(one)
        try:
            self._publish(stored)
        except Exception:
            # the edge of the store: the events are durable, and whoever waits for that must hear of it
            log.exception("events %d to %d are stored, but were not passed on", stored[0].seq, stored[-1].seq)

    # ---- reading --------------------------------------------------------------------------------------------------------

    async def events(
        self, session_id: SessionId | None = None, *, after: int = 0, limit: int | None = None
    ) -> list[Stored]:
        """Stored events with ``seq`` above ``after``, in order; of one session, or of all."""
        records, recent = await self._parts(session_id, after=after, until=None, limit=limit)
        return [*queries.stored(records), *recent]

    async def wire(
        self, session_id: SessionId | None = None, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Wire]:
        """As ``events``, not decoded: what a reader over HTTP gets. Nothing above ``until`` is given."""
        records, recent = await self._parts(session_id, after=after, until=until, limit=limit)
        return [
            *map(_wire, records),
            *(Wire(one.seq, one.event.session_id, encode_stored(one)) for one in recent),
        ]

    async def _parts(
        self, session_id: SessionId | None, *, after: int, until: int | None, limit: int | None
    ) -> tuple[list[queries.Record], list[Stored]]:
        """What the database has, and what comes behind it."""
        recent = self._recent.of(session_id)
        records: list[queries.Record] = []
        taken = after
        if not self._recent.has_all(session_id, after) or self._closed:
            records, taken = await self._read_until(
                lambda connection: queries.select(connection, session_id, after=after, until=until, limit=limit)
            )
        recent = _between(recent, max(after, taken), until)
        return records, recent if limit is None else recent[: max(0, limit - len(records))]

    async def unfinished(self) -> dict[SessionId, list[Stored]]:
        """The whole log of each session that has a turn without an end, or is not idle."""
        found = await self._read(queries.unfinished)
        found += [one.session_id for one in self.summaries() if one.state is not SessionState.IDLE_READY]
        if not found:
            return {}
        session_ids = list(dict.fromkeys(found))
        return await self._read(lambda connection: queries.logs(connection, session_ids))

    async def approval(self, approval_id: ApprovalId) -> tuple[SessionId, bool] | None:
        """The session that a question was asked in, and whether it is answered; ``None``: there is no such question."""
        return await self._read(lambda connection: queries.approval(connection, approval_id))

    async def has_input(self, input_id: InputId) -> bool:
        """Whether code ever asked for this line."""
        return await self._read(lambda connection: queries.has_input(connection, input_id))

    async def sql(self, query: SqlQuery) -> SqlResult:
        """A query of the user's, as ``SqlReader.answer``."""
        return await self._sql.answer(query)

    async def written_cells(self) -> set[cell_queries.WrittenCell]:
        """The cells that agents have written, in any session, as they left them."""
        return await self._read(cell_queries.written_cells)

    async def cell_sessions(self) -> tuple[set[SessionId], dict[SessionId, list[SessionAttached]]]:
        """Sessions that have changed or run cells of notebooks, and what each session was attached to, in order."""
        return await self._read(cell_queries.cell_sessions)

    async def session_of_change(self, change_id: ChangeId) -> SessionId | None:
        return await self._read(lambda connection: cell_queries.session_of_change(connection, change_id))

    async def settle_audit(self) -> AuditState | None:
        """How far the audit goes, with all that is acknowledged in its files so far as they could be written; ``None``: there is none.

        :raises StoreError: if that cannot be noted
        """
        return await self._read(lambda _: self._database.settle_audit(), fresh=False)

    async def note_audit(self, kind: str, facts: Callable[[Any], dict[str, Any]]) -> None:
        """As ``Auditor.note``.

        :raises StoreError: if it cannot be stored
        """
        auditor = self._database.auditor
        if auditor is not None:
            await self._read(lambda connection: auditor.note(Ledger(connection), kind, facts), fresh=False)

    async def _read(self, query: "Callable[[DuckDBPyConnection], T]", *, fresh: bool = True) -> T:
        answer, _ = await self._read_until(query, fresh=fresh)
        return answer

    async def _read_until(self, query: "Callable[[DuckDBPyConnection], T]", *, fresh: bool = False) -> tuple[T, int]:
        """The answer, and up to which ``seq`` it is complete. ``fresh``: it is complete, at the price of taking in the journal."""
        if self._closed:
            raise StoreError("the store is closed")
        answer, taken = await self._loop.run_in_executor(self._thread, lambda: self._database.query(query, fresh=fresh))
        self._recent.taken_in(taken)
        return answer, taken

    # ---- taking in, closing ---------------------------------------------------------------------------------------------

    def _take_in_soon(self) -> None:
        """For the writing thread: the journal is worth taking in."""
        if not self._taking:
            self._taking = True
            with suppress(RuntimeError):  # The store is being closed, which takes everything in.
                self._thread.submit(self._take_in)

    def _take_in(self) -> None:
        try:
            taken = self._database.take_in_later()
            self._loop.call_soon_threadsafe(self._recent.taken_in, taken)
        except RuntimeError:
            pass  # The loop is closed: nobody reads any more.
        finally:
            self._taking = False

    async def aclose(self) -> None:
        """Store what waits and close the files. May be called twice."""
        if self._closed:
            return
        self._closed = True
        self._sql.stop()
        await self._loop.run_in_executor(None, self._close)

    def _close(self) -> None:
        self._writer.close()
        self._sql.join()
        self._thread.submit(self._database.close).result()
        self._thread.shutdown(wait=True)


def _between(stored: list[Stored], low: int, high: int | None) -> list[Stored]:
    above = after(stored, low)
    return above if high is None else above[: len(above) - len(after(above, high))]


def _wire(record: queries.Record) -> Wire:
    """The same bytes as ``events.encode_stored``, without reading the body."""
    seq, recorded_at, session_id, body = record
    # datetime.isoformat leaves a whole second without a fraction, as msgspec does.
    data = f'{{"seq":{seq},"recorded_at":"{recorded_at.isoformat()}Z",{body[1:]}'
    return Wire(seq, SessionId(session_id), data.encode())


def _body(event: Event | Unknown) -> tuple[Event | Unknown, bytes]:
    """The event's JSON. Half a surrogate pair, which a program's output may hold, is no text: it becomes U+FFFD, for every reader."""
    try:
        body = encode_event(event)
    except UnicodeEncodeError:
        raw: Any = msgspec.to_builtins(event.body if isinstance(event, Unknown) else event)
        body = _encode(_whole(raw))
        return decode_event(body), body
    return event, body


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}  # type: ignore[misc]
    if isinstance(value, list):
        return [_whole(item) for item in value]  # type: ignore[misc]
    return value
