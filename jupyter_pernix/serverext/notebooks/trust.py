"""Which outputs may be shown as they are, whoever wrote the code that made them. Pure."""

from collections.abc import Sequence
from typing import cast

from ...records import JSON

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_SAFE = frozenset(
    {"text/plain", "text/latex", "image/png", "image/jpeg", "image/gif", "image/webp", "application/json", WIDGET_VIEW}
)
"""Forms that run nothing and fetch nothing when they are drawn."""


def only_safe(outputs: Sequence[JSON]) -> bool:
    """No output holds a form that could run code in the page, or fetch something."""
    return all(_is_safe(output) for output in outputs)


def _is_safe(output: JSON) -> bool:
    data = output.get("data")
    if not isinstance(data, dict):
        return output.get("output_type") in ("stream", "error")
    bundle = cast(JSON, data)
    # a widget's text form beside its view is often HTML that is never drawn
    return WIDGET_VIEW in bundle or _SAFE.issuperset(bundle)
