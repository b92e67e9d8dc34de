"""Secrets in what is written down for others: recognised by their shape, by the name that they are assigned to, or because the host
knows them, and replaced by ``••••(kind)``. Pure.

What is masked stays masked, and masking it again changes nothing. Digests, UUIDs, commit ids, pictures and code without a secret in it
stay as they are: a value counts when its shape belongs to one issuer, or when a name says what it is and it is no placeholder.
"""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast
from urllib.parse import quote

import msgspec

from ..records import SessionView
from .shapes import (
    ASSIGNED_ROOTS,
    ASSIGNED_WORDS,
    ASSIGNMENTS,
    LONG,
    MARK,
    NAME,
    RARE,
    ROOTS,
    SHAPES,
    Shape,
    is_placeholder,
    is_secret,
    is_secret_name,
)

__all__ = ["MARK", "Masker", "is_secret_name"]

_SHORTEST = 8
"""Known values that are shorter would be found where they mean something else."""
_BEGUN = 3
"""Characters by which the beginning of a known value is recognised."""
_ASKS = re.compile(r"pass(?:word|wd|phrase|code)|secret|token|api[-_ ]?key|credential|\bpin\b", re.IGNORECASE)
_LONG_TEXT = 4096
_BEFORE, _AFTER = 100, 1000
"""How far around a word that says what a value is the value is looked for, in characters."""
_COLOUR = re.compile(r"(?:\x1b|\\+u001b|\\+x1b|\\+033|\\+e)\[[0-9;]*m", re.IGNORECASE)
_WRITTEN_BREAK = re.compile(r"\\+[nr]")
_DATA_URI = re.compile(r"data:[\w.+/-]+;base64,[A-Za-z0-9+/=\s]+")


class Masker:
    """``known``: values that are secret whatever they look like: keys of endpoints, what the environment holds under a secret's name.
    They are found as they are, and as JSON, an address, hexadecimal, base64 or reversed text has them."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        values = sorted(
            {value for value in known if len(value) >= _SHORTEST and not value.isspace()}, key=len, reverse=True
        )
        forms = sorted({form for value in values for form in _forms(value)}, key=lambda form: (-len(form), form))
        self._forms = forms
        self._looked_for = [(form, frozenset(form), not any(map(str.isspace, form))) for form in forms]
        self._known = re.compile("|".join(map(re.escape, forms))) if forms else None
        self._split = [
            (value, frozenset(value), re.compile(r"(?:\\+[nr]|[\r\n])*".join(map(re.escape, value))))
            for value in values
        ]

    def text(self, text: str) -> str:
        """``text`` without its secrets."""
        if len(text) < 8 or self._repeats(text):
            return text
        text = self._without_known(text)
        if "base64," in text:
            return _around(text, _DATA_URI, _by_shape)
        return _by_shape(text)

    def _repeats(self, text: str) -> bool:
        """Whether it is long, made of a few lines again and again, and none of them has a secret."""
        if len(text) < _LONG_TEXT:
            return False
        lines = "\n".join(dict.fromkeys(text.split("\n")))
        return len(lines) < len(text) // 2 and self.text(lines) == lines

    def begun(self, text: str) -> int:
        """Where a known value begins that ``text`` may end in the middle of; its length if there is none."""
        first = len(text)
        for form in self._forms:
            place = text.rfind(form[:_BEGUN], max(0, len(text) - len(form) + 1))
            if 0 <= place < first and form.startswith(text[place:]):
                first = place
        return first

    def _without_known(self, text: str) -> str:
        if self._known is None:
            return text
        words, signs = _long_words(text, _SHORTEST), set(text)
        if any(of <= signs and form in (words if bare else text) for form, of, bare in self._looked_for):
            text = self._known.sub(f"{MARK}(known)", text)
        if "\n" in text or "\\n" in text:
            flat = text.replace("\n", "").replace("\r", "")
            flat = _WRITTEN_BREAK.sub("", flat) if "\\" in flat else flat
            for value, of, pattern in self._split:
                if of <= signs and value in flat:
                    text = pattern.sub(f"{MARK}(known)", text)
        return text

    def json(self, value: Any, *, name: str = "") -> Any:
        """A JSON value of the same shape without the secrets in its texts; ``name`` is the key that it stands under. Pictures, sound
        and films, in a mime bundle or as a ``Picture``, stay as they are."""
        if isinstance(value, str):
            return self._named(name, value)
        if isinstance(value, dict):
            known = cast(dict[str, Any], value)
            if _asked_for_secret(known):
                known = {**known, "text": f"{MARK}(answer)"}
            return {key: item if _is_picture(known, key) else self.json(item, name=key) for key, item in known.items()}
        if isinstance(value, list):
            return [self.json(item, name=name) for item in cast(list[Any], value)]
        return value

    def _named(self, name: str, value: str) -> str:
        found = NAME.fullmatch(name) if name else None
        if found is not None and "\n" not in value and is_secret(found["name"], found["word"], value):
            return _mark(found["word"])
        return self.text(value)

    def view(self, view: SessionView) -> SessionView:
        """A copy of the whole session without its secrets."""
        return msgspec.convert(self.json(msgspec.to_builtins(view)), SessionView)

    def output(self, output: dict[str, Any]) -> dict[str, Any]:
        """An nbformat output, whose texts are in one piece."""
        if "data" in output:
            return {**output, "data": self.json(output["data"]), "metadata": self.json(output.get("metadata", {}))}
        if output.get("output_type") == "error":
            traceback = self.text("\n".join(output["traceback"])).split("\n") if output["traceback"] else []
            return {**output, "evalue": self.text(output["evalue"]), "traceback": traceback}
        return {**output, "text": self.text(output["text"])} if "text" in output else output


def _asked_for_secret(value: dict[str, Any]) -> bool:
    """A line that code asked for, with a prompt that says what it is."""
    return (
        "input_id" in value
        and isinstance(value.get("text"), str)
        and _ASKS.search(str(value.get("prompt"))) is not None
    )


def _is_picture(value: dict[str, Any], key: str) -> bool:
    return _is_binary(key) or (key == "data" and isinstance(value.get("mime"), str) and _is_binary(value["mime"]))


def _is_binary(mime: str) -> bool:
    return mime.startswith(("image/", "video/", "audio/", "font/")) and not mime.endswith(("+xml", "+json"))


def _around(text: str, kept: re.Pattern[str], change: Callable[[str], str]) -> str:
    pieces: list[str] = []
    done = 0
    for match in kept.finditer(text):
        pieces += [change(text[done : match.start()]), match.group()]
        done = match.end()
    return "".join([*pieces, change(text[done:])])


def _mark(kind: str) -> str:
    return f"{MARK}({kind.lower().replace('_', '-')})"


def _by_shape(text: str) -> str:
    text = _in_plain(text)
    if "[" not in text or not ("\x1b" in text or ("\\" in text and _COLOUR.search(text))):
        return text
    bare = _COLOUR.sub("", text)
    if bare == text or _in_plain(bare) == bare:
        return text
    # colours between a name and its value, as in tracebacks: lines with a secret lose them
    lines = [_without_colours(line) for line in text.split("\n")]
    bare = _COLOUR.sub("", "\n".join(lines))
    masked = _in_plain(bare)
    return masked if masked != bare else "\n".join(lines)


def _without_colours(line: str) -> str:
    bare = _COLOUR.sub("", line)
    masked = _in_plain(bare)
    return line if masked == bare else masked


def _in_plain(text: str) -> str:
    words = _long_words(text, LONG)
    rare = {sign for sign in RARE if sign in words}
    lowered = _lowered(text)
    named = any(root in lowered for root in ROOTS)
    for shape in SHAPES:
        if _is_near(shape, text, words, rare, named):
            text = shape.pattern.sub(lambda match, kind=shape.kind: _masked(match, kind), text)
    windows = _windows(text) if named else []
    if windows:
        # the last pattern sees what the first has left
        for pattern in ASSIGNMENTS:
            text = _sub_within(pattern, text, windows)
            windows = _windows(text)
    return text


def _is_near(shape: Shape, text: str, words: str, rare: set[str], named: bool) -> bool:
    """Whether it is worth looking closer. ``words``: the long ones; ``rare``: which of ``RARE`` they have."""
    match shape.where:
        case "word":
            return any((not sign or sign in rare) and needle in words for needle, sign in shape.signs)
        case "named":
            return named and any(needle in text for needle in shape.needles)
        case "text":
            return any(needle in text for needle in shape.needles)


def _long_words(text: str, length: int) -> str:
    """The words of so many characters, which are the only ones that may be a secret by themselves."""
    return " ".join([word for word in dict.fromkeys(text.split()) if len(word) >= length])


def _lowered(text: str) -> str:
    """In small letters, with each character at its place: a few would become two."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c.lower() if c.isascii() else "-" for c in text)


def _windows(text: str) -> list[tuple[int, int]]:
    """The parts of ``text`` that are worth a closer look: around each word that may say what a value is."""
    lowered = _lowered(text)
    found: list[tuple[int, int]] = []
    for first, last in sorted(_assigned_words(lowered)):
        end = last + _AFTER
        least = max(first - _BEFORE, 0)
        start = max(text.rfind("\n", least, first) + 1, least)
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _assigned_words(lowered: str) -> Iterator[tuple[int, int]]:
    """Where each of them begins and ends, sign included."""
    for root in ASSIGNED_ROOTS:
        place = lowered.find(root)
        while place >= 0:
            match = ASSIGNED_WORDS.match(lowered, place)
            if match is not None:
                yield match.span()
            place = lowered.find(root, place + len(root))


def _sub_within(pattern: re.Pattern[str], text: str, windows: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in windows:
        for match in pattern.finditer(text, max(start, done), min(end, len(text))):
            pieces += [text[done : match.start()], _assigned(match)]
            done = match.end()
    return "".join([*pieces, text[done:]]) if pieces else text


def _masked(match: re.Match[str], kind: str) -> str:
    if "secret" not in match.re.groupindex:
        return _mark(kind)
    return match.group() if is_placeholder(match["secret"]) else _in_place(match, kind)


def _assigned(match: re.Match[str]) -> str:
    word = match["word"]
    # a plain KEY is one only in the capitals of an environment
    judged = "api_key" if word == "KEY" else word
    return _in_place(match, word) if is_secret(match["name"], judged, match["secret"]) else match.group()


def _in_place(match: re.Match[str], kind: str) -> str:
    start, end = match.start("secret") - match.start(), match.end("secret") - match.start()
    return match.group()[:start] + _mark(kind) + match.group()[end:]


def _forms(value: str) -> set[str]:
    """How ``value`` may stand in a text, beside as it is."""
    raw = value.encode("utf-8", "surrogatepass")
    forms = {
        value,
        value[::-1],
        raw.hex(),
        raw.hex().upper(),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
    }
    forms |= {quote(value, safe=""), quote(value), value.replace("/", "\\/"), json.dumps(json.dumps(value)[1:-1])[1:-1]}
    for shift in range(3):
        # without the characters that hang on what stands around it
        encoded = base64.b64encode(b"x" * shift + raw).decode().rstrip("=")
        forms.add(encoded[(0, 2, 3)[shift] : len(encoded) - (1 if (len(raw) + shift) % 3 else 0)])
    return {form for form in forms if len(form) >= _SHORTEST}
