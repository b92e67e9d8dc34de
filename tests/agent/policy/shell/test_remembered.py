"""What "always" saves of the lines that there are, and that it never reaches further than a person was asked about."""

import json
from collections.abc import Iterator

import pytest

from jupyter_pernix.agent.policy.rules import covered, offer, valid_rule

from .conftest import CASES, World

LINES = [case["cmd"] for case in json.loads((CASES / "shell_gate.json").read_text())["shell"]]


def offers(world: World) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each line that is asked about with what is offered for it."""
    for line in map(world.filled, LINES):
        judged = world.judge(line)
        if judged.ruling == "ask":
            yield line, offer(judged, lambda line=line: world.judge(line), home=str(world.home))


@pytest.fixture(scope="module")
def offered(pristine: World) -> dict[str, tuple[str, ...]]:
    return dict(offers(pristine))


def test_what_is_offered_covers_its_own_line_and_can_be_saved(pristine: World, offered: dict[str, tuple[str, ...]]):
    some = {line: rules for line, rules in offered.items() if rules}
    assert len(some) > 50
    for line, rules in some.items():
        assert covered(pristine.judge(line), rules, home=str(pristine.home)), line
        assert [valid_rule(rule, home=str(pristine.home)) for rule in rules] == [""] * len(rules)
        less = [rules[:at] + rules[at + 1 :] for at in range(len(rules))]
        assert not any(covered(pristine.judge(line), given, home=str(pristine.home)) for given in less), line


def test_an_ask_without_an_offer_is_the_exception(offered: dict[str, tuple[str, ...]]):
    assert [line for line, rules in offered.items() if not rules and "\n" not in line] == []


def test_all_that_was_ever_offered_together_allows_no_line_that_is_asked_each_time(
    pristine: World, offered: dict[str, tuple[str, ...]]
):
    given = {rule for rules in offered.values() for rule in rules}
    each_time = [line for line in map(pristine.filled, LINES) if pristine.judge(line).ruling == "ask_always"]
    assert len(each_time) > 200
    assert [line for line in each_time if covered(pristine.judge(line), given, home=str(pristine.home))] == []
    first = next(iter(offered))
    joined = [f"{first}\n{line}" for line in each_time]
    assert [line for line in joined if covered(pristine.judge(line), given, home=str(pristine.home))] == []
