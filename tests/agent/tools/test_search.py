import os
from pathlib import Path

import anyio
import pytest
from agent.acting import Acting, answer

from jupyter_pernix.agent.testing import Says, call
from jupyter_pernix.agent.tools import search
from jupyter_pernix.records import Budget


async def result(acting: Acting, tool: str, **arguments: str) -> str:
    await acting.say([Says(calls=(call(tool, **arguments),)), answer()])
    return acting.results[-1]


def fill(space: Path) -> None:
    for name in (
        "b.py",
        "a.txt",
        "pkg/c.py",
        ".git/config",
        "node_modules/x/i.js",
        "pkg/__pycache__/c.pyc",
        ".venv/lib/a.py",
    ):
        path = space / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"name = '{name}'\nvalue = 1\n")


async def test_files_are_listed_in_order_without_what_nobody_means(acting: Acting) -> None:
    fill(acting.space)
    (acting.space / "link").symlink_to("/etc")
    assert await result(acting, "list_files") == (
        "a.txt (25 bytes)\nb.py (24 bytes)\nlink -> /etc\npkg/c.py (28 bytes)"
    )


async def test_a_pattern_chooses_by_name_or_path(acting: Acting) -> None:
    fill(acting.space)
    assert await result(acting, "list_files", pattern="*.py") == "b.py (24 bytes)\npkg/c.py (28 bytes)"
    assert await result(acting, "list_files", pattern="pkg/*") == "pkg/c.py (28 bytes)"
    assert await result(acting, "list_files", path="pkg", pattern="*.txt") == "No files that match '*.txt' in 'pkg'."


async def test_a_list_is_bounded_and_says_so(acting: Acting) -> None:
    for number in range(450):
        (acting.space / f"{number:03}").touch()
    lines = (await result(acting, "list_files")).splitlines()
    assert len(lines) == 401
    assert lines[-1] == "[… more than 400 files; give a folder or a pattern]"


async def test_a_walk_is_bounded_and_says_so(acting: Acting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_WALK", 2)
    fill(acting.space)
    assert await result(acting, "list_files", pattern="c.py") == (
        "[… only the first 2 files were looked at; give a folder]"
    )


async def test_what_cannot_be_listed_is_said(acting: Acting) -> None:
    fill(acting.space)
    assert await result(acting, "list_files", path="none") == "The folder 'none' does not exist."
    assert await result(acting, "list_files", path="b.py") == "The folder 'b.py' is a file; read_file shows it."


async def test_a_folder_outside_is_listed_and_searched_with_whole_paths_once_a_person_agrees(acting: Acting) -> None:
    data = acting.root / "data"
    data.mkdir()
    (data / "a.csv").write_text("x,1\n")
    assert await result(acting, "list_files", path="../data") == f"{data}/a.csv (4 bytes)"
    assert await result(acting, "search_files", pattern="x", path="../data") == f"{data}/a.csv:1: x,1"


async def test_what_looks_like_a_secret_is_listed_and_not_searched(acting: Acting) -> None:
    fill(acting.space)
    for name in (".env", "id_rsa", "pkg/.ssh/config", "cert.pem"):
        (acting.space / name).parent.mkdir(exist_ok=True)
        (acting.space / name).write_text("value = hunter2\n")
    assert ".env (16 bytes)" in await result(acting, "list_files")
    found = await result(acting, "search_files", pattern="value")
    assert "hunter2" not in found
    assert found.endswith("[4 files that look like they hold secrets were not searched]")
    assert "hunter2" in await result(acting, "search_files", pattern="value", path=".env")


async def test_matching_lines_come_with_file_and_number(acting: Acting) -> None:
    fill(acting.space)
    (acting.space / "binary").write_bytes(b"value = 1\0")
    assert await result(acting, "search_files", pattern="val.e") == (
        "a.txt:2: value = 1\nb.py:2: value = 1\npkg/c.py:2: value = 1"
    )
    assert await result(acting, "search_files", pattern="name", path="pkg") == "pkg/c.py:1: name = 'pkg/c.py'"
    assert await result(acting, "search_files", pattern="name", path="b.py") == "b.py:1: name = 'b.py'"
    assert await result(acting, "search_files", pattern="absent") == "No line matches 'absent' in 3 files of '.'."


async def test_files_that_are_too_large_to_search_are_counted(acting: Acting) -> None:
    fill(acting.space)
    with (acting.space / "large.csv").open("wb") as file:
        file.truncate(5_000_001)
    assert await result(acting, "search_files", pattern="absent") == (
        "No line matches 'absent' in 3 files of '.'.\n"
        "[1 files of more than 5,000,000 bytes were not searched; use run_code for them]"
    )


async def test_hits_are_bounded_in_number_and_length(acting: Acting) -> None:
    (acting.space / "a").write_text(("x" * 1000 + "\n") * 500)
    lines = (await result(acting, "search_files", pattern="x")).splitlines()
    assert len(lines) == 101
    assert max(map(len, lines)) < 170
    assert lines[-1] == "[… more than 100 lines match; give a folder or a narrower pattern]"


async def test_a_pattern_that_is_none_is_refused(acting: Acting) -> None:
    assert (await result(acting, "search_files", pattern="(")).startswith("Not done: '(' is not a regular expression: ")
    assert await result(acting, "search_files", pattern="a", path="none") == "There is no file or folder 'none'."


async def test_a_pattern_that_never_comes_to_an_end_is_ended(acting: Acting) -> None:
    (acting.space / "a").write_text("first\n" + "a" * 40 + "!\n")
    with anyio.fail_after(20):
        await acting.say(
            [Says(calls=(call("search_files", pattern="(a+)+$|first"),)), answer()], budget=Budget(seconds=1.0)
        )
    assert acting.results[0].endswith("[the search was ended after 1 s; give a folder or a simpler pattern]")


async def test_names_that_are_no_utf8_do_no_harm(acting: Acting) -> None:
    (acting.space / os.fsdecode(b"\xff.txt")).write_text("needle\n")
    assert "needle" in await result(acting, "search_files", pattern="needle")
    assert ".txt (7 bytes)" in await result(acting, "list_files")
