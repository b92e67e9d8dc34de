"""What secrets look like: the shapes of issuers' keys, and the names that a secret is assigned to. Pure; used by ``masker``."""

import re
from dataclasses import dataclass
from typing import Literal

MARK = "••••"

Where = Literal["word", "named", "text"]

LONG = 12
RARE = "_-.:/"
"""Signs that most long words do not have."""
ROOTS = ("pass", "pwd", "key", "secret", "token", "auth", "cookie", "credential", "bearer", "sig")
"""In small letters; one of these says what a value is."""


@dataclass(frozen=True)
class Shape:
    """``needles``: one of these is in every text that ``pattern`` finds something in. The group ``secret``, else all, is the secret.
    ``where`` says more about when it is worth looking: ``word``, if the needle is in a word of at least ``LONG`` characters; ``named``, if
    one of ``ROOTS`` is in the text; ``text``, always."""

    kind: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    where: Where
    signs: tuple[tuple[str, str], ...]
    """The needles, each with the one of ``RARE`` that it has."""


def _shape(kind: str, needles: str, *pattern: str, where: Where = "text") -> Shape:
    found = tuple(needles.split())
    signs = tuple((needle, next((sign for sign in RARE if sign in needle), "")) for needle in found)
    return Shape(kind, found, re.compile("".join(pattern)), where, signs)


def _issued(kind: str, needles: str, *pattern: str) -> Shape:
    return _shape(kind, needles, *pattern, where="word")


def _named(kind: str, needles: str, *pattern: str) -> Shape:
    return _shape(kind, needles, *pattern, where="named")


_THREE_DIGITS = r"(?=(?:[A-Za-z_-]*\d){3})"
_BASE64 = r"A-Za-z0-9+/="
_GAP = r"""(?:\\+[nr]|[\s"',])*"""

_VARIABLE = r"[A-Z][A-Z0-9_]*?(?:PASSWORD|PASSWD|_PASS|TOKEN|SECRET|_KEY|APIKEY)(?:_\d+)?"
_START = r"(?:(?<![A-Za-z0-9])|(?<=[\d;\[]m)|(?<=\\[nrt]))"
"""Before it stands no other part of a word, but perhaps the end of a colour's or a line break's escape."""

SHAPES = (
    _shape(
        "private-key",
        "PRIVATE",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
        rf"(?P<secret>(?:{_GAP}(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]*)*(?:{_GAP}[{_BASE64}]{{32,}})+(?:{_GAP}[{_BASE64}]+(?={_GAP}-----))?)",
    ),
    _issued("anthropic-key", "sk-ant-", rf"{_START}sk-ant-[A-Za-z0-9_-]{{16,}}"),
    _issued("api-key", "sk-", rf"(?<!-){_START}sk-{_THREE_DIGITS}(?!ant-)[A-Za-z0-9_-]{{20,}}"),
    _issued("huggingface-token", "hf_", rf"{_START}hf_[A-Za-z0-9]{{30,}}"),
    _issued(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        rf"{_START}(?:gh[pousr]_[A-Za-z0-9]{{30,}}|github_pat_\w{{40,}})",
    ),
    _issued("gitlab-token", "gl", rf"{_START}gl(?:pat|dt|rt|cbt|ptt|ft|imt|oas|soat|agent)-[A-Za-z0-9_-]{{20,}}"),
    _issued("slack-token", "xox xapp-", rf"{_START}(?:xox[abceoprs]-(?:\d-)?|xapp-\d-)[A-Za-z0-9-]{{10,}}"),
    _issued("slack-webhook", "hooks.slack.com", r"hooks\.slack\.com/services/(?P<secret>T\w+/B\w+/\w{16,})"),
    _issued(
        "aws-key",
        "AKIA ASIA ABIA ACCA",
        rf"(?<![+/]){_START}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}(?![A-Za-z0-9+/])",
    ),
    _issued("google-key", "AIza", rf"{_START}AIza[\w-]{{35}}(?![A-Za-z0-9-])"),
    _issued("google-token", "ya29. GOCSPX-", rf"{_START}(?:ya29\.[\w-]{{20,}}|GOCSPX-[\w-]{{20,}})"),
    _issued(
        "stripe-key",
        "k_live_ k_test_ whsec_",
        rf"{_START}(?:[srp]k_(?:live|test)_[A-Za-z0-9]{{16,}}|whsec_[{_BASE64}]{{20,}})",
    ),
    _issued("npm-token", "npm_", rf"{_START}npm_[A-Za-z0-9]{{36}}(?![A-Za-z0-9])"),
    _issued("pypi-token", "pypi-", rf"{_START}pypi-[A-Za-z0-9_-]{{50,}}"),
    _issued("sendgrid-key", "SG.", rf"{_START}SG\.[\w-]{{16,}}\.[\w-]{{16,}}"),
    _issued(
        "token",
        "dckr_pat_ dop_v1_ shpat_ shpss_ sq0csp- ATATT3 lin_api_ gsk_ pplx- r8_ xai- hvs. nvapi- figd_ glsa_ ntn_ dapi",
        rf"{_START}(?:dckr_pat_[\w-]{{20,}}|do[opr]_v1_[0-9a-f]{{40,}}|shp(?:at|ss|ca|pa)_[0-9a-fA-F]{{32}}|sq0csp-[\w-]{{30,}}|"
        r"ATATT3[\w=-]{40,}|lin_api_\w{32,}|gsk_\w{40,}|pplx-\w{40,}|r8_\w{30,}|xai-\w{40,}|hvs\.[\w-]{24,}|nvapi-[\w-]{40,}|"
        r"figd_[\w-]{30,}|glsa_\w{32,}|ntn_\w{40,}|dapi[0-9a-f]{32})",
    ),
    _issued("age-key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    _issued("discord-webhook", "/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/\d+/(?P<secret>[\w-]{20,})"),
    _issued("telegram-token", ":AA", rf"{_START}\d{{8,10}}:AA[\w-]{{33}}(?![\w-])"),
    _issued("jwt", "eyJ", rf"{_START}eyJ[\w-]{{8,}}\.eyJ[\w-]{{8,}}\.[\w-]{{5,}}"),
    _named(
        "authorization",
        "uthorization UTHORIZATION",
        r"""(?i)\bauthorization\\*["']?\s*[:=]\s*\\*["']?(?:(?:bearer|basic|token|digest|apikey)\s+)?""",
        r"""(?P<secret>[^\s"'\\,;(){}•]{8,})""",
    ),
    _named("bearer-token", "earer EARER", r"(?i)\bbearer\s+(?P<secret>(?=\S*\d)[A-Za-z0-9._~+/-]{16,}=*)"),
    _named(
        "header",
        "-key: -token: -Key: -Token: ookie:",
        r"(?im)^[ \t>*]*(?:x-[\w-]*(?:key|token)|(?:set-)?cookie):[ \t]*(?P<secret>[^\r\n•]{8,})",
    ),
    _named(
        "header",
        "-key: -token: -Key: -Token: -KEY: -TOKEN: ookie:",
        r"""(?i)["'](?:[\w-]*-(?:key|token)|(?:set-)?cookie):\s*(?P<secret>[^"'\s•${}<][^"'\r\n•${}]{7,})["']""",
    ),
    _named(
        "variable",
        "%env %set_env",
        rf"(?m:^)[ \t]*%(?:set_)?env[ \t]+(?:{_VARIABLE})[ \t=]+",
        r"""(?P<secret>[^\s"'$•(){}\[\]<][^\s"'•]{5,})""",
    ),
    # where a shell sets a variable in front of something else
    _named(
        "variable",
        "PASSWORD= PASSWD= _PASS= TOKEN= SECRET= _KEY= APIKEY=",
        rf"(?<![\w.$])(?:{_VARIABLE})=",
        r"""(?P<secret>(?=\S*[A-Za-z])(?=\S*\d)[^\s"'$•(){}\[\];&|,<]{6,})(?=[;&|]|[ \t]+[^\s#])""",
    ),
    _named(
        "variable",
        "env( setdefault( secret( set_key(",
        r"""(?i)(?:(?:set|put)env|setdefault|set_secret|set_key)\(\s*(?:[\w.]+,\s*)?\\*["']\w*(?:passw(?:or)?d|pass|token|secret|key|credentials)\\*["']"""
        r"""\s*,\s*\\*["'](?P<secret>[^"'\\\s•$<{]{6,})\\*["']""",
    ),
    _named(
        "option",
        "--",
        r"""(?i)--(?<![\w-]--)(?:[\w-]*-)?(?:password|passwd|token|api-?key|secret|secret-key|access-key|credentials?)(?:=|[ \t]+)"""
        r"""["']?(?P<secret>(?=[^\s"']*[A-Za-z])(?=[^\s"']*\d)[^\s"'$•<{(\[,=-][^\s"'•]{5,})""",
    ),
    _shape(
        "password",
        "curl",
        r"""\bcurl\b[^\n]{0,300}?\s(?:-u|--user)[ =]?["']?[^\s:"'$]{1,100}:(?P<secret>[^\s"'$•@]{4,})""",
    ),
    _shape(
        "password",
        "mysql mariadb",
        r"""\b(?:mysql|mariadb)[\w-]*(?=[ \t])[^\n|;&]{0,300}?[ \t]-p(?:\\*["'])?(?P<secret>(?!\d+:\d)[^\s"'\\$•]{3,})""",
    ),
    _shape(
        "password",
        "sshpass",
        r"""\bsshpass(?:[ \t]+-[a-oq-zA-Z]\w*){0,5}[ \t]+-p[ \t]*(?:\\*["'])?(?P<secret>[^\s"'\\$•]{3,})""",
    ),
    _shape(
        "api-key",
        "wandb",
        r"""\bwandb[ \t]+login(?:[ \t]+--?[\w-]+(?:=\S+)?)*[ \t]+["']?(?P<secret>(?=[\w-]*\d)[\w-]{20,})""",
    ),
    # <password>…</password>, with a namespace or attributes
    _named(
        "password",
        "assword assphrase asswd ASSWORD piKey pikey pi-key ecret",
        r"(?i)<(?:[\w.-]{1,60}:)?[\w.-]{0,60}?(?:password|passwd|passphrase|api-?key|secret(?:-?key)?)(?:\s[^<>\n]{0,200})?>",
        r"(?P<secret>[^<>\s•${}]{4,})(?=</)",
    ),
    _named(
        "password",
        "auth Auth",
        r"""\b(?:auth\s{0,9}=\s{0,9}|\w{0,30}(?:Basic|Digest)Auth)\(\s{0,99}[^(),\n]{1,80},\s{0,99}[rbuf]?\\*["'](?P<secret>[^"'\\\n•{}]{4,})\\*["']\s{0,99},?\s{0,99}\)""",
    ),
    _named("password", "password", r"\blogin\s+\S{1,200}\s+password\s+(?P<secret>[^\s•$]{4,})"),
    _named(
        "aws-secret", "aws_s", r"(?i)\baws_(?:secret_access_key|session_token)\s*[=:]\s*(?P<secret>[A-Za-z0-9+/=]{20,})"
    ),
    _named("auth-token", "_auth", r"""(?i)(?<=:)_auth(?:Token)?\s*=\s*"?(?P<secret>[^\s"$•{}]{8,})"""),
    _shape(
        "password",
        "@",
        r"""://(?<=[\w+.-]://)[^\s/:@"'<>]*:(?P<secret>[^\s/@"'•<>{}$*]+)@(?=[\w\[])""",
    ),
    _named(
        "url-token",
        "=",
        r"(?i)[?&](?:[\w-]*token|api[_-]?key|apikey|key|sig|signature|[\w-]*secret|password)=",
        r"""(?P<secret>(?=[^&\s]*\d)[^&\s"'#•<>\\]{12,})""",
    ),
    _named(
        "password",
        "assword= WORD= wd= WD= ccountKey= ccessKey=",
        r"""(?i)(?:[;"']|^(?=[^\n]*;))\s*(?:password|pwd|accountkey|sharedaccesskey)\s*=\s*(?P<secret>[^;"'\s•{}$]{4,}?=*)(?=[;"'\n]|$)""",
    ),
    _named(
        "password",
        "assword=",
        r"""(?i)\b(?:host|dbname|user|port)=[^\s,()]+[^\n,()]*?\bpassword=(?P<secret>[^\s"',()•]{3,})""",
    ),
)

PASSWORD = r"(?:password|passwd|passphrase|pwd|(?<=[_-])pass)"
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
        r"""\\*["']?\]?\s*(?::\s*[\w.\[\]| ]+?)?\s*(?:=>|:=|[:=])\s*\(?\s*[rbuf]{0,2}\\*(?:\"{3}|'{3}|["'])"""
        r"""(?P<secret>[^"'\\\r\n]{3,}?(?:\\[^"'nr][^"'\\\r\n]*)*)(?=\\*["'])"""
    ),
    # NAME=value on a line of its own
    re.compile(
        r"(?m)^[ \t>+-]*(?:export[ \t]+|set[ \t]+|ENV[ \t]+)?(?P<name>[A-Z][A-Z0-9_]*?"
        r"(?P<word>PASSWORD|PASSWD|PASSPHRASE|(?<=_)PASS|PWD|TOKEN|SECRET|(?<=_)KEY|APIKEY|CREDENTIALS|AUTH)(?:_\d+)?)[ \t]*=[ \t]*"
        r"""(?P<secret>[^\s"'•$(){}\[\]][^\s"'•]{3,})[ \t]*$"""
    ),
    # name: value on a line of its own
    re.compile(
        rf"(?im)^[ \t-]*(?P<name>[\w-]*?(?P<word>{PASSWORD}|{_KEY}|(?<=[_-])token)):[ \t]+"
        r"""(?P<secret>[^\s"'•$(){}\[\],]{6,})[ \t]*$"""
    ),
)
ASSIGNED_ROOTS = ("pass", "pwd", "key", "secret", "token", "auth", "cookie", "credential")
ASSIGNED_WORDS = re.compile(
    r"(?:passw|passp|(?<=[_-])pass|pwd|(?<=[a-z_-])key|secret|token|auth|cookie|credential)[a-z]{0,16}(?:_\d+)?[^a-z\n]{0,12}?[=:]"
)
"""In small letters; begins close by everything that ``ASSIGNMENTS`` find, and with one of the roots."""

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
    if small == "pass" or re.fullmatch(PASSWORD, small):
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


_WRITTEN_MARK = re.compile(rf"{MARK}\([a-z-]{{2,30}}\)")


def has_mark(text: str) -> bool:
    """Whether something in it stands for a secret."""
    return MARK in text and _WRITTEN_MARK.search(text) is not None
