"""A bare line is no command when the agent runs it, and the user's own IPython stays as it is set."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from jupyter_pernix.kernel.automagic import without_automagic
from jupyter_pernix.kernel.provision import Kernels, own_manager

from .conftest import Cells, kernel_environ


@pytest.mark.parametrize(
    "code",
    [
        "rm list.txt",
        "\n\n  rm list.txt",
        "rm list.txt\n",
        ">>> rm list.txt",
        "In [1]: rm list.txt",
        "rm %%x",
        ">>> >>> rm x",
        "... rm x",
        "ls/tmp",
        "rm (x)",
        "été x",
        "f?",
    ],
)
def test_no_cell_is_left_that_ipython_would_look_at_for_magics(code: str) -> None:
    transformed = InteractiveShell.instance().input_transformer_manager.transform_cell(without_automagic(code))
    assert len(transformed.splitlines()) > 1


@pytest.mark.parametrize(
    "code",
    [
        "",
        " \n",
        "%%bash\nls",
        "\n%%writefile x\n1",
        "  %%time\nx",
        "exit",
        "1 / 0",
        "raise x",
        "import os",
        "!ls",
        "%pwd",
    ],
)
def test_what_no_bare_command_can_begin_stays_as_it_is(code: str) -> None:
    assert without_automagic(code) == code


@pytest.fixture
async def both(tmp_path: Path) -> AsyncIterator[tuple[Cells, Cells, Path]]:
    """A kernel's user and an agent that is attached to it, and the kernel's folder."""
    manager = own_manager()
    theirs, mine = Kernels(manager), Kernels(manager)
    user = Cells(await theirs.start("python3", tmp_path, kernel_environ()))
    yield user, Cells(await mine.attach(user.executor.kernel_id)), tmp_path
    await mine.aclose()
    await theirs.aclose()


AUTOMAGIC = "print(get_ipython().automagic)\nprint()"


@pytest.mark.kernel
async def test_in_a_kernel_of_the_users_a_bare_line_is_no_command(both: tuple[Cells, Cells, Path]) -> None:
    user, agent, folder = both
    (folder / "list.txt").write_text("a\n")
    await user("get_ipython().automagic = True")
    refused: list[Any] = [await agent(code) for code in ("rm list.txt", "  rm list.txt  ", "cd /", "ls")]
    assert [ran.result.ename for ran in refused[:2]] == ["SyntaxError", "SyntaxError"]
    assert [ran.result.status for ran in refused] == ["error", "error", "error", "error"]
    assert (folder / "list.txt").read_text() == "a\n"
    assert (await user(AUTOMAGIC)).text.strip() == "True"


@pytest.mark.kernel
async def test_in_a_kernel_of_ours_a_cell_within_a_cell_has_none_either(both: tuple[Cells, Cells, Path]) -> None:
    own, _, folder = both
    (folder / "list.txt").write_text("a\n")
    await own("get_ipython().run_cell('rm list.txt')")
    assert (folder / "list.txt").read_text() == "a\n"
    assert (await own(AUTOMAGIC)).text.strip() == "False"


@pytest.mark.kernel
async def test_cells_that_were_written_for_ipython_as_it_is_have_it(tmp_path: Path) -> None:
    kernels = Kernels(own_manager(), automagic=True)
    cells = Cells(await kernels.start("python3", tmp_path, kernel_environ()))
    assert str(tmp_path) in str((await cells("pwd")).outputs)
    await kernels.aclose()


@pytest.mark.kernel
async def test_what_carries_its_sign_works_and_a_semicolon_still_hides_a_value(both: tuple[Cells, Cells, Path]) -> None:
    _, agent, folder = both
    assert (await agent("%pwd")).text == "" and str(folder) in str((await agent("%pwd")).outputs)
    assert (await agent("!echo out")).text.strip() == "out"
    assert "2" in str((await agent("1 + 1")).outputs)
    assert (await agent("1 + 1;")).outputs == []
    assert (await agent("%%writefile a.txt\nx")).result.status == "ok"
    assert (folder / "a.txt").read_text() == "x\n"
