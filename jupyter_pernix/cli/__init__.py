"""``jupyter pernix …``: a thin client of the HTTP API; starts a server without a browser when none runs."""

import argparse
import os
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import PernixError, ServerError
from . import doctor, endpoints, local, magics, run, sessions
from .connection import UsageError

_GROUPS = (run, sessions, doctor, endpoints, local, magics)


def parser() -> argparse.ArgumentParser:
    whole = argparse.ArgumentParser(
        prog="jupyter pernix", description="An AI agent workspace for Jupyter, from the command line."
    )
    whole.add_argument("--version", action="version", version=f"jupyter_pernix {__version__}")
    commands = whole.add_subparsers(metavar="COMMAND", required=True)
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


def _drop_stdout() -> None:
    """So that the interpreter does not flush it again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_closed_streams() -> None:
    """A command that was started with a closed stream (``>&-``) writes to nowhere, not into the next file that is opened."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - it lives as long as the command
