"""Browser pages: what each has open, and how one is asked to read or change it.

A page tells what it has open when that changes and again and again; one that has been silent for ``STALE_SECONDS`` may be a tab that
its browser keeps asleep, and is asked whether it lives before anybody else is taken for the owner of what it had open. A request goes
out over the stream and its answer comes by HTTP; an answer that comes too late is refused, and the page then takes its change back.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio

from ...errors import Conflict
from ...events import PageRequest
from ...ids import SessionId
from ...ports import Clock
from ...records import OpenNotebook, PageAnswer, PageState
from ..bus import Bus

STALE_SECONDS = 30.0
"""A page that has not been heard of for so long may be gone."""
GRACE_SECONDS = 12.0
"""In so long after a start, pages that were open before have told what they have open."""
_KEPT_SECONDS = 600.0
"""So long a silent page is asked before it is forgotten for good."""
_ANSWERS_KEPT = 1000


@dataclass(kw_only=True)
class Page:
    """``heard_at``: the clock's time of its last word."""

    page_id: str
    notebooks: list[OpenNotebook]
    heard_at: float


@dataclass(kw_only=True, eq=False)
class _Wait:
    page_id: str
    answer: PageAnswer | None = None
    done: anyio.Event = field(default_factory=anyio.Event)


def new_request_id() -> str:
    return f"req_{secrets.token_hex(13)}"


class PageGone(Exception):
    """The page was closed while it was asked."""


class Pages:
    """Every page that has told what it has open. ``on_change`` is called with the paths whose owner may be another now."""

    def __init__(self, bus: Bus, clock: Clock) -> None:
        self.on_change: Callable[[set[str]], None] = lambda paths: None
        self._bus = bus
        self._clock = clock
        self._born = clock.monotonic()
        self._told = anyio.Event()
        self._pages: dict[str, Page] = {}
        self._waits: dict[str, _Wait] = {}
        self._taken: dict[str, str] = {}
        """The last requests that were answered in time, with the page that did."""

    def put(self, state: PageState) -> None:
        """What a page has open now."""
        self._forget_old()
        self._told.set()
        before = self._pages.get(state.page_id)
        now = self._clock.monotonic()
        self._pages[state.page_id] = Page(page_id=state.page_id, notebooks=list(state.notebooks), heard_at=now)
        was = {one.path for one in before.notebooks} if before else set[str]()
        changed = was ^ {one.path for one in state.notebooks}
        if changed:
            self.on_change(changed)

    def drop(self, page_id: str) -> None:
        """The page was closed."""
        page = self._pages.pop(page_id, None)
        for wait in self._waits.values():
            if wait.page_id == page_id:
                wait.done.set()
        if page is not None:
            self.on_change({one.path for one in page.notebooks})

    def answered(self, page_id: str, answer: PageAnswer) -> None:
        """What became of a request.

        :raises Conflict: if nobody waits for it any more: what was done must be taken back
        """
        if self._taken.get(answer.request_id) == page_id:
            return
        wait = self._waits.get(answer.request_id)
        if wait is None or wait.page_id != page_id or wait.done.is_set():
            raise Conflict("the server does not wait for this answer any more; take the change back")
        wait.answer = answer
        wait.done.set()
        self._taken[answer.request_id] = page_id
        while len(self._taken) > _ANSWERS_KEPT:
            del self._taken[next(iter(self._taken))]
        page = self._pages.get(page_id)
        if page is not None:
            page.heard_at = self._clock.monotonic()

    def holding(self, is_it: Callable[[str], bool]) -> list[tuple[Page, OpenNotebook]]:
        """The pages that have the notebook open, the one to ask first first: visible before hidden, then by last use."""
        self._forget_old()
        found = [(page, one) for page in self._pages.values() for one in page.notebooks if is_it(one.path)]
        return sorted(found, key=lambda pair: (not pair[1].visible, -pair[1].used_at, pair[0].page_id))

    def is_stale(self, page: Page) -> bool:
        return self._clock.monotonic() - page.heard_at > STALE_SECONDS

    async def settled(self) -> None:
        """After a start, until a page that listens already has told what it has open, or could have."""
        left = self._born + GRACE_SECONDS - self._clock.monotonic()
        listens = any(one.session_id is None for one in self._bus.subscriptions)
        if left > 0 and listens and not self._told.is_set():
            with anyio.move_on_after(left):
                await self._told.wait()

    async def ask(
        self, page_id: str, session_id: SessionId, *, request_id: str, seconds: float, **fields: Any
    ) -> PageAnswer | None:
        """The page's answer; ``None``: it did not answer in time, and must not do it any more.

        :raises PageGone: if the page was closed meanwhile
        """
        wait = self._waits[request_id] = _Wait(page_id=page_id)
        try:
            self._bus.ask_page(
                PageRequest(session_id=session_id, page_id=page_id, request_id=request_id, seconds=seconds, **fields)
            )
            with anyio.move_on_after(seconds):
                await wait.done.wait()
            if wait.answer is None and wait.done.is_set():
                raise PageGone
            return wait.answer
        finally:
            wait.done.set()
            del self._waits[request_id]

    def _forget_old(self) -> None:
        now = self._clock.monotonic()
        for page in list(self._pages.values()):
            if now - page.heard_at > _KEPT_SECONDS:
                self.drop(page.page_id)
