"""What IPython's line magics do, of those it brings and those that many people load. One that is not known here is opaque."""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass

from ..judgement import Effect
from .expansion import system_line
from .foreign import read_foreign, read_sql
from .found import Found
from .variables import WHOLE_ENVIRONMENT, change_variable, read_variable
from .words import word_set

ALIASES = {
    "mkdir": "mkdir",
    "rmdir": "rmdir",
    "mv": "mv",
    "rm": "rm",
    "cp": "cp",
    "cat": "cat",
    "ls": "ls -F --color",
    "ll": "ls -F -o --color",
    "lf": "ls -F -o --color %l | grep ^-",
    "lk": "ls -F -o --color %l | grep ^l",
    "ldir": "ls -F -o --color %l | grep /$",
    "lx": "ls -F -o --color %l | grep ^-..x",
}
"""IPython's own, on Linux; ``%l`` is the rest of the line."""

_NOTHING = word_set(
    "autoawait autosave bookmark clear colors dhist dirs doctest_mode gui lsmagic magic matplotlib page pdef "
    "pdoc pfile pinfo pinfo2 pprint precision psearch psource pwd pylab quickref subshell tb unload_ext who "
    "who_ls whos xmode autoreload killbgscripts logoff logon logstate logstop load_ext_list popd aimport"
)
_FIXED: dict[str, tuple[Effect, ...]] = {
    "rehashx": ("changes_env",),
    "unalias": ("changes_env",),
    "automagic": ("changes_env",),
    "autocall": ("changes_env",),
    "alias_magic": ("changes_env",),
    "macro": ("changes_env",),
    "code_wrap": ("overrides_builtins",),
    "reset": ("changes_env",),
    "reset_selective": ("changes_env",),
    "xdel": ("changes_env",),
    "pastebin": ("network", "publishes"),
    "rerun": ("runs_code_from_text", "opaque"),
    "recall": ("runs_code_from_text", "opaque"),
    "rep": ("runs_code_from_text", "opaque"),
    "edit": ("waits_input", "runs_code_from_text", "opaque"),
    "ed": ("waits_input", "runs_code_from_text", "opaque"),
    "pdb": ("waits_input",),
    "connect_info": ("reads_secret",),
    "qtconsole": ("runs_process",),
    "tensorboard": ("runs_process",),
    "bigquery": ("network", "db_write"),
    "dotenv": ("reads_secret", "changes_env"),
}
_INSTALLERS = frozenset(("pip", "conda", "mamba", "micromamba", "uv"))
TIMED: dict[str, str] = {
    "time": "",
    "timeit": "n:r:t:p:v:c q o",
    "prun": "l:s:T:D:r q",
    "memit": "r:t:i:c o",
    "capture": "",
    "lprun": "f:m:D:T:s:u: r z",
    "mprun": "f:T: r c",
    "debug": "b:",
    "snakeviz": "t f:",
}
"""Magics whose argument is Python, and their options; with ``:`` those that have a value."""
_KNOWN_EXTENSIONS = word_set(
    "autoreload storemagic jupyter_pernix jupyter_pernix.kernel.ipython sql duckdb_magic line_profiler "
    "memory_profiler tensorboard cython Cython rpy2.ipython snakeviz watermark jupyter_black nb_black "
    "lab_black nb_mypy google.cloud.bigquery cudf.pandas cuml.accel dotenv ipytest"
)
_ASSIGNED = re.compile(r"\A\s*=(?!=)")
_BARE = re.compile(r"\A(\s*)([\w.*]+)(.*)\Z", re.DOTALL)


@dataclass(frozen=True)
class Reader:
    """What magics hand their own content on to. ``python``: Python alone; ``cell``: a cell with IPython's syntax."""

    found: Found
    python: Callable[[str], None]
    cell: Callable[[str], None]


# ---- line magics ------------------------------------------------------------------------------------------------------------


def bare_magic(line: str) -> tuple[str, str] | None:
    """Name and rest of a cell's only line that automagic takes for a magic; ``None``: it is Python."""
    match = _BARE.match(line)
    if match is None or _ASSIGNED.match(match[3]):
        return None
    name = match[2]
    return (name, match[3].strip()) if is_line_magic(name) else None


def is_line_magic(name: str) -> bool:
    return (
        name in ALIASES or name in _NOTHING or name in _FIXED or name in _INSTALLERS or name in TIMED or name in _LINE
    )


def line_magic(name: str, rest: str, reader: Reader) -> None:
    """``%name rest``."""
    found = reader.found
    rest = rest.strip()
    if name in ALIASES:
        _alias(ALIASES[name], rest, found)
    elif name in _INSTALLERS:
        system_line(f"{name} {rest}", found)
    elif name in _LINE:
        _LINE[name](rest, reader)
    elif name in TIMED:
        reader.cell(without_options(rest, TIMED[name]))
    elif name in _FIXED:
        found.see(*_FIXED[name])
    elif name not in _NOTHING:
        found.see("opaque", why=f"the magic %{name[:40]} is not known")


def _alias(command: str, rest: str, found: Found) -> None:
    system_line(command.replace("%l", rest) if "%l" in command else f"{command} {rest}", found)


def without_options(rest: str, options: str) -> str:
    """The Python after a magic's options."""
    valued = {one[0] for one in options.split() for one in re.findall(r"\w(?=:)", one)}
    while True:
        match = re.match(r"-(\w)(\S*)(?:\s+|$)", rest)
        if match is None:
            return rest
        rest = rest[match.end() :]
        if match[1] in valued and not match[2]:
            rest = rest.partition(" ")[2].lstrip()


def _system(rest: str, reader: Reader) -> None:
    system_line(re.sub(r"\A(?:-\w+\s+)*(?:\w+\s*=\s*)", "", rest) if rest.startswith("-") else rest, reader.found)


def _assigned_system(rest: str, reader: Reader) -> None:
    system_line(re.sub(r"\A\s*(?:-\w+\s+)*\w*\s*=\s*", "", rest), reader.found)


def _cd(rest: str, reader: Reader) -> None:
    words = split_words(rest)
    plain = [word for word in words if not word.startswith("-")]
    goes_back = any(word == "-" or re.match(r"-\d|--\w|-b", word) for word in words)
    target = None if goes_back or "$" in rest or "{" in rest else (plain[0] if plain else "~")
    reader.found.change_folder(target)


def _env(rest: str, reader: Reader) -> None:
    name, sign, _ = rest.partition("=")
    if not rest:
        reader.found.see("reads_env", grave=True, why=WHOLE_ENVIRONMENT)
    elif sign or " " in rest:
        change_variable(name.split()[0] if name.split() else "", reader.found)
    else:
        read_variable(rest, reader.found)


def _set_env(rest: str, reader: Reader) -> None:
    change_variable(re.split(r"[\s=]", rest, maxsplit=1)[0] or None, reader.found)


def _run(rest: str, reader: Reader) -> None:
    reader.found.see("runs_code_from_file")
    words = split_words(rest)
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-m":
        at += 1
    if at < len(words) and words[at] != "-m":
        reader.found.path(words[at], "read", expand=True)


def _load_ext(rest: str, reader: Reader) -> None:
    if rest.strip() not in _KNOWN_EXTENSIONS:
        reader.found.see("runs_code_from_file")


def _define_alias(rest: str, reader: Reader) -> None:
    reader.found.see("changes_env")
    _, _, command = rest.partition(" ")
    if command:
        reader.found.parts.append(reader.found.judge(command))


def _history(rest: str, reader: Reader) -> None:
    words = split_words(rest)
    for at, word in enumerate(words):
        if word.startswith("-f"):
            target = word[2:] or (words[at + 1] if at + 1 < len(words) else "")
            reader.found.see("writes_file")
            reader.found.path(target, "write", expand=True)


def _saves(rest: str, reader: Reader) -> None:
    plain = [word for word in split_words(rest) if not word.startswith("-")]
    if plain:
        reader.found.see("writes_file")
        reader.found.path(plain[0] if re.search(r"\.\w+\Z", plain[0]) else plain[0] + ".py", "write", expand=True)


def _notebook(rest: str, reader: Reader) -> None:
    plain = [word for word in split_words(rest) if not word.startswith("-")]
    if plain:
        reader.found.see("writes_file")
        reader.found.path(plain[-1], "write", expand=True)
        reader.found.see("writes_notebook")


def _logs(rest: str, reader: Reader) -> None:
    plain = [word for word in split_words(rest) if not word.startswith("-")]
    reader.found.see("writes_file", "delayed")
    reader.found.path(plain[0] if plain else "ipython_log.py", "write", expand=True)


def _store(rest: str, reader: Reader) -> None:
    words = split_words(rest)
    if not words:
        return
    if any(word.startswith("-r") for word in words):
        reader.found.see("unpickles")
    elif ">" in rest:
        reader.found.see("writes_file")
        reader.found.path(rest.rpartition(">")[2].strip(), "write", expand=True)
    else:
        reader.found.see("writes_outside", why="this keeps a value in the profile of IPython")


def _reads(rest: str, reader: Reader) -> None:
    plain = [word for word in split_words(rest) if not word.startswith("-")]
    if plain:
        reader.found.path(plain[-1], "read", expand=True)


def _config(rest: str, reader: Reader) -> None:
    if "=" in rest and not rest.startswith("InlineBackend."):
        reader.found.see("changes_env")


def _sql(rest: str, reader: Reader) -> None:
    read_sql(rest, reader.found)


def _r(rest: str, reader: Reader) -> None:
    read_foreign(rest, "r", reader.found)


def split_words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError:
        return rest.split()


_LINE: dict[str, Callable[[str, Reader], None]] = {
    "sx": _system,
    "system": _system,
    "sc": _assigned_system,
    "cd": _cd,
    "pushd": _cd,
    "env": _env,
    "set_env": _set_env,
    "run": _run,
    "load_ext": _load_ext,
    "reload_ext": _load_ext,
    "alias": _define_alias,
    "history": _history,
    "hist": _history,
    "save": _saves,
    "notebook": _notebook,
    "logstart": _logs,
    "store": _store,
    "load": _reads,
    "loadpy": _reads,
    "pycat": _reads,
    "less": _reads,
    "more": _reads,
    "man": _system,
    "config": _config,
    "sql": _sql,
    "R": _r,
}
_LINE["man"] = lambda rest, reader: system_line(f"man {rest}", reader.found)
