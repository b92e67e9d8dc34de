"""Interpreters: a script of the space is asked under its own name; text given to one, and one without a script, is asked every time."""

import re
from collections.abc import Mapping
from dataclasses import replace

from ..parts import EXACT, Call, Finding
from .findings import JudgeCall, always, asks, inner, path_words, plain_words
from .options import Spec, parse, spec, word_set

_SHELL = spec("e u x v n p f o: c! i! l! s! r! login! rcfile! init-file! norc noprofile posix pretty-print")
_PYTHON = spec("b B d E h I O P q R s S u v W: X: x c! i! m! check-hash-based-pycs:")
_NODE = spec(
    """c check test no-warnings trace-warnings trace-deprecation trace-uncaught enable-source-maps max-old-space-size: stack-trace-limit:
    throw-deprecation no-deprecation expose-gc test-only unhandled-rejections: test-reporter: test-name-pattern: e! p! i! r! eval!
    print! interactive! require! import!"""
)

INTERPRETERS: Mapping[str, Spec] = {
    **dict.fromkeys(("bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh"), _SHELL),
    **dict.fromkeys(("node", "nodejs"), _NODE),
    "perl": spec("w W t T c e! E! n! p! i! M! m! I! x! d!"),
    "ruby": spec("w W? c e! n! p! i! r! I! C! S!"),
    "php": spec("f: l q n r! B! R! E! F! S! a! d! z! c!"),
    "Rscript": spec("vanilla no-save no-restore no-environ no-site-file no-init-file verbose e!"),
    "julia": spec(
        "t: O: q threads: project: startup-file: color: quiet compile: optimize: e! E! L! i! p! eval! print! load!"
    ),
    "lua": spec("W v e! l! i!"),
    "luajit": spec("e! l! i! j!"),
    "tclsh": spec(""),
    "ts-node": spec("e! p! r! eval! print! require!"),
    "tsx": spec("no-cache tsconfig< e! p! r! eval! print! require! import!"),
    "groovy": spec("e!"),
    "guile": spec("c! l!"),
    "elixir": spec("e! r!"),
    "swift": spec("e!"),
    "crystal": spec(""),
    "nu": spec("c! e!"),
    "xonsh": spec("c! i!"),
    "pypy3": _PYTHON,
    "pypy": _PYTHON,
}
_PYTHON_NAME = re.compile(r"(?:python|pypy)(?:\d(?:\.\d{1,2})?)?t?w?")
_SHELLS = frozenset(("bash", "sh", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh"))
TEXT_ONLY = word_set("""ipython ipython3 bpython ptpython psql mysql mariadb sqlite3 sqlite duckdb mongosh mongo
    redis-cli clickhouse-client cqlsh sqlcmd irb
    pry ghci scala osascript pwsh powershell R octave gnuplot maxima sage erl iex bc dc ed ex vi vim nvim emacs nano m4 gdb-multiarch
    wish jshell clj clojure sbcl racket powershell.exe cmd.exe wine osqueryi isql usql litecli pgcli mycli kafka-console-producer""")
"""They run what they are given or typed as code, or open another place where commands can be typed."""

_ELSEWHERE = word_set("""psql mysql mariadb mongosh mongo redis-cli clickhouse-client cqlsh sqlcmd isql usql pgcli mycli
    kafka-console-producer osascript powershell pwsh powershell.exe cmd.exe wine ed ex vi vim nvim emacs gdb-multiarch""")
"""Of those: clients of servers, and what other programs are run from."""
_REACHES_OUT = re.compile(
    r"unlink|delete|remove|rm(?:Sync|dir|_rf|tree)?\b|system|exec|spawn|popen|child_process|fork|kill|`|\bqx\b|fetch|https?:|\bnet\b|"
    r"[Ss]ocket|ENV\b|process\.env|\bshell\b|\.env\b|\.ssh|/etc/|^\.|^!|%"
)
"""What in the text of a program deletes, runs others, or uses the network, as far as words tell. Also the commands of consoles."""

_MODULES_TAKING_TEXT = word_set(
    "timeit code pdb asyncio IPython ipython runpy sqlite3 cProfile profile trace bdb idlelib zipapp"
)
_MODULES_INSTALLING = word_set("ipykernel xeus_python bash_kernel metakernel site")
_MODULES_SERVING = word_set(
    "http.server pydoc smtpd uvicorn gunicorn flask hypercorn notebook jupyter_server xmlrpc.server"
)
_MODULES_OF_PROGRAMS = word_set(
    "pip uv build twine venv jupyter conda pipx poetry hatch tox nox pre_commit black ruff mypy"
)
_STANDARD_INPUT = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))


def is_interpreter(name: str) -> bool:
    return name in INTERPRETERS or name in TEXT_ONLY or _PYTHON_NAME.fullmatch(name) is not None


def judge_interpreter(call: Call, judge: JudgeCall) -> Finding:
    if _PYTHON_NAME.fullmatch(call.name):
        return _python(call, judge)
    if call.name in TEXT_ONLY:
        return always(
            f"{call.name} runs what it is given or typed as code",
            "runs_code_from_text",
            reads=path_words(call.args),
            grave=call.name in _ELSEWHERE or any(_REACHES_OUT.search(arg) for arg in call.args),
        )
    args = tuple(arg for arg in call.args if arg not in ("+x", "+e", "+u")) if call.name in _SHELLS else call.args
    found = parse(INTERPRETERS[call.name], args, to_first_operand=True)
    if found.starts:
        return always(
            f"{call.name} {found.starts} runs a text as code",
            "runs_code_from_text",
            runs_text=_text(call, args) if call.name in _SHELLS else None,
            reads=path_words(args),
            grave=call.name not in _SHELLS and any(_REACHES_OUT.search(arg) for arg in args),
        )
    if call.name in ("node", "nodejs") and found.has("--test") and not found.unknown:
        return asks(
            "node runs the tests of this space", "node --test", effects=("runs_code_from_file",), reads=path_words(args)
        )
    return _script(call, found.unknown, found.operands, args)


def _script(call: Call, unknown: str, operands: list[str], args: tuple[str, ...]) -> Finding:
    if not operands or operands[0] in _STANDARD_INPUT:
        return always(f"{call.name} runs what it reads as code", "runs_code_from_text", reads=path_words(args))
    reads = (operands[0], *path_words(args))
    if unknown:
        return always(f"{unknown} may let {call.name} run something else as well", "runs_code_from_file", reads=reads)
    if any(word.glob and word.text == operands[0] for word in call.words[1:]):
        return always(f"Which file {call.name} runs is not known", "runs_code_from_file", "opaque", reads=reads)
    why = f"{call.name} runs the file {operands[0]!r}"
    return asks(why, f"{call.name} {operands[0]}", effects=("runs_code_from_file",), reads=reads)


def _text(call: Call, args: tuple[str, ...]) -> str | None:
    """The text of a shell's ``-c``, also in a bundle."""
    for place, word in enumerate(args[:-1]):
        if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word):
            following = [each for each in args[place + 1 :] if not re.fullmatch(r"[-+][a-zA-Z]+", each)]
            return following[0] if following else None
    return None


def _python(call: Call, judge: JudgeCall) -> Finding:
    args = call.args
    module = _module(args)
    if module is not None:
        return _run_module(call, *module, judge)
    found = parse(_PYTHON, args, to_first_operand=True)
    if found.starts:
        return always(
            f"{call.name} {found.starts} runs a text as code",
            "runs_code_from_text",
            reads=path_words(args),
            runs_python=_text(call, args),
        )
    return _script(call, found.unknown, found.operands, args)


def _module(args: tuple[str, ...]) -> tuple[str, int] | None:
    """The module of ``-m`` and where the words after it begin; ``None`` without one in front of the script."""
    place = 0
    while place < len(args):
        word = args[place]
        if word in ("-W", "-X", "--check-hash-based-pycs"):
            place += 2
            continue
        match = re.fullmatch(r"-([bBdEIOPqRsSuvx]*)m(.*)", word, re.DOTALL)
        if match:
            name = match[2] or (args[place + 1] if place + 1 < len(args) else "")
            return name, place + (1 if match[2] else 2)
        if not re.fullmatch(r"-[bBdEIOPqRsSuvx]+", word):
            return None
        place += 1
    return None


def _run_module(call: Call, module: str, start: int, judge: JudgeCall) -> Finding:
    rest = call.args[start:]
    reads = path_words(rest)
    if not re.fullmatch(r"[A-Za-z_][\w.]*", module):
        return always("Which module python runs is not known", "opaque", reads=reads)
    if module in _MODULES_TAKING_TEXT:
        return always(f"The module {module} runs what it is given as code", "runs_code_from_text", reads=reads)
    if module in _MODULES_INSTALLING:
        return always(f"The module {module} changes what runs later", "runs_later", grave=True, reads=reads)
    if module in _MODULES_SERVING:
        return always(f"The module {module} opens a port of this machine", "network", grave=True, reads=reads)
    rule = f"{call.name} -m {module}"
    program = module.replace("_", "-")
    called = inner(call, plain_words((program, *rest)))
    if module in _MODULES_OF_PROGRAMS and called is not None and (module != "venv"):
        found = judge(called)
        if found.ruling == "auto":
            found = asks(f"python runs the module {module}", f"{rule} {rest[0]}" if rest else rule, reads=found.reads)
        elif found.ruling == "ask" and found.rule != EXACT:
            found = replace(found, rule=f"{call.name} -m {found.rule.replace(program, module, 1)}")
        return replace(found, runs=called.words)
    return asks(f"python runs the module {module}", rule, effects=("runs_code_from_file",), reads=reads)
