"""Live widgets of sessions and GPUs for notebooks: ``from jupyter_pernix.widgets import ToolCalls, Trace, Budget, Vram``.

Only for the user's kernel: this imports anywidget, which the server does without. Each widget is followed live from the server's
stream by a thread of the kernel, which stays idle meanwhile, and leaves a static picture of itself in the notebook.
"""

from .session import Budget, ToolCalls, Trace
from .vram import Vram

__all__ = ["Budget", "ToolCalls", "Trace", "Vram"]
