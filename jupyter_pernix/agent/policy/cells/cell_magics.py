"""What IPython's cell magics do with the text under them."""

import re
import shlex

from .expansion import system_line
from .foreign import effects_of_script, known, read_foreign, read_sql
from .found import Found
from .magics import TIMED, Reader, split_words, without_options
from .words import word_set

_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh"))
_SCRIPTS = word_set("perl ruby python python2 python3 pypy")
_SCRIPT_OPTIONS = re.compile(r"\A\s*(?:--(?:out|err|proc)(?:=\S+|\s+\S+)|--bg|--no-raise-error|--raise-error)(?=\s|$)")
_ADDRESS = re.compile(r"(?i)\bhttps?://|\bftp://|\ssrc\s*=\s*[\"']?//")
_ACTIVE_HTML = re.compile(
    r"(?i)<\s*(?:script|iframe|object|embed|link|meta|form|base|svg[^>]*\son)|\son\w+\s*=|javascript:|data:text/html"
)


def cell_magic(name: str, rest: str, body: str, reader: Reader) -> None:
    """``%%name rest`` over ``body``."""
    found = reader.found
    if name in ("!", "sx", "system"):
        system_line(body if body.strip() else rest, found)
    elif name in _SHELLS or name == "script" or name in _SCRIPTS:
        _script(name if name != "script" else "", rest, body, reader)
    elif name in ("writefile", "file"):
        _writefile(rest, found)
    elif name in ("javascript", "js"):
        found.see("frontend_js")
    elif name in ("html", "HTML", "svg", "SVG", "markdown", "latex"):
        page(body, found)
    elif name == "sql":
        read_sql(f"{rest}\n{body}" if not rest.startswith(("duckdb:", "sqlite:")) else body, found)
    elif name in ("R", "julia"):
        read_foreign(body, name, found)
    elif name == "cython":
        found.see("runs_code_from_text", "opaque")
    elif name in TIMED:
        _over_python(name, rest, body, reader)
    else:
        found.see("opaque", why=f"the magic %%{name[:40]} is not known")


def _over_python(name: str, rest: str, body: str, reader: Reader) -> None:
    if name in ("timeit", "prun", "memit") and without_options(rest, TIMED[name]):
        reader.cell(without_options(rest, TIMED[name]))
    reader.cell(body)


def page(text: str, found: Found) -> None:
    """Marked-up text that is shown in the page."""
    if _ACTIVE_HTML.search(text):
        found.see("frontend_js")
    if _ADDRESS.search(text) and re.search(
        r"(?i)<\s*(?:img|script|iframe|link|video|audio|source|object|embed)\b", text
    ):
        found.see("network")


def _writefile(rest: str, found: Found) -> None:
    plain = [word for word in split_words(rest) if word not in ("-a", "--append")]
    found.see("writes_file")
    if len(plain) != 1 or "$" in rest or "{" in rest:
        found.see("opaque", why="which file it writes cannot be known before it runs")
    else:
        found.path(plain[0], "write", expand=True)


def _script(program: str, rest: str, body: str, reader: Reader) -> None:
    """Text for a program's input; the program's own words may hold text as well."""
    found = reader.found
    if re.search(r"--bg(?=\s|$)", rest):
        found.see("delayed")
    while True:
        shorter = _SCRIPT_OPTIONS.sub("", rest)
        if shorter == rest:
            break
        rest = shorter
    words = [*([program] if program else []), *split_words(rest)]
    if not words:
        found.see("opaque")
        return
    name = words[0].rpartition("/")[2]
    if "$" in words[0] or "{" in words[0]:
        found.see("opaque", why="which program it starts cannot be known before it runs", grave=True)
    if name in _SHELLS:
        text = _text_of(words, "c")
        found.only_denied(shlex.join(words))
        found.line(body if text is None else text)
        if text is None and any(not word.startswith("-") for word in words[1:]):
            found.line(shlex.join(words))
    elif re.fullmatch(r"(?:python|pypy|ipython)[\d.]*", name):
        _interpreted(words, _text_of(words, "c"), body, reader, None)
    elif known(name) or name in _SCRIPTS:
        _interpreted(words, _text_of(words, "e"), body, reader, name)
    else:
        found.line(shlex.join(words))
        if body.strip():
            found.see("opaque", why=f"{name[:40]} gets a text that cannot be judged")


def _interpreted(words: list[str], text: str | None, body: str, reader: Reader, language: str | None) -> None:
    reader.found.see("runs_process")
    reader.found.see("runs_code_from_text")
    reader.found.only_denied(shlex.join(words))
    code = body if text is None else text
    if text is None and any(not word.startswith("-") for word in words[1:]):
        reader.found.see("runs_code_from_file")
    if language is None:
        reader.python(code)
    else:
        effects_of_script(code, language, reader.found)


def _text_of(words: list[str], flag: str) -> str | None:
    """The text of ``-c`` or ``-e``."""
    for at, word in enumerate(words[1:-1], 1):
        if re.fullmatch(rf"-\w*{flag}", word):
            return words[at + 1]
    return None
