"""A notebook as one HTML page: static, without scripts, and with a policy that lets it fetch nothing. Pure."""

import base64
import json
from html import escape
from typing import Any, cast

import mistune

from ...records import JSON
from .parts import TOOL_CALL, Shown, language_of, pernix_kind, plain, shown, title_of
from .sanitize import sanitized

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --quiet: #777; --bad: #c33; }
body { font: 15px/1.55 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
pre, code { font: 13px/1.45 ui-monospace, monospace; }
pre { margin: 0; padding: .6rem .8rem; overflow-x: auto; background: var(--soft); border-radius: 4px;
  white-space: pre-wrap; overflow-wrap: anywhere; }
section { margin: 1rem 0; }
.code { border-left: 3px solid var(--line); padding-left: .8rem; }
.code > pre:first-of-type { border: 1px solid var(--line); }
.output { margin-top: .4rem; overflow-x: auto; }
.output pre { background: none; padding: .2rem .8rem; }
.error pre { color: var(--bad); }
.count, summary { color: var(--quiet); font-size: 13px; }
table { border-collapse: collapse; margin: .4rem 0; } th, td { border: 1px solid var(--line); padding: .2rem .6rem; text-align: left; }
img { max-width: 100%; } blockquote { margin: 0; padding-left: 1rem; border-left: 3px solid var(--line); color: var(--quiet); }
"""


class _Renderer(mistune.HTMLRenderer):
    """Shows pictures only when the page holds them, and links only to pages."""

    def __init__(self, pictures: JSON) -> None:
        # what stands there as HTML is sanitised with everything else
        super().__init__(escape=False)
        self._pictures = pictures

    def image(self, text: str, url: str, title: str | None = None) -> str:
        found = self._pictures.get(url.removeprefix("attachment:")) if url.startswith("attachment:") else None
        for mime, value in cast(JSON, found or {}).items():
            if mime in ("image/png", "image/jpeg", "image/gif", "image/webp"):
                return _picture(mime, str(value), text)
        return f"[{escape(text or 'picture')}]"

    def link(self, text: str, url: str, title: str | None = None) -> str:
        if not url.startswith(("http://", "https://", "#")):
            return text
        return f'<a href="{escape(url)}" rel="noopener noreferrer nofollow">{text}</a>'


def html_page(notebook: JSON) -> str:
    """The whole notebook as a page of its own."""
    language = language_of(notebook)
    cells = "\n".join(_cell(cell, language) for cell in cast(list[JSON], notebook["cells"]))
    title = escape(title_of(notebook))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n<meta name="referrer" content="no-referrer">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title}</title>\n'
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{cells}\n</main>\n</body>\n</html>\n"
    )


def _cell(cell: JSON, language: str) -> str:
    kind = pernix_kind(cell)
    source = cast(str, cell["source"])
    if cell["cell_type"] == "markdown":
        return f'<section class="markdown">\n{_markdown(source, cell.get("attachments", {}))}</section>'
    if cell["cell_type"] == "raw":
        return f'<section class="raw">{_pre(source)}</section>'
    outputs = "".join(_output(output) for output in cast(list[JSON], cell["outputs"]))
    if kind in ("tool", "plan", "approval"):
        return f'<section class="{kind}">{outputs}</section>'
    count = f'<div class="count">[{cell["execution_count"]}]</div>' if cell["execution_count"] is not None else ""
    code = f'<pre><code class="language-{escape(language)}">{escape(plain(source))}</code></pre>' if source else ""
    return f'<section class="code">{count}{code}{outputs}</section>'


def _output(output: JSON) -> str:
    data = cast(JSON, output.get("data") or {})
    if TOOL_CALL in data:
        return _tool_call(data)
    part = shown(output, rich=True)
    return f'<div class="output {part.form}">{_shown(part)}</div>'


def _tool_call(data: JSON) -> str:
    text = str(data.get("text/plain", ""))
    head, _, rest = text.partition("\n")
    call: Any = data[TOOL_CALL]
    status = str(cast(JSON, call).get("status", "")) if isinstance(call, dict) else ""
    said = f"{escape(plain(head))} <em>{escape(status)}</em>"
    return f'<details class="output"><summary>{said}</summary>{_pre(rest)}</details>'


def _shown(part: Shown) -> str:
    match part.form:
        case "image":
            return _picture(part.mime, part.text, "output")
        case "svg":
            # as a picture it can neither run nor fetch anything
            return _picture("image/svg+xml", base64.b64encode(part.text.encode()).decode(), "output")
        case "html":
            return sanitized(part.text)
        case "markdown":
            return _markdown(part.text, {})
        case "json":
            return _pre(_pretty(part.text))
        case "text" | "error" | "latex":
            return _pre(part.text)


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except ValueError:
        return text


def _picture(mime: str, data: str, alt: str) -> str:
    return f'<img src="data:{mime};base64,{escape("".join(data.split()))}" alt="{escape(alt)}">'


def _markdown(text: str, pictures: JSON) -> str:
    parse = mistune.create_markdown(renderer=_Renderer(pictures), plugins=["table", "strikethrough"])
    return sanitized(str(parse(text)))


def _pre(text: str) -> str:
    return f"<pre>{escape(plain(text))}</pre>"
