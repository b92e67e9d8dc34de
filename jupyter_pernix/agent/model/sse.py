"""Server-sent events out of bytes, as the HTML standard parses them. Pure: bytes in, events out."""

import codecs

import msgspec


class ServerEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One dispatched event. ``whole`` is false when the bytes ended before its blank line."""

    name: str
    data: str
    whole: bool = True


class EventDecoder:
    """Feed it bytes as they come; pieces may be cut anywhere, also inside a character or between CR and LF."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._pieces: list[str] = []
        self._skip_newline = False
        self._first = True
        self._name = ""
        self._data: list[str] = []

    def feed(self, data: bytes) -> list[ServerEvent]:
        return self._lines(self._decode.decode(data))

    def close(self) -> list[ServerEvent]:
        """What an unfinished last event holds; some servers leave out its blank line."""
        events = self._lines(self._decode.decode(b"", final=True))
        if self._pieces:
            self._line("".join(self._pieces))
            self._pieces = []
        if self._data:
            events.append(ServerEvent(name=self._name, data="\n".join(self._data), whole=False))
            self._data = []
        return events

    def _lines(self, text: str) -> list[ServerEvent]:
        if self._first and text:
            text, self._first = text.removeprefix("\ufeff"), False
        if self._skip_newline and text:
            text, self._skip_newline = text.removeprefix("\n"), False
        events: list[ServerEvent] = []
        if "\r" in text:
            self._skip_newline = text.endswith("\r")
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        *ended, rest = text.split("\n")
        for line in ended:
            if self._pieces:
                self._pieces.append(line)
                line, self._pieces = "".join(self._pieces), []
            event = self._line(line)
            if event is not None:
                events.append(event)
        if rest:
            self._pieces.append(rest)
        return events

    def _line(self, line: str) -> ServerEvent | None:
        if not line:
            event = ServerEvent(name=self._name, data="\n".join(self._data)) if self._data else None
            self._name, self._data = "", []
            return event
        field, _, value = line.lstrip("\0").partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        return None
