"""``jupyter pernix replay``, as a person or a pipeline runs it: no server, no model."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.isolation import isolated_environ

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(120)]
COMMAND = [sys.executable, "-m", "jupyter_pernix.cli", "replay"]


def written(path: Path, *cells: tuple[str, str], **metadata: Any) -> Path:
    made = [
        {
            "cell_type": "code",
            "id": f"c{number}",
            "metadata": {},
            "source": source,
            "outputs": [{"output_type": "stream", "name": "stdout", "text": text}] if text else [],
            "execution_count": number,
        }
        for number, (source, text) in enumerate(cells, 1)
    ]
    path.write_text(json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1))
    return path


def replay(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        env=isolated_environ(home),
        capture_output=True,
        text=True,
        timeout=100,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    ("cells", "code", "last"),
    [
        ([("print(1)", "1\n")], 0, "1 same"),
        ([("print(1)", "1\n"), ("print(2)", "3\n")], 1, "1 same, 1 differs"),
        ([("print(1)", "2\n"), ("1/0", "")], 3, "1 differs, 1 failed"),
        ([], 0, "no code cells"),
    ],
)
def test_the_exit_code_says_what_came_of_it(cells: list[tuple[str, str]], code: int, last: str, tmp_path: Path):
    run = replay(tmp_path / "home", str(written(tmp_path / "a.ipynb", *cells)))
    assert (run.returncode, run.stdout.splitlines()[-1], run.stderr) == (code, last, "")


def test_the_report_is_json_for_programs_and_the_file_is_not_touched(tmp_path: Path):
    path = written(tmp_path / "a.ipynb", ("print(2)", "3\n"))
    before = path.read_bytes()
    run = replay(tmp_path / "home", str(path), "--json", "--output", str(tmp_path / "out.ipynb"))
    report = json.loads(run.stdout)
    assert (run.returncode, report["exit_code"], report["counts"]["differs"]) == (1, 1, 1)
    assert report["cells"][0]["diff"][-2:] == ["-3", "+2"]
    assert report["kernel"] == "python3"
    assert path.read_bytes() == before
    out = json.loads((tmp_path / "out.ipynb").read_text())
    assert out["cells"][0]["outputs"][0]["text"] == "2\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "The file is empty (0 bytes)"),
        (b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> x\n", "a merge conflict of Git, the first at line 1"),
        (b"print('hi')\n", "This is a Python script"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_file_that_cannot_be_used_is_bad_usage(content: bytes | None, words: str, tmp_path: Path):
    path = tmp_path / "a.ipynb"
    if content is not None:
        path.write_bytes(content)
    run = replay(tmp_path / "home", str(path))
    assert (run.returncode, run.stdout) == (2, "")
    assert words in run.stderr


def test_a_kernel_that_is_not_there_is_named_with_those_that_are(tmp_path: Path):
    spec = {"name": "conda-x", "display_name": "x", "language": "python"}
    path = written(tmp_path / "a.ipynb", ("1", ""), kernelspec=spec)
    run = replay(tmp_path / "home", str(path))
    assert run.returncode == 2
    assert "The kernel conda-x is not installed; installed python kernels: python3" in run.stderr
    assert "--kernel" in run.stderr
    assert replay(tmp_path / "home", str(path), "--kernel", "nope").returncode == 2
    assert replay(tmp_path / "home", str(path), "--kernel", "python3").returncode == 1


def test_a_cell_that_takes_too_long_is_failed_and_one_that_ends_the_kernel_says_so(tmp_path: Path):
    cells = [("import time; time.sleep(80)", ""), ("exit()", ""), ("print(2)", "2\n")]
    run = replay(tmp_path / "home", str(written(tmp_path / "a.ipynb", *cells)), "--timeout", "1")
    slow, ended, after = (line for line in run.stdout.splitlines() if line[:1] in "✓≠✗–")
    assert "failed: The code was interrupted after 1 s." in slow
    assert "same: The code ended the kernel. All variables and imports of earlier code are gone." in ended
    assert "[3] print(2)  same" in after
    assert (run.returncode, run.stdout.splitlines()[-1], run.stderr) == (3, "2 same, 1 failed", "")
    assert replay(tmp_path / "home", str(tmp_path / "a.ipynb"), "--timeout", "0").returncode == 2


def test_ctrl_c_ends_the_kernel_and_tells_what_was_done(tmp_path: Path):
    mark = tmp_path / "pid"
    sleep = (
        f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); print('up', flush=True); time.sleep(90)"
    )
    path = written(tmp_path / "a.ipynb", ("print(1)", "1\n"), (sleep, ""))
    process = subprocess.Popen(
        [*COMMAND, str(path)],
        env=isolated_environ(tmp_path / "home"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "[1]" in line:
            break
    watch = subprocess.run(["sh", "-c", 'until [ -s "$0" ]; do sleep 0.1; done', str(mark)], timeout=60, check=True)
    assert watch.returncode == 0
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert rest.splitlines()[-1] == "1 same; interrupted before the end"
    assert "Traceback" not in errors
    assert not os.path.exists(f"/proc/{mark.read_text()}")  # noqa: PTH110
