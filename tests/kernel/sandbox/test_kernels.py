"""Real kernels in the sandbox: what they see, what they cannot do, and that everything else of a kernel still works."""

import json
import os
import sys
from pathlib import Path

import anyio
import pytest

from jupyter_pernix.errors import KernelError
from jupyter_pernix.kernel.sandbox import WallFailed, kept_in

from ..conftest import Cells, Ran
from .conftest import KEY, Canary, World

pytestmark = pytest.mark.kernel

EVIL = [
    case
    for case in json.loads((Path(__file__).parents[2] / "cases" / "evil_turns.json").read_text("utf-8"))["turns"]
    if case["category"] in ("exfil-kernel", "limits") and case["tool"] == "python"
]


async def wait_text(ran: list[Ran], text: str) -> None:
    with anyio.fail_after(30):
        while not ran or text not in ran[0].text:
            await (ran[0].told.wait() if ran else anyio.lowlevel.checkpoint())


# ---- out of sight -------------------------------------------------------------------------------------------------------


async def test_keys_and_files_outside_of_the_space_are_not_there(shared: tuple[World, Cells]):
    world, cells = shared
    for path in world.secret_files.values():
        ran = await cells(f"open({str(path)!r}).read()")
        assert ran.result.ename == "FileNotFoundError", ran.outputs
    ran = await cells("import os; print(os.listdir(os.path.expanduser('~')))")
    assert ran.text == "[]\n"


async def test_a_link_out_of_the_space_leads_nowhere(shared: tuple[World, Cells]):
    world, cells = shared
    (world.space / "link").symlink_to(world.secret_files["outside"])
    ran = await cells("open('link').read()")
    assert ran.result.ename == "FileNotFoundError"
    ran = await cells("import os\nos.symlink('/etc/shadow', 's'); open('s').read()")
    assert ran.result.ename == "FileNotFoundError"


async def test_the_server_s_process_is_not_there(shared: tuple[World, Cells]):
    _, cells = shared
    ran = await cells("import os; print(sorted(int(p) for p in os.listdir('/proc') if p.isdigit())[:2], os.getppid())")
    assert ran.text == "[1, 2] 1\n"
    assert (await cells(f"open('/proc/{os.getpid()}/environ')")).result.ename == "FileNotFoundError"


async def test_tokens_and_ways_to_other_programs_are_no_variables_of_it(world: World):
    names = ("JUPYTER_TOKEN", "JPY_API_TOKEN", "MY_API_KEY", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DB_URL")
    environ = dict.fromkeys(names, "postgres://me:hidden-thing@host/db") | {
        "HARMLESS": "yes",
        "PATH": os.environ["PATH"],
    }
    cells = await world.kernel(environ=environ)
    ran = await cells(
        "import os, pathlib\n"
        f"print([n for n in {names!r} if n in os.environ], os.environ['HARMLESS'], 'JPY_PARENT_PID' in os.environ)\n"
        "print(any(b'hidden-thing' in pathlib.Path(f'/proc/{p}/environ').read_bytes() for p in os.listdir('/proc') if p.isdigit()))"
    )
    assert ran.text == "[] yes False\nFalse\n"


async def test_the_files_of_other_kernels_and_of_the_server_are_not_there(world: World):
    hidden = world.space / "runtime"
    hidden.mkdir()
    (hidden / "jpserver-1.json").write_text(KEY)
    (world.space / "token.json").write_text(KEY)
    cells = await world.kernel(hidden=(hidden, world.space / "token.json"))
    ran = await cells(
        "import os; print(os.listdir('runtime'), os.path.getsize('token.json') if os.path.isfile('token.json') else 0)"
    )
    assert ran.text == "[] 0\n"
    others = "import glob, os; print(sum(os.path.getsize(p) > 0 for p in glob.glob('/tmp/pernix-*/connection.json')))"
    assert (await cells(others)).text == "1\n"
    # What the first one leaves in the temporary folder that both have is an empty file.
    assert (await (await world.kernel())(others)).text == "1\n"


# ---- writing ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/usr/x", "/etc/x", "/x", "{python}/x", "{outside}/x", "/sys/x", "/run/x", "/proc/sys/kernel/core_pattern"]
)
async def test_nothing_outside_of_the_space_can_be_written(shared: tuple[World, Cells], path: str):
    world, cells = shared
    path = path.format(python=sys.prefix, outside=world.folder / "outside")
    ran = await cells(f"open({path!r}, 'w')")
    assert ran.result.status == "error"


async def test_the_space_and_the_temporary_folder_can_be_written(shared: tuple[World, Cells]):
    world, cells = shared
    ran = await cells(
        "open('made.txt', 'w').write('x'); open('/tmp/t.txt', 'w').write('x'); import os; print(os.getcwd())"
    )
    assert ran.text == f"{world.space}\n"
    assert (world.space / "made.txt").read_text() == "x"
    assert (world.wall.temporary / "t.txt").read_text() == "x"


async def test_git_can_be_read_and_nothing_that_git_runs_later_can_be_written(world: World):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(world.space)]
    (world.space / "file.txt").write_text("one\n")
    (world.space / ".vscode").mkdir()
    (world.space / "sub").mkdir()
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"], ["init", "-q", "sub"]):
        await anyio.run_process([*git, *command])
    cells = await world.kernel(kept=kept_in(world.space))
    ran = await cells("!echo two >> file.txt; git log --oneline; git -c color.ui=never status --short; git diff --stat")
    assert "first" in ran.text and " M file.txt" in ran.text and "1 insertion" in ran.text
    for path in (".git/hooks/pre-commit", ".git/config", ".git/commondir", ".vscode/tasks.json", "sub/.git/config"):
        assert (await cells(f"open({path!r}, 'a')")).result.status == "error", path
    for code in (
        "import os; os.rename('.git', 'was')",
        "import os; os.rename('.git/hooks', 'h')",
        "import shutil; shutil.rmtree('.git')",
    ):
        assert (await cells(code)).result.status == "error", code
    assert not (world.space / "was").exists()
    ran = await cells("!git commit -qam second")
    assert "Read-only file system" in ran.text
    assert (await anyio.run_process([*git, "log", "--oneline"])).stdout.count(b"\n") == 1


# ---- network ------------------------------------------------------------------------------------------------------------


CONNECT = "import socket; s = socket.create_connection(('127.0.0.1', {port}), 5); s.send(b'x'); s.recv(10)"


async def test_without_network_nobody_is_reached_and_loopback_inside_works(shared: tuple[World, Cells], canary: Canary):
    _, cells = shared
    assert (await cells(CONNECT.format(port=canary.port))).result.status == "error"
    assert canary.hits == []
    ran = await cells(
        "import socket\na = socket.create_server(('127.0.0.1', 0)); b = socket.create_connection(a.getsockname()); print('in')"
    )
    assert ran.text == "in\n"


async def test_with_network_the_host_is_reached(world: World, canary: Canary):
    cells = await world.kernel(network=True)
    assert (await cells(CONNECT.format(port=canary.port))).result.status == "ok"
    assert canary.hits == [b"x"]


@pytest.mark.parametrize(
    "case", [case for case in EVIL if case["category"] == "exfil-kernel"], ids=lambda case: case["id"]
)
async def test_no_code_of_a_hijacked_model_gets_out(shared: tuple[World, Cells], canary: Canary, case: dict):
    _, cells = shared
    code = case["args"]["code"].format_map({"canary": f"http://127.0.0.1:{canary.port}", "port": canary.port})
    with anyio.fail_after(60):
        await cells(code)
    assert canary.hits == []


# ---- limits -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [case for case in EVIL if case["category"] == "limits"], ids=lambda case: case["id"])
async def test_no_code_of_a_hijacked_model_takes_the_machine(world: World, case: dict):
    cells = await world.kernel()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: cells(case["args"]["code"], deadline=5.0))
        with anyio.move_on_after(3):
            while not cells.executor.busy:  # noqa: ASYNC110 - nothing tells
                await anyio.sleep(0.01)
            while cells.executor.busy:  # noqa: ASYNC110
                await anyio.sleep(0.05)
    with anyio.fail_after(30):
        ran = await cells("print(1 + 1)")
    if ran.text != "2\n":
        with anyio.fail_after(30):  # what was forked may still answer for the one that died
            ran = await cells("print(1 + 1)")
    assert ran.text == "2\n"


async def test_processes_are_counted_and_nothing_is_left_of_them(world: World):
    cells = await world.kernel()
    ran = await cells(
        "import os, time\nkids = []\ntry:\n    while len(kids) < 1000:\n        pid = os.fork()\n"
        "        if not pid:\n            time.sleep(600); os._exit(0)\n        kids.append(pid)\n"
        "except OSError as exc: print(type(exc).__name__)\nprint(20 < len(kids) < 150)"
    )
    assert ran.text == "BlockingIOError\nTrue\n"
    with anyio.fail_after(20):
        await cells("import os; os._exit(3)")
        assert (await cells("print('fresh')")).text == "fresh\n"
    await world.kernels.aclose()
    assert behind(world) == []


async def test_memory_is_bounded_and_the_kernel_told_why_it_died(world: World):
    cells = await world.kernel()
    ran = await cells("x = bytearray(2 * 2**30)\nfor i in range(0, len(x), 4096): x[i] = 1")
    assert (ran.result.status, "memory" in str(ran.result.detail)) == (
        "dead",
        True,
    ) or ran.result.ename == "MemoryError"
    with anyio.fail_after(30):
        assert (await cells("print('again')")).text == "again\n"


def behind(world: World) -> list[str]:
    """Processes whose working folder is the space."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink() == world.space:
                found.append(entry.name)
        except OSError:
            continue
    return found


# ---- it is still a kernel -----------------------------------------------------------------------------------------------


async def test_it_is_interrupted_with_what_it_started(world: World):
    cells = await world.kernel()
    ran: list[Ran] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(
            lambda: cells("import subprocess; print('begun', flush=True); subprocess.run(['sleep', '600'])", into=ran)
        )
        await wait_text(ran, "begun")
        with anyio.fail_after(10):
            await cells.executor.interrupt()
    assert ran[0].result.status == "cancelled"
    assert (
        await cells("print('same')\nimport subprocess; print(subprocess.run(['pgrep', 'sleep']).returncode)")
    ).text == "same\n1\n"


async def test_killing_it_ends_all_that_it_started_and_it_starts_again_behind_the_wall(world: World):
    cells = await world.kernel()
    await cells("import subprocess; subprocess.Popen(['setsid', 'sleep', '600']); x = 1")
    assert len(behind(world)) >= 2
    ran = await cells("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert (ran.result.status, "signal 9" in ran.result.detail) == ("dead", True)
    ran = await cells("print('x' in globals()); open('/usr/x', 'w')")
    assert (ran.text, ran.result.ename) == ("False\n", "OSError")
    await world.kernels.aclose()
    with anyio.fail_after(10):
        while behind(world):  # noqa: ASYNC110 - the kernel of the machine ends them, and tells nobody
            await anyio.sleep(0.02)
    assert cells.executor.survivors == []


async def test_a_restart_keeps_the_wall(world: World, canary: Canary):
    cells = await world.kernel()
    await cells("import os; os._exit(3)")
    assert (await cells(CONNECT.format(port=canary.port))).result.status == "error"
    assert canary.hits == []


async def test_it_asks_for_lines(shared: tuple[World, Cells]):
    _, cells = shared

    async def answer(prompt: str, password: bool) -> str:
        return f"{prompt}{password}"

    ran = await cells("import getpass; print(input('a'), getpass.getpass('b'))", ask_input=answer)
    assert ran.text == "aFalse bTrue\n"


async def test_it_is_looked_into_while_code_runs(shared: tuple[World, Cells]):
    _, cells = shared
    ran: list[Ran] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(
            lambda: cells("import time\nx = 7; print('begun', flush=True)\nwhile x == 7: time.sleep(0.01)", into=ran)
        )
        await wait_text(ran, "begun")
        assert await cells.executor.inspect_expression("__import__('json').dumps({'x': x})") == {"x": 7}
        await cells.executor.interrupt()
    assert ran[0].result.status == "cancelled"


async def test_widgets_pictures_and_long_output_come_through(shared: tuple[World, Cells]):
    _, cells = shared
    await cells("import ipywidgets; slider = ipywidgets.IntSlider(value=3); display(slider)")
    states = cells.executor.widget_state()["state"].values()
    assert any(one["model_name"] == "IntSliderModel" and one["state"]["value"] == 3 for one in states)
    ran = await cells("import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()")
    assert any("image/png" in output.get("data", {}) for output in ran.outputs), ran.outputs
    ran = await cells("for i in range(1000): print('x' * 9999)\nprint('end')")
    assert ran.result.status == "ok" and ran.text.endswith("end\n")


@pytest.mark.filterwarnings("ignore:Passing unrecognized arguments to super.KernelSpec.:DeprecationWarning")
async def test_bash_runs_behind_the_wall(world: World, bash_spec: str, canary: Canary):
    cells = await world.kernel(bash_spec)
    ran = await cells(f"cat {world.secret_files['key']}; echo x > /usr/x; echo made > made.txt; pwd")
    assert (
        KEY not in ran.text and "No such file" in ran.text and "Read-only" in ran.text and str(world.space) in ran.text
    )
    assert (world.space / "made.txt").read_text() == "made\n"
    await cells(f"exec 3<>/dev/tcp/127.0.0.1/{canary.port} && echo x >&3")
    assert canary.hits == []


async def test_a_kernel_that_needs_ports_says_so(world: World, isolated_home: Path):
    folder = isolated_home / "jupyter_data_dir" / "kernels" / "ports"
    folder.mkdir(parents=True)
    spec = {"argv": [sys.executable, "-c", "pass", "{connection_file}"], "display_name": "ports", "language": "x"}
    (folder / "kernel.json").write_text(json.dumps(spec))
    with pytest.raises(WallFailed, match="'ports' can only be spoken to over the network"):
        await world.kernel("ports")


async def test_a_space_that_holds_the_home_is_refused(world: World):
    with pytest.raises(KernelError, match="holds your home folder"):
        await world.kernel(home=world.space / "me")
