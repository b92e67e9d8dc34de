"""Text from outside made storable: lone surrogates, which JSON can carry and UTF-8 cannot, become question marks."""

import json
from typing import Any, cast


def wellformed(text: str) -> str:
    if text.isascii():
        return text
    return text.encode("utf-8", errors="replace").decode("utf-8")


def wellformed_json(value: Any) -> Any:
    """The same for every text in a JSON value."""
    match value:
        case str():
            return wellformed(value)
        case dict():
            items = cast(dict[str, Any], value).items()
            return {wellformed(name): wellformed_json(item) for name, item in items}
        case list():
            return [wellformed_json(item) for item in cast(list[Any], value)]
        case _:
            return value


def is_json(raw: str) -> bool:
    """Whether a strict reader takes it; ours takes more than that, and some endpoints read the history strictly."""
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return True
