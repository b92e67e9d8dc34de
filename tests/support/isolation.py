"""Keeps tests away from the user's own Jupyter, IPython and pernix files."""

import os
from pathlib import Path

_FOLDERS = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
_LEAKS = (
    "OPENAI_",
    "PERNIX_",
    "JUPYTER_",
    "JPY_",
    "JUPYTERLAB_",
    "IPYTHONDIR",
    "COLUMNS",
    "MPLBACKEND",
    "MPLCONFIGDIR",
)


def isolated_environ(home: Path) -> dict[str, str]:
    """This process's environment with each folder that Jupyter, IPython or we write to moved below ``home``.

    matplotlib's folder stands beside it: its font cache takes seconds to make and is worth sharing.
    """
    environ = {name: value for name, value in os.environ.items() if not name.startswith(_LEAKS)}
    folders = {name: home / name.lower() for name in _FOLDERS} | {"MPLCONFIGDIR": home.parent / "matplotlib"}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    return (
        environ
        | {name: str(folder) for name, folder in folders.items()}
        | {"JUPYTER_PLATFORM_DIRS": "1", "PERNIX_DISCOVER": "false"}
    )
