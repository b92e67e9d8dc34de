"""The magics' own manners: loading, help, completion, refusing to nest."""

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from jupyter_pernix.kernel.ipython import load
from jupyter_pernix.kernel.ipython.commands import COMMANDS
from jupyter_pernix.kernel.ipython.magics import PernixMagics
from jupyter_pernix.kernel.ipython.turn import CellFailed


@pytest.fixture
def magics(shell: InteractiveShell) -> PernixMagics:
    load(shell)
    return next(magics for magics in shell.magics_manager.registry.values() if isinstance(magics, PernixMagics))


def test_loading_twice_keeps_the_session(shell: InteractiveShell, magics: PernixMagics):
    magics.session_id = "ses_1"
    load(shell)
    found = [each for each in shell.magics_manager.registry.values() if isinstance(each, PernixMagics)]
    assert [each.session_id for each in found] == ["ses_1"]


def test_help_names_each_form(shell: InteractiveShell, magics: PernixMagics, capsys: pytest.CaptureFixture[str]):
    shell.run_line_magic("pernix", "help")
    shown = capsys.readouterr().out
    assert all(f"%pernix {word}" in shown for word in COMMANDS)
    assert all(
        word in shown for word in ("%%pernix [--mode", "--session", "--new", "--model", "--budget", "%%pernix sql")
    )


def test_a_question_mark_shows_the_help(
    shell: InteractiveShell, magics: PernixMagics, capsys: pytest.CaptureFixture[str]
):
    shell.run_cell("%pernix?")
    shown = capsys.readouterr().out
    assert "%pernix status" in shown and "--budget" in shown


def test_an_unknown_word_says_what_there_is(magics: PernixMagics, shell: InteractiveShell):
    with pytest.raises(CellFailed, match="there is no %pernix nonsense; there is status, sessions, open"):
        shell.run_line_magic("pernix", "nonsense")


def test_an_empty_cell_says_how_to_ask(shell: InteractiveShell, magics: PernixMagics):
    with pytest.raises(CellFailed, match="write the request below %%pernix"):
        shell.run_cell_magic("pernix", "", "  \n")


def test_a_request_cannot_start_another_in_its_own_cell(shell: InteractiveShell, magics: PernixMagics):
    magics._active = True
    with pytest.raises(CellFailed, match="cannot start another"):
        shell.run_cell_magic("pernix", "", "Do it again")


def test_a_failure_has_no_traceback(magics: PernixMagics, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]):
    result = shell.run_cell("%%pernix --mode mad\nHello")
    assert isinstance(result.error_in_exec, CellFailed)
    assert "Traceback" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("%pernix st", {"status", "stop"}),
        ("%%pernix --mode ", {"ask", "plan", "edit", "auto"}),
        ("%%pernix --", {"--mode", "--session", "--new", "--model", "--endpoint", "--budget"}),
        ("%%pernix --budget ", {"rounds=", "tokens=", "seconds=", "cost=", "lines="}),
        ("%pernix mode ", {"ask", "plan", "edit", "auto"}),
        ("%pernix budget ", {"none", "rounds="}),
        ("%pernix sql SELECT * FROM to", {"tool_calls"}),
    ],
)
def test_tab_completes(magics: PernixMagics, shell: InteractiveShell, text: str, wanted: set[str]):
    with provisionalcompleter():
        found = {completion.text for completion in shell.Completer.completions(text, len(text))}
    assert wanted <= found
