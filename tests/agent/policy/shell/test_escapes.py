"""No line that does more than read inside of the space is let through unasked, however it is written."""

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import World
from .unsafe_lines import SECRET, UNSAFE_LINES, unsafe_line

HARMLESS = (
    "ls src",
    "cat README.md",
    "echo done",
    "wc -l list.txt",
    "pwd",
    "grep -n main src/main.rs",
    "git status",
    "test -f Makefile",
)
LINES = 5_000
SEEDS = 4
"""20,000 lines in all."""


@pytest.mark.parametrize("seed", range(SEEDS))
def test_no_unsafe_line_is_let_through(pristine: World, seed: int):
    source = random.Random(seed)
    escaped = [
        text for text in (unsafe_line(source, HARMLESS) for _ in range(LINES)) if pristine.judge(text).ruling == "auto"
    ]
    assert escaped == []


def test_the_unsafe_lines_really_have_their_effect(pristine: World, tmp_path: Path):
    source = random.Random(7)
    sample = [*UNSAFE_LINES, *(unsafe_line(source, HARMLESS) for _ in range(120))]
    idle = [text for text in sample if not has_effect(text, pristine, tmp_path)]
    assert len(idle) <= 0.05 * len(sample), idle


def test_the_lines_they_are_mixed_with_are_let_through_and_have_no_effect(pristine: World, tmp_path: Path):
    assert [text for text in HARMLESS if pristine.judge(text).ruling != "auto"] == []
    assert [text for text in HARMLESS if has_effect(text, pristine, tmp_path)] == []


@pytest.mark.parametrize("text", UNSAFE_LINES)
def test_line_that_goes_by_the_shell_itself_is_not_let_through(pristine: World, text: str):
    assert pristine.judge(text).ruling != "auto"


def has_effect(text: str, pristine: World, folder: Path) -> bool:
    """Whether bash, run in a copy of the world, changes the project, or prints what is kept outside of it."""
    home = folder / "home"
    shutil.copytree(pristine.home, home, symlinks=True)
    for place in (home, home / "other"):
        (place / "secret.txt").write_text(f"{SECRET}\n")
    before = state(home)
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", text],
        cwd=home / "proj",
        env={"PATH": "/usr/bin:/bin", "HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    changed = state(home) != before or SECRET.encode() in done.stdout + done.stderr
    shutil.rmtree(home)
    return changed


def state(home: Path) -> list[tuple[str, int, int]]:
    """What is in the project, without what reading may touch."""
    found = (path for path in home.rglob("*") if path.name != "index")
    return sorted(
        (str(path), path.lstat().st_mode, path.lstat().st_mtime_ns if path.is_file() else 0) for path in found
    )
