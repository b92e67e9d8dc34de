"""What in a space is read-only because it makes something run later."""

from pathlib import Path

from jupyter_pernix.agent.policy.places import RUNS_LATER_FILES, RUNS_LATER_FOLDERS
from jupyter_pernix.kernel.sandbox import KEPT_NAMES, kept_in


def made(folder: Path, *paths: str) -> None:
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()


def test_files_and_folders_are_found_a_few_folders_down(tmp_path: Path):
    made(
        tmp_path,
        ".git/config",
        "a/.git/hooks/x",
        "a/b/.VSCode/t",
        "a/b/c/.mcp.json",
        "a/b/c/d/.mcp.json",
        "plain/git",
        "sitecustomize.py",
    )
    made(tmp_path, "node_modules/x/.vscode/t")
    found = [str(path.relative_to(tmp_path)) for path in kept_in(tmp_path)]
    assert found == [".git", "a/.git", "a/b/.VSCode", "a/b/c/.mcp.json", "sitecustomize.py"]


def test_links_are_left_out_and_not_followed(tmp_path: Path):
    made(tmp_path, "outside/.git/config", "space/x")
    (tmp_path / "space" / ".vscode").symlink_to(tmp_path / "outside")
    (tmp_path / "space" / "sub").symlink_to(tmp_path / "outside")
    assert kept_in(tmp_path / "space") == ()


def test_a_huge_folder_is_not_looked_through_to_its_end(tmp_path: Path):
    made(tmp_path, *(f"{number}/.git" for number in range(600)))
    assert len(kept_in(tmp_path)) == 500


def test_the_short_list_is_part_of_what_is_asked_about():
    assert {*RUNS_LATER_FILES, *RUNS_LATER_FOLDERS} >= KEPT_NAMES
