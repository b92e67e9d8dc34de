"""``jupyter pernix replay``: run a notebook again, without a model and without a server, and say what is different."""

import argparse
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import KernelError
from .connection import UsageError
from .screen import width

if TYPE_CHECKING:
    from ..kernel.reading import KernelChoice, Reading
    from ..kernel.replay import CellReport, EditReport, Replay

_DEADLINE = 600.0


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "replay",
        help="run a notebook again in a fresh kernel and compare",
        description="Run the code cells of a notebook again in a fresh kernel, without any model, and compare what comes of it "
        "with what stands there. Exit code: 0 all the same, 1 something differs, 2 the file cannot be used, 3 something failed.",
    )
    parser.add_argument("notebook", type=Path, metavar="RUN.ipynb", help="a run notebook, or any other")
    parser.add_argument("--kernel", default="", metavar="NAME", help="kernelspec (default: the one that it names)")
    parser.add_argument(
        "--timeout", type=float, default=_DEADLINE, metavar="S", help=f"seconds for each cell (default {_DEADLINE:.0f})"
    )
    parser.add_argument("--json", action="store_true", dest="as_json", help="print the whole report as JSON")
    parser.add_argument("--output", type=Path, metavar="OUT.ipynb", help="write the notebook as it came out this time")
    parser.add_argument(
        "--apply-edits",
        action="store_true",
        help="in a copy of the session's folder, with the recorded changes of files between the cells",
    )
    parser.set_defaults(command=replay_command)


def replay_command(options: argparse.Namespace) -> int:
    # Imported here, as below: kernels take long to load, and other commands do not need them.
    import anyio

    from ..kernel.replay import exit_code

    if options.timeout <= 0:
        raise UsageError("--timeout is a number of seconds above 0")
    reading = _read(options.notebook)
    replay = _prepared(reading, options)
    try:
        anyio.run(_carry, replay, options.as_json)
    except KeyboardInterrupt:
        replay.report.interrupted = True
    _tell_end(replay, as_json=options.as_json)
    if options.output is not None:
        _write(reading, replay, options.output)
    return exit_code(replay.report)


def _read(path: Path) -> "Reading":
    """:raises UsageError: if it cannot be read, or is refused"""
    from ..kernel.reading import read_file

    try:
        reading = read_file(path)
    except OSError as exc:
        raise UsageError(f"{str(path)!r} cannot be read: {exc.strerror or exc}") from exc
    if reading.notebook is None:
        raise UsageError(f"{path.name}: {' '.join(reading.sentences)}")
    return reading


def _prepared(reading: "Reading", options: argparse.Namespace) -> "Replay":
    from ..kernel.replay import Replay

    assert reading.notebook is not None
    choice = _kernel(reading, options.kernel)
    replay = Replay(
        reading.notebook,
        name=str(options.notebook),
        folder=options.notebook.resolve().parent,
        kernel_name=choice.name,
        deadline=options.timeout,
        apply_edits=options.apply_edits,
    )
    replay.report.notes += [*reading.sentences, *([choice.note] if choice.note else [])]
    return replay


def _kernel(reading: "Reading", wanted: str) -> "KernelChoice":
    """:raises UsageError: if there is no kernel to run it in"""
    from ..kernel.provision import Kernels, own_manager
    from ..kernel.reading import InstalledKernel, KernelChoice, choose_kernel

    assert reading.notebook is not None
    specs = Kernels(own_manager()).kernelspecs()
    installed = {
        name: InstalledKernel(display_name=spec.display_name, language=spec.language) for name, spec in specs.items()
    }
    if wanted:
        if wanted not in installed:
            raise UsageError(
                f"the kernel {wanted} is not installed; installed: {', '.join(sorted(installed)) or 'none'}"
            )
        return KernelChoice(name=wanted)
    choice = choose_kernel(reading.notebook, installed)
    if not choice.name:
        raise UsageError(f"{choice.note} Choose one with --kernel.")
    return choice


async def _carry(replay: "Replay", as_json: bool) -> None:
    if not as_json:
        for note in replay.report.notes:
            print(note)
    told = len(replay.report.notes)
    async with aclosing(_told(replay)) as reports:
        async for report in reports:
            if as_json:
                continue
            for note in replay.report.notes[told:]:
                print(note)
            told = len(replay.report.notes)
            print("\n".join(_lines(report)), flush=True)


async def _told(replay: "Replay") -> "AsyncGenerator[CellReport | EditReport]":
    """:raises UsageError: if the kernel cannot be had"""
    try:
        async with aclosing(replay.run()) as reports:
            async for report in reports:
                yield report
    except KernelError as exc:
        raise UsageError(str(exc)) from exc


def _lines(report: "CellReport | EditReport") -> list[str]:
    from ..kernel.replay import CellReport, cell_lines, edit_line

    return cell_lines(report, width=width()) if isinstance(report, CellReport) else [edit_line(report)]


def _tell_end(replay: "Replay", *, as_json: bool) -> None:
    from ..kernel.replay import summary_line

    if as_json:
        json.dump(replay.report.as_json(), sys.stdout, indent=1, ensure_ascii=True)
        print()
    else:
        print(summary_line(replay.report))


def _write(reading: "Reading", replay: "Replay", path: Path) -> None:
    """:raises UsageError: if it cannot be written"""
    from ..kernel.notebook_file import replace_file
    from ..kernel.reading import save_bytes

    try:
        replace_file(path, save_bytes(reading, replay.result))
    except OSError as exc:
        raise UsageError(f"{str(path)!r} cannot be written: {exc.strerror or exc}") from exc
