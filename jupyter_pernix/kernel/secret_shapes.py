"""What secrets look like: the shapes of issuers' keys, and the names that a secret is assigned to. Pure; used by ``masking``."""

import re
from dataclasses import dataclass

MARK = "••••"


@dataclass(frozen=True)
class Shape:
    """``needles``: one of these is in every text that ``pattern`` finds something in. The group ``secret``, else all, is the secret."""

    kind: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]


def _shape(kind: str, needles: str, *pattern: str) -> Shape:
    return Shape(kind, tuple(needles.split()), re.compile("".join(pattern)))


_THREE_DIGITS = r"(?=(?:[A-Za-z_-]*\d){3})"
_BASE64 = r"A-Za-z0-9+/="
_GAP = r"""(?:\\+[nr]|[\s"',])*"""

_START = r"(?:(?<![A-Za-z0-9])|(?<=[\d;\[]m)|(?<=\\[nrt]))"
"""Before it stands no other part of a word, but perhaps the end of a colour's or a line break's escape."""

SHAPES = (
    _shape(
        "private-key",
        "PRIVATE",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
        rf"(?P<secret>(?:{_GAP}(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]*)*(?:{_GAP}[{_BASE64}]{{32,}})+(?:{_GAP}[{_BASE64}]+(?={_GAP}-----))?)",
    ),
    _shape("anthropic-key", "sk-ant-", rf"{_START}sk-ant-[A-Za-z0-9_-]{{16,}}"),
    _shape("api-key", "sk-", rf"(?<!-){_START}sk-{_THREE_DIGITS}(?!ant-)[A-Za-z0-9_-]{{20,}}"),
    _shape("huggingface-token", "hf_", rf"{_START}hf_[A-Za-z0-9]{{30,}}"),
    _shape(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        rf"{_START}(?:gh[pousr]_[A-Za-z0-9]{{30,}}|github_pat_\w{{40,}})",
    ),
    _shape("gitlab-token", "gl", rf"{_START}gl(?:pat|dt|rt|cbt|ptt|ft|imt|oas|soat|agent)-[A-Za-z0-9_-]{{20,}}"),
    _shape("slack-token", "xox xapp-", rf"{_START}(?:xox[abceoprs]-(?:\d-)?|xapp-\d-)[A-Za-z0-9-]{{10,}}"),
    _shape("slack-webhook", "hooks.slack.com", r"hooks\.slack\.com/services/(?P<secret>T\w+/B\w+/\w{16,})"),
    _shape(
        "aws-key",
        "AKIA ASIA ABIA ACCA",
        rf"(?<![+/]){_START}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}(?![A-Za-z0-9+/])",
    ),
    _shape("google-key", "AIza", rf"{_START}AIza[\w-]{{35}}(?![A-Za-z0-9-])"),
    _shape("google-token", "ya29. GOCSPX-", rf"{_START}(?:ya29\.[\w-]{{20,}}|GOCSPX-[\w-]{{20,}})"),
    _shape(
        "stripe-key",
        "k_live_ k_test_ whsec_",
        rf"{_START}(?:[srp]k_(?:live|test)_[A-Za-z0-9]{{16,}}|whsec_[{_BASE64}]{{20,}})",
    ),
    _shape("npm-token", "npm_", rf"{_START}npm_[A-Za-z0-9]{{36}}(?![A-Za-z0-9])"),
    _shape("pypi-token", "pypi-", rf"{_START}pypi-[A-Za-z0-9_-]{{50,}}"),
    _shape("sendgrid-key", "SG.", rf"{_START}SG\.[\w-]{{16,}}\.[\w-]{{16,}}"),
    _shape("jwt", "eyJ", rf"{_START}eyJ[\w-]{{8,}}\.eyJ[\w-]{{8,}}\.[\w-]{{5,}}"),
    _shape(
        "authorization",
        "uthorization UTHORIZATION",
        r"""(?i)\bauthorization\\*["']?\s*[:=]\s*\\*["']?(?:(?:bearer|basic|token|digest|apikey)\s+)?""",
        r"""(?P<secret>[^\s"'\\,;(){}•]{8,})""",
    ),
    _shape("bearer-token", "earer EARER", r"(?i)\bbearer\s+(?P<secret>(?=\S*\d)[A-Za-z0-9._~+/-]{16,}=*)"),
    _shape(
        "header",
        "-key: -token: -Key: -Token: ookie:",
        r"(?im)^[ \t>*]*(?:x-[\w-]*(?:key|token)|(?:set-)?cookie):[ \t]*(?P<secret>[^\r\n•]{8,})",
    ),
    _shape(
        "password",
        "://",
        r"""(?<![\w+.-])[a-zA-Z][\w+.-]*://[^\s/:@"'<>]*:(?P<secret>[^\s/@"'•<>{}$*]+)@(?=[\w\[])""",
    ),
    _shape(
        "url-token",
        "=",
        r"(?i)[?&](?:[\w-]*token|api[_-]?key|apikey|key|sig|signature|[\w-]*secret|password)=",
        r"""(?P<secret>(?=[^&\s]*\d)[^&\s"'#•<>\\]{12,})""",
    ),
    _shape(
        "password",
        "assword= WORD= wd= WD= ccountKey= ccessKey=",
        r"""(?i)(?:[;"']|^(?=[^\n]*;))\s*(?:password|pwd|accountkey|sharedaccesskey)\s*=\s*(?P<secret>[^;"'\s•{}$]{4,}?=*)(?=[;"'\n]|$)""",
    ),
    _shape(
        "password",
        "assword=",
        r"""(?i)\b(?:host|dbname|user|port)=[^\s,()]+[^\n,()]*?\bpassword=(?P<secret>[^\s"',()•]{3,})""",
    ),
)

PASSWORD = r"(?:password|passwd|passphrase|pwd)"
_KEY = (
    r"(?:api[_-]?key|apikey|secret(?:[_-]?(?:access[_-]?)?key)?|access[_-]?key|private[_-]?key|client[_-]?secret|"
    r"account[_-]?key|auth[_-]?key|encryption[_-]?key|signing[_-]?key|credentials?)"
)
TOKEN = r"(?:token|auth|cookie|session[_-]?key)"
NAME = re.compile(rf"(?P<name>[\w-]*?(?P<word>{PASSWORD}|{_KEY}|{TOKEN}))(?:_\d+)?", re.IGNORECASE)
"""A name that ends with what it holds; ``word`` is that."""

ASSIGNMENTS = (
    # name = "value", "name": 'value', environ["NAME"] = "value", also inside JSON
    re.compile(
        rf"(?i)(?<![\w-])(?P<name>[\w-]*?(?P<word>{PASSWORD}|{_KEY}|{TOKEN})(?:_\d+)?)"
        r"""\\*["']?\]?\s*(?::\s*[\w.\[\]| ]+?)?\s*(?:=>|:=|[:=])\s*[rbu]?\\*["']"""
        r"""(?P<secret>[^"'\\\r\n]{3,}?(?:\\[^"'nr][^"'\\\r\n]*)*)(?=\\*["'])"""
    ),
    # NAME=value on a line of its own
    re.compile(
        r"(?m)^[ \t>+-]*(?:export[ \t]+|set[ \t]+|ENV[ \t]+)?(?P<name>[A-Z][A-Z0-9_]*?"
        r"(?P<word>PASSWORD|PASSWD|PASSPHRASE|PWD|TOKEN|SECRET|KEY|CREDENTIALS|AUTH)(?:_\d+)?)[ \t]*=[ \t]*"
        r"""(?P<secret>[^\s"'•$(){}\[\]][^\s"'•]{3,})[ \t]*$"""
    ),
    # name: value on a line of its own
    re.compile(
        rf"(?im)^[ \t-]*(?P<name>[\w-]*?(?P<word>{PASSWORD}|{_KEY}|(?<=[_-])token)):[ \t]+"
        r"""(?P<secret>[^\s"'•$(){}\[\],]{6,})[ \t]*$"""
    ),
)
ASSIGNED_WORDS = re.compile(
    r"(?:passw|passp|pwd|[a-z_-]key|secret|token|auth|cookie|credential)[a-z]{0,16}(?:_\d+)?[^a-z\n]{0,12}?[=:]"
)
"""In small letters; begins close by everything that ``ASSIGNMENTS`` find."""

_PLACEHOLDER = re.compile(
    r"(?:[<\[{(%$].*|.*[{}].*|\*+|x{3,}|\.{3,}|…|your[-_ ].*|my[-_ ].*|insert.*|enter.*|example.*|change[-_ ]?me|placeholder|"
    r"none|null|true|false|todo.*|redacted|secret|password|passwd|token|api[-_]?key|test|dummy|bearer|basic|string|str|"
    r"optional|required)",
    re.IGNORECASE | re.DOTALL,
)
_REFERENCE = re.compile(
    r"(?:[a-z][\w+.-]*://|\.{0,2}/|~/|[A-Z]:\\|os\.|env[.:]|arn:).*|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+", re.DOTALL
)
"""A file, an address, the name of a variable: where a secret is, not what it is."""
_OF_A_TEXT = re.compile(
    r".*(?:pad|eos|bos|sep|cls|unk|mask|special|stop|next|start|end|prompt|max|num|new|input)[_-]?tokens?",
    re.IGNORECASE,
)
"""Tokens that a text is cut into."""


def is_placeholder(value: str) -> bool:
    return MARK in value or _PLACEHOLDER.fullmatch(value.strip()) is not None


def is_secret(name: str, word: str, value: str) -> bool:
    """Whether ``value`` is one, given that it is assigned to ``name``, of which ``word`` says what it holds."""
    if is_placeholder(value) or _REFERENCE.fullmatch(value):
        return False
    small = word.lower()
    if re.fullmatch(PASSWORD, small):
        return len(value) >= 4 and not re.search(r"\s\w+\s", value)
    if " " in value or len(value) < 8:
        return False
    has_digit = re.search(r"\d", value) is not None
    if re.fullmatch(TOKEN, small):
        return (
            not _OF_A_TEXT.fullmatch(name)
            and len(value) >= 16
            and has_digit
            and re.search(r"[A-Za-z]", value) is not None
        )
    return has_digit or len(value) >= 20 or small.startswith("secret")


def is_secret_name(name: str) -> bool:
    """Whether a variable of this name, in an environment or a table, is there to hold a secret."""
    found = NAME.fullmatch(name) or re.fullmatch(r"[A-Z][A-Z0-9_]*_KEY", name)
    return found is not None and not _OF_A_TEXT.fullmatch(name)
