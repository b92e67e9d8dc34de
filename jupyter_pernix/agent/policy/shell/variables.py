"""Variables: which are known before a line runs, which may be set without harm, and what a word becomes with those that are known."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..judgement import Judgement
from .parts import Assignment, Node, Piece, Word

_SPLITS_OR_MATCHES = frozenset(" \t\n*?[\\")
_SECRET = re.compile(r"TOKEN|SECRET|KEY|PASS|CRED|AUTH|COOKIE|PRIVATE|SIGNATURE|DSN|DATABASE_URL", re.IGNORECASE)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_HARMLESS = _names(
    """FOO BAR BAZ QUX CI DEBUG VERBOSE V QUIET SEED NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES LANG LANGUAGE TZ NODE_ENV
    RAILS_ENV RACK_ENV FLASK_ENV FLASK_DEBUG APP_ENV RUST_BACKTRACE RUST_LOG GOOS GOARCH CGO_ENABLED PYTHONUNBUFFERED PYTHONHASHSEED
    PYTHONDONTWRITEBYTECODE PYTHONFAULTHANDLER PYTHONIOENCODING PYTHONUTF8 CUDA_VISIBLE_DEVICES OMP_NUM_THREADS MKL_NUM_THREADS
    OPENBLAS_NUM_THREADS TOKENIZERS_PARALLELISM TF_CPP_MIN_LOG_LEVEL HF_HUB_OFFLINE TRANSFORMERS_OFFLINE CARGO_TERM_COLOR PORT
    DEBIAN_FRONTEND GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS MPLBACKEND SOURCE_DATE_EPOCH JOBS WORKERS EPOCHS BATCH_SIZE N"""
)
_CHANGES_READING = _names("BASHOPTS SHELLOPTS BASH_ENV GLOBIGNORE POSIXLY_CORRECT IFS")
_LOCALE = re.compile(r"LC_[A-Z]+\Z")
_OF_THE_LINE = re.compile(r"[a-z_][a-z0-9_]{0,30}\Z")
_LOWER_BUT_STEERS = re.compile(r".*_proxy\Z|npm_|histchars\Z|auto_resume\Z")
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_.,:+@%=-]*\Z")
_TIME_ZONE = re.compile(r"[A-Za-z0-9_+-]+(?:/[A-Za-z0-9_+-]+){0,2}\Z")

_STEERS = re.compile(
    r"(?:PATH|HOME|IFS|ENV|BASH_ENV|SHELLOPTS|BASHOPTS|CDPATH|GLOBIGNORE|PS[0-4]|PROMPT_COMMAND|SHELL|EDITOR|VISUAL|BROWSER|PWD|OLDPWD|"
    r".*PAGER|LESS.*|MAN.*|LD_.*|DYLD_.*|GIT_.*|SSH_.*|PYTHON.*|IPYTHON.*|JUPYTER.*|NODE_.*|NPM_.*|npm_.*|PERL.*|RUBY.*|GEM_.*|BUNDLE_.*|"
    r"JAVA_.*|JDK_.*|_JAVA.*|MAVEN_.*|GRADLE_.*|CARGO_.*|RUSTC.*|RUSTFLAGS|RUSTDOC.*|GO.*|MAKE.*|CC|CXX|CPP|LD|AR|AS|CFLAGS|.*FLAGS|"
    r".*_proxy|.*_PROXY|SSL_.*|OPENSSL.*|CURL_.*|REQUESTS_.*|DOCKER_.*|KUBE.*|AWS_.*|AZURE_.*|GOOGLE_.*|PIP_.*|UV_.*|CONDA.*|VIRTUAL_ENV|"
    r"XDG_.*|TMPDIR|TEMP|TMP|TERMINFO.*|TERMCAP|LOCPATH|GCONV_PATH|NLSPATH|TEXTDOMAIN.*|MALLOC_.*|GLIBC_.*|BASH.*|RSYNC_.*|TAR_.*|GREP_.*|"
    r"XARGS.*|PG.*|MYSQL.*|R_.*|HISTFILE)\Z"
)


def is_secret(name: str) -> bool:
    return bool(_SECRET.search(name))


@dataclass(frozen=True, slots=True)
class Known:
    """A word with all that is known put in. ``unknown``: why its value is not known, "" if it is. ``secret``: a variable in it looks like
    one that holds a secret."""

    word: Word
    unknown: str = ""
    inner: tuple[Node, ...] = ()
    secret: bool = False


def put_in(word: Word, variables: Mapping[str, str]) -> Known:
    """``word`` with its variables and tildes replaced by their values, as far as they are known."""
    if not word.pieces or (word.text is not None and all(piece.kind == "text" for piece in word.pieces)):
        return Known(word, "" if word.text is not None else "a part of it is not known before it runs")
    pieces = tuple(_value(piece, variables) for piece in word.pieces)
    inner = tuple(node for piece in pieces for node in piece.inner)
    unknown = next((piece for piece in pieces if piece.kind != "text"), None)
    if unknown is not None:
        secret = any(piece.kind == "variable" and is_secret(piece.text) for piece in word.pieces)
        lost = Word(text=None, raw=word.raw, glob=word.glob, plain=False, pieces=pieces)
        return Known(lost, unknown.text, inner, secret)
    text = "".join(piece.text for piece in pieces)
    return Known(Word(text=text, raw=word.raw, glob=word.glob, plain=False, pieces=pieces))


def _value(piece: Piece, variables: Mapping[str, str]) -> Piece:
    if piece.kind == "variable":
        value = variables.get(piece.text)
        if value is None:
            return Piece("unknown", f"`${piece.text}` is not known before it runs")
        if not piece.quoted and (not value or set(value) & _SPLITS_OR_MATCHES):
            return Piece("unknown", f"`${piece.text}` becomes several words or none, since it is not quoted")
        return Piece("text", value, True)
    if piece.kind == "tilde":
        value = variables.get({"": "HOME", "+": "PWD"}.get(piece.text, ""))
        return Piece("text", value, True) if value else Piece("unknown", f"`~{piece.text}` is not known before it runs")
    return piece


def harmless_name(name: str, environ: Mapping[str, str], *, exported: bool) -> bool:
    """Whether no program is known to be steered by a variable ``name``. ``exported``: programs get to see it."""
    if name in _HARMLESS or _LOCALE.match(name):
        return True
    if not _OF_THE_LINE.match(name) or _LOWER_BUT_STEERS.match(name):
        return False
    return not exported and name not in environ


def stays_known(name: str) -> bool:
    """Whether only the line sets it: bash gives ``_`` and some in capitals a value of its own."""
    return name != "_" and bool(_OF_THE_LINE.match(name))


def judge_environment(environ: Mapping[str, str]) -> str:
    """Why lines mean something else with these variables set; "" if they do not."""
    for name in environ:
        if name.startswith("BASH_FUNC_") or name in _CHANGES_READING:
            return f"`{name}` in the environment changes what lines mean"
    return ""


def judge_assignment(one: Assignment, value: Known, environ: Mapping[str, str], *, exported: bool) -> Judgement:
    """What setting a variable means, in front of a command (``exported``) or on its own."""
    if _STEERS.match(one.name) and one.name not in _HARMLESS:
        why = f"`{one.name}` steers what other programs do"
        return Judgement(ruling="ask_always", why=why, effects=("changes_env",), grave=True)
    if value.unknown:
        return Judgement(ruling="ask_always", why=value.unknown, effects=("opaque",), grave=value.secret or one.append)
    if not harmless_name(one.name, environ, exported=exported) or (one.append and exported):
        why = f"`{one.name}` is not known to be harmless"
        return Judgement(ruling="ask_always", why=why, effects=("changes_env",))
    shape = _TIME_ZONE if one.name == "TZ" else _PLAIN_VALUE
    if (exported or one.name in _HARMLESS or _LOCALE.match(one.name)) and not shape.match(value.word.text or ""):
        return Judgement(ruling="ask_always", why=f"the value of `{one.name}` is not plain", effects=("changes_env",))
    return Judgement(ruling="auto", why=f"sets `{one.name}`")
