"""An AI agent workspace for Jupyter: it runs on your machine, with your model, in real kernels."""

# Jupyter finds the two underscored functions by name.
# pyright: reportUnusedFunction=false

import importlib
from typing import Any

__version__ = "0.1.0"


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "jupyter_pernix"}]


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    # Imported here: the magics load this package inside the user's kernel, where jupyter_server may be missing.
    from .serverext.app import PernixApp

    return [{"module": "jupyter_pernix", "app": PernixApp}]


def __getattr__(name: str) -> Any:
    """``jupyter_pernix.widgets`` without an import of its own."""
    if name != "widgets":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Imported here: only a notebook that shows a widget needs anywidget.
    return importlib.import_module(".widgets", __name__)


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext jupyter_pernix``"""
    # Imported here: only a kernel needs IPython.
    from .kernel.ipython import load

    load(shell)
