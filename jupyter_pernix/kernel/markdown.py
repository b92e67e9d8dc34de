"""Markdown of a model or a user made harmless for places that nobody sanitises: the output of a live kernel, which JupyterLab trusts,
and the cells of a run notebook, which any viewer may open.

What stays: text, emphasis, lists, tables, code, mathematics, links to http(s) pages. What cannot pass: HTML, pictures (fetching one
tells its server something), links of other kinds. Code blocks are written anew in one plain form, so that a reader cannot disagree
with us about where they begin and end. Pure; standard library only.
"""

import re
from collections.abc import Iterator

from ..livetext import neutral

_FENCE = re.compile(r"^(?P<indent>[ \t]*(?:>[ \t]?)*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)$")
_SPAN = re.compile(r"(?<![`\\])(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_LINK = re.compile(r"(?<![!\\])\[([^\[\]\\`<>]*)\]\((https?://[\w.~:/?#@!$*+,;=%-]+)\)")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_COMMAND = re.compile(
    r"\\(?=(?:href|url|style|class|cssId|require|html\w*|data|unicode|include\w*|def|newcommand|renewcommand|let|csname|mmlToken|tooltip|texttip)\b)"
)
_FENCE_MARK = re.compile(r"`{3,}|~{3,}")
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
_SIMPLE_CODE = re.compile(r"[\w ./:,=()+-]+")
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!$~&])")


def safe_markdown(text: str) -> str:
    """``text`` without anything that a browser would run or fetch."""
    blocks: list[str] = []
    prose: list[str] = []
    lines = iter(neutral(text).split("\n"))
    for line in lines:
        opening = _FENCE.match(line)
        if opening is None:
            prose.append(line)
            continue
        blocks.append(_prose("\n".join(prose)))
        prose = []
        blocks.append(_code_block(opening, lines))
    blocks.append(_prose("\n".join(prose)))
    return "\n\n".join(block for block in blocks if block.strip())


def as_code(text: str) -> str:
    """``text`` as an inline code element in which nothing has a meaning."""
    return "<code>" + _entities(text) + "</code>"


def as_text(text: str) -> str:
    """``text`` as it is, in a place where Markdown would be read."""
    return _entities(neutral(text))


def one_line(text: str) -> str:
    """``text`` as plain words on one line, without characters that hide or turn round what is shown."""
    return _SPECIAL.sub(r"\\\1", " ".join(_HIDDEN.sub(" ", text).split()))


def _entities(text: str) -> str:
    return "".join(char if char.isalnum() or char in " \n" else f"&#{ord(char)};" for char in text)


def code_block(text: str, language: str = "") -> str:
    """``text`` as a block of code that ends where it should."""
    code = neutral(text)
    longest = max((len(run) for run in re.findall(r"`+", code)), default=0)
    mark = "`" * max(3, longest + 1)
    return f"{mark}{language}\n{code}\n{mark}"


def _code_block(opening: re.Match[str], lines: Iterator[str]) -> str:
    """The block in its plain form; one that is not closed (it is still being written) ends with the text."""
    fence, indent = opening["fence"], opening["indent"]
    code: list[str] = []
    for line in lines:
        bare = line[len(indent) :] if line.startswith(indent) else line.lstrip(" \t>")
        if bare.strip().startswith(fence) and not bare.strip().strip(fence[0]):
            break
        code.append(bare)
    language = _LANGUAGE.match(opening["info"].strip())
    return code_block("\n".join(code), language.group() if language else "")


def _prose(text: str) -> str:
    pieces: list[str] = []
    done = 0
    for match in _SPAN.finditer(text):
        pieces += [_words(text[done : match.start()]), _span(match[2].strip() or match[2])]
        done = match.end()
    pieces.append(_words(text[done:]))
    return "".join(pieces)


def _span(code: str) -> str:
    """Backticks where their content means nothing even to a reader who takes it for prose; an element elsewhere."""
    return f"`{code}`" if _SIMPLE_CODE.fullmatch(code) else as_code(code)


def _words(text: str) -> str:
    pieces: list[str] = []
    done = 0
    for match in _LINK.finditer(text):
        pieces += [_plain(text[done : match.start()]), match.group()]
        done = match.end()
    pieces.append(_plain(text[done:]))
    return "".join(pieces)


def _plain(text: str) -> str:
    text = _COMMAND.sub("&#92;", text)
    text = _TAG.sub("&lt;", text)
    text = _FENCE_MARK.sub(lambda match: _entities(match.group()), text)
    # Without these there is no link, no picture and no definition of one.
    return re.sub(r"\](?=[(\[:])", "&#93;", text.replace("![", "&#33;["))
