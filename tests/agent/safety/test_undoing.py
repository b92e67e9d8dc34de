"""Files outside of the space, and paths in a log that lead nowhere."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from jupyter_pernix.agent.safety.copies import Copies
from jupyter_pernix.agent.safety.undoing import Undoing
from jupyter_pernix.errors import ToolError
from jupyter_pernix.events import FileChanged, Stored
from jupyter_pernix.ids import CallId, SessionId, TurnId
from jupyter_pernix.records import FileChange


def changed(path: str, before: str | None, after: str) -> list[Stored]:
    change = FileChange(path=path, before=before, after=after, added_lines=1, removed_lines=1, diff="")
    event = FileChanged(session_id=SessionId("ses_1"), turn_id=TurnId("trn_1"), call_id=CallId("cal_1"), change=change)
    return [Stored(seq=1, recorded_at=datetime.now(UTC), event=event)]


def test_a_file_outside_of_the_space_is_put_back_where_it_was(tmp_path: Path) -> None:
    space, file = tmp_path / "space", (tmp_path / "outside.txt").resolve()
    space.mkdir()
    file.write_text("new\n")
    copies = Copies(tmp_path / "kept")
    old, new = copies.keep(b"old\n"), copies.keep(b"new\n")
    undoing = Undoing(space=space, kept=tmp_path / "kept", log=changed(str(file), old, new))
    (step,) = undoing.steps(None, [])
    assert undoing.restore(step) == (new, old)
    assert file.read_text() == "old\n"


@pytest.mark.parametrize("path", ["../outside.txt", "a/../../outside.txt", "./a", "a//b", "", "/../x", "a\0b"])
def test_a_path_that_could_lead_elsewhere_is_refused(tmp_path: Path, path: str) -> None:
    space = tmp_path / "space"
    space.mkdir()
    (tmp_path / "outside.txt").write_text("new\n")
    copies = Copies(tmp_path / "kept")
    undoing = Undoing(space=space, kept=tmp_path / "kept", log=changed(path, None, copies.keep(b"new\n")))
    (step,) = undoing.steps(None, [])
    with pytest.raises(ToolError, match="not a path"):
        undoing.restore(step)
    (file,) = undoing.changed(diff=True)
    assert file.now is None
    assert (tmp_path / "outside.txt").read_text() == "new\n"
