"""Which pages there are, and which of them may be passed over."""

import anyio
import pytest

from jupyter_pernix.agent.testing import FakeClock
from jupyter_pernix.errors import Conflict, NotebookRefused
from jupyter_pernix.ids import SessionId
from jupyter_pernix.records import OpenNotebook, PageAnswer, PageState
from jupyter_pernix.serverext.bus import Bus
from jupyter_pernix.serverext.notebooks import page as page_module
from jupyter_pernix.serverext.notebooks.owners import OwnerGone
from jupyter_pernix.serverext.notebooks.page import PageOwner
from jupyter_pernix.serverext.notebooks.pages import STALE_SECONDS, Pages

SESSION = SessionId("ses_test")


def state(page_id: str = "p", path: str = "a.ipynb", *, dirty: bool = True, read_only: bool = False) -> PageState:
    return PageState(page_id=page_id, notebooks=[OpenNotebook(path=path, dirty=dirty, read_only=read_only)])


def is_it(path: str) -> bool:
    return path == "a.ipynb"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def pages(clock: FakeClock) -> Pages:
    return Pages(Bus(), clock)


def owner(pages: Pages) -> PageOwner:
    page, notebook = pages.holding(is_it)[0]
    return PageOwner(pages, page, notebook, SESSION)


async def test_a_page_that_has_just_spoken_and_is_silent_keeps_its_notebook(
    pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "READ_SECONDS", 0.01)
    pages.put(state())
    with pytest.raises(NotebookRefused, match="did not answer"):
        await owner(pages).read()
    assert len(pages.holding(is_it)) == 1


async def test_a_page_that_has_long_been_silent_is_asked_and_gone_if_it_stays_so(
    pages: Pages, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "_STALE_SECONDS", 0.01)
    pages.put(state())
    clock.advance(STALE_SECONDS + 1)
    with pytest.raises(OwnerGone):
        await owner(pages).read()
    assert pages.holding(is_it) == []


async def test_a_tab_that_its_browser_keeps_asleep_still_answers_and_keeps_its_notebook(
    pages: Pages, clock: FakeClock
) -> None:
    bus = pages._bus
    pages.put(state())
    clock.advance(STALE_SECONDS + 1)
    ask = bus.ask_page

    def answers(request: object) -> None:
        pages.answered("p", PageAnswer(request_id=getattr(request, "request_id", "")))

    bus.ask_page = answers  # type: ignore[method-assign]
    try:
        with anyio.fail_after(5):
            assert (await owner(pages).read()).cells == []
    finally:
        bus.ask_page = ask  # type: ignore[method-assign]
    page, _ = pages.holding(is_it)[0]
    assert not pages.is_stale(page)


async def test_an_answer_counts_once_and_only_from_the_page_that_was_asked(pages: Pages) -> None:
    pages.put(state())
    pages.put(state("q"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: pages.ask("p", SESSION, request_id="req_1", seconds=5.0, op="read", path="a.ipynb"))
        await anyio.lowlevel.checkpoint()
        with pytest.raises(Conflict):
            pages.answered("q", PageAnswer(request_id="req_1"))
        pages.answered("p", PageAnswer(request_id="req_1"))
    pages.answered("p", PageAnswer(request_id="req_1"))
    with pytest.raises(Conflict):
        pages.answered("p", PageAnswer(request_id="req_2"))


async def test_who_may_hold_a_notebook_now_is_told_when_it_changes(pages: Pages, clock: FakeClock) -> None:
    told: list[set[str]] = []
    pages.on_change = told.append
    pages.put(state())
    pages.put(state(dirty=False))
    pages.put(state(path="b.ipynb"))
    pages.drop("p")
    pages.drop("p")
    assert told == [{"a.ipynb"}, {"a.ipynb", "b.ipynb"}, {"b.ipynb"}]


async def test_a_page_that_may_not_write_is_not_asked_to(pages: Pages) -> None:
    pages.put(state(read_only=True))
    with pytest.raises(NotebookRefused, match="is read-only"):
        await owner(pages).change(None)  # type: ignore[arg-type]
