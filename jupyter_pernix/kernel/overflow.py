"""What an execution puts out beyond its caps: counted, and the end of it kept."""

from collections import deque

from ..records import JSON
from .bundles import Caps


class Overflow:
    """Holds at most ``caps.tail`` characters of streams and ``caps.tail_outputs`` other outputs, in their order."""

    def __init__(self, caps: Caps) -> None:
        self._caps = caps
        self._items: deque[tuple[str, str | JSON]] = deque()
        self._characters = self._kept_characters = 0
        self._outputs = self._kept_outputs = 0

    @property
    def items(self) -> list[tuple[str, str | JSON]]:
        """(stream name, text) or (display id or "", output)."""
        return list(self._items)

    @property
    def last(self) -> str | JSON | None:
        return self._items[-1][1] if self._items else None

    def add_text(self, name: str, text: str) -> None:
        self._characters += len(text)
        kept = text[-self._caps.tail :]
        self._items.append((name, kept))
        self._kept_characters += len(kept)
        while self._kept_characters > self._caps.tail:
            self._drop_text()

    def add_output(self, display_id: str, output: JSON) -> None:
        self._outputs += 1
        self._kept_outputs += 1
        self._items.append((display_id, output))
        if self._kept_outputs > self._caps.tail_outputs:
            first = next(i for i, (_, item) in enumerate(self._items) if not isinstance(item, str))
            del self._items[first]
            self._kept_outputs -= 1

    def update(self, display_id: str, data: JSON, metadata: JSON) -> None:
        for key, item in self._items:
            if key == display_id and not isinstance(item, str):
                item["data"], item["metadata"] = data, metadata

    def sentence(self, where: str) -> str:
        """What is missing in front of ``items``."""
        parts: list[str] = []
        if self._characters > self._kept_characters:
            parts.append(f"{self._characters - self._kept_characters:,} characters")
        if self._outputs > self._kept_outputs:
            parts.append(f"{self._outputs - self._kept_outputs:,} outputs")
        missing = " and ".join(parts) or "nothing"
        full = f"; the whole text is in {where}" if where and self._characters else ""
        return f"[… {missing} left out here{full}; the end follows …]"

    def _drop_text(self) -> None:
        index = next(i for i, (_, item) in enumerate(self._items) if isinstance(item, str))
        name, text = self._items[index]
        assert isinstance(text, str)
        excess = self._kept_characters - self._caps.tail
        if len(text) > excess:
            self._items[index] = (name, text[excess:])
            self._kept_characters -= excess
        else:
            del self._items[index]
            self._kept_characters -= len(text)
