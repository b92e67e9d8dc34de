"""Reads command lines and cells for what they are: looking, checking, waiting, or anything else. Pure.

This is no permission check: nothing here decides whether something may run. It only tells a command that cannot have changed a file
from one that may have, and a run of the tests from any other command. What is not understood counts as "may have changed anything".
"""

import re
import shlex
from collections.abc import Sequence
from functools import lru_cache

_LONGEST = 4_000


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_LOOKS = _set(
    "cat head tail less more ls dir tree pwd wc file stat du df grep egrep fgrep rg ag ack find fd which type whereis date whoami id "
    "uname hostname ps env printenv diff cmp md5sum sha256sum sha1sum sort uniq cut column nl tac rev echo printf true false test [ "
    "cd jq xxd od strings basename dirname realpath readlink sed git uptime free nvidia-smi : export set"
)
_GIT_LOOKS = _set("status diff log show ls-files ls-tree blame rev-parse grep describe shortlog cat-file reflog")
_WRITES_ANYWAY = {
    "find": ("-delete", "-exec", "-execdir", "-ok", "-fprint", "-fls"),
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "sort": ("-o", "--output"),
    "tree": ("-o",),
    "sed": ("-i", "--in-place", "-n -i"),
    "rg": ("--pre",),
}
_WAITS = _set("sleep wait")
_TESTERS = _set("pytest py.test tox nox jest vitest mocha ava ctest rspec phpunit nosetests nose2 behave bats ward")
_TEST_MODULES = _set("pytest unittest nose2 doctest tox nox behave ward")
_TEST_VERBS: dict[str, tuple[str, ...]] = {
    "npm": ("test", "t", "tst"),
    "yarn": ("test",),
    "pnpm": ("test", "t"),
    "bun": ("test",),
    "deno": ("test",),
    "cargo": ("test", "nextest"),
    "go": ("test",),
    "dotnet": ("test",),
    "mvn": ("test", "verify"),
    "gradle": ("test", "check"),
    "./gradlew": ("test", "check"),
    "make": ("test", "tests", "check"),
    "just": ("test", "tests", "check"),
    "hatch": ("test",),
    "swift": ("test",),
    "mix": ("test",),
    "rake": ("test", "spec"),
    "django-admin": ("test",),
}
_WRAPPERS = _set("time nice nohup stdbuf xvfb-run command exec sudo env caffeinate npx bunx uvx pipx")
_RUNNERS = {"uv": "run", "poetry": "run", "pipenv": "run", "hatch": "run", "pdm": "run", "rye": "run", "conda": "run"}
_CHECKERS = _set("ruff mypy pyright flake8 pylint eslint tsc black isort")
_INSTALLERS = re.compile(
    r"\b(?:pip3?|uv(?: pip)?|conda|mamba|micromamba|npm|yarn|pnpm|apt(?:-get)?|brew|cargo|gem|poetry|pdm|pipx|apk|dnf|yum|go)"
    r"\s+(?:-\S+\s+)*(?:install|add|i|get|ci|sync)\b|\bsetup\.py\s+(?:install|develop)\b|\bensurepip\b|\bmake\s+install\b"
)
_DOWNLOADERS = re.compile(
    r"\b(?:curl|wget|aria2c|git\s+(?:clone|fetch|pull)|huggingface-cli|hf\s+download|urlretrieve|urlopen|requests\.|httpx\.|aiohttp|"
    r"download|scp|rsync|aws\s+s3|gsutil|kaggle|load_dataset|fetch_\w+|from_pretrained)"
)
_COMMITS = re.compile(
    r"\bgit\b(?:\s+-\S+(?:\s+\S+)?)*\s+commit\b|\.index\.commit\(|\bjj\s+(?:commit|describe)|\bhg\s+commit"
)
_PUSHES = re.compile(r"\bgit\b(?:\s+-\S+(?:\s+\S+)?)*\s+push\b|\bgh\s+pr\b|\.push\(|\bhg\s+push")
_CODE_TESTS = re.compile(
    r"(?m)\bpytest\b|\bunittest\b|\bdoctest\b|^\s*assert\b|\btest_\w+\s*\(|\brun_tests?\b|assert_\w+\(|\.assert\w+\(|\btests?/"
)
_CODE_WRITES = re.compile(
    r"(?m)^\s*[!%]|\bopen\s*\(|\bwrite|\.to_\w+\(|\bdump|\bsave|\bunlink|\bremove\(|\bos\.|\bshutil|\bPath\b|\bsubprocess|\bsystem\b|"
    r"\brename|\bmkdir|\btouch\(|\bexec\(|\beval\(|\bimport_module|\bget_ipython|\brun_|\bconvert|\bexport|\bdownload|\bextract"
)
_CODE_WAITS = re.compile(r"\bsleep\s*\(|\.wait\(|\.join\(\)|\.result\(")
_TEST_SCRIPT = re.compile(
    r"(?:^|/)(?:test_[^/]*|[^/]*_tests?|run_?tests?|tests?)\.(?:py|sh|js|ts|rb|pl)$|(?:^|/)tests?/.*\.(?:py|sh)$"
)
_SEPARATORS = frozenset((";", "&&", "||", "|", "&", "|&", "\n", "(", ")", "{", "}"))


@lru_cache(maxsize=512)
def simple_commands(line: str) -> tuple[tuple[str, ...], ...] | None:
    """The simple commands of a line, each as its words (redirections among them), in order; ``None`` if it cannot be read, or is so
    long that it is a program of its own."""
    if len(line) > _LONGEST:
        return None
    lexer = shlex.shlex(line.replace("\\\n", " "), posix=True, punctuation_chars="();<>|&\n")
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return None
    found: list[tuple[str, ...]] = []
    current: list[str] = []
    comment = False
    for word in words:
        if "\n" in word and not word.strip("\n();&|"):
            comment = False
        if comment or (word.startswith("#") and not comment):
            comment = True
            continue
        if word in _SEPARATORS or (word and not word.strip(";&|\n()")):
            if current:
                found.append(tuple(current))
            current = []
        else:
            current.append(word)
    if current:
        found.append(tuple(current))
    return tuple(found)


def _plain(words: Sequence[str]) -> tuple[str, ...]:
    """Without assignments and wrappers in front; ``uv run pytest`` is ``pytest``."""
    rest = tuple(words)
    while rest:
        shorter = _unwrapped(rest)
        if shorter == rest:
            break
        rest = shorter
    return rest


def _unwrapped(words: tuple[str, ...]) -> tuple[str, ...]:
    first, rest = words[0], words[1:]
    if re.match(r"\A[A-Za-z_]\w*=", first):
        return rest
    if first in _WRAPPERS:
        while rest and rest[0].startswith("-"):
            rest = rest[2:] if rest[0] in ("-n", "-u", "-o", "-i", "-e") else rest[1:]
        return rest
    if first == "timeout":
        return tuple(word for word in rest if not word.startswith("-"))[1:]
    if rest and _RUNNERS.get(first) == rest[0]:
        rest = rest[1:]
        while rest and rest[0].startswith("-") and rest[0] != "-m":
            rest = rest[1:]
        return rest
    if first == "coverage" and rest[:1] == ("run",):
        return ("python", *rest[1:])
    return words


def _program(word: str) -> str:
    return word if word.startswith("./") else word.rpartition("/")[2]


def _inner(words: Sequence[str]) -> str | None:
    """The line of ``bash -c 'line'``."""
    if words and _program(words[0]) in ("bash", "sh", "zsh", "dash"):
        for at, word in enumerate(words[1:], 1):
            if re.fullmatch(r"-\w*c\w*", word) and at + 1 < len(words):
                return words[at + 1]
    return None


def _writes_by_redirection(words: Sequence[str]) -> bool:
    for at, word in enumerate(words):
        if set(word) <= set("<>&|") and ">" in word:
            goal = words[at + 1] if at + 1 < len(words) else ""
            if goal not in ("/dev/null", "/dev/stderr", "/dev/stdout") and not (word.endswith("&") and goal.isdigit()):
                return True
    return False


def _simple_looks(words: Sequence[str]) -> bool:
    if _writes_by_redirection(words):
        return False
    plain = _plain(words)
    if not plain:
        return True
    inner = _inner(plain)
    if inner is not None:
        return looks_only(inner)
    program = _program(plain[0])
    if program in _WAITS:
        return True
    if program not in _LOOKS:
        return False
    if program == "git":
        verbs = [word for word in plain[1:] if not word.startswith("-")]
        return bool(verbs) and verbs[0] in _GIT_LOOKS and "-c" not in plain
    bad = _WRITES_ANYWAY.get(program, ())
    return not any(
        word == one or (word.startswith(one) and one in ("-i", "--in-place")) for word in plain[1:] for one in bad
    )


def looks_only(line: str) -> bool:
    """Whether this command line cannot have changed a file: it only shows or waits."""
    if "`" in line or "$(" in line or "<<" in line:
        return False
    commands = simple_commands(line)
    return commands is not None and all(_simple_looks(words) for words in commands)


def _simple_tests(words: Sequence[str]) -> bool:
    plain = _plain(words)
    if not plain:
        return False
    inner = _inner(plain)
    if inner is not None:
        return runs_tests(inner)
    program, rest = _program(plain[0]), plain[1:]
    if program in _TESTERS:
        return "--collect-only" not in rest and "--version" not in rest and "--help" not in rest
    if re.fullmatch(r"python[\d.]*|pypy3?|ipython", program):
        if "-m" in rest[:-1]:
            return rest[rest.index("-m") + 1] in _TEST_MODULES and "--collect-only" not in rest
        script = next((word for word in rest if not word.startswith("-")), "")
        return _TEST_SCRIPT.search(script) is not None or (script == "manage.py" and "test" in rest)
    if program in ("bash", "sh", "node", "ruby", "perl"):
        return any(_TEST_SCRIPT.search(word) for word in rest[:2])
    if _TEST_SCRIPT.search(plain[0]):
        return True
    verbs = [word for word in rest if not word.startswith("-")]
    wanted = _TEST_VERBS.get(program, ())
    if verbs[:1] in (["run"], ["run-script"]):
        return program in ("npm", "yarn", "pnpm", "bun") and any(verb.startswith("test") for verb in verbs[1:2])
    return any(verb in wanted or (program in ("make", "npm", "just") and verb.startswith("test")) for verb in verbs[:3])


def runs_tests(line: str) -> bool:
    """Whether this command line runs tests."""
    commands = simple_commands(line)
    if commands is None:
        return re.search(r"\b(?:pytest|unittest|tox|jest|vitest)\b", line) is not None
    return any(_simple_tests(words) for words in commands)


def exit_code_is_of_tests(line: str) -> bool:
    """Whether the line's exit code is that of its tests: not ``pytest | tail``, ``pytest; echo done``, ``pytest || true``."""
    commands = simple_commands(line)
    if not commands or re.search(r"\|\|", line):
        return False
    if re.search(r"(?<!\|)\|(?!\|)", line) and "pipefail" not in line:
        return _simple_tests(commands[-1])
    if _simple_tests(commands[-1]):
        return True
    # whatever follows a failing command after && is not run, so the code is still that of the tests
    last = max(at for at, words in enumerate(commands) if _simple_tests(words))
    return line.count("&&") >= len(commands) - 1 - last and ";" not in line and "\n" not in line.strip()


def checks_only(line: str) -> bool:
    """Whether the line does nothing but look and run tests or linters: it may leave caches, and no change to a source file."""
    commands = simple_commands(line)
    if commands is None or "`" in line or "$(" in line or "<<" in line:
        return False
    return all(_simple_looks(words) or _simple_checks(words) for words in commands)


def _simple_checks(words: Sequence[str]) -> bool:
    if _writes_by_redirection(words):
        return False
    plain = _plain(words)
    fixes = any(word in ("--fix", "--write", "-w", "--apply", "-u", "--update", "--snapshot-update") for word in plain)
    if fixes:
        return False
    if _simple_tests(words):
        return True
    program = _program(plain[0])
    if program in ("black", "isort"):
        return "--check" in plain or "--diff" in plain
    if program == "ruff" and "format" in plain:
        return "--check" in plain or "--diff" in plain
    return program in _CHECKERS


_INTERPRETERS = re.compile(
    r"(?:python|pypy|bash|sh|zsh|dash|ksh|fish|perl|ruby|node|deno|bun|Rscript|julia|php|lua|source|\.)[\d.]*"
)


def scripts(line: str) -> tuple[str, ...]:
    """The files that this command line runs, as far as it names them: ``./run.sh``, ``python a.py``, ``source env``, ``make -f x``."""
    found: list[str] = []
    for words in simple_commands(line) or ():
        plain = _plain(words)
        inner = _inner(plain)
        if inner is not None:
            found += scripts(inner)
        elif plain:
            found += _scripts_of(plain)
    return tuple(dict.fromkeys(found))


def _scripts_of(words: Sequence[str]) -> list[str]:
    program, rest = words[0], words[1:]
    if "/" in program:
        return [program, *rest[:1]] if _INTERPRETERS.fullmatch(_program(program)) else [program]
    if program == "make":
        return [
            *(rest[at + 1] for at, word in enumerate(rest[:-1]) if word in ("-f", "--file")),
            "Makefile",
            "makefile",
        ]
    if _INTERPRETERS.fullmatch(program) and "-m" not in rest and "-c" not in rest:
        return [word for word in rest if not word.startswith("-")][:1]
    return []


def scripts_of_code(code: str) -> tuple[str, ...]:
    """The files that a cell runs by name: ``!./run.sh``, ``%run a.py``."""
    lines = [found[1] for found in re.finditer(r"(?m)^\s*!+(.*)$", code)]
    runs = [f"python {found[1]}" for found in re.finditer(r"(?m)^\s*%run\s+(.*)$", code)]
    return tuple(dict.fromkeys(name for line in [*lines, *runs] for name in scripts(line)))


def waits(line: str) -> bool:
    """Whether the line only lets time pass, maybe looking as well: a way of polling."""
    commands = simple_commands(line)
    return commands is not None and any(_plain(words)[:1] and _plain(words)[0] in _WAITS for words in commands)


def installs(text: str) -> bool:
    return _INSTALLERS.search(text) is not None


def downloads(text: str) -> bool:
    return _DOWNLOADERS.search(text) is not None


def commits(text: str) -> bool:
    return _COMMITS.search(text) is not None


def pushes(text: str) -> bool:
    return _PUSHES.search(text) is not None


def code_runs_tests(code: str) -> bool:
    return _CODE_TESTS.search(code) is not None


def code_may_write(code: str) -> bool:
    """Whether a cell may have changed a file, or anything else outside of its kernel."""
    return _CODE_WRITES.search(code) is not None


def code_waits(code: str) -> bool:
    return _CODE_WAITS.search(code) is not None
