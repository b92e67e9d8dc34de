"""The magics' own manners: loading, help, completion, refusing to nest."""

import ast
import subprocess
import sys

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from jupyter_pernix.kernel.ipython import load
from jupyter_pernix.kernel.ipython.commands import COMMANDS
from jupyter_pernix.kernel.ipython.magics import PernixMagics
from jupyter_pernix.kernel.ipython.turn import CellFailed
from jupyter_pernix.kernel.ipython.words import WORDS


@pytest.fixture
def magics(shell: InteractiveShell) -> PernixMagics:
    load(shell)
    return next(magics for magics in shell.magics_manager.registry.values() if isinstance(magics, PernixMagics))


def test_loading_twice_keeps_the_session(shell: InteractiveShell, magics: PernixMagics):
    magics.talk.session_id = "ses_1"
    load(shell)
    found = [each for each in shell.magics_manager.registry.values() if isinstance(each, PernixMagics)]
    assert [each.talk.session_id for each in found] == ["ses_1"]


def test_help_names_each_form(shell: InteractiveShell, magics: PernixMagics, capsys: pytest.CaptureFixture[str]):
    shell.run_line_magic("pernix", "help")
    shown = capsys.readouterr().out
    assert list(COMMANDS) == list(WORDS)
    assert all(f"%pernix {word}" in shown for word in WORDS)
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
    magics.talk.active = True
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


def test_loading_brings_in_next_to_nothing():
    """A kernel that loads the magics in each start pays for two small files."""
    code = (
        "import sys; from IPython.core.interactiveshell import InteractiveShell; shell = InteractiveShell.instance(); before = set(sys.modules); "
        "import jupyter_pernix; jupyter_pernix.load_ipython_extension(shell); print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    loaded = ast.literal_eval(done.stdout.strip().splitlines()[-1])
    ours = {name.removeprefix("jupyter_pernix").lstrip(".") for name in loaded if name.startswith("jupyter_pernix")}
    files = {"magics", "failures", "words"}
    assert ours == {"", "kernel", "kernel.ipython", *(f"kernel.ipython.{name}" for name in files)}
    assert [name for name in loaded if not name.startswith("jupyter_pernix")] == []
