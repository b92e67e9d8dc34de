"""``jupyter pernix export``: a session as a file."""

import argparse
import sys
from pathlib import Path

from .connection import UsageError, connected
from .sessions import full_id

_FORMATS = ("ipynb", "html", "md", "json")


def add_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "export",
        help="write a session as a notebook, a page, Markdown or JSON",
        description="Write a session as a file that needs nothing but itself. Secrets that are known or can be recognised are masked.",
    )
    parser.add_argument("session", metavar="SESSION", help="its id, or the beginning of its id")
    parser.add_argument(
        "--format", choices=_FORMATS, help="ipynb, html, md or json (default: what FILE ends with, or ipynb)"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="where to (default: standard output)")
    parser.set_defaults(command=export_command)


def export_command(options: argparse.Namespace) -> int:
    form = options.format or _form_of(options.output)
    with connected() as (client, _):
        session_id = full_id(client.sessions("all", workers=True), options.session)
        body = client.export(session_id, form)
    if options.output is None:
        sys.stdout.buffer.write(body)
        sys.stdout.flush()
        return 0
    try:
        options.output.write_bytes(body)
    except OSError as exc:
        raise UsageError(f"{str(options.output)!r} cannot be written: {exc.strerror or exc}") from exc
    print(f"{session_id} → {options.output} ({len(body):,} bytes)", file=sys.stderr)
    return 0


def _form_of(path: Path | None) -> str:
    suffix = path.suffix.removeprefix(".") if path is not None else ""
    return {"markdown": "md", "htm": "html"}.get(suffix, suffix if suffix in _FORMATS else "ipynb")
