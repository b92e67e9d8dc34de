"""The model input of one session: an append-only list of chat messages together with their bytes.

Each message is encoded once, when it is appended; a request is a join of bytes that are already there, so its cost does not
grow with the history, and an endpoint's prefix cache meets the same bytes again. A conversation with pictures has two forms, one for
models that see and one of text alone; both only grow.
"""

from collections.abc import Iterable, Sequence

import msgspec

from ...records import JSON, Picture

_encode = msgspec.json.Encoder().encode

PICTURE_BYTES = 4_000
"""For how much text a picture counts, about 1,100 tokens: endpoints count it by its area, not by the length of its base64."""
MOST_PICTURES = 20
"""Of one conversation; what comes beyond is told, not shown, until a compaction makes room."""
MOST_PICTURE_CHARACTERS = 4_000_000
"""Of base64, the same: each request carries all of them, and endpoints bound its size."""

BEHIND_RESULTS = "(The pictures of the results above, in their order.)"
TOO_MANY = "(Further pictures are not shown to you: the conversation holds as many as it may, at most {most} and of a bounded size.)"


class Conversation:
    """Messages in the OpenAI chat form: system, user, assistant (``content``, ``tool_calls``), tool (``tool_call_id``)."""

    def __init__(self, system: str) -> None:
        self._messages: list[JSON] = []
        self._encoded = bytearray()
        self._seeing: bytearray | None = None
        """The form with pictures, once there are any."""
        self.pictures = 0
        """How many a model that sees is shown."""
        self._characters = 0
        """Of their base64."""
        self.shown: dict[int, tuple[Picture, ...]] = {}
        """Those that are shown with a message, by its place. Read only."""
        self.append({"role": "system", "content": system})

    @property
    def messages(self) -> Sequence[JSON]:
        """Without pictures. Read only; change by ``append``."""
        return self._messages

    @property
    def size(self) -> int:
        """Bytes of all messages as JSON, without the enclosing brackets; each picture counts ``PICTURE_BYTES``."""
        return len(self._encoded) + PICTURE_BYTES * self.pictures

    @property
    def text_size(self) -> int:
        """The same without pictures."""
        return len(self._encoded)

    def append(self, message: JSON, pictures: Sequence[Picture] = ()) -> None:
        """``pictures`` stand in the message itself if it is the user's, in one of the user's behind it otherwise: strict endpoints take
        none in a result."""
        if pictures and self._seeing is None:
            self._seeing = self._encoded.copy()
        if self._seeing is not None:
            shown = self._fitting(pictures)
            self.pictures += len(shown)
            self._characters += sum(len(picture.data) for picture in shown)
            if shown:
                self.shown[len(self._messages)] = tuple(shown)
            for one in _seen(message, shown, more=len(shown) < len(pictures)):
                _put(self._seeing, one)
        _put(self._encoded, message)
        self._messages.append(message)

    def _fitting(self, pictures: Sequence[Picture]) -> Sequence[Picture]:
        """The first of them, as many as there is room for."""
        room, characters = max(0, MOST_PICTURES - self.pictures), self._characters
        for count, picture in enumerate(pictures[:room]):
            characters += len(picture.data)
            if characters > MOST_PICTURE_CHARACTERS:
                return pictures[:count]
        return pictures[:room]

    def encoded(self, *, pictures: bool = False) -> bytes:
        """The messages as one JSON array."""
        return self.within(b"[", b"]", pictures=pictures)

    def within(self, head: bytes, tail: bytes, *, pictures: bool = False) -> bytes:
        """``head``, the messages separated by commas, ``tail``; copied once. ``pictures``: in the form for a model that sees."""
        messages = self._seeing if pictures and self._seeing is not None else self._encoded
        return b"".join((head, messages, tail))


def _put(encoded: bytearray, message: JSON) -> None:
    if encoded:
        encoded += b","
    encoded += _encode(message)


def _seen(message: JSON, pictures: Sequence[Picture], *, more: bool) -> Iterable[JSON]:
    """The messages that stand for one in the form for models that see."""
    note = TOO_MANY.format(most=MOST_PICTURES) if more else ""
    if not pictures and not note:
        yield message
    elif message["role"] == "user":
        text = f"{message['content']}\n\n{note}" if note else str(message["content"])
        yield {"role": "user", "content": content_parts(text, pictures)}
    else:
        yield message
        text = f"{BEHIND_RESULTS} {note}".rstrip() if pictures else note
        yield {"role": "user", "content": content_parts(text, pictures) if pictures else text}


def content_parts(text: str, pictures: Sequence[Picture]) -> list[JSON]:
    """The content of a user's message with pictures, as OpenAI has it."""
    urls = (f"data:{picture.mime};base64,{picture.data}" for picture in pictures)
    return [{"type": "text", "text": text}, *({"type": "image_url", "image_url": {"url": url}} for url in urls)]
