"""What was located is opened without following links; what was put in place after the decision does no harm."""

import os
import stat
from pathlib import Path

import pytest

from jupyter_pernix.agent.policy.opening import read_bytes, read_if_there, write_bytes
from jupyter_pernix.agent.policy.scope import Located, Scope
from jupyter_pernix.errors import ToolFailed, ToolRetry


@pytest.fixture
def space(tmp_path: Path) -> Path:
    space = tmp_path / "space"
    (space / "sub").mkdir(parents=True)
    (space / "sub" / "file").write_text("inside")
    (tmp_path / "file").write_text("outside")
    return space


def located(space: Path, given: str) -> Located:
    return Scope(space).locate(given)


def test_a_file_is_read_and_a_missing_one_is_none(space: Path) -> None:
    assert read_bytes(located(space, "sub/file"), limit=100) == b"inside"
    assert read_if_there(located(space, "sub/none"), limit=100) is None
    assert read_if_there(located(space, "none/none"), limit=100) is None


def test_a_folder_swapped_for_a_link_after_the_decision_is_not_followed(space: Path, tmp_path: Path) -> None:
    file = located(space, "sub/file")
    (space / "sub" / "file").unlink()
    (space / "sub").rmdir()
    (space / "sub").symlink_to(tmp_path)

    with pytest.raises(ToolRetry):
        read_bytes(file, limit=100)
    with pytest.raises(ToolRetry):
        write_bytes(file, b"changed")
    assert (tmp_path / "file").read_text() == "outside"


def test_a_file_swapped_for_a_link_after_the_decision_is_not_followed(space: Path, tmp_path: Path) -> None:
    file = located(space, "sub/file")
    (space / "sub" / "file").unlink()
    (space / "sub" / "file").symlink_to(tmp_path / "file")

    with pytest.raises(ToolRetry):
        read_bytes(file, limit=100)
    with pytest.raises(ToolRetry):
        write_bytes(file, b"changed")
    assert (tmp_path / "file").read_text() == "outside"


def test_only_regular_files_of_bearable_size_are_read(space: Path) -> None:
    os.mkfifo(space / "pipe")
    with pytest.raises(ToolFailed, match="not a regular file"):
        read_bytes(located(space, "pipe"), limit=100)
    with pytest.raises(ToolRetry, match="is a folder"):
        read_bytes(located(space, "sub"), limit=100)
    with pytest.raises(ToolRetry, match="not a file"):
        read_bytes(located(space, "."), limit=100)
    with pytest.raises(ToolFailed, match="more than the 3"):
        read_bytes(located(space, "sub/file"), limit=3)


def test_a_write_makes_folders_and_leaves_nothing_else(space: Path) -> None:
    write_bytes(located(space, "new/deep/file"), b"x")
    assert (space / "new/deep/file").read_bytes() == b"x"
    assert [path.name for path in (space / "new/deep").iterdir()] == ["file"]


def test_a_write_keeps_the_permission_bits_and_the_link_that_leads_to_the_file(space: Path) -> None:
    (space / "run.sh").write_text("old")
    (space / "run.sh").chmod(0o750)
    (space / "alias").symlink_to("run.sh")
    write_bytes(located(space, "alias"), b"new")

    assert (space / "alias").is_symlink()
    assert (space / "run.sh").read_bytes() == b"new"
    assert stat.S_IMODE((space / "run.sh").stat().st_mode) == 0o750


def test_a_write_that_fails_leaves_the_old_file_and_no_other(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ToolFailed, match="No space left"):
        write_bytes(located(space, "sub/file"), b"new")
    assert [(path.name, path.read_text()) for path in (space / "sub").iterdir()] == [("file", "inside")]


def test_a_folder_in_the_place_of_a_file_is_said(space: Path) -> None:
    with pytest.raises(ToolRetry, match="is a folder"):
        write_bytes(located(space, "sub"), b"x")


def test_a_file_in_the_place_of_a_folder_is_said(space: Path) -> None:
    with pytest.raises(ToolRetry, match="does not lead through real folders"):
        write_bytes(located(space, "sub/file/x"), b"x")
