"""Does our executor agree with nbclient and papermill on their own test notebooks?

    pip download --no-deps --no-binary :all: nbclient papermill && tar xzf nbclient-*.tar.gz && tar xzf papermill-*.tar.gz
    python benchmarks/agreement.py nbclient-*/tests/files papermill-*/

Every notebook of the first folder is run by nbclient and by our runner, each in a fresh kernel in a fresh folder, and the outputs of the
cells are compared with what differs at every run taken out. Then papermill's tests of ``execute_notebook`` are run twice, with
its own engine and with ours. Prints what differs; exit code 1 if anything differs that is not explained in ``EXPLAINED``.
"""

import argparse
import copy
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import nbformat

from jupyter_pernix.kernel.provision import Kernels, own_manager
from jupyter_pernix.kernel.runner import WHOLE, NotebookRunner

EXPLAINED = {
    "Autokill.ipynb": "the kernel kills itself: nbclient raises DeadKernelError, ours is the outcome `dead`",
    "Interrupt.ipynb": "sleeps until its test interrupts it: both are stopped by a deadline here, and word it in their own way",
    "Disable Stdin.ipynb": "the traceback runs through ipykernel, which wraps the same error in both",
    "papermill: test_start_timeout": "replaces papermill's own client by a mock, which ours does not use",
    "papermill: test_default_start_timeout": "replaces papermill's own client by a mock, which ours does not use",
}
DEADLINE = 20.0
_VOLATILE = (
    (re.compile(r"0x[0-9a-f]{6,}"), "0x"),
    (re.compile(r"/tmp/ipykernel_\d+/\d+\.py"), "<cell>"),
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?"), "<time>"),
    (re.compile(r"[0-9a-f]{32}"), "<id>"),
)


@dataclass
class Ran:
    """``ended`` "" if the notebook ran through."""

    cells: list[dict[str, Any]]
    ended: str = ""


def options(path: Path) -> bool:
    """Whether the tests of nbclient allow errors in this notebook."""
    return path.name in {"Skip Exceptions.ipynb", "Disable Stdin.ipynb", "Error.ipynb"}


def by_nbclient(path: Path, folder: Path) -> Ran:
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    book = fresh(path)
    client = NotebookClient(
        book,
        allow_errors=options(path),
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        timeout=int(DEADLINE),
    )
    ended = ""
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as exc:
        ended = type(exc).__name__
    return Ran(book.cells, ended)


async def by_ours(path: Path, folder: Path) -> Ran:
    cells = [dict(cell) for cell in fresh(path).cells]
    kernels = Kernels(own_manager(), caps=WHOLE)
    ended = ""
    try:
        executor = await kernels.start("python3", folder, os.environ)
        runner = NotebookRunner(executor, cells, deadline=DEADLINE, allow_errors=options(path))
        async for outcome in runner.run():
            if outcome.failed and outcome.result is not None:
                ended = outcome.result.status
    finally:
        await kernels.aclose()
    return Ran(cells, ended)


def fresh(path: Path) -> Any:
    """The notebook without outputs."""
    book = nbformat.read(path, 4)  # pyright: ignore[reportUnknownMemberType]
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return book


def plain(value: Any) -> Any:
    """Without what differs at every run."""
    if isinstance(value, str):
        for pattern, put in _VOLATILE:
            value = pattern.sub(put, value)
        return value
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in sorted(value.items()) if key not in ("execution_count", "metadata")}
    return value


def outputs(ran: Ran) -> list[Any]:
    """The outputs of each code cell, neighbouring streams joined."""
    every: list[Any] = []
    for cell in ran.cells:
        if cell["cell_type"] != "code":
            continue
        joined: list[dict[str, Any]] = []
        for output in copy.deepcopy(cell["outputs"]):
            last = joined[-1] if joined else {}
            if output["output_type"] == "stream" == last.get("output_type") and output["name"] == last["name"]:
                last["text"] += output["text"]
            else:
                joined.append(dict(output))
        every.append(plain(joined))
    return every


def compare(path: Path) -> list[str]:
    """Sentences about what differs."""
    scratch = Path(tempfile.mkdtemp())
    try:
        theirs, ours = by_nbclient(path, scratch), anyio.run(by_ours, path, scratch)
    finally:
        shutil.rmtree(scratch)
    said: list[str] = []
    if bool(theirs.ended) != bool(ours.ended):
        said.append(f"nbclient {theirs.ended or 'ran through'}, ours {ours.ended or 'ran through'}")
    for number, (one, two) in enumerate(zip(outputs(theirs), outputs(ours), strict=True)):
        if one != two:
            said.append(f"code cell {number}: nbclient {json.dumps(one)[:600]}\n      ours {json.dumps(two)[:600]}")
    return said


def papermill_tests(root: Path, engine: str) -> dict[str, str]:
    """Name of a test → its outcome."""
    plugin = Path(tempfile.mkdtemp())
    (plugin / "chosen_engine.py").write_text(
        "from papermill.engines import NBClientEngine, papermill_engines\n"
        "from jupyter_pernix.kernel.papermill_engine import PernixEngine\n"
        f"papermill_engines.register(None, {engine})\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rA",
        "-p",
        "chosen_engine",
        "-o",
        "addopts=",
        "-p",
        "no:cacheprovider",
    ]
    done = subprocess.run(
        [*command, "papermill/tests/test_execute.py"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": f"{plugin}:{root}"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    shutil.rmtree(plugin)
    found = re.findall(r"^(PASSED|FAILED|ERROR) \S+?\.py::([\w:]+)", done.stdout, re.MULTILINE)
    if not found:
        raise RuntimeError(done.stdout[-3000:] + done.stderr[-3000:])
    return {name: outcome for outcome, name in found}


def main(files: Path, papermill: Path | None) -> int:
    warnings.simplefilter("ignore")
    differences: dict[str, list[str]] = {}
    books = sorted(files.glob("*.ipynb"))
    for path in books:
        said = compare(path)
        print(f"{path.name}: {'agree' if not said else 'differ'}", flush=True)
        if said:
            differences[path.name] = said
    if papermill is not None:
        theirs, ours = papermill_tests(papermill, "NBClientEngine"), papermill_tests(papermill, "PernixEngine")
        passed = sum(outcome == "PASSED" for outcome in ours.values())
        print(
            f"papermill: {passed} of {len(ours)} pass with ours, {sum(o == 'PASSED' for o in theirs.values())} with its own"
        )
        for name, outcome in ours.items():
            if outcome != theirs.get(name):
                differences[f"papermill: {name.rpartition(':')[2]}"] = [f"its own {theirs.get(name)}, ours {outcome}"]
    for name, said in differences.items():
        print(f"\n{name}{': ' + EXPLAINED[name] if name in EXPLAINED else ''}")
        print("\n".join(f"    {each}" for each in said))
    return int(any(name not in EXPLAINED for name in differences))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path)
    parser.add_argument("papermill", type=Path, nargs="?")
    given = parser.parse_args()
    sys.exit(main(given.files.resolve(), given.papermill and given.papermill.resolve()))
