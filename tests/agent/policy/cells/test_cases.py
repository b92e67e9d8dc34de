"""What cells are known to do, case by case."""

import json
from pathlib import Path
from typing import Any

import pytest

CASES = json.loads((Path(__file__).parents[3] / "cases" / "cells.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_cell_is_told_by_its_lines_and_effects(case: dict[str, Any], judge: Any) -> None:
    seen = judge(case["code"], language=case["lang"], automagic=case.get("automagic", False))
    expected = case["expected"]
    assert list(seen.magic_shell) == expected["magic_shell"]
    assert sorted(seen.obvious_effects) == sorted(expected["obvious_effects"])
    assert seen.judgement.ruling in ("ask", "ask_always")
