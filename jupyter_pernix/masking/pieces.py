"""Text that comes in pieces, masked as if it had come at once.

What stands at the end and may be the beginning of a secret is held back until the next piece, or the end, shows what it is; nothing
else waits. If something that was told turns out to be part of a secret, it is taken back.
"""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..records import JSON, OutputOp
from .masker import Masker
from .shapes import ASSIGNED_WORDS

_MOST = 16_384
"""Characters that are held back at most."""
_NUMBER = re.compile(r"[\s\"'(]*[-+.\d:|/%eE]*")
_VALUE = re.compile(r"[\s\"'(]{0,8}[^\s\"']{0,500}")
_BEGUN = re.compile(
    r"(?:sk-|[rsp]k_(?:live|test)_|whsec_|hf_|gh[pousr]_|github_pat_|gl[a-z]{2,5}-|xox[a-z]-|xapp-|A(?:KIA|SIA|BIA|CCA)|AIza|ya29\.|GOCSPX-|"
    r"npm_|pypi-|SG\.|dckr_pat_|do[opr]_v1_|shp|sq0csp-|ATATT3|lin_api_|gsk_|pplx-|r8_|xai-|hvs\.|nvapi-|figd_|glsa_|ntn_|dapi|"
    r"AGE-SECRET-KEY-|eyJ|hooks\.slack\.com/|/api/webhooks/)[^\s\"'<>]{0,2000}\Z|"
    r"(?i:bearer|authorization:?|basic)[ \t]+[^\s\"']{1,2000}\Z|"
    r"://[^\s/:@\"'<>]{0,100}:(?!\d{0,5}\Z)[^\s/@\"'<>]{0,200}@?\Z"
)


@dataclass(frozen=True)
class Piece:
    """``back``: how many characters of what was told before are not to stand; ``text`` comes behind what is left."""

    text: str
    back: int = 0


class Pieces:
    """``lines``: nobody waits for it, so that whole lines are told only."""

    def __init__(self, masker: Masker, *, lines: bool = False) -> None:
        self._masker = masker
        self._lines = lines
        self._raw = ""
        self._told = ""
        """What was told of ``_raw``, masked."""

    def add(self, piece: str) -> Piece:
        self._raw += piece
        return self._tell(self._open(self._raw))

    def rest(self) -> Piece:
        """What is still held back; whatever comes later may go on from it."""
        return self._tell(len(self._raw))

    def _tell(self, end: int) -> Piece:
        masked = self._masker.text(self._raw[:end])
        same = _common(masked, self._told)
        piece = Piece(masked[same:], len(self._told) - same)
        line = self._raw.rfind("\n", 0, end) + 1
        self._told = masked[masked.rfind("\n") + 1 :] if line else masked
        self._raw = self._raw[line:]
        if len(self._raw) > _MOST and end - line == len(self._raw):
            self._raw = self._told = ""
        return piece

    def _open(self, raw: str) -> int:
        """From where on it is not known yet what it is."""
        line = raw.rfind("\n") + 1
        key = raw.rfind("-----BEGIN ")
        if key >= 0 and "-----END" not in raw[key:] and "PRIVATE" in raw[key : key + 40] and len(raw) - key <= _MOST:
            return key
        if len(raw) - line > _MOST:
            return len(raw)
        if self._lines:
            return line
        last = raw[line:]
        if not last:
            return line
        places = [self._masker.begun(last)]
        begun = _BEGUN.search(last)
        if begun is not None:
            places.append(begun.start())
        places += [
            named.end()
            for named in ASSIGNED_WORDS.finditer(last.lower())
            if _VALUE.fullmatch(last, named.end()) and not _NUMBER.fullmatch(last, named.end())
        ]
        return line + min(places)


class BytePieces:
    """UTF-8 that comes in pieces and goes into a file, with whatever else is in it kept as it is."""

    def __init__(self, masker: Masker) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._pieces = Pieces(masker, lines=True)

    def add(self, chunk: bytes) -> bytes:
        return _bytes(self._pieces.add(self._decoder.decode(chunk)))

    def rest(self) -> bytes:
        last = self._pieces.add(self._decoder.decode(b"", final=True))
        return _bytes(last) + _bytes(self._pieces.rest())


class OutputPieces:
    """The outputs of one execution: each step without its secrets, in the same order and at the same places."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._streams: dict[int, Pieces] = {}

    def take(self, op: OutputOp, outputs: Sequence[JSON]) -> list[OutputOp]:
        """``outputs``: what the steps before have made."""
        match op.op:
            case "clear":
                self._streams.clear()
                return [op]
            case "extend":
                pieces = self._streams.setdefault(op.index, Pieces(self._masker))
                return self._extended(op.index, pieces.add(op.text), outputs)
            case "append" | "replace":
                before = self.rest(outputs, but=op.index) if op.op == "append" else []
                return [*before, OutputOp(op=op.op, index=op.index, output=self._whole(op))]

    def rest(self, outputs: Sequence[JSON], *, but: int = -1) -> list[OutputOp]:
        """What is held back; ``but``: of all but this one."""
        found: list[OutputOp] = []
        for index, pieces in self._streams.items():
            if index != but:
                found += self._extended(index, pieces.rest(), outputs)
        return found

    def _whole(self, op: OutputOp) -> JSON | None:
        output = op.output
        if output is None or output.get("output_type") != "stream":
            self._streams.pop(op.index, None)
            return None if output is None else self._masker.output(output)
        pieces = self._streams[op.index] = Pieces(self._masker)
        return {**output, "text": pieces.add(output["text"]).text}

    def _extended(self, index: int, piece: Piece, outputs: Sequence[JSON]) -> list[OutputOp]:
        if piece.back and index < len(outputs):
            text: str = outputs[index]["text"]
            left = text[: max(0, len(text) - piece.back)]
            return [OutputOp(op="replace", index=index, output={**outputs[index], "text": left + piece.text})]
        return [OutputOp(op="extend", index=index, text=piece.text)] if piece.text else []


def _common(one: str, two: str) -> int:
    """Length of the common start."""
    if one.startswith(two):
        return len(two)
    return next((at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


def _bytes(piece: Piece) -> bytes:
    return piece.text.encode("utf-8", "surrogateescape")
