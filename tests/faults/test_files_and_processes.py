"""Files stay whole and processes end, whatever happens meanwhile. Real files, real processes."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from faults.registry import fault
from faults.stage import Stage, does, says

from jupyter_pernix.agent.testing import MemoryHost
from jupyter_pernix.events import FileChanged

_WRITER = """
import sys
from pathlib import Path
from jupyter_pernix.agent.policy.opening import write_bytes
from jupyter_pernix.agent.policy.scope import Scope

located = Scope(Path(sys.argv[1]).resolve()).locate("link")
number = 0
while True:
    write_bytes(located, (b"%d" % (number % 10)) * 3_000_000)
    number += 1
    print(number, flush=True)
"""


@fault("partial-write")
def test_a_program_that_is_killed_while_it_writes_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"0" * 3_000_000)
    file.chmod(0o640)
    (tmp_path / "link").symlink_to("a")
    for _ in range(6):
        with subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            for _ in range(3):
                assert writer.stdout.readline()
            writer.send_signal(signal.SIGKILL)
        content = file.read_bytes()
        assert (len(content), len(set(content))) == (3_000_000, 1)
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
        assert (tmp_path / "link").is_symlink()


@fault("crlf", "mixed-endings", "bom-encoding", "no-final-newline", "mtime-false")
@pytest.mark.parametrize(
    ("content", "old", "new"),
    [
        (b"a\r\nneedle\r\nb\r\n", "needle", "pin"),
        (b"a\r\nb\nneedle\rc\r\n\nd", "needle", "pin"),
        (b"\xef\xbb\xbfneedle\r\nx", "needle", "pin"),
        ("\ufeffä\r\nneedle\r\n".encode("utf-16-le"), "needle", "pin"),
        ("\ufeffä\nneedle".encode("utf-16-be"), "needle", "pin"),
        ("Größe\r\nneedle €\n".encode("cp1252"), "needle €", "pin €"),
        (b"needle", "needle", "pin"),
        (b"x\x0cneedle\x0b\x85 y\n", "needle", "pin"),
        ("a\u2028needle\u2029b\n".encode(), "needle", "pin"),
        (b"\tneedle \t\r\n\r\n", "needle", "pin"),
    ],
)
async def test_an_edit_changes_the_bytes_of_its_text_and_no_other(
    stage: Stage, content: bytes, old: str, new: str
) -> None:
    _put(stage.space / "a.txt", content)
    stage.play(
        does("read_file", path="a.txt"),
        does("run_shell", command="touch -d '2031-01-01' a.txt"),
        does("edit_file", path="a.txt", old_text=old, new_text=new),
        says("Done."),
    )
    await stage.say("Replace needle by pin in a.txt")

    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    encoding = "utf-16-le" if content.startswith(b"\xff\xfe") else "utf-16-be" if wide else "latin-1"
    assert _bytes(stage.space / "a.txt") == content.replace("needle".encode(encoding), "pin".encode(encoding))
    assert stage.results[-1].startswith("Edited a.txt")


@fault("bom-encoding")
@pytest.mark.parametrize("content", [b"\x00\x01\x02needle\x00", b"\xff\xfen\x00e\x00\x00\xd8e", bytes(range(256)) * 4])
async def test_what_is_no_text_is_refused_and_stays(stage: Stage, content: bytes) -> None:
    _put(stage.space / "a.bin", content)
    stage.play(
        does("read_file", path="a.bin"),
        does("edit_file", path="a.bin", old_text="needle", new_text="pin"),
        says("It is binary."),
    )
    await stage.say("Replace needle by pin in a.bin")
    assert (_bytes(stage.space / "a.bin"), stage.of(FileChanged)) == (content, [])


@fault("ambiguous")
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
async def test_a_text_that_is_there_three_times_is_refused_with_its_lines(stage: Stage, ending: str) -> None:
    content = ending.join(["x = 1", "y", "x = 1", "z", "x = 1", ""]).encode()
    _put(stage.space / "a.py", content)
    stage.play(
        does("read_file", path="a.py"),
        does("edit_file", path="a.py", old_text="x = 1", new_text="x = 2"),
        says("Which one?"),
    )
    await stage.say("Set x to 2")
    assert "occurs 3 times, at lines 1, 3, 5" in stage.results[-1]
    assert _bytes(stage.space / "a.py") == content


@fault("compact-redo")
async def test_an_edit_that_is_made_again_is_answered_as_applied(stage: Stage) -> None:
    _put(stage.space / "a.py", b"import os\n")
    edit = does("edit_file", path="a.py", old_text="import os\n", new_text="import os\nimport sys\n")
    stage.play(does("read_file", path="a.py"), edit, does("read_file", path="a.py"), edit, says("Done."))
    await stage.say("Import sys in a.py")
    assert "already applied" in stage.results[-1]
    assert _bytes(stage.space / "a.py") == b"import os\nimport sys\n"


def _put(file: Path, content: bytes) -> None:
    file.write_bytes(content)


def _bytes(file: Path) -> bytes:
    return file.read_bytes()


# ---- processes ----------------------------------------------------------------------------------------------------------


@fault("stdin-wait")
@pytest.mark.parametrize(
    "command",
    [
        "read x",
        "cat > out; false",
        "python3 -c 'input()'",
        "ssh-keygen -q < /dev/null; exit 1",
        "read -s -p 'password: ' p",
    ],
)
async def test_a_command_that_wants_input_ends_at_once(stage: Stage, command: str) -> None:
    stage.play(does("run_shell", command=command, timeout_seconds=60), says("It wants input."))
    with anyio.fail_after(45):
        # below the command's own limit: it did not wait
        await stage.say("Run it")
    assert stage.results[0].startswith("exit code ") and not stage.results[0].startswith("exit code 0")


@fault("stdin-wait")
async def test_a_command_that_failed_for_want_of_input_says_how_to_answer(stage: Stage) -> None:
    stage.play(does("run_shell", command="read -r sure"), says("It wants input."))
    await stage.say("Run it")
    assert "It gets no input: answers must be given as options." in stage.results[0]


@fault("timeout-orphans")
@pytest.mark.parametrize(
    "command",
    [
        "sh -c 'sleep 300 & echo $! >> pids; sleep 300'",
        "trap '' TERM; sleep 300 & echo $! >> pids; wait; sleep 300",
        "setsid sleep 300 & echo $! >> pids; sleep 300",
        "(sleep 300 & echo $! >> pids; exec sleep 300) | cat",
        'python3 -c \'import os,time; pid=os.fork(); pid or time.sleep(300); open("pids","a").write(str(pid)); time.sleep(300)\'',
    ],
)
async def test_after_its_limit_nothing_of_a_command_is_left(stage: Stage, command: str) -> None:
    stage.play(does("run_shell", command=command, timeout_seconds=1), says("Too long."))
    await stage.say("Run it")
    assert stage.results[0].startswith("timeout: it did not end within 1 s and was ended.")
    assert [pid for pid in _bytes(stage.space / "pids").split() if _alive(int(pid))] == []


@fault("bg-holds-pipe", "setsid-escape")
@pytest.mark.parametrize(
    "start",
    [
        "sleep 300 &",
        "setsid sleep 300 &",
        "nohup sleep 300 &",
        "(setsid sh -c 'sleep 300' &)",
        "python3 -m http.server 0 >/dev/null 2>&1 &",
        "sleep 300 & disown",
    ],
)
async def test_what_stays_in_the_background_does_not_hold_the_call_and_is_ended(stage: Stage, start: str) -> None:
    stage.play(does("run_shell", command=f"echo begun; {start}", timeout_seconds=60), says("Started."))
    with anyio.fail_after(45):
        await stage.say("Start it")

    assert stage.results[0].startswith("exit code 0\n") and "begun" in stage.results[0]
    assert "that it left in the background were ended" in stage.results[0]
    assert _marked(stage.host) == []


@fault("setsid-escape")
@pytest.mark.parametrize("ignores", ["", "trap '' TERM HUP; "])
async def test_a_process_without_group_and_mark_is_found_by_the_output_that_it_holds(
    stage: Stage, ignores: str
) -> None:
    escape = f'env -i setsid sh -c "{ignores}echo \\$\\$ > pid; while :; do sleep 0.2; done" & while [ ! -s pid ]; do sleep 0.02; done; echo begun'
    stage.play(does("run_shell", command=escape, timeout_seconds=60), says("Started."))
    with anyio.fail_after(45):
        await stage.say("Start it")
    assert "that it left in the background were ended" in stage.results[0]
    pid = int(_bytes(stage.space / "pid"))
    with anyio.fail_after(20):
        while _alive(pid):  # noqa: ASYNC110 - a fact about another process
            await anyio.sleep(0.01)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split(")")[1]


def _marked(host: MemoryHost) -> list[str]:
    """Living processes that carry the mark of any of this session's calls."""
    marks = [f"PERNIX_CALL={event.call_id}".encode() for event in host.events if hasattr(event, "call_id")]
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environ = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(mark in environ for mark in marks) and _alive(int(entry.name)):
            found.append(entry.name)
    return found


@fault("child-env")
async def test_keys_are_not_in_the_environment_of_commands(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("OPENAI_API_KEY", "PERNIX_ENDPOINTS_X_API_KEY", "JUPYTER_TOKEN", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN")
    for name in names:
        monkeypatch.setenv(name, "sk-do-not-tell")
    stage.play(does("run_shell", command="env; cat /proc/self/environ | tr '\\0' '\\n'"), says("No keys."))
    await stage.say("Show the environment")
    assert "sk-do-not-tell" not in stage.results[0]
    assert "PATH=" in stage.results[0]
