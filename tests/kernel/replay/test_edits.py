"""Recorded changes of files, taken back and applied again."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from jupyter_pernix.kernel.record import TOOL_CALL_MIME
from jupyter_pernix.kernel.replay.edits import FileEdit, apply_edit, recorded_edits, take_back


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def written(path: str, content: str, *, before: str | None = None) -> FileEdit:
    arguments = {"path": path, "content": content}
    known = sha(before) if before is not None else None
    return FileEdit(
        tool="write_file",
        title="w",
        arguments=arguments,
        status="completed",
        before=known,
        after=sha(content),
        digests=True,
    )


def edited(path: str, whole: str, old: str, new: str) -> FileEdit:
    return FileEdit(
        tool="edit_file", title="e", arguments={"path": path, "old_text": old, "new_text": new}, status="completed",
        before=sha(whole), after=sha(whole.replace(old, new, 1)), digests=True,
    )  # fmt: skip


def test_edits_are_taken_back_to_the_beginning_and_applied_again(tmp_path: Path):
    steps = [
        written("new/a.py", "x = 1\ny = 1\n"),
        edited("new/a.py", "x = 1\ny = 1\n", "x = 1", "x = 2"),
        edited("b.txt", "one two", "two", "one"),
    ]
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "a.py").write_text("x = 2\ny = 1\n")
    (tmp_path / "b.txt").write_text("one one")

    assert take_back(steps, tmp_path) == []
    assert not (tmp_path / "new" / "a.py").exists()
    assert (tmp_path / "b.txt").read_text() == "one two"

    assert [apply_edit(step, tmp_path).status for step in steps] == ["applied"] * 3
    assert (tmp_path / "new" / "a.py").read_text() == "x = 2\ny = 1\n"
    assert (tmp_path / "b.txt").read_text() == "one one"


def test_what_was_changed_since_stays_and_is_told(tmp_path: Path):
    (tmp_path / "a.txt").write_text("by hand")
    step = edited("a.txt", "one", "one", "two")
    assert take_back([step], tmp_path) == [step]
    assert (tmp_path / "a.txt").read_text() == "by hand"
    assert apply_edit(step, tmp_path).detail == "the text that was replaced is not in the file"


def test_what_is_so_already_is_left(tmp_path: Path):
    (tmp_path / "a.txt").write_text("two")
    applied = apply_edit(edited("a.txt", "one", "one", "two"), tmp_path)
    assert (applied.status, applied.detail) == ("skipped", "the file is so already")


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (
            FileEdit(tool="write_file", title="", arguments={"path": "a", "content": "x"}, status="failed"),
            "had not been completed",
        ),
        (FileEdit(tool="apply_patch", title="", arguments={"path": "a"}, status="completed"), "cannot be repeated"),
        (
            FileEdit(tool="write_file", title="", arguments={"path": "../a", "content": "x"}, status="completed"),
            "not below the folder",
        ),
        (
            FileEdit(tool="write_file", title="", arguments={"path": "/etc/a", "content": "x"}, status="completed"),
            "not below the folder",
        ),
        (FileEdit(tool="write_file", title="", arguments={"path": "a"}, status="completed"), "does not hold the text"),
        (
            FileEdit(
                tool="write_file",
                title="",
                arguments={"path": "a", "content": "x[… 5 characters left out …]y"},
                status="completed",
            ),
            "only a part",
        ),
        (
            FileEdit(
                tool="write_file", title="", arguments={"path": "a", "content": "k = '••••(token)'"}, status="completed"
            ),
            "without a secret",
        ),
    ],
)
def test_what_cannot_be_repeated_says_why_and_changes_nothing(edit: FileEdit, why: str, tmp_path: Path):
    applied = apply_edit(edit, tmp_path)
    assert (applied.status, why in applied.detail) == ("skipped", True)
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path):
    (tmp_path / "outside").mkdir()
    space = tmp_path / "space"
    space.mkdir()
    (space / "link").symlink_to(tmp_path / "outside")
    applied = apply_edit(written("link/a.txt", "x"), space)
    assert applied.status == "skipped"
    assert list((tmp_path / "outside").iterdir()) == []


def test_edits_are_read_from_the_cells_of_a_record():
    call: dict[str, Any] = {
        "tool": "edit_file", "kind": "edit", "title": "edit a", "status": "completed", "arguments": {"path": "a"},
        "files": [{"path": "a", "before": "1", "after": "2"}], "cells": [],
    }  # fmt: skip
    cell = {"outputs": [{"output_type": "display_data", "data": {TOOL_CALL_MIME: call}}]}
    edit = recorded_edits(cell)
    assert edit is not None
    assert (edit.tool, edit.before, edit.after, edit.digests) == ("edit_file", "1", "2", True)
    for spoilt in ({**call, "kind": "read"}, {**call, "cells": [{}]}, "no object"):
        assert recorded_edits({"outputs": [{"data": {TOOL_CALL_MIME: spoilt}}]}) is None
