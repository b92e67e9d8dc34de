"""How many lines a call would change, before it is carried out."""

from ..errors import ToolError
from ..records import JSON
from .policy.opening import read_if_there
from .policy.scope import Scope
from .tools.textfile import decode, unified_diff

_LARGEST = 50_000_000


def lines_of_change(scope: Scope, arguments: JSON) -> int:
    """Lines that an edit or a write would add and remove; 0 if that cannot be told. Reads the file; changes nothing."""
    path, content = str(arguments.get("path", "")), arguments.get("content")
    try:
        if content is None:
            old, new = str(arguments.get("old_text", "")), str(arguments.get("new_text", ""))
        else:
            raw = read_if_there(scope.locate(path), limit=_LARGEST)
            old, new = "" if raw is None else decode(raw, name=path).text, str(content)
    except ToolError:
        return 0
    _, added, removed = unified_diff(old, new, name=path)
    return added + removed
