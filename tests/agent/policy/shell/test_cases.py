"""Every given line gets the verdict, the rules and the refusals that it must get."""

import json
from pathlib import Path
from typing import Any

import pytest

from jupyter_pernix.agent.policy.rules import covered

from .conftest import CASES, World

GIVEN: dict[str, list[dict[str, Any]]] = json.loads((CASES / "shell_gate.json").read_text(encoding="utf-8"))


def of(kind: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in GIVEN[kind]]


@pytest.mark.parametrize("case", of("shell"))
def test_line_gets_its_verdict_and_its_rules(pristine: World, case: dict[str, Any]):
    judgement = pristine.judge(pristine.filled(case["cmd"]))
    assert judgement.ruling in (case["verdict"], *case.get("also_ok", ())), judgement
    if judgement.ruling == "ask" == case["verdict"]:
        allowed = [case["rule"], *case.get("rule_alt", ())]
        assert sorted(judgement.rules) in [sorted(map(pristine.filled, rules)) for rules in allowed], judgement
    assert bool(judgement.rules) == (judgement.ruling == "ask")
    assert judgement.why and not judgement.why.endswith(".")


def test_lines_that_only_read_are_hardly_ever_asked(pristine: World):
    reading = [case for case in GIVEN["shell"] if case["verdict"] == "auto"]
    asked = [case["id"] for case in reading if pristine.judge(pristine.filled(case["cmd"])).ruling != "auto"]
    assert len(asked) < 0.03 * len(reading), asked


@pytest.mark.parametrize("case", of("rule_matching"))
def test_saved_rule_covers_what_it_names_and_nothing_else(pristine: World, case: dict[str, Any]):
    judgement = pristine.judge(pristine.filled(case["cmd"]))
    rules = [pristine.filled(rule) for rule in case["rules"]]
    assert covered(judgement, rules, home=str(pristine.home)) == case["allowed"], judgement


@pytest.mark.parametrize("case", of("deny"))
def test_deny_rule_forbids_what_it_names_and_nothing_else(pristine: World, case: dict[str, Any]):
    judgement = pristine.judge(pristine.filled(case["cmd"]), pristine.filled(case["deny"]))
    assert (judgement.ruling == "denied") == case["refused"], judgement
    assert not case["refused"] or case["deny"] in judgement.why


def test_an_offered_rule_covers_the_very_line_it_was_offered_for(pristine: World):
    uncovered: list[str] = []
    for case in GIVEN["shell"]:
        judgement = pristine.judge(pristine.filled(case["cmd"]))
        again = pristine.judge(pristine.filled(case["cmd"]))
        if (
            judgement.ruling == "ask"
            and judgement.rules
            and not covered(again, judgement.rules, home=str(pristine.home))
        ):
            uncovered.append(f"{case['id']} {judgement.rules}")
    assert uncovered == []


def test_judging_changes_nothing_on_disk(world: World):
    before = _listing(world.home)
    for case in GIVEN["shell"]:
        world.judge(world.filled(case["cmd"]))
    assert _listing(world.home) == before


def _listing(folder: Path) -> list[tuple[str, int, int]]:
    return sorted((str(path), path.lstat().st_size, path.lstat().st_mtime_ns) for path in folder.rglob("*"))
