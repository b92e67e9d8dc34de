"""The magics' own manners: loading, help, completion, refusing to nest."""

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from jupyter_pernix.kernel.ipython import load
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


@pytest.mark.parametrize("line", ["help", "nonsense"])
def test_help_names_each_form(
    shell: InteractiveShell, magics: PernixMagics, line: str, capsys: pytest.CaptureFixture[str]
):
    shell.run_line_magic("pernix", line)
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("%%pernix", "--mode", "status", "sessions", "open ID", "stop"))


def test_an_empty_cell_says_how_to_ask(shell: InteractiveShell, magics: PernixMagics):
    with pytest.raises(CellFailed, match="request"):
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
        ("%%pernix --", {"--mode", "--session", "--endpoint"}),
    ],
)
def test_tab_completes(magics: PernixMagics, shell: InteractiveShell, text: str, wanted: set[str]):
    with provisionalcompleter():
        found = {completion.text for completion in shell.Completer.completions(text, len(text))}
    assert wanted <= found
