"""Replies against what the host saw: a table of sentences, each with the log that it is held against and what is said to it."""

import json
from pathlib import Path
from typing import Any

import pytest
from agent.worlds import TURN, names, world_of

from jupyter_pernix.agent.claims import corrections

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "cases" / "claims.json").read_text(encoding="utf-8")
)


def test_the_table_is_wide_and_has_claims_and_none() -> None:
    claims = sum(bool(case["says"]) for case in CASES)
    assert (len(CASES) >= 120, claims >= 50, len(CASES) - claims >= 60) == (True, True, True)
    assert {case["world"] for case in CASES} <= set(names())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['world']}: {case['text'][:60]}")
def test_a_reply_is_corrected_by_facts_and_only_then(case: dict[str, Any]) -> None:
    found = corrections(
        case["text"],
        world_of(case["world"]).ledger,
        TURN,
        case.get("request", ""),
        case.get("previous", ""),
        case.get("mode", "edit"),
    )
    assert len(found) == len(case["says"]), found
    assert all(said in sentence for said, sentence in zip(case["says"], found, strict=True)), found


@pytest.mark.parametrize(
    "line",
    [
        "I fixed `a.py`, and the tests pass. ",
        "a " * 20,
        "I I I I ",
        "(((( `a.py` ",
        "the the ",
        "a.b.c.d/",
        "habe ich ",
        "“a",
    ],
)
def test_a_long_reply_is_read_quickly(line: str) -> None:
    assert len(corrections(line * (100_000 // len(line)), world_of("edited").ledger, TURN)) <= 6


def test_what_was_said_is_not_said_twice() -> None:
    text = "All tests pass. All tests pass! The tests pass, and all tests pass."
    assert len(corrections(text, world_of("edited").ledger, TURN)) == 1
