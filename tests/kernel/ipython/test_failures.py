"""Errors of the user's cells, as ``Err[n]`` and ``%pernix fix`` have them."""

import pytest
from IPython.core.interactiveshell import InteractiveShell

from jupyter_pernix.kernel.ipython import load
from jupyter_pernix.kernel.ipython.magics import PernixMagics
from jupyter_pernix.kernel.ipython.turn import CellFailed


@pytest.fixture
def magics(shell: InteractiveShell) -> PernixMagics:
    load(shell)
    return next(magics for magics in shell.magics_manager.registry.values() if isinstance(magics, PernixMagics))


class Bad(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def run(shell: InteractiveShell, *cells: str) -> None:
    for cell in cells:
        shell.run_cell(cell, store_history=True)


def test_each_error_is_kept_by_its_cell(shell: InteractiveShell, magics: PernixMagics):
    run(shell, "1 / 0", "fine = 1", "def f(x):\n    return x.nothing\nf(fine)", "x = = 1")
    texts = magics.failures.texts
    assert list(texts) == [1, 3, 4]
    assert texts[1].startswith("Traceback") and texts[1].endswith("ZeroDivisionError: division by zero")
    assert "return x.nothing" in texts[3]
    assert texts[4].endswith("SyntaxError: invalid syntax")
    last = magics.failures.last
    assert last is not None and (last.number, last.source, last.name) == (4, "x = = 1", "SyntaxError")


def test_what_the_user_stops_or_a_magic_says_is_no_error(shell: InteractiveShell, magics: PernixMagics):
    run(shell, "raise KeyboardInterrupt", "%pernix nonsense", "get_ipython().run_cell('1 / 0')")
    assert magics.failures.texts == {}


def test_a_traceback_is_bounded_and_holds_no_secret(shell: InteractiveShell, magics: PernixMagics):
    run(
        shell,
        "def deep(n):\n    return deep(n - 1) if n else 1 / 0\ndeep(900)",
        "raise ValueError('sk-abcdefghijklmnop1234')",
        "raise ValueError('y' * 20_000)",
    )
    magics.failures.add(4, "", Bad())
    texts = magics.failures.texts
    assert all(len(text) < 9_000 for text in texts.values())
    assert "ZeroDivisionError" in texts[1]
    assert "sk-abc" not in texts[2]
    assert "Bad" in texts[4]


def test_only_the_last_ones_are_kept(shell: InteractiveShell, magics: PernixMagics):
    for number in range(60):
        magics.failures.add(number, "", ValueError("x"))
    assert list(magics.failures.texts) == list(range(10, 60))


def test_without_an_error_there_is_nothing_to_mend(shell: InteractiveShell, magics: PernixMagics):
    with pytest.raises(CellFailed, match="no cell has failed"):
        shell.run_line_magic("pernix", "fix")
