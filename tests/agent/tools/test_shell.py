"""Commands as real processes."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from agent.acting import Acting, answer

from jupyter_pernix.agent.testing import Says, call
from jupyter_pernix.events import ToolCallFinished


async def ran(acting: Acting, command: str, **more: Any) -> str:
    with anyio.fail_after(20):
        await acting.say([Says(calls=(call("run_shell", command=command, **more),)), answer()])
    return acting.results[-1]


async def test_output_comes_in_order_with_the_exit_code(acting: Acting) -> None:
    assert await ran(acting, "echo out; echo err >&2; echo out again; exit 3") == "exit code 3\nout\nerr\nout again"
    assert acting.statuses == ["failed"]


async def test_a_command_runs_in_the_space_and_silence_is_said(acting: Acting) -> None:
    assert await ran(acting, "pwd -P") == f"exit code 0\n{acting.space.resolve()}"
    assert await ran(acting, "true") == "exit code 0\n(no output)"


async def test_a_command_that_waits_for_input_gets_none(acting: Acting) -> None:
    assert (
        await ran(acting, "read -r x; echo got:$x; test -t 0 || echo no terminal") == "exit code 0\ngot:\nno terminal"
    )
    assert (await ran(acting, "cat < /dev/tty")).startswith("exit code 1\n")


@pytest.mark.parametrize(
    "command",
    [
        "read -r answer",
        "read -p 'sure? ' x && rm y",
        "python -c 'input()'",
        "sudo -S -p '' true; tty; test -t 0 || echo 'not a tty'; exit 1",
    ],
)
async def test_a_command_that_failed_for_want_of_input_is_told_how_to_get_on(acting: Acting, command: str) -> None:
    result = await ran(acting, command)
    assert result.split("\n")[:2] == ["exit code 1", "It gets no input: answers must be given as options."]


@pytest.mark.parametrize(
    "command", ["false", "ls read", "grep -c read nothing", "echo 'cannot read'; exit 1", "./read-me"]
)
async def test_other_failures_are_not_put_down_to_input(acting: Acting, command: str) -> None:
    assert "input" not in await ran(acting, command)


async def test_after_the_deadline_the_whole_group_is_ended(acting: Acting) -> None:
    command = "echo begun; sh -c 'echo $$ > pids; sleep 100 & echo $! >> pids; sleep 100'"
    with anyio.fail_after(20):
        result = await ran(acting, command, timeout_seconds=0.3)

    assert result.startswith("timeout: it did not end within 0.3 s and was ended.")
    assert result.endswith("\nbegun")
    assert [pid for pid in (acting.space / "pids").read_text().split() if _alive(int(pid))] == []


async def test_a_process_that_ignores_the_request_is_killed(acting: Acting) -> None:
    with anyio.fail_after(20):
        result = await ran(acting, "trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done", timeout_seconds=0.3)

    assert result.startswith("timeout")
    assert not _alive(int((acting.space / "pid").read_text()))


@pytest.mark.parametrize(
    "command", ["sleep 60 &", "setsid sleep 60 &", "nohup setsid sh -c 'sleep 60' >/dev/null 2>&1 &"]
)
async def test_what_is_left_in_the_background_neither_holds_the_call_nor_outlives_it(
    acting: Acting, command: str
) -> None:
    with anyio.fail_after(20):
        result = await ran(acting, f"{command} echo $! > pid; sleep 0.1; echo done")

    assert result.startswith("exit code 0\n")
    assert "that it left in the background were ended" in result
    assert result.endswith("\ndone")
    assert not _alive(int((acting.space / "pid").read_text()))


def test_a_command_does_not_outlive_a_server_that_is_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with subprocess.Popen([sys.executable, "-c", _SERVER, str(tmp_path)]) as server:
        until(lambda: pids.exists() and len(pids.read_text().split()) == 3)
        server.kill()
    until(lambda: not any(_alive(int(pid)) for pid in pids.read_text().split()))


def until(fact: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.02)


_SERVER = """
import os, sys
from pathlib import Path
import anyio
from jupyter_pernix.agent.tools.process import Output, run_process
from jupyter_pernix.masking import Masker

async def main():
    line = "echo $$ >> pids; setsid sleep 60 & echo $! >> pids; trap '' TERM; sleep 60 & echo $! >> pids; wait; wait"
    await run_process(
        ["bash", "-c", line], cwd=Path(sys.argv[1]), env=os.environ, mark="call", deadline=60, output=Output(spill=Path("never"), masker=Masker())
    )

anyio.run(main)
"""


async def test_a_writer_that_is_about_to_end_is_waited_for(acting: Acting) -> None:
    assert await ran(acting, "echo through > >(sleep 0.05; cat)") == "exit code 0\nthrough"


async def test_a_flood_is_bounded_for_the_model_and_whole_in_its_file(acting: Acting, tmp_path: Path) -> None:
    result = await ran(acting, "seq 1 300000")

    finished = acting.of(ToolCallFinished)[0]
    assert len(result) < 17_000
    assert result.startswith("exit code 0\n1\n2\n")
    assert result.endswith("\n299999\n300000")
    assert (tmp_path / finished.side_file).read_text() == "".join(f"{number}\n" for number in range(1, 300_001))


async def test_output_that_is_only_too_long_for_the_model_is_kept_too(acting: Acting, tmp_path: Path) -> None:
    await ran(acting, "seq 1 5000")
    finished = acting.of(ToolCallFinished)[0]
    assert "characters cut here" in finished.result
    assert (tmp_path / finished.side_file).read_text().endswith("\n5000\n")


async def test_output_that_is_no_text_is_shown_as_far_as_it_is(acting: Acting) -> None:
    assert await ran(acting, r"printf 'a\xffb\033[31mred\033[0m\n'") == "exit code 0\na\ufffdbred"


async def test_keys_and_start_files_are_not_handed_on(
    acting: Acting, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "start").write_text("echo sourced\n")
    for name in (
        "OPENAI_API_KEY",
        "HF_TOKEN",
        "JUPYTER_TOKEN",
        "JPY_API_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "DB_PASSWORD",
    ):
        monkeypatch.setenv(name, "s3cr3t")
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "start"))
    monkeypatch.setenv("HARMLESS", "kept")

    result = await ran(acting, "env")
    assert "s3cr3t" not in result
    assert "sourced" not in result
    assert "HARMLESS=kept" in result
    assert "PAGER=cat" in result
    assert "GIT_TERMINAL_PROMPT=0" in result


async def test_python_is_the_one_of_this_environment(acting: Acting) -> None:
    result = await ran(acting, "python -c 'import sys; print(sys.prefix)'")
    assert result == f"exit code 0\n{sys.prefix}"


async def test_empty_and_impossible_commands_are_not_run(acting: Acting) -> None:
    assert await ran(acting, "  ") == "Not done: the command is empty."
    assert await ran(acting, "echo a\0b") == "Not done: the command contains a NUL character."
    assert (await ran(acting, "true", timeout_seconds=0)).startswith("Not done: the arguments of run_shell are wrong: ")


async def test_a_program_that_is_not_there_is_said_by_the_shell(acting: Acting) -> None:
    result = await ran(acting, "no-such-program-here")
    assert result.startswith("exit code 127\n")
    assert result.endswith("bash: line 1: no-such-program-here: command not found")


async def test_a_space_that_is_gone_is_a_result(acting: Acting) -> None:
    acting.space.rmdir()
    assert await ran(acting, "true") == "Not run: No such file or directory."


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (ProcessLookupError, FileNotFoundError):
        return False
