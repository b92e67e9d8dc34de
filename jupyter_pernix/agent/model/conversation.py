"""The model input of one session: an append-only list of chat messages together with their bytes.

Each message is encoded once, when it is appended; a request is a join of bytes that are already there, so its cost does not
grow with the history, and an endpoint's prefix cache meets the same bytes again.
"""

from collections.abc import Sequence

import msgspec

from ...records import JSON

_encode = msgspec.json.Encoder().encode


class Conversation:
    """Messages in the OpenAI chat form: system, user, assistant (``content``, ``tool_calls``), tool (``tool_call_id``)."""

    def __init__(self, system: str) -> None:
        self._messages: list[JSON] = []
        self._encoded = bytearray()
        self.append({"role": "system", "content": system})

    @property
    def messages(self) -> Sequence[JSON]:
        """Read only; change by ``append``."""
        return self._messages

    @property
    def size(self) -> int:
        """Bytes of all messages as JSON, without the enclosing brackets."""
        return len(self._encoded)

    def append(self, message: JSON) -> None:
        if self._messages:
            self._encoded += b","
        self._encoded += _encode(message)
        self._messages.append(message)

    def encoded(self) -> bytes:
        """The messages as one JSON array."""
        return self.within(b"[", b"]")

    def within(self, head: bytes, tail: bytes) -> bytes:
        """``head``, the messages separated by commas, ``tail``; copied once."""
        return b"".join((head, self._encoded, tail))
