"""Text of a model or a user as the Markdown of a notebook cell: formatting stays, live HTML and script do not.

Viewers disagree about where code begins and ends, so whatever counts as code here is written in the one form on which they all
agree (a fence at the left margin that is longer than any inside; a span on one line), and everything outside loses its tags,
the schemes of its links that could run something, and images that would be fetched from elsewhere.
"""

import html
import re

from .bundles import scrub

_FENCE = re.compile(r"^[ \t]{0,12}(`{3,}|~{3,})([^`\n]*)$")
_SPAN = re.compile(r"(?<![\\`])(`+)(?!`)([^\n]*?[^`\n])\1(?!`)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_MATH = re.compile(r"\$[^$\n]+\$")
_LINK = re.compile(r"(\]\(|\]:)(\s*<?\s*)([^\s>)]*)")
_IMAGE = re.compile(r"!(?=\[)(?:(?=\[[^\[\]]*\]\(\s*<?\s*([^\s>)]*)))?")
_HELD = re.compile("\ue000(\\d+)\ue001")
_INLINE_IMAGE = re.compile(r"data:image/(png|jpeg|gif|webp)[;,]")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):")
_SAFE_SCHEMES = {"http", "https", "mailto", "attachment"}
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!$~&])")


def safe_markdown(text: str) -> str:
    """``text`` with its formatting, and nothing in it that a viewer would run or fetch."""
    text = (
        scrub(text)
        .replace("\r\n", "\n")
        .replace("\r", "\n")
        .replace("\ue000", "")
        .replace("\ue001", "")
        .replace("\0", "")
    )
    parts: list[str] = []
    prose: list[str] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if fence is None:
            prose.append(lines[at])
            at += 1
            continue
        parts.append(_safe_prose("\n".join(prose)))
        prose = []
        body, at = _fenced(lines, at + 1, fence.group(1))
        parts.append(fenced(body, fence.group(2)))
    parts.append(_safe_prose("\n".join(prose)))
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())


def fenced(text: str, info: str = "") -> str:
    """``text`` as a code block; ``info`` names its language."""
    marks = max([2, *(len(run) for run in re.findall(r"`+", text))]) + 1
    language = re.sub(r"[^A-Za-z0-9_+#.-]", "", (info.split() or [""])[0])[:30]
    return f"{'`' * marks}{language}\n{scrub(text)}\n{'`' * marks}"


def one_line(text: str) -> str:
    """``text`` as plain words on one line, without characters that hide or turn round what is shown."""
    return _SPECIAL.sub(r"\\\1", " ".join(_HIDDEN.sub(" ", scrub(text)).split()))


def _fenced(lines: list[str], start: int, opening: str) -> tuple[str, int]:
    """The lines up to the closing fence, or to the end where there is none, and where to go on."""
    for end in range(start, len(lines)):
        line = lines[end].strip()
        if len(line) >= len(opening) and set(line) == {opening[0]}:
            return _dedented(lines[start:end], lines[start - 1]), end + 1
    return _dedented(lines[start:], lines[start - 1]), len(lines)


def _dedented(lines: list[str], fence: str) -> str:
    indent = len(fence) - len(fence.lstrip())
    return "\n".join(line[indent:] if not line[:indent].strip() else line.lstrip() for line in lines)


def _safe_prose(text: str) -> str:
    held: list[str] = []

    def hold(match: re.Match[str]) -> str:
        held.append(match.group(0))
        return f"\ue000{len(held) - 1}\ue001"

    text = _SPAN.sub(hold, text)
    text = re.sub(r"(?<!\\)`", r"\\`", text)
    text = _MATH.sub(lambda match: _TAG.sub("< ", match.group(0)), text)
    text = _TAG.sub("&lt;", text)
    text = _IMAGE.sub(_safe_image, text)
    text = _LINK.sub(_safe_link, text)
    return _HELD.sub(lambda match: held[int(match.group(1))], text)


def _target(raw: str) -> str:
    """A link's target as a browser would read it."""
    return re.sub(r"[\x00-\x20\\\u200b-\u200f\u2060-\u2069\ufeff]", "", html.unescape(raw)).lower()


def _safe_link(match: re.Match[str]) -> str:
    target = _target(match.group(3))
    scheme = _SCHEME.match(target)
    if scheme is None or scheme.group(1) in _SAFE_SCHEMES or _INLINE_IMAGE.match(target):
        return match.group(0)
    return f"{match.group(1)}{match.group(2)}unsafe:{match.group(3)}"


def _safe_image(match: re.Match[str]) -> str:
    """An image in the same folder or in the text itself stays; any other becomes a link."""
    target = _target(match.group(1) or "")
    elsewhere = _SCHEME.match(target) is not None or target.startswith("//")
    own = target.startswith("attachment:") or _INLINE_IMAGE.match(target)
    return "!" if target and (own or not elsewhere) else ""
