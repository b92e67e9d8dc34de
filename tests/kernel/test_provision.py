"""Finding and starting kernels."""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import anyio
import pytest
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager

from jupyter_pernix.errors import KernelDied, KernelMissing, KernelStartFailed
from jupyter_pernix.kernel.process import explain_exit
from jupyter_pernix.kernel.provision import Kernels, KernelSpec, kernel_environment, own_manager

from .conftest import Cells, kernel_environ


def install(data_folder: Path, name: str, program: str) -> None:
    """A kernelspec whose kernel is this Python program."""
    folder = data_folder / "kernels" / name
    folder.mkdir(parents=True)
    spec = {"argv": [sys.executable, "-c", program, "{connection_file}"], "display_name": name, "language": "Python"}
    (folder / "kernel.json").write_text(json.dumps(spec))


@pytest.fixture
def data_folder(isolated_home: Path) -> Path:
    return isolated_home / "jupyter_data_dir"


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (0, "exited with code 0"),
        (3, "exited with code 3"),
        (-9, "was killed by signal 9 (SIGKILL, probably out of memory)"),
        (-11, "was killed by signal 11 (SIGSEGV, a segmentation fault in native code)"),
        (-10, "was killed by signal 10 (SIGUSR1)"),
        (-63, "was killed by signal 63"),
        (None, "is gone"),
    ],
)
def test_a_return_code_is_put_in_words(code: int | None, sentence: str):
    assert explain_exit(code) == sentence


def test_a_kernel_gets_no_token_and_no_foreign_backend():
    secrets = dict.fromkeys(("JUPYTER_TOKEN", "JPY_API_TOKEN", "OPENAI_API_KEY"), "secret")
    environ = {"PATH": "/bin", "MPLBACKEND": "Agg", **secrets}
    assert kernel_environment(environ) == {"PATH": "/bin"}


def test_installed_kernels_are_listed_with_their_language(data_folder: Path):
    install(data_folder, "mine", "pass")
    specs = Kernels(own_manager()).kernelspecs()
    assert specs["mine"] == KernelSpec(name="mine", display_name="mine", language="python")
    assert "python3" in specs


async def test_a_missing_kernel_is_named_with_those_that_are_installed(kernels: Kernels, tmp_path: Path):
    with pytest.raises(KernelMissing, match=r"no kernelspec 'julia-9'; installed: .*python3"):
        await kernels.start("julia-9", tmp_path, kernel_environ())


@pytest.mark.kernel
async def test_a_kernel_that_dies_at_the_start_says_why(kernels: Kernels, data_folder: Path, tmp_path: Path):
    install(data_folder, "broken", "raise SystemExit('No module named ipykernel')")
    with (
        anyio.fail_after(20),
        pytest.raises(KernelStartFailed, match=r"it exited with code 1.*\n.*No module named ipykernel"),
    ):
        await kernels.start("broken", tmp_path, kernel_environ())


@pytest.mark.kernel
async def test_a_kernel_that_never_answers_is_given_up_and_ended(data_folder: Path, tmp_path: Path):
    pid_file = tmp_path / "pid"
    install(
        data_folder, "mute", f"import os, time; open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    )
    kernels = Kernels(own_manager(), start_deadline=2.0)
    with anyio.fail_after(30), pytest.raises(KernelStartFailed, match="did not answer within 2 s"):
        await kernels.start("mute", tmp_path, kernel_environ())
    await kernels.aclose()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


async def test_a_program_that_is_not_there_cannot_be_started(kernels: Kernels, data_folder: Path, tmp_path: Path):
    folder = data_folder / "kernels" / "gone"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(
        json.dumps({"argv": ["/no/such/program"], "display_name": "g", "language": "x"})
    )
    with pytest.raises(KernelStartFailed, match="/no/such/program"):
        await kernels.start("gone", tmp_path, kernel_environ())


async def test_there_is_nothing_to_attach_to_under_an_unknown_id(kernels: Kernels):
    with pytest.raises(KernelDied, match="no such kernel"):
        await kernels.attach("0000")


@pytest.mark.kernel
async def test_starting_can_be_cancelled_without_leaving_a_process(data_folder: Path, tmp_path: Path):
    pid_file = tmp_path / "pid"
    install(
        data_folder, "mute", f"import os, time; open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    )
    manager = own_manager()
    kernels = Kernels(manager)
    with anyio.move_on_after(2.0):
        await kernels.start("mute", tmp_path, kernel_environ())
    assert manager.list_kernel_ids() == []
    await kernels.aclose()


@pytest.mark.kernel
async def test_it_works_through_the_jupyter_server_s_own_manager(tmp_path: Path):
    (tmp_path / "space").mkdir()
    manager = AsyncMappingKernelManager(root_dir=str(tmp_path))
    kernels = Kernels(manager)
    try:
        cells = Cells(await kernels.start("", tmp_path / "space", kernel_environ()))
        assert [model["id"] for model in manager.list_kernels()] == [cells.executor.kernel_id]
        assert (await cells("import os; print(os.getcwd())")).text == f"{tmp_path / 'space'}\n"
        dead = await cells("os._exit(1)")
        assert dead.result.status == "dead"
        again = await cells("import os; print(os.getcwd())")
        assert (again.text, again.result.status) == (f"{tmp_path / 'space'}\n", "ok")
        assert "started afresh" in again.result.detail
    finally:
        await kernels.aclose()
    assert manager.list_kernels() == []


@pytest.mark.kernel
async def test_kernels_of_our_own_open_no_port_where_the_path_is_short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    folder = tempfile.mkdtemp(dir="/tmp")
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", folder)
    manager = own_manager()
    kernels = Kernels(manager)
    try:
        cells = Cells(await kernels.start("python3", tmp_path, kernel_environ()))
        assert manager.get_kernel(cells.executor.kernel_id).transport == "ipc"
        assert (await cells("print('over a socket file')")).text == "over a socket file\n"
    finally:
        await kernels.aclose()
        shutil.rmtree(folder)


@pytest.mark.kernel
async def test_code_of_a_kernel_that_was_started_here_stays_out_of_the_users_history(python: Cells):
    ran = await python("print(get_ipython().history_manager.hist_file)")
    assert ran.text == ":memory:\n"
