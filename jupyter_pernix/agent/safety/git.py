"""git as a process that runs nothing but itself: no hook, filter, pager, monitor or helper of a repository or a user, whatever the
configuration says, and never longer than its deadline. Blocking.

Work trees are looked at through a git folder of ours with a configuration of ours (``shots.py``); the user's own is only opened to name
a commit. Attributes cannot name a filter that our configuration does not have.
"""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

DEADLINE = 20.0

_PASSED_ON = ("PATH", "HOME", "XDG_CONFIG_HOME", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT")
_ENVIRONMENT = {
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
    "GIT_ASKPASS": "false",
    "GIT_AUTHOR_NAME": "jupyter_pernix",
    "GIT_AUTHOR_EMAIL": "pernix@localhost",
    "GIT_COMMITTER_NAME": "jupyter_pernix",
    "GIT_COMMITTER_EMAIL": "pernix@localhost",
}
SETTINGS: Mapping[str, str] = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "core.pager": "cat",
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.quotePath": "false",
    "core.splitIndex": "false",
    "core.logAllRefUpdates": "false",
    "core.sshCommand": "false",
    "diff.external": "",
    "diff.ignoreSubmodules": "all",
    "submodule.recurse": "false",
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
"""Given on each command line, so that they go before what a repository says."""


class GitFailed(Exception):
    """git could not be run, said no, or took too long; the text is a part of a sentence."""


class GitSlow(GitFailed):
    """It took longer than its deadline."""


def installed() -> bool:
    return shutil.which("git") is not None


def run(
    arguments: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    stdin: bytes = b"",
    deadline: float = DEADLINE,
) -> bytes:
    """The output of one git command.

    :raises GitFailed: if it cannot be run or fails, with git's own words
    """
    git = shutil.which("git")
    if git is None:
        raise GitFailed("git is not installed")
    command = [git, *(part for key, value in SETTINGS.items() for part in ("-c", f"{key}={value}")), *arguments]
    try:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=_environment(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as exc:
        raise GitFailed(f"git could not be started: {exc.strerror or exc}") from exc
    try:
        output, errors = process.communicate(stdin, timeout=deadline)
    except subprocess.TimeoutExpired as exc:
        raise GitSlow(f"git took longer than {deadline:g} s") from exc
    finally:
        _end(process)
    if process.returncode:
        said = errors.decode("utf-8", "replace").strip().splitlines()
        raise GitFailed(f"git {arguments[0]}: {said[-1][:300] if said else f'exit code {process.returncode}'}")
    return output


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    passed = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {**passed, **_ENVIRONMENT, **more}


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
