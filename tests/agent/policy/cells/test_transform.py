"""Our reading of IPython's syntax is IPython's own."""

import json
import random
from pathlib import Path

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from jupyter_pernix.agent.policy.cells.transform import Unreadable, transform

CASES = json.loads((Path(__file__).parents[3] / "cases" / "cells.json").read_text())
PYTHON = [case["code"] for case in CASES if case["lang"] == "python"]

ODD = [
    "",
    "\n",
    " \n\n",
    "  x = 1\n  !ls",
    "\n\n%%bash\nls",
    "%%bash\nls\n\n",
    "%%bash?\nls",
    "%%time x = 1\n!ls",
    "!ls \\\n  -l \\\n  src",
    "!ls \\",
    "x = !ls \\\n -l",
    "x = %time 1",
    "x =!ls",
    "x = ! ls",
    "a = b = !ls",
    "x.y = !ls",
    "x[1] = !ls",
    "x, y = !ls",
    "f(a=!ls)",
    "x == !ls",
    "x = !!ls",
    "x = %",
    "x = 5 %timeit",
    "(\n%time\n)",
    "x = '''\n!ls\n'''\n!pwd",
    "x = f'''\n%ls {1}\n'''\n%pwd",
    "# !ls\n!ls",
    "if 1:\n    !ls\n    %pwd\nelse:\n\t!x",
    "def f():\n    return 1\n!f",
    "x?",
    "x??",
    "?x",
    "??x",
    "x.y[0]?",
    "*int*?",
    "%time?",
    "%%time?",
    "x = y?",
    "f(x)?",
    "'a?'",
    "x ?",
    "?",
    "??",
    ",f a b",
    ";f a b",
    "/f a b",
    "/ f",
    "/",
    ">>> x = 1\n>>> !ls",
    ">>> if 1:\n...     x\n... !ls",
    "    >>> !ls\n    ... x",
    "In [1]: !ls\n   ...: x",
    "In [12]: %%bash\n   ...: ls",
    "... : x",
    "[ins] In [1]: !ls",
    "'''\n>>> x\n'''",
    "x = '''a\n>>> !ls\n'''\n>>> !pwd",
    "...",
    "!ls 'abc\nx = 1",
    "!echo \"it's\n%pwd",
    "x = 1; !ls",
    "x = 1\n%%bash\nrm x",
    "%lsmagic\n\n\n%pwd",
    "!\n!!",
    "%",
    "%%",
    "%% x",
    "% x",
    "%%!\nls",
    "!ls # comment",
    "x = lambda: !ls",
    "with x:\n  !ls",
    "@x\n!ls",
    "a %b",
    "a\\\n%b",
    "1 \\\n!ls",
    "\t!ls",
    "x = '\\\n!ls'",
    "!ls\r\n!pwd\r\n",
    "!ls\x0c!pwd",
    "x = 0777\n!ls",
    "x = 1_\n!ls",
    "x = $y\n!ls",
    "é = !ls",
    "!ls é",
    "return !ls",
    "x: int = !ls",
    "x += !ls",
    "{\n'a': 1\n}\n!ls",
    ")\n!ls",
    "(\n!ls",
    "print(1) ; %pwd",
    "for i in x: !ls",
    "if 1: %pwd",
]

PIECES = [
    "!ls", "%pwd", "x = !ls -l", "y = %time 1", "!!ls", "%%bash", "x = 1", "if x:", "    ", "\t", "'", '"', "'''", '"""', "(", ")", "[", "]",
    "#", "?", "x?", "\\\n", "\n", "\n", "\n", " ", ">>> ", "... ", "In [1]: ", "   ...: ", ";f a", ",f a b", "/f a", "=", "==", "$x", "{y}",
    "f'{x}'", "def f():", "    return 1", "else:", "rm x", "%", "!", ":", "...", "\r\n", "é",
]  # fmt: skip


def theirs(code: str) -> str | None:
    try:
        return TransformerManager().transform_cell(code)
    except (SyntaxError, RuntimeError, AssertionError):
        return None


def ours(code: str) -> str | None:
    try:
        return transform(code)
    except SyntaxError:
        return None


@pytest.mark.parametrize("code", [*PYTHON, *ODD])
def test_a_cell_is_read_as_ipython_reads_it(code: str) -> None:
    assert ours(code) == theirs(code)


def test_generated_cells_are_read_as_ipython_reads_them() -> None:
    chance = random.Random(7)
    differing = []
    for _ in range(1500):
        code = "".join(chance.choice(PIECES) for _ in range(chance.randint(1, 14)))
        if ours(code) != theirs(code):
            differing.append(code)
    assert differing == []


def test_a_cell_of_nothing_but_magics_is_given_up_as_by_ipython() -> None:
    with pytest.raises(Unreadable):
        transform("!echo a line\n" * 501)
    assert transform("!echo a line\n" * 499) == theirs("!echo a line\n" * 499)
