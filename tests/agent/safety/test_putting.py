"""One file is put into another state: exactly, only from the state that it was left in, and wholly or not at all."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_pernix.agent.policy.scope import Located
from jupyter_pernix.agent.safety.putting import ABSENT, Wanted, digest_of, look, put
from jupyter_pernix.errors import ToolError

_PUTTER = """
import sys
from pathlib import Path
from jupyter_pernix.agent.policy.scope import Located
from jupyter_pernix.agent.safety.putting import Wanted, digest_of, put

located = Located(root=Path(sys.argv[1]), parts=("a",))
contents = [bytes([48 + number]) * 3_000_000 for number in range(4)]
left = frozenset(digest_of(content) for content in contents)
number = 0
while True:
    put(located, Wanted(content=contents[number % 4]), left=left)
    number += 1
    print(number, flush=True)
"""


@pytest.fixture
def space(tmp_path: Path) -> Path:
    return tmp_path.resolve()


def at(space: Path, name: str) -> Located:
    return Located(root=space, parts=tuple(name.split("/")))


def left(*contents: bytes | None) -> frozenset[str | None]:
    return frozenset(None if content is None else digest_of(content) for content in contents)


def test_content_and_mode_are_as_wanted(space: Path) -> None:
    (space / "a").write_bytes(b"new")
    put(at(space, "a"), Wanted(content=b"old", mode=0o640), left=left(b"new"))
    assert (space / "a").read_bytes() == b"old"
    assert stat.S_IMODE((space / "a").stat().st_mode) == 0o640


def test_a_file_that_is_gone_comes_back_with_its_folders(space: Path) -> None:
    put(at(space, "x/y/a"), Wanted(content=b"old", mode=0o600), left=left(None))
    assert (space / "x/y/a").read_bytes() == b"old"
    assert stat.S_IMODE((space / "x/y/a").stat().st_mode) == 0o600


def test_without_a_mode_the_one_of_the_file_stays_but_for_what_is_asked(space: Path) -> None:
    (space / "a").write_bytes(b"new")
    (space / "a").chmod(0o750)
    put(at(space, "a"), Wanted(content=b"old"), left=left(b"new"))
    assert stat.S_IMODE((space / "a").stat().st_mode) == 0o750
    put(at(space, "a"), Wanted(content=b"old", executable=False), left=left(b"new"))
    assert stat.S_IMODE((space / "a").stat().st_mode) == 0o640
    put(at(space, "a"), Wanted(content=b"old", executable=True), left=left(b"new"))
    assert stat.S_IMODE((space / "a").stat().st_mode) == 0o750


def test_links_are_put_back_as_links_and_never_followed(space: Path) -> None:
    (space / "target").write_bytes(b"target")
    (space / "a").symlink_to("target")
    assert look(at(space, "a")).digest == digest_of(b"target", link=True)
    put(at(space, "a"), Wanted(content=b"file"), left=frozenset({digest_of(b"target", link=True)}))
    assert not (space / "a").is_symlink() and (space / "target").read_bytes() == b"target"
    put(at(space, "a"), Wanted(content=b"nowhere", link=True), left=left(b"file"))
    assert (space / "a").readlink() == Path("nowhere")


def test_a_deleted_file_takes_the_empty_folders_that_were_made_for_it_along(space: Path) -> None:
    (space / "x/y").mkdir(parents=True)
    (space / "x/y/a").write_bytes(b"new")
    put(at(space, "x/y/a"), Wanted(content=None), left=left(b"new"), missing=["x/y"])
    assert (space / "x").is_dir() and not (space / "x/y").exists()
    (space / "x/y").mkdir()
    (space / "x/y/a").write_bytes(b"new")
    (space / "x/mine").write_bytes(b"mine")
    put(at(space, "x/y/a"), Wanted(content=None), left=left(b"new"), missing=["x", "x/y"])
    assert [path.name for path in (space / "x").iterdir()] == ["mine"]


def test_done_again_it_changes_nothing(space: Path) -> None:
    for wanted in (Wanted(content=b"old"), Wanted(content=None)):
        (space / "a").write_bytes(b"new")
        for _ in range(2):
            put(at(space, "a"), wanted, left=left(b"new"))
        assert look(at(space, "a")).digest == wanted.digest


def test_what_somebody_else_left_stays(space: Path) -> None:
    outside = space / "outside"
    outside.mkdir()
    states = {
        "changed": lambda: (space / "a").write_bytes(b"mine"),
        "folder": lambda: (space / "a").mkdir(),
        "link": lambda: (space / "a").symlink_to("outside"),
        "pipe": lambda: os.mkfifo(space / "a"),
        "gone": lambda: None,
    }
    for name, make in states.items():
        make()
        for wanted in (Wanted(content=b"old"), Wanted(content=None)):
            if name == "gone" and wanted.content is None:
                continue
            with pytest.raises(ToolError):
                put(at(space, "a"), wanted, left=left(b"new"))
        subprocess.run(["rm", "-rf", space / "a"], check=True)
    assert sorted(path.name for path in space.iterdir()) == ["outside"]


def test_a_link_in_the_place_of_a_folder_is_not_gone_through(space: Path) -> None:
    (space / "outside").mkdir()
    (space / "outside" / "a").write_bytes(b"new")
    (space / "sub").symlink_to("outside")
    assert look(at(space, "sub/a")) == ABSENT
    for wanted in (Wanted(content=b"old"), Wanted(content=None)):
        with pytest.raises(ToolError, match="link"):
            put(at(space, "sub/a"), wanted, left=left(b"new", None))
    assert (space / "outside" / "a").read_bytes() == b"new"


def test_a_file_comes_back_in_the_place_of_a_folder_that_is_empty(space: Path) -> None:
    (space / "a").mkdir()
    put(at(space, "a"), Wanted(content=b"old"), left=left(None))
    assert (space / "a").read_bytes() == b"old"


@pytest.mark.timeout(60)
def test_a_program_that_is_killed_while_it_puts_back_leaves_one_state_or_the_other(space: Path) -> None:
    file = space / "a"
    file.write_bytes(b"0" * 3_000_000)
    file.chmod(0o640)
    for _ in range(6):
        with subprocess.Popen([sys.executable, "-c", _PUTTER, str(space)], stdout=subprocess.PIPE) as putter:
            assert putter.stdout is not None
            for _ in range(3):
                assert putter.stdout.readline()
            putter.send_signal(signal.SIGKILL)
        content = file.read_bytes()
        assert (len(content), len(set(content))) == (3_000_000, 1)
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
