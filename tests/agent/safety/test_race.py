"""A process that swaps folders and files for links while we write, put back and delete: nothing outside of the space is ever touched."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jupyter_pernix.agent.policy.opening import write_bytes
from jupyter_pernix.agent.policy.scope import Located, Scope
from jupyter_pernix.agent.safety.putting import Wanted, digest_of, put
from jupyter_pernix.errors import ToolError

TRIES = 10_000

_SWAPPER = """
import os, shutil, sys
space, outside = sys.argv[1:]
sub, aside = space + "/sub", space + "/aside"
file, kept = sub + "/file", sub + "/kept"
print("ready", flush=True)
while True:
    for real, moved, elsewhere in ((sub, aside, outside), (file, kept, outside + "/file")):
        try:
            os.rename(real, moved)
        except OSError:  # gone, or what we had put aside is in the way: another one was made meanwhile
            shutil.rmtree(moved, ignore_errors=True)
        try:
            os.symlink(elsewhere, real)
            os.unlink(real)
        except (FileExistsError, FileNotFoundError, IsADirectoryError, PermissionError):
            pass
        try:
            os.rename(moved, real)
        except OSError:
            pass
"""


@pytest.fixture
def space(tmp_path: Path) -> Path:
    space = (tmp_path / "space").resolve()
    (space / "sub").mkdir(parents=True)
    (space / "sub" / "file").write_bytes(b"one")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes(b"outside")
    return space


@pytest.fixture
def swapping(space: Path, tmp_path: Path) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-c", _SWAPPER, str(space), str(tmp_path / "outside")], stdout=subprocess.PIPE
    ) as swapper:
        assert swapper.stdout is not None and swapper.stdout.readline()
        yield
        assert swapper.poll() is None, "it ended by itself"
        swapper.send_signal(signal.SIGKILL)


def outside(tmp_path: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (tmp_path / "outside").iterdir()}


def temporary_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.tmp") if path.is_file()]


LEFT = frozenset({None, digest_of(b"one"), digest_of(b"two")})


def _write(located: Located, number: int) -> None:
    write_bytes(located, (b"one", b"two")[number % 2])


def _put(located: Located, number: int) -> None:
    put(located, Wanted(content=(b"one", b"two", None)[number % 3], mode=0o600), left=LEFT, missing=["sub"])


@pytest.mark.timeout(120)
@pytest.mark.usefixtures("swapping")
@pytest.mark.parametrize("act", [_write, _put])
def test_in_ten_thousand_tries_nothing_outside_is_written_or_deleted(
    space: Path, tmp_path: Path, act: Callable[[Located, int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)  # the disk has no part in it, and would take minutes
    scope = Scope(space)
    done = 0
    for number in range(TRIES):
        try:
            act(scope.locate("sub/file"), number)
            done += 1
        except ToolError:
            continue
    assert outside(tmp_path) == {"file": b"outside"}
    assert 0 < done < TRIES, "nothing came between"
    assert temporary_files(tmp_path / "outside") == []


@pytest.mark.timeout(120)
@pytest.mark.usefixtures("swapping")
def test_the_swaps_do_catch_whoever_looks_first_and_opens_then(space: Path, tmp_path: Path) -> None:
    scope = Scope(space)
    while outside(tmp_path) == {"file": b"outside"}:
        try:
            scope.locate("sub/file").path.write_bytes(b"escaped")
        except (ToolError, OSError):
            continue
    assert outside(tmp_path) == {"file": b"escaped"}
