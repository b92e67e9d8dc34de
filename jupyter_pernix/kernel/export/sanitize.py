"""HTML that code has printed → HTML in which nothing runs, fetches, or reaches out of its place. Pure; standard library only.

What is not listed here does not pass: elements are dropped with what stands in them or, where that is harmless text, without it.
"""

import re
from collections import Counter
from html import escape, unescape
from html.parser import HTMLParser

_KEPT = {
    "a", "abbr", "b", "blockquote", "br", "caption", "center", "cite", "code", "col", "colgroup", "dd", "del", "details", "dfn", "div", "dl", "dt",
    "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "ins", "kbd", "li", "mark", "ol", "p", "pre", "q", "s",
    "samp", "small", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "u", "ul", "var",
}  # fmt: skip
_WITH_CONTENT = {
    "script", "style", "iframe", "object", "embed", "applet", "template", "noscript", "noembed", "noframes", "svg", "math", "head", "title",
    "textarea", "select", "button", "video", "audio", "canvas", "xmp", "plaintext", "frameset",
}  # fmt: skip
"""Dropped together with what stands in them."""
_VOID = {"br", "hr", "img", "col"}
_ATTRIBUTES = {
    "*": {"align", "title"},
    "a": {"href"},
    "img": {"src", "alt", "width", "height"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "ol": {"start"},
    "details": {"open"},
}
_NUMBERS = {"width", "height", "colspan", "rowspan", "start"}
_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+")
_COMMENT = re.compile(r"<!--(?:(?!-->).)*(?:-->|\Z)", re.DOTALL)
_ADDRESS = re.compile(r"https?://[^\s\"'<>\\]+|#[\w-]+", re.IGNORECASE)


def sanitized(html: str) -> str:
    """``html`` with nothing but formatting, tables, links to pages and pictures that it holds itself."""
    cleaner = _Cleaner()
    # taken out before: the parser looks for the end of each comment to the end of the text
    cleaner.feed(_COMMENT.sub("", html))
    cleaner.close()
    return cleaner.text()


class _Stack:
    """Elements that are open, the innermost last."""

    def __init__(self) -> None:
        self.tags: list[str] = []
        self._counts: Counter[str] = Counter()

    def push(self, tag: str) -> None:
        self.tags.append(tag)
        self._counts[tag] += 1

    def close(self, tag: str) -> list[str]:
        """The innermost element of this name and all inside of it are closed; none, if none is open."""
        closed: list[str] = []
        if self._counts[tag]:
            while closed[-1:] != [tag]:
                closed.append(self.tags.pop())
                self._counts[closed[-1]] -= 1
        return closed


class _Cleaner(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._pieces: list[str] = []
        self._open, self._dropped = _Stack(), _Stack()

    def text(self) -> str:
        return "".join([*self._pieces, *(f"</{tag}>" for tag in reversed(self._open.tags))])

    def close(self) -> None:
        """What is no whole tag at the end is text; the parser would begin anew at each of its brackets."""
        rest, self.rawdata = self.rawdata, ""
        self.handle_data(unescape(rest))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._dropped.tags or tag in _WITH_CONTENT:
            if tag in _WITH_CONTENT and tag not in ("embed",):
                self._dropped.push(tag)
            return
        if tag not in _KEPT:
            return
        kept = "".join(_attribute(tag, name, value or "") for name, value in attrs)
        if tag == "img" and ' src="' not in kept:
            return
        self._pieces.append(f"<{tag}{kept}>")
        if tag not in _VOID:
            self._open.push(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._dropped.tags:
            self._dropped.close(tag)
        else:
            self._pieces += [f"</{closed}>" for closed in self._open.close(tag)]

    def handle_data(self, data: str) -> None:
        if not self._dropped.tags:
            self._pieces.append(escape(data, quote=False))


def _attribute(tag: str, name: str, value: str) -> str:
    if name not in _ATTRIBUTES["*"] and name not in _ATTRIBUTES.get(tag, set()):
        return ""
    if name == "src" and not _PICTURE.fullmatch(value.strip()):
        return ""
    if name == "href":
        if not _ADDRESS.fullmatch(value.strip()):
            return ""
        return f' href="{escape(value.strip())}" rel="noopener noreferrer nofollow"'
    if name in _NUMBERS and not re.fullmatch(r"\d{1,5}%?", value.strip()):
        return ""
    return f' {name}="{escape(value.strip())}"'
