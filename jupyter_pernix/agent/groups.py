"""The pieces that a model's input is made of: messages that stand and fall together, and what is left of them when it is made
shorter. Pure.

A group is one user's message, or one answer of the model with all its calls, their results and the line behind them: pairs of call
and result are never torn apart.
"""

from dataclasses import dataclass, field

import msgspec

from ..events import ContextCompacted, ToolCallFinished, ToolCallRequested
from ..records import JSON, Picture
from .model.conversation import PICTURE_BYTES

_encode = msgspec.json.Encoder().encode

SHORTEST = 200
"""Results that are no longer than this many characters stay."""


@dataclass(kw_only=True)
class Group:
    """``first``: seq of its first event. ``pictures``: shown with a message, by its place. ``short``: what a message is replaced by
    when old results are left out, by its place; pictures go with it. ``size``: bytes in the conversation. ``summary``: it stands
    for what was there before it."""

    first: int
    messages: list[JSON]
    pictures: dict[int, list[Picture]] = field(default_factory=dict[int, list[Picture]])
    short: dict[int, str] = field(default_factory=dict[int, str])
    size: int = 0
    summary: bool = False

    def shortened(self) -> "Group":
        """The same without the texts of its results and without pictures."""
        if not self.short and not self.pictures:
            return self
        messages = [
            {**message, "content": self.short[at]} if self._is_long(at, message) else message
            for at, message in enumerate(self.messages)
        ]
        group = Group(first=self.first, messages=messages, summary=self.summary)
        group.measure()
        return group

    def _is_long(self, at: int, message: JSON) -> bool:
        return at in self.short and len(str(message["content"])) > max(SHORTEST, len(self.short[at]))

    def measure(self) -> None:
        self.size = sum(len(_encode(message)) + 1 for message in self.messages)
        self.size += PICTURE_BYTES * sum(map(len, self.pictures.values()))

    @property
    def is_request(self) -> bool:
        return not self.summary and len(self.messages) == 1 and self.messages[0]["role"] == "user"


def left_out(call: ToolCallRequested, finished: ToolCallFinished | None) -> str:
    """The line that stands for the result of an old call."""
    if finished is None:
        return f"[{call.title}: no result]"
    where = f"; the whole text: {finished.side_file}" if finished.side_file else ""
    return (
        f"[{call.title}: {finished.status}, {len(finished.result):,} characters, left out here to save space{where}. "
        "Call again if you need it.]"
    )


def summary_message(event: ContextCompacted) -> JSON:
    """The user's message that stands for what was left out."""
    kept = "".join(f"\n- {line}" for line in event.kept)
    told = f"\n\nKept word for word, and by the host's own record:{kept}" if kept else ""
    content = (
        "(The conversation up to here was made shorter by the host. This stands for it; what is listed as done is done.)\n\n"
        f"{event.summary}{told}"
    )
    return {"role": "user", "content": content}
