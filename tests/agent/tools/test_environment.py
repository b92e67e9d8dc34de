import sys
from pathlib import Path

import pytest

from jupyter_pernix.agent.tools.environment import FIXED, cleaned, secret


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GITHUB_TOKEN",
        "openai_api_key",
        "JUPYTER_TOKEN",
        "JUPYTERHUB_API_TOKEN",
        "JPY_PARENT_PID",
        "PERNIX_DATA_DIR",
        "AWS_SECRET_ACCESS_KEY",
        "CLIENT_SECRET",
        "PGPASSWORD",
    ],
)
def test_names_of_secrets_are_known(name: str) -> None:
    assert secret(name)


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "LANG", "TOKENIZERS_PARALLELISM", "KEYBOARD", "OPENAI_BASE_URL", "JUPYTER_PATH"]
)
def test_other_names_are_kept(name: str) -> None:
    assert not secret(name)


def test_the_folder_of_this_python_comes_first_and_once() -> None:
    here = str(Path(sys.executable).parent)
    assert cleaned({"PATH": f"/usr/bin:{here}:/bin"})["PATH"] == f"{here}:/usr/bin:/bin"


def test_start_files_and_exported_functions_are_taken_out_and_the_fixed_ones_win() -> None:
    given = {"ENV": "x", "BASH_ENV": "x", "BASH_FUNC_ls%%": "() { rm; }", "MPLBACKEND": "x", "PAGER": "less", "A": "1"}
    result = cleaned(given)
    assert {name: result[name] for name in result if name != "PATH"} == {"A": "1", **FIXED}


def test_variables_that_change_what_a_line_means_are_taken_out() -> None:
    names = ("CDPATH", "BASHOPTS", "SHELLOPTS", "GLOBIGNORE", "POSIXLY_CORRECT")
    assert not set(names) & set(cleaned(dict.fromkeys(names, "x")))
