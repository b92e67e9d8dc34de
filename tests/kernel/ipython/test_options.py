"""What stands behind ``%%pernix``."""

import pytest

from jupyter_pernix.kernel.ipython.options import CellOptions, budget_of, cell_options
from jupyter_pernix.kernel.ipython.turn import CellFailed


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("", CellOptions()),
        ("what's new?", CellOptions(question="what's new?")),
        ("--mode ask --new", CellOptions(mode="ask", session="new")),
        ("--mode=ask --session ses_1 why -- so?", CellOptions(mode="ask", session="ses_1", question="why -- so?")),
        ("--endpoint local", CellOptions(model="local")),
        ("--model qwen/q:8b -- --new is what?", CellOptions(model="qwen/q:8b", question="--new is what?")),
        (
            "--budget rounds=5,cost=0.5,lines=10",
            CellOptions(budget={"rounds": 5, "cost": 0.5, "changed_lines": 10}),
        ),
    ],
)
def test_options_come_first_and_the_rest_is_the_question(line: str, wanted: CellOptions):
    assert cell_options(line) == wanted


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--mode mad", "'mad' is no mode; there is ask, plan, edit, auto"),
        ("--mode", "behind --mode there is a value missing, e.g. --mode edit"),
        ("--model --new", "behind --model there is a value missing"),
        ("--fast", "has no option --fast; it has --session, --new"),
        ("--budget rounds=many", "'rounds=many' is no limit; write e.g. rounds=10"),
        ("--budget speed=3", "'speed=3' is no limit"),
        ("--budget rounds=-1", "'rounds=-1' is no limit"),
    ],
)
def test_what_is_wrong_is_said_with_what_there_is(line: str, said: str):
    with pytest.raises(CellFailed, match=said):
        cell_options(line)


def test_no_limit_is_a_limit_too():
    assert budget_of(["rounds=none", "tokens=100"]) == {"rounds": None, "tokens": 100}
