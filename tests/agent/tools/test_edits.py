"""Edits that are there already, that are made on very large files, and what became of one during which the program ended."""

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from agent.acting import Acting
from agent.tools.doing import did, edit, read

from jupyter_pernix.agent.ledger import Ledger
from jupyter_pernix.agent.policy.scope import Scope
from jupyter_pernix.agent.tools.base import ReconcileContext, ToolResult
from jupyter_pernix.agent.tools.registry import TOOLS
from jupyter_pernix.agent.tools.textfile import digest
from jupyter_pernix.events import FileChanged
from jupyter_pernix.records import JSON


@pytest.mark.parametrize(
    ("content", "old", "new", "line"),
    [
        ("a\nB\nc\n", "b", "B", 2),
        ("import os\nimport sys\n", "import os\n", "import os\nimport sys\n", 1),
        ("a\r\nX\r\nY\r\n", "x\ny", "X\nY", 2),
        ("f(x, y)\n", "x", "x, y", 1),
    ],
)
async def test_an_edit_that_is_applied_already_is_answered_and_changes_nothing(
    acting: Acting, content: str, old: str, new: str, line: int
) -> None:
    (acting.space / "a").write_bytes(content.encode())
    results = await did(acting, read("a"), edit("a", old, new))

    assert results[1].startswith(f"This is already applied: a has new_text at line {line}, and old_text nowhere else")
    assert (acting.statuses[-1], acting.of(FileChanged)) == ("completed", [])
    assert (acting.space / "a").read_bytes() == content.encode()


async def test_the_same_edit_twice_is_made_once(acting: Acting) -> None:
    (acting.space / "a").write_text("import os\n")
    results = await did(acting, read("a"), *[edit("a", "import os\n", "import os\nimport sys\n")] * 2)
    assert [result.split(":")[0].split("(")[0].strip() for result in results[1:]] == [
        "Edited a",
        "This is already applied",
    ]
    assert (acting.space / "a").read_text() == "import os\nimport sys\n"


async def test_a_text_that_is_elsewhere_too_is_still_replaced(acting: Acting) -> None:
    (acting.space / "a").write_text("x = 1\ny = 2\n")
    await did(acting, read("a"), edit("a", "x = 1", "y = 2"))
    assert (acting.space / "a").read_text() == "y = 2\ny = 2\n"


async def test_other_work_goes_on_while_a_very_large_file_is_edited(acting: Acting) -> None:
    file = acting.space / "a.log"
    line = "2026-01-05 12:00:01 INFO worker finished /api/items in 20 ms\r\n"
    file.write_bytes((line * 310_000 + "needle\r\n" + line * 310_000).encode())
    await did(acting, read("a.log", start_line=310_001, end_line=310_001))
    turns, done = 0, anyio.Event()

    async def others() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            await anyio.sleep(0.001)

    async with anyio.create_task_group() as group:
        group.start_soon(others)
        results = await did(acting, edit("a.log", "needle", "pin"))
        done.set()

    # on the loop itself, an edit of this size would leave room for a handful
    assert turns > 20
    assert results[0].startswith("Edited a.log (+1 -1 lines).\n309999\t")
    assert file.stat().st_size == 620_000 * len(line) + 5


# ---- after a crash ------------------------------------------------------------------------------------------------------


async def found_out(acting: Acting, tool: str, arguments: JSON) -> ToolResult | None:
    """What the tool says became of a call that was begun after all that is in the log."""
    reconcile = TOOLS[tool].reconcile
    assert reconcile is not None
    return await reconcile(arguments, ReconcileContext(scope=Scope(acting.space), ledger=Ledger.of(acting.host.log)))


EDIT: JSON = {"path": "a", "old_text": "b\nc", "new_text": "B"}


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
async def test_an_edit_whose_effect_is_there_was_carried_out(acting: Acting, ending: bytes) -> None:
    file = acting.space / "a"
    file.write_bytes(b"a\nb\nc\nB\n".replace(b"\n", ending))
    before = digest(file.read_bytes())
    await did(acting, read("a"))
    file.write_bytes(b"a\nB\nB\n".replace(b"\n", ending))
    result = await found_out(acting, "edit_file", EDIT)

    assert result is not None and not result.failed and result.text.startswith("Was carried out")
    (change,) = result.changes
    assert (change.path, change.before, change.after) == ("a", before, digest(file.read_bytes()))
    assert (change.added_lines, change.removed_lines) == (1, 2)
    assert result.seen == {"a": change.after}


async def test_an_edit_whose_file_is_as_before_was_not_carried_out(acting: Acting) -> None:
    (acting.space / "a").write_text("a\nb\nc\n")
    await did(acting, read("a"))
    result = await found_out(acting, "edit_file", EDIT)
    assert result is not None and result.failed and result.text.startswith("Was not carried out")
    assert result.changes == ()


async def test_an_edit_whose_change_is_in_the_log_was_carried_out_whatever_came_after(acting: Acting) -> None:
    (acting.space / "a").write_text("a\nb\nc\n")
    await did(acting, read("a"), edit("a", "b\nc", "B"))
    change = acting.of(FileChanged)[0].change
    reconcile = TOOLS["edit_file"].reconcile
    assert reconcile is not None
    context = ReconcileContext(scope=Scope(acting.space), ledger=Ledger.of(acting.host.log), changes=(change,))
    here = await reconcile(EDIT, context)
    (acting.space / "a").write_text("theirs\n")
    later = await reconcile(EDIT, context)

    assert here is not None and (here.failed, here.changes, here.seen) == (False, (), {"a": change.after})
    assert later is not None and (later.failed, later.seen) == (False, {}) and "by somebody since" in later.text


@pytest.mark.parametrize("now", ["a\nB\nd\n", "something else\n", ""])
async def test_a_file_that_somebody_else_changed_tells_nothing_about_an_edit(acting: Acting, now: str) -> None:
    (acting.space / "a").write_text("a\nb\nc\n")
    await did(acting, read("a"))
    (acting.space / "a").write_text(now)
    assert await found_out(acting, "edit_file", EDIT) is None


@pytest.mark.parametrize(
    "prepare",
    [
        lambda file: None,
        lambda file: file.mkdir(),
        lambda file: file.write_bytes(b"\0\0\0"),
        lambda file: file.symlink_to("/etc/passwd"),
    ],
)
async def test_what_cannot_be_read_tells_nothing_about_an_edit(
    acting: Acting, prepare: Callable[[Path], object]
) -> None:
    prepare(acting.space / "a")
    assert await found_out(acting, "edit_file", EDIT) is None


async def test_a_write_is_told_by_the_content(acting: Acting) -> None:
    arguments: JSON = {"path": "new", "content": "one\ntwo\n"}
    not_yet = await found_out(acting, "write_file", arguments)
    (acting.space / "new").write_text("one\ntwo\n")
    done = await found_out(acting, "write_file", arguments)
    (acting.space / "new").write_text("one\n")
    other = await found_out(acting, "write_file", arguments)

    assert not_yet is not None and not_yet.failed
    assert done is not None and [(one.before, one.added_lines) for one in done.changes] == [(None, 2)]
    assert other is None


async def test_a_write_over_a_known_file_is_told_by_both_contents(acting: Acting) -> None:
    (acting.space / "a").write_bytes(b"old\r\n")
    await did(acting, read("a"))
    not_yet = await found_out(acting, "write_file", {"path": "a", "content": "new\n"})
    (acting.space / "a").write_bytes(b"new\r\n")
    done = await found_out(acting, "write_file", {"path": "a", "content": "new\n"})

    assert not_yet is not None and not_yet.failed
    assert done is not None and not done.failed and len(done.changes) == 1


@pytest.mark.parametrize(
    "arguments", [{}, {"path": 3}, {"path": "../out", "content": ""}, {"path": "a\0b", "content": ""}]
)
async def test_arguments_that_are_none_tell_nothing(acting: Acting, arguments: JSON) -> None:
    assert await found_out(acting, "write_file", arguments) is None
    assert await found_out(acting, "edit_file", arguments) is None


@pytest.mark.parametrize("tool", ["run_shell", "run_code"])
def test_of_what_may_have_any_effect_nothing_can_be_told(tool: str) -> None:
    assert TOOLS[tool].reconcile is None
