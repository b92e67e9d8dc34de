import re
import time
from collections.abc import Callable

import pytest

from jupyter_pernix import ids

MAKERS: list[tuple[Callable[[], str], str]] = [
    (ids.new_session_id, "ses"),
    (ids.new_turn_id, "trn"),
    (ids.new_step_id, "stp"),
    (ids.new_call_id, "cal"),
    (ids.new_approval_id, "apr"),
    (ids.new_execution_id, "exe"),
    (ids.new_input_id, "inp"),
    (ids.new_change_id, "chg"),
    (ids.new_undo_id, "und"),
]


@pytest.mark.parametrize(("make", "prefix"), MAKERS)
def test_an_id_says_whose_it_is_and_needs_no_quoting(make: Callable[[], str], prefix: str):
    assert re.fullmatch(rf"{prefix}_[0-9a-hjkmnp-tv-z]{{26}}", make())


def test_every_maker_is_covered():
    assert {make for make, _ in MAKERS} == {value for name, value in vars(ids).items() if name.startswith("new_")}


def test_ids_sort_by_creation_time():
    earlier = ids.new_turn_id()
    now = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 == now:
        pass
    assert earlier < ids.new_turn_id()


def test_ids_do_not_repeat():
    assert len({ids.new_call_id() for _ in range(10_000)}) == 10_000
