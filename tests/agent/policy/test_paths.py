"""What touching a path means where the space is the user's home folder: what is the user's own there is not the space's."""

from pathlib import Path

import pytest

from jupyter_pernix.agent.policy.paths import How, judge_path

OWN = (
    ".jupyter/pernix/endpoints.json",
    ".jupyter/pernix/permissions/everywhere.json",
    ".config/jupyter/pernix/permissions/everywhere.json",
    ".config/jupyter/pernix/config.toml",
    "Library/Jupyter/pernix/config.toml",
    ".local/share/jupyter/runtime/jpserver-1.json",
    ".config/gh/hosts.yml",
)


@pytest.mark.parametrize("how", ["read", "write", "delete"])
@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("above", [False, True], ids=["the home is the space", "the space holds the home"])
def test_the_users_credentials_and_settings_in_a_space_are_asked_about_each_time(
    tmp_path: Path, how: How, name: str, above: bool
):
    root = tmp_path.parent if above else tmp_path
    judged = judge_path(f"{tmp_path}/{name}", how, root=str(root), home=str(tmp_path))
    assert (judged.ruling, judged.grave, judged.rules) == ("ask_always", True, ())


def test_other_files_of_a_home_that_is_a_space_are_the_spaces(tmp_path: Path):
    for name in ("notes.txt", "work/a.py", ".config/app/settings.json"):
        path = f"{tmp_path}/{name}"
        assert judge_path(path, "read", root=str(tmp_path), home=str(tmp_path)).ruling == "auto"
        assert judge_path(path, "write", root=str(tmp_path), home=str(tmp_path)).ruling == "ask"


def test_a_space_within_such_a_place_is_a_space(tmp_path: Path):
    root = tmp_path / ".local/share/jupyter/notebooks"
    assert judge_path(f"{root}/a.ipynb", "read", root=str(root), home=str(tmp_path)).ruling == "auto"
