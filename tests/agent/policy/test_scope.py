import os
from pathlib import Path

import pytest

from jupyter_pernix.agent.policy.scope import OutOfScope, Scope


@pytest.fixture
def scope(tmp_path: Path) -> Scope:
    space = tmp_path / "space"
    (space / "sub").mkdir(parents=True)
    (space / "sub" / "file").write_text("")
    (space / "inner").symlink_to("sub")
    (space / "outer").symlink_to(tmp_path)
    (space / "dangling").symlink_to(tmp_path / "nowhere" / "yet")
    (space / "loop").symlink_to("loop")
    (tmp_path / "space-twin").mkdir()
    return Scope(space)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (".", "."),
        ("", "."),
        ("sub/file", "sub/file"),
        ("./sub/../sub/./file", "sub/file"),
        ("inner/file", "sub/file"),
        ("inner/new/deep.txt", "sub/new/deep.txt"),
        ("none/../sub", "sub"),
        ("sub//file", "sub/file"),
        ("a b/ü.txt", "a b/ü.txt"),
        ("..data", "..data"),
    ],
)
def test_paths_in_the_space_are_found_where_they_really_are(scope: Scope, given: str, name: str) -> None:
    assert scope.locate(given).name == name


def test_an_absolute_path_in_the_space_is_as_good_as_a_relative_one(scope: Scope) -> None:
    assert scope.locate(str(scope.root / "sub")).name == "sub"


@pytest.mark.parametrize(
    "given",
    [
        "..",
        "../space-twin",
        "sub/../..",
        "/",
        "/etc/passwd",
        "outer/file",
        "outer",
        "inner/../../x",
        "dangling",
        "dangling/x",
        "~/file",
        "~root/file",
        "a\0b",
        "x" * 256,
        "/".join(["x" * 200] * 30),
        "\udcff" * 3 + "/" + "\ud800",
    ],
)
def test_paths_that_lead_out_or_are_none_are_refused(scope: Scope, given: str) -> None:
    with pytest.raises(OutOfScope):
        scope.locate(given)


def test_a_loop_of_links_is_located_but_cannot_be_opened(scope: Scope) -> None:
    assert scope.locate("loop").name == "loop"


@pytest.mark.parametrize(
    "given", [".git", ".git/config", "sub/.git", ".GIT/hooks/x", ".pernix/a", "pernix-runs/a.ipynb"]
)
def test_owned_folders_are_known_wherever_they_are(scope: Scope, given: str) -> None:
    assert scope.locate(given).owned is not None


def test_a_link_to_an_owned_folder_is_owned(scope: Scope) -> None:
    (scope.root / ".git").mkdir()
    (scope.root / "harmless").symlink_to(".git")
    assert scope.locate("harmless/config").owned == ".git"


@pytest.mark.parametrize("given", [".gitignore", "git/config", "pernix-runs.txt", "x.git"])
def test_names_that_only_resemble_owned_ones_are_free(scope: Scope, given: str) -> None:
    assert scope.locate(given).owned is None


def test_a_space_behind_a_link_is_its_real_folder(scope: Scope, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(scope.root)
    assert Scope(tmp_path / "alias").root == Path(os.path.realpath(scope.root))


# ---- what a person has opened -------------------------------------------------------------------------------------------


def test_what_was_opened_is_found_and_nothing_beside_it(scope: Scope, tmp_path: Path) -> None:
    data = tmp_path.parent / "data"
    opened = scope.opening([str(data)], home=str(tmp_path.parent))
    located = opened.locate(f"{data}/a.csv")
    assert (located.outside, located.name, located.path) == (True, f"{data}/a.csv", data / "a.csv")
    assert opened.locate("~/data/a.csv").path == data / "a.csv"
    for given in (f"{data}2/a.csv", f"{data}/../other", str(data.parent), "~/other"):
        with pytest.raises(OutOfScope):
            opened.locate(given)


def test_a_name_of_the_space_that_looks_like_home_is_the_spaces(scope: Scope, tmp_path: Path) -> None:
    (scope.root / "~").mkdir()
    found = scope.find("~/notes.txt", home=str(tmp_path.parent))
    assert (found.outside, found.name) == (False, "~/notes.txt")
