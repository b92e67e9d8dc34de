"""Live widgets of sessions and GPUs, for notebooks; see ``kernel/widgets``."""

from .kernel.widgets import Budget, ToolCalls, Trace, Vram

__all__ = ["Budget", "ToolCalls", "Trace", "Vram"]
