"""Reading, writing and editing on real files."""

import os
import stat
import time
from pathlib import Path

import pytest
from agent.acting import Acting
from agent.tools.doing import did, edit, read, write

from jupyter_pernix.agent.tools import files
from jupyter_pernix.agent.tools.textfile import digest
from jupyter_pernix.events import FileChanged, ToolCallFinished
from jupyter_pernix.records import FileChange

# ---- reading ------------------------------------------------------------------------------------------------------------


async def test_lines_come_with_their_numbers(acting: Acting) -> None:
    (acting.space / "a.py").write_text("one\ntwo\n\nfour")
    assert await did(acting, read("a.py"), read("a.py", start_line=2, end_line=3), read("a.py", start_line=4)) == [
        "a.py: lines 1-4 of 4.\n1\tone\n2\ttwo\n3\t\n4\tfour",
        "a.py: lines 2-3 of 4.\n2\ttwo\n3\t",
        "a.py: lines 4-4 of 4.\n4\tfour",
    ]


async def test_a_read_beyond_the_end_says_how_long_the_file_is(acting: Acting) -> None:
    (acting.space / "a").write_text("one\n")
    (acting.space / "empty").write_text("")
    assert await did(
        acting, read("a", start_line=9), read("a", start_line=1, end_line=99), read("empty"), read("none")
    ) == [
        "a has 1 lines; there is no line 9.",
        "a: lines 1-1 of 1.\n1\tone",
        "empty: the file is empty.",
        "There is no file 'none'.",
    ]


async def test_a_long_file_is_read_in_parts(acting: Acting) -> None:
    (acting.space / "a").write_text("".join(f"{'x' * 80} {number}\n" for number in range(1, 1001)))
    first, rest = await did(acting, read("a"), read("a", start_line=176))
    assert first.startswith("a: lines 1-175 of 1000. Read on from line 176.\n1\t")
    assert rest.startswith("a: lines 176-348 of 1000. Read on from line 349.\n176\t")
    assert len(first) < 17_000


async def test_a_line_without_end_is_cut(acting: Acting) -> None:
    (acting.space / "a.json").write_text("[" + "1," * 1_000_000 + "1]")
    (result,) = await did(acting, read("a.json"))
    assert len(result) < 1200
    assert result.endswith("[… 1,999,003 more]")


async def test_binary_files_folders_and_the_outside_are_not_read(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path, can_ask=False)
    (acting.space / "a.bin").write_bytes(bytes(range(256)) * 10)
    (acting.space / "folder").mkdir()
    results = await did(acting, read("a.bin"), read("folder"), read("../x"))
    assert results == [
        "'a.bin' is a binary file of 2,560 bytes; look at it with run_code.",
        "'folder' is a folder; list_files shows what is in it.",
        f"Not done: this needs the user's approval and nobody is there to give it (reads {tmp_path}/x, which is outside of the space). "
        "Go on without it, or finish and say so.",
    ]


async def test_a_read_is_known_by_its_digest(acting: Acting) -> None:
    (acting.space / "a").write_text("one\n")
    await did(acting, read("a", start_line=1, end_line=1))
    assert acting.of(ToolCallFinished)[0].seen == {"a": digest(b"one\n")}


# ---- editing ------------------------------------------------------------------------------------------------------------


async def test_an_edit_changes_its_text_and_is_recorded(acting: Acting) -> None:
    (acting.space / "a.py").write_text("x = 1\ny = 2\nz = 3\n")
    results = await did(acting, read("a.py"), edit("a.py", "y = 2", "y = 5\nyy = 6"))

    assert results[1] == "Edited a.py (+2 -1 lines).\n1\tx = 1\n2\ty = 5\n3\tyy = 6\n4\tz = 3"
    assert (acting.space / "a.py").read_text() == "x = 1\ny = 5\nyy = 6\nz = 3\n"
    assert [event.change for event in acting.of(FileChanged)] == [
        FileChange(
            path="a.py",
            before=digest(b"x = 1\ny = 2\nz = 3\n"),
            after=digest(b"x = 1\ny = 5\nyy = 6\nz = 3\n"),
            added_lines=2,
            removed_lines=1,
            diff="--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,4 @@\n x = 1\n-y = 2\n+y = 5\n+yy = 6\n z = 3\n",
        )
    ]


async def test_edits_follow_one_another_without_reading_again(acting: Acting) -> None:
    (acting.space / "a").write_text("1 2\n")
    await did(acting, read("a"), edit("a", "1", "3"), edit("a", "2", "4"))
    await did(acting, edit("a", "4", "5"))

    assert acting.statuses == ["completed"] * 4
    assert (acting.space / "a").read_text() == "3 5\n"


async def test_a_file_that_was_never_read_is_shown_instead_of_changed(acting: Acting) -> None:
    (acting.space / "a").write_text("1\n")
    results = await did(acting, edit("a", "1", "2"), edit("a", "1", "2"))

    assert results[0] == (
        "Not done: 'a' has not been read in this session. Its content now, so that you can make the change:\n1\t1"
    )
    assert acting.statuses == ["failed", "completed"]


async def test_a_long_file_that_changed_is_shown_around_the_place(acting: Acting) -> None:
    file = acting.space / "a"
    file.write_text("1\n" * 10_000 + "end\n" + "2\n" * 10_000)
    await did(acting, read("a"))
    file.write_text("1\n" * 10_100 + "end\n" + "2\n" * 10_000)
    results = await did(acting, edit("a", "end", "fin"), edit("a", "end", "fin"))

    head, _, shown = results[0].partition("\n")
    assert head == (
        "Not done: 'a' has changed since it was read. Its content now around line 10101 of 20101, so that you can make the change:"
    )
    assert shown.split("\n") == [
        f"{number}\t{'1' if number < 10101 else 'end' if number == 10101 else '2'}" for number in range(10081, 10122)
    ]
    assert results[1].startswith("Edited a (+1 -1 lines).")


async def test_a_long_file_that_changed_and_has_no_such_place_must_be_read_again(acting: Acting) -> None:
    file = acting.space / "a"
    file.write_text("1\n" * 10_000 + "end\n")
    await did(acting, read("a"))
    file.write_text("2\n" * 10_000)
    results = await did(acting, edit("a", "end of all", "fin"), write("a", "mine"))
    assert results == ["Not done: 'a' has changed since it was read. Read it, then make the change."] * 2


async def test_a_touched_file_is_the_same_file(acting: Acting) -> None:
    (acting.space / "a").write_text("1\n")
    await did(acting, read("a"))
    os.utime(acting.space / "a", (1, 1))
    await did(acting, edit("a", "1", "2"))
    assert acting.statuses == ["completed", "completed"]


async def test_what_was_read_outlives_the_turn_and_a_change_by_a_command_is_noticed(acting: Acting) -> None:
    (acting.space / "a").write_text("1\n")
    await did(acting, read("a"))
    results = await did(acting, ("run_shell", {"command": "echo 9 > a"}), edit("a", "1", "2"))
    assert results[1].startswith("Not done: 'a' has changed since it was read.")
    assert (acting.space / "a").read_text() == "9\n"


@pytest.mark.parametrize(
    ("content", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "b\nc", "x\ny", b"a\r\nx\r\ny\r\n"),
        (b"a\r\nb\nc\rd\r\ne", "b", "B", b"a\r\nB\nc\rd\r\ne"),
        (b"a\nb\r\nc\n", "b\n", "b\nB\n", b"a\nb\r\nB\r\nc\n"),
        (b"no end", "end", "final newline", b"no final newline"),
        (b"\xef\xbb\xbfx = '\xc3\xa4'\n", "'ä'", "'ö'", b"\xef\xbb\xbfx = '\xc3\xb6'\n"),
        (
            "\ufeffname;wert\r\nä;1\r\n".encode("utf-16-le"),
            "ä;1",
            "ö;2",
            "\ufeffname;wert\r\nö;2\r\n".encode("utf-16-le"),
        ),
        ("\ufeffä\n".encode("utf-16-be"), "ä", "ü", "\ufeffü\n".encode("utf-16-be")),
        ("Größe €5\n".encode("cp1252"), "€5", "€6", "Größe €6\n".encode("cp1252")),
        (b"\x81 caf\xe9\n", "caf", "Caf", b"\x81 Caf\xe9\n"),
        (
            b"a\r\n" * 1000 + b"needle\r\n" + b"b\r\n" * 1000,
            "needle",
            "pin",
            b"a\r\n" * 1000 + b"pin\r\n" + b"b\r\n" * 1000,
        ),
    ],
)
async def test_what_an_edit_does_not_touch_stays_byte_for_byte(
    acting: Acting, content: bytes, old: str, new: str, after: bytes
) -> None:
    (acting.space / "a").write_bytes(content)
    await did(acting, read("a", start_line=1, end_line=1), edit("a", old, new))

    assert acting.statuses == ["completed", "completed"]
    assert (acting.space / "a").read_bytes() == after


async def test_a_character_that_the_files_encoding_lacks_is_named(acting: Acting) -> None:
    (acting.space / "a").write_bytes("Größe\n".encode("cp1252"))
    results = await did(acting, read("a"), edit("a", "Gr", "値"))
    assert results[1] == "Not done: the file is encoded as cp1252, which has no '値'; leave that character out."


async def test_a_text_that_occurs_several_times_is_refused_with_its_lines(acting: Acting) -> None:
    (acting.space / "a").write_text("x\ny\nx\nz\nx\n")
    results = await did(acting, read("a"), edit("a", "x", "w"))
    assert results[1] == (
        "Not done: old_text occurs 3 times, at lines 1, 3, 5. Give more of the text around the one that you mean."
    )


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("retrun total", "The nearest lines are:\n3\t    return total"),
        (
            "return total\nprint(x)",
            "Its first line is there with other spaces around it, or what follows it differs:\n3\t    return total",
        ),
        ("1\tdef f(x):\n2\t    total = x", "It has line numbers in front; leave them out."),
        ("§§§§§§", "Nothing in it is like its first line; read the file again."),
        ("\n\n", "Read the file again."),
    ],
)
async def test_a_text_that_does_not_occur_is_answered_with_what_is_there(acting: Acting, old: str, said: str) -> None:
    (acting.space / "a").write_text("def f(x):\n    total = x\n    return total\n")
    results = await did(acting, read("a"), edit("a", old, "new"))
    assert results[1] == f"Not done: old_text does not occur in the file. {said}"


async def test_the_nearest_of_very_many_like_lines_is_found_at_once(acting: Acting) -> None:
    lines = [
        f"2026-01-05 12:{n % 60:02d} INFO worker {n} finished /api/items/{n * 7} in {n % 300} ms" for n in range(9_000)
    ]
    (acting.space / "a.log").write_text("\n".join(lines))
    wanted = lines[4711].replace("finished", "finisched") + "\n"
    before = time.process_time()
    results = await did(acting, read("a.log"), edit("a.log", wanted, "x"))
    assert f"4712\t{lines[4711]}" in results[1]
    assert time.process_time() - before < 2.0


async def test_empty_and_equal_texts_are_refused(acting: Acting) -> None:
    (acting.space / "a").write_text("a\n")
    results = await did(acting, read("a"), edit("a", "", "x"), edit("a", "a", "a"))
    assert results[1].startswith("Not done: old_text is empty.")
    assert results[2] == "Not done: old_text and new_text are the same."


async def test_an_edit_keeps_mode_and_link(acting: Acting) -> None:
    (acting.space / "run.sh").write_text("echo 1\n")
    (acting.space / "run.sh").chmod(0o755)
    (acting.space / "link").symlink_to("run.sh")
    await did(acting, read("link"), edit("link", "1", "2"))

    assert (acting.space / "link").is_symlink()
    assert stat.S_IMODE((acting.space / "run.sh").stat().st_mode) == 0o755
    assert (acting.space / "run.sh").read_text() == "echo 2\n"
    assert acting.of(FileChanged)[0].change.path == "run.sh"


# ---- writing ------------------------------------------------------------------------------------------------------------


async def test_a_new_file_is_written_with_its_folders(acting: Acting) -> None:
    results = await did(acting, write("tests/deep/test_a.py", "def test():\n    pass\n"))

    assert results == ["Created tests/deep/test_a.py (+2 -0 lines, 21 bytes)."]
    change = acting.of(FileChanged)[0].change
    assert (change.before, change.after) == (None, digest(b"def test():\n    pass\n"))


async def test_an_existing_file_is_overwritten_only_when_it_is_known(acting: Acting) -> None:
    (acting.space / "a").write_text("theirs\n")
    results = await did(acting, write("a", "mine\n"), write("a", "mine, knowing yours\n"))

    assert results[0].startswith("Not done: 'a' has not been read in this session.")
    assert results[1] == "Wrote a (+1 -1 lines, 20 bytes)."


async def test_a_file_of_ones_own_may_be_written_again(acting: Acting) -> None:
    results = await did(acting, write("a", "1\n"), write("a", "2\n"), ("list_files", {}), write("a", "2\n"))
    assert results[1] == "Wrote a (+1 -1 lines, 2 bytes)."
    assert results[3] == "a has exactly this content already; nothing was written."
    assert len(acting.of(FileChanged)) == 2


async def test_overwriting_keeps_mark_and_line_endings(acting: Acting) -> None:
    (acting.space / "a").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    await did(acting, read("a"), write("a", "x\ny\n"))
    assert (acting.space / "a").read_bytes() == b"\xef\xbb\xbfx\r\ny\r\n"


async def test_notebooks_are_read_as_text_and_never_written(acting: Acting) -> None:
    (acting.space / "n.ipynb").write_text(
        '{"cells": [{"cell_type": "code", "id": "c1", "source": ["1+1"], "outputs": []}]}'
    )
    before = (acting.space / "n.ipynb").read_bytes()
    results = await did(
        acting, read("n.ipynb"), edit("n.ipynb", "1+1", "2"), write("n.ipynb", "{}"), write("new.IPYNB", "{}")
    )

    assert "1\t--- cell 0: code id=c1\n2\t1+1" in results[0]
    assert [result.split(";")[0] for result in results[1:]] == [
        "Not done: 'n.ipynb' is a notebook",
        "Not done: 'n.ipynb' is a notebook",
        "Not done: 'new.IPYNB' is a notebook",
    ]
    assert (acting.space / "n.ipynb").read_bytes() == before


async def test_a_damaged_notebook_is_reported_and_not_replaced(acting: Acting) -> None:
    (acting.space / "n.ipynb").write_text('{"cells": [')
    results = await did(acting, read("n.ipynb"), write("n.ipynb", "{}"))
    assert results[0].startswith("'n.ipynb' is a damaged notebook: ")
    assert (acting.space / "n.ipynb").read_text() == '{"cells": ['


async def test_a_long_diff_is_cut(acting: Acting) -> None:
    await did(acting, write("a", "".join(f"line {number}\n" for number in range(5000))))
    change = acting.of(FileChanged)[0].change
    assert change.added_lines == 5000
    assert len(change.diff) < 21_000
    assert "the rest of the diff is cut" in change.diff


async def test_paths_with_markup_are_only_names(acting: Acting, tmp_path: Path) -> None:
    results = await did(acting, write("<img src=x>.txt", "a\n"))
    assert results == ["Created <img src=x>.txt (+1 -0 lines, 2 bytes)."]


async def test_a_file_that_changes_between_the_look_and_the_write_is_left_alone(
    acting: Acting, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = acting.space / "a"
    file.write_text("1\n")
    await did(acting, read("a"))
    look = files.unified_diff

    def somebody_is_faster(before: str, after: str, *, name: str) -> tuple[str, int, int]:
        file.write_text("theirs\n")
        return look(before, after, name=name)

    monkeypatch.setattr(files, "unified_diff", somebody_is_faster)
    results = await did(acting, edit("a", "1", "2"))

    assert results == ["Not done: 'a' was changed by somebody else at this very moment. Read it again."]
    assert file.read_text() == "theirs\n"
    assert acting.of(FileChanged) == []
