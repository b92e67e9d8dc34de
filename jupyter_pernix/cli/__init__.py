"""``jupyter pernix …``: a thin client of the HTTP API; starts a server without a browser when none runs."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import __version__, client, headless
from ..errors import PernixError, ServerError
from . import audit, config, control, doctor, endpoints, export, local, magics, permissions, replay, run, sessions, undo
from .connection import UsageError

_GROUPS = (run, sessions, control, undo, export, replay, config, doctor, endpoints, local, magics, permissions, audit)
_SET = "set "
"""Begins the name of what holds a parser's ``--set``; each has its own, so that one does not cover another's."""


class CommandParser(argparse.ArgumentParser):
    """A parser that takes settings, as each command and its actions do."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.add_argument(
            "--set",
            action="append",
            dest=_SET + self.prog,
            metavar="KEY=VALUE",
            default=argparse.SUPPRESS,
            help="a setting for the server that this command starts, e.g. budget.rounds=20; `jupyter pernix config` lists them",
        )


def parser() -> argparse.ArgumentParser:
    whole = CommandParser(
        prog="jupyter pernix", description="An AI agent workspace for Jupyter, from the command line."
    )
    whole.add_argument("--version", action="version", version=f"jupyter_pernix {__version__}")
    commands = whole.add_subparsers(metavar="COMMAND", required=True, parser_class=CommandParser)
    for group in _GROUPS:
        group.add_commands(commands)
    return whole


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code: of a turn, its terminal code's (``records.EXIT_CODES``); 1 for a failure, 2 for bad usage, 130 for Ctrl-C."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # Answers may hold characters that the terminal's encoding lacks.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    options = parser().parse_args(argv)
    try:
        _take_settings(options)
        return options.command(options)
    except UsageError as exc:
        print(f"jupyter pernix: {exc}", file=sys.stderr)
        return 2
    except PernixError as exc:
        print(f"jupyter pernix: {exc}", file=sys.stderr)
        if isinstance(exc, ServerError) and exc.hint:
            print(exc.hint, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        _drop_stdout()
        return 0
    except OSError as exc:
        _drop_stdout()
        print(f"jupyter pernix: {exc.strerror or exc}", file=sys.stderr)
        return 1


def _take_settings(options: argparse.Namespace) -> None:
    """What ``--set`` gives is for a server that the command starts.

    :raises UsageError: if one runs already
    :raises ConfigError: if they are not settings
    """
    given = tuple(each for name, values in vars(options).items() if name.startswith(_SET) for each in values)
    if not given:
        return
    assigned = config.local(Path(), assignments=given).settings
    headless.assignments.set(given)
    if any(each.partition("=")[0].strip() == "data_dir" for each in given):
        # Also where a running server is looked for.
        os.environ["PERNIX_DATA_DIR"] = assigned.data_dir
    if options.command is config.config_command:
        return
    running = client.find()
    if running is not None:
        raise UsageError(
            f"--set is for a server that this command starts; one runs already (process {running.address.pid}) and keeps its "
            "settings until it is stopped"
        )


def _drop_stdout() -> None:
    """So that the interpreter does not flush it again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_closed_streams() -> None:
    """A command that was started with a closed stream (``>&-``) writes to nowhere, not into the next file that is opened."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - it lives as long as the command
