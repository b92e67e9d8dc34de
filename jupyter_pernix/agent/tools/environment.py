"""The environment of a command that the agent runs: without our keys, without start files, without anything that asks."""

import sys
from collections.abc import Mapping
from pathlib import Path

_SECRET_ENDINGS = (
    "API_KEY",
    "_ACCESS_KEY",
    "_SECRET_KEY",
    "_PRIVATE_KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "_CREDENTIALS",
    "_PAT",
)
_OURS = ("JPY_", "JUPYTERHUB_", "JUPYTER_TOKEN", "JUPYTER_SERVER_", "PERNIX_")
_START_FILES = frozenset({"BASH_ENV", "ENV", "PROMPT_COMMAND", "PYTHONSTARTUP", "MPLBACKEND"})
_CHANGE_LINES = frozenset({"CDPATH", "BASHOPTS", "SHELLOPTS", "GLOBIGNORE", "POSIXLY_CORRECT"})
"""With these, bash takes a line for something else than it was judged to be."""

FIXED: Mapping[str, str] = {
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "EDITOR": "true",
    "VISUAL": "true",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "TERM": "dumb",
    "NO_COLOR": "1",
}


def secret(name: str) -> bool:
    """Whether a variable of this name is taken to hold a secret, or a way into the Jupyter server."""
    upper = name.upper()
    return upper.endswith(_SECRET_ENDINGS) or upper.startswith(_OURS)


def cleaned(environ: Mapping[str, str], *, mark: Mapping[str, str] | None = None) -> dict[str, str]:
    """``environ`` for a command. The folder of the running Python comes first on PATH, so ``python`` is the environment's own."""
    kept = {
        name: value
        for name, value in environ.items()
        if not secret(name) and name not in _START_FILES | _CHANGE_LINES and not name.startswith("BASH_FUNC_")
    }
    here = str(Path(sys.executable).parent)
    kept["PATH"] = ":".join([here, *(part for part in kept.get("PATH", "/usr/bin:/bin").split(":") if part != here)])
    return {**kept, **FIXED, **(mark or {})}
