"""Texts as they are compared: what is different in every run, though nothing is, becomes a word. Pure.

Nothing else is touched: the order of sets and tables, numbers, and what is missing or new count as differences.
"""

import re

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
_NUMBER = r"\d+(?:[.,]\d+)?(?:e[+-]?\d+)?"
_UNIT = r"(?:ns|µs|us|μs|ms|s|sec(?:onds?)?|min(?:utes?)?|h(?:ours?)?)"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DAY = r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*"

_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b0x[0-9a-f]{6,16}\b", re.IGNORECASE), "<address>"),
    # where Linux puts objects, as id() tells it
    (re.compile(r"\b(?:9[34]\d{12}|1(?:39|40)\d{12})\b"), "<address>"),
    # what a table of pandas with a style is called
    (re.compile(r"\bT_[0-9a-f]{5}(?=_|\b)"), "T_<id>"),
    (re.compile(r"^(?:Overw|W)riting (?=\S+$)", re.MULTILINE), "Writing "),
    (re.compile(r"^The slowest run took .* times longer than the fastest\..*\n", re.MULTILINE), ""),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE), "<uuid>"),
    # ISO and the like, with or without a time
    (re.compile(r"\b(?:19|20)\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<date>"),
    (
        re.compile(rf"\b{_DAY},? {_MONTH} +\d{{1,2}}(?: \d\d:\d\d:\d\d)?(?: \w+)? (?:19|20)\d\d\b", re.IGNORECASE),
        "<date>",
    ),
    (
        re.compile(rf"\b(?:{_DAY},? )?\d{{1,2}} {_MONTH} (?:19|20)\d\d(?: \d\d:\d\d(?::\d\d)?)?\b", re.IGNORECASE),
        "<date>",
    ),
    (re.compile(r"\b\d{1,2}([/.])\d{1,2}\1(?:19|20)\d\d\b|\b(?:19|20)\d\d/\d{1,2}/\d{1,2}\b"), "<date>"),
    (
        re.compile(r"\bdatetime\.(?:datetime|date|time)\(\d[\d, ]*(?:, (?:tzinfo|fold)=[\w.]+(?:\([^()]*\))?)*\)"),
        "<date>",
    ),
    (re.compile(r"\bdatetime\.timedelta\([^()]*\bmicroseconds=\d+\)"), "<duration>"),
    (
        re.compile(
            r"\b\d{1,2}:\d\d:\d\d(?:\.\d+)?\b(?: ?[AaPp]M\b)?|\b\d{1,2}:\d\d ?[AaPp]M\b|(?<=<date> )\d{1,2}:\d\d\b"
        ),
        "<time>",
    ),
    (re.compile(r"\b1[5-9]\d{8}(?:\.\d+)?\b|\b1[5-9]\d{11}\b|\b1[5-9]\d{17}\b"), "<time>"),
    (
        re.compile(
            rf"\b(wall time|cpu times?|total|user|sys|elapsed|took|in|after|real)(\s*[:=]?\s*)(?:{_NUMBER} ?{_UNIT}\b(?:[, ]+)?)+",
            re.IGNORECASE,
        ),
        r"\1\2<duration>",
    ),
    (re.compile(rf"\b{_NUMBER} ?{_UNIT} ± {_NUMBER} ?{_UNIT}"), "<duration>"),
    (re.compile(r"\(mean ± std\. dev\. of \d+ runs?, [\d,]+ loops? each\)"), "<loops>"),
    (re.compile(rf"(?<![\w.]){_NUMBER} ?(?:ns|µs|us|μs|ms|sec|seconds?)\b(?!/)"), "<duration>"),
    (re.compile(r"(?<![\w.])\d+\.\d+ ?s\b"), "<duration>"),
    (re.compile(r"\b(pid|process id)([ =:#]+)\d+\b", re.IGNORECASE), r"\1\2<pid>"),
    (re.compile(r"\b(process)( \[| #| )\d{2,}(?=\W*$|[\])])", re.IGNORECASE | re.MULTILINE), r"\1\2<pid>"),
    # a temporary folder, then the names that Python and mktemp give to what is in it
    (re.compile(r"(?:/private)?/(?:tmp|var/tmp|var/folders/[\w/+]+|dev/shm)/[^\s'\"<>:,)]*"), "<temporary>"),
    (re.compile(r"\b[A-Z]:\\[^\s'\"]*\\Temp\\[^\s'\"]*", re.IGNORECASE), "<temporary>"),
    (re.compile(r"ipykernel_\d+(?:[/\\]\d+\.py)?"), "<cell>"),
    (re.compile(r"<ipython-input-\d+-[0-9a-f]+>"), "<cell>"),
    (re.compile(r"\b(In|Out) ?\[\d+\]"), r"\1[n]"),
    (re.compile(r"(?:/[\w.+@-]+)+/(?:site|dist)-packages/"), "<packages>/"),
    (re.compile(r"(?:/[\w.+@-]+)+/lib/python3\.\d+/"), "<python>/"),
    (re.compile(r"\bline \d+(?=, in <module>|\))"), "line <n>"),
    (re.compile(r"\b(localhost|127\.0\.0\.1|\[::1\]):\d{2,5}\b"), r"\1:<port>"),
)
_BAR = re.compile(
    r"^.*\d{1,3}%(?:\|.*\|\s*\S+/\S+ \[| ?\[[#=>.\- ]{3,}| ?[▏▎▍▌▋▊▉█━╸╺]).*$|^.*[▏▎▍▌▋▊▉█━╸╺] ?\d{1,3}%.*$"
)
"""As tqdm, wget, pip and the like draw them; a number of percent alone may be a result."""
_DOWNLOAD = re.compile(r"^.*\b\d+(?:\.\d+)? ?(?:it|[kKMG]?i?B)/s\b.*$")
_WARNING = re.compile(r"^(?:[^\s:][^:\n]*|<\w+>):\d+: (?=\w*(?:Warning|Error)\b)", re.MULTILINE)


def normal_text(text: str) -> str:
    """``text`` without what differs from run to run."""
    text = _ANSI.sub("", text).replace("\r\n", "\n")
    lines = [_last_state(line) for line in text.split("\n")]
    text = "\n".join(line.rstrip() for line in _without_progress(lines))
    for pattern, word in _RULES:
        text = pattern.sub(word, text)
    return _WARNING.sub("<file>: ", text).rstrip("\n")


def _last_state(line: str) -> str:
    """What a line shows that was written over with carriage returns."""
    return line.rstrip("\r").rsplit("\r", 1)[-1] if "\r" in line else line


def _without_progress(lines: list[str]) -> list[str]:
    """Progress bars as one mark each, however often they were drawn."""
    kept: list[str] = []
    for line in lines:
        mark = "<progress>" if _BAR.match(line) or _DOWNLOAD.match(line) else line
        if mark != "<progress>" or kept[-1:] != ["<progress>"]:
            kept.append(mark)
    return kept
