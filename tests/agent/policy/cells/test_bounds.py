"""Any text is judged, and what cannot be read is asked about each time."""

import random
from typing import Any

import pytest

from jupyter_pernix.agent.policy.cells import LONGEST

UNREADABLE = {
    "too long": "x = 1\n" * (LONGEST // 6 + 1),
    "100 kB": "!ls\n" * 25_000,
    "unary operators": "-" * 20_000 + "1",
    "additions": "+".join(["1"] * 7_000),
    "attributes": "a" + ".b" * 9_000,
    "lambdas": "lambda: " * 3_000 + "1",
    "calls": "a" + ".b()" * 3_000,
    "a long list of branches": "if x: pass\n" + "elif x: pass\n" * 2_000,
    "cells within cells": "get_ipython().run_cell(" * 1 + repr("get_ipython().run_cell(" + repr("!rm x") + ")") + ")",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_too_long_or_too_deep_is_asked_each_time(judge: Any, name: str) -> None:
    judgement = judge(UNREADABLE[name]).judgement
    assert (judgement.ruling, judgement.grave) == ("ask_always", True)


def test_code_within_code_is_followed_to_an_end(judge: Any) -> None:
    code = "!ls"
    for _ in range(7):
        code = f"get_ipython().run_cell({code!r})"
    judgement = judge(code).judgement
    assert (judgement.ruling, "opaque" in judgement.effects) == ("ask_always", True)


@pytest.mark.parametrize(
    "code", ["\0", "x\0!ls", "\ud800", "!ls \ud800", "%%bash\n\ud800", "open('\ud800')", "os.remove('a\\0b')"]
)
@pytest.mark.parametrize("language", ["python", "R", "julia", "bash", "sql", "javascript", "klingon", ""])
def test_no_text_is_too_odd_to_be_asked_about(judge: Any, code: str, language: str) -> None:
    assert judge(code, language=language).judgement.ruling in ("ask", "ask_always")


PARTS = [
    "!", "%", "%%", "os", ".", "system", "(", ")", "'", '"', "\n", " ", "rm x", "open", "[", "]", "{", "}", "=", "lambda:", "f'", "$", "x",
    "import os", ";", "\\", "get_ipython()", "run_cell", "exec", "\t", ":", "#", "for x in", "%%bash\n", "Path('a')", "/", "+", "*", "\0", "é",
]  # fmt: skip


def test_generated_text_is_always_judged_and_never_unasked(judge: Any) -> None:
    chance = random.Random(5)
    for _ in range(600):
        code = "".join(chance.choice(PARTS) for _ in range(chance.randint(1, 25)))
        language = chance.choice(["python", "python", "R", "julia", "cpp", "javascript", "sql"])
        judgement = judge(code, language=language, automagic=chance.random() < 0.5).judgement
        assert judgement.ruling in ("ask", "ask_always"), code
        assert bool(judgement.rules) == (judgement.ruling == "ask"), code
