"""Variables that code in the sandbox does not get: keys, tokens, the server's own, ways to what runs outside."""

import re
from collections.abc import Collection, Iterable, Mapping

from ...masking import is_secret_name

_ENDINGS = (
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASS",
    "CREDENTIALS",
    "CREDENTIAL",
    "_PAT",
    "_AUTH",
    "COOKIE",
)
_STARTS = (
    "JPY_",
    "JUPYTER",
    "PERNIX_",
    "SSH_",
    "GPG_",
    "DBUS_",
    "AWS_",
    "AZURE_",
    "GOOGLE_APPLICATION_",
    "DOCKER_",
    "KUBE",
    "XAUTH",
    "VSCODE_",
    "SUDO_",
)
_NAMES = frozenset(
    {
        "BASH_ENV",
        "CONFIGPROXY_AUTH_TOKEN",
        "DISPLAY",
        "ENV",
        "GIT_ASKPASS",
        "ICEAUTHORITY",
        "IPYTHONDIR",
        "LD_AUDIT",
        "LD_PRELOAD",
        "MAIL",
        "MPLBACKEND",
        "MPLCONFIGDIR",
        "NETRC",
        "PROMPT_COMMAND",
        "PYTHONSTARTUP",
        "TMUX",
        "WAYLAND_DISPLAY",
        "XDG_RUNTIME_DIR",
    }
)
_MARKS = ("PERNIX_KERNEL", "PERNIX_CALL")
"""By these we find the processes of a kernel and of a command again."""

_PASSWORD_IN_ADDRESS = re.compile(r"://[^\s/@]*:[^\s/@]+@")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

ALWAYS = ("JPY_PARENT_PID", "JPY_SESSION_NAME", "OLDPWD")
"""Jupyter adds them when it starts a kernel. The first would make the kernel look for a process that it cannot see, and end."""


def withheld(environ: Mapping[str, str], *, but: Collection[str] = _MARKS) -> list[str]:
    """The names, sorted."""
    return sorted({name for name, value in environ.items() if _is_withheld(name, value)} - set(but))


def cleaned(environ: Mapping[str, str]) -> dict[str, str]:
    gone = set(withheld(environ))
    return {name: value for name, value in environ.items() if name not in gone}


def inside(home: str) -> dict[str, str]:
    """What is set instead: a home that is empty, and what programs keep between two calls in the temporary folder."""
    return {
        "HOME": home,
        "TMPDIR": "/tmp",
        "XDG_CACHE_HOME": "/tmp/.cache",
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_STATE_HOME": f"{home}/.local/state",
        "IPYTHONDIR": "/tmp/.ipython",
        "MPLCONFIGDIR": "/tmp/.cache/matplotlib",
        "PERNIX_SANDBOX": "1",
    }


def plain(names: Iterable[str]) -> list[str]:
    """Those that a shell can speak of; it does not hand on the others."""
    return [name for name in names if _PLAIN_NAME.match(name)]


def _is_withheld(name: str, value: str) -> bool:
    upper = name.upper()
    return (
        is_secret_name(name)
        or upper.endswith(_ENDINGS)
        or upper.startswith(_STARTS)
        or upper in _NAMES
        or name.startswith("BASH_FUNC_")
        or bool(_PASSWORD_IN_ADDRESS.search(value))
    )
