"""What IPython's magics do, of those it brings and those that many people load. One that is not known here is opaque."""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from string import Formatter

from ..judgement import Effect
from .foreign import effects_of_script, known, read_foreign, read_sql
from .found import Found

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

_NOTHING = frozenset(
    [
        "autoawait",
        "autosave",
        "bookmark",
        "clear",
        "colors",
        "dhist",
        "dirs",
        "doctest_mode",
        "gui",
        "lsmagic",
        "magic",
        "matplotlib",
        "page",
        "pdef",
        "pdoc",
        "pfile",
        "pinfo",
        "pinfo2",
        "pprint",
        "precision",
        "psearch",
        "psource",
        "pwd",
        "pylab",
        "quickref",
        "subshell",
        "tb",
        "unload_ext",
        "who",
        "who_ls",
        "whos",
        "xmode",
        "autoreload",
        "killbgscripts",
        "logoff",
        "logon",
        "logstate",
        "logstop",
        "load_ext_list",
        "popd",
        "aimport",
    ]
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
_TIMED: dict[str, str] = {
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
_KNOWN_EXTENSIONS = frozenset(
    [
        "autoreload",
        "storemagic",
        "jupyter_pernix",
        "jupyter_pernix.kernel.ipython",
        "sql",
        "duckdb_magic",
        "line_profiler",
        "memory_profiler",
        "tensorboard",
        "cython",
        "Cython",
        "rpy2.ipython",
        "snakeviz",
        "watermark",
        "jupyter_black",
        "nb_black",
        "lab_black",
        "nb_mypy",
        "google.cloud.bigquery",
        "cudf.pandas",
        "cuml.accel",
        "dotenv",
        "ipytest",
    ]
)
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh"))
_SCRIPTS = {
    "perl": "perl",
    "ruby": "ruby",
    "python": "python",
    "python2": "python",
    "python3": "python",
    "pypy": "python",
}
_SCRIPT_OPTIONS = re.compile(r"\A\s*(?:--(?:out|err|proc)(?:=\S+|\s+\S+)|--bg|--no-raise-error|--raise-error)(?=\s|$)")
_ACTIVE_HTML = re.compile(
    r"(?i)<\s*(?:script|iframe|object|embed|link|meta|form|base|svg[^>]*\son)|\son\w+\s*=|javascript:|data:text/html"
)
_ADDRESS = re.compile(r"(?i)\bhttps?://|\bftp://|\ssrc\s*=\s*[\"']?//")
_DOLLAR = re.compile(r"(.*?)\$(\$?[\w.]+)(?=([^']*'[^']*')*[^']*$)")
_ASSIGNED = re.compile(r"\A\s*=(?!=)")
_BARE = re.compile(r"\A(\s*)([\w.*]+)(.*)\Z", re.DOTALL)
_HEAVY_VARIABLES = re.compile(
    r"(?i)\A(?:path|ld_\w+|dyld_\w+|python\w*|bash_env|env|prompt_command|ps4|ifs|shell|home|pager|\w*_pager|editor|visual|git_\w+|"
    r"\w*_options|\w*opt|\w*_proxy|browser|ssh_\w+|pip_\w+|npm_\w+|node_\w+|ruby\w+|perl\w+|jupyter\w*|ipython\w*|pernix\w*)\Z"
)
_SECRET_VARIABLE = re.compile(r"(?i)key|token|secret|passw|credential|auth|cookie|private")


@dataclass(frozen=True)
class Reader:
    """What magics hand their own content on to. ``python``: Python alone; ``cell``: a cell with IPython's syntax."""

    found: Found
    python: Callable[[str], None]
    cell: Callable[[str], None]


# ---- text that names of Python are put into --------------------------------------------------------------------------------


def expanded(text: str) -> tuple[str, bool, bool]:
    """What of ``text`` is left for the shell, whether values of Python stand in it, and whether the program itself is one."""
    try:
        fields = list(Formatter().parse(text))
    except ValueError:
        return text, False, False
    if any(name is not None and not _is_expression(name) for _, name, _, _ in fields):
        return text, False, False  # then IPython leaves all of it as it is
    found: list[str] = []
    unknown = False
    for literal, name, spec, conversion in fields:
        piece, has = _dollars(literal)
        found.append(piece)
        unknown = unknown or has or name is not None
        if name is not None:
            found.append("{" + name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "") + "}")
    line = "".join(found)
    first = line.split(None, 1)[0] if line.split() else ""
    return line, unknown, unknown and ("{" in first or ("$" in first and "$" + first.lstrip("$") in text))


def _is_expression(name: str) -> bool:
    try:
        compile(name.strip(), "<field>", "eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True


def _dollars(text: str) -> tuple[str, bool]:
    if text.count("$") > 50:
        return text, True
    found: list[str] = []
    at, unknown = 0, False
    for match in _DOLLAR.finditer(text):
        found.append(match[1] + match[2] if match[2].startswith("$") else match[1] + "$" + match[2])
        unknown = unknown or not match[2].startswith("$")
        at = match.end()
    return "".join(found) + text[at:], unknown


def system_line(text: str, found: Found) -> None:
    """What ``!`` runs."""
    line, unknown, program = expanded(text)
    found.line(line)
    if program:
        found.see("opaque", why="which program it starts is a value that cannot be known before it runs", grave=True)
    elif unknown:
        found.see("opaque", why="values that cannot be known before it runs stand in a command line")


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
        name in ALIASES or name in _NOTHING or name in _FIXED or name in _INSTALLERS or name in _TIMED or name in _LINE
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
    elif name in _TIMED:
        reader.cell(_without_options(rest, _TIMED[name]))
    elif name in _FIXED:
        found.see(*_FIXED[name])
    elif name not in _NOTHING:
        found.see("opaque", why=f"the magic %{name[:40]} is not known")


def _alias(command: str, rest: str, found: Found) -> None:
    system_line(command.replace("%l", rest) if "%l" in command else f"{command} {rest}", found)


def _without_options(rest: str, options: str) -> str:
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
    words = _words(rest)
    plain = [word for word in words if not word.startswith("-")]
    goes_back = any(word == "-" or re.match(r"-\d|--\w|-b", word) for word in words)
    target = None if goes_back or "$" in rest or "{" in rest else (plain[0] if plain else "~")
    reader.found.change_folder(target)


def _env(rest: str, reader: Reader) -> None:
    name, sign, _ = rest.partition("=")
    if not rest:
        reader.found.see("reads_env", grave=True, why="this reads the whole environment, where secrets may be")
    elif sign or " " in rest:
        change_variable(name.split()[0] if name.split() else "", reader.found)
    else:
        read_variable(rest, reader.found)


def change_variable(name: str | None, found: Found) -> None:
    """``None``: which one cannot be known."""
    heavy = name is not None and _HEAVY_VARIABLES.match(name) is not None
    found.see(
        "changes_env",
        why=f"this changes {name}, by which later commands mean something else" if heavy else "",
        grave=heavy,
    )


def read_variable(name: str | None, found: Found) -> None:
    """``None``: all of them, or one that cannot be known."""
    secret = name is not None and _SECRET_VARIABLE.search(name) is not None
    found.see("reads_env", why=f"this reads {name}, which may be a secret" if secret else "", grave=secret)


def _set_env(rest: str, reader: Reader) -> None:
    change_variable(re.split(r"[\s=]", rest, maxsplit=1)[0] or None, reader.found)


def _run(rest: str, reader: Reader) -> None:
    reader.found.see("runs_code_from_file")
    words = _words(rest)
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
    words = _words(rest)
    for at, word in enumerate(words):
        if word.startswith("-f"):
            target = word[2:] or (words[at + 1] if at + 1 < len(words) else "")
            reader.found.see("writes_file")
            reader.found.path(target, "write", expand=True)


def _saves(rest: str, reader: Reader) -> None:
    plain = [word for word in _words(rest) if not word.startswith("-")]
    if plain:
        reader.found.see("writes_file")
        reader.found.path(plain[0] if re.search(r"\.\w+\Z", plain[0]) else plain[0] + ".py", "write", expand=True)


def _notebook(rest: str, reader: Reader) -> None:
    plain = [word for word in _words(rest) if not word.startswith("-")]
    if plain:
        reader.found.see("writes_file")
        reader.found.path(plain[-1], "write", expand=True)
        reader.found.see("writes_notebook")


def _logs(rest: str, reader: Reader) -> None:
    plain = [word for word in _words(rest) if not word.startswith("-")]
    reader.found.see("writes_file", "delayed")
    reader.found.path(plain[0] if plain else "ipython_log.py", "write", expand=True)


def _store(rest: str, reader: Reader) -> None:
    words = _words(rest)
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
    plain = [word for word in _words(rest) if not word.startswith("-")]
    if plain:
        reader.found.path(plain[-1], "read", expand=True)


def _config(rest: str, reader: Reader) -> None:
    if "=" in rest and not rest.startswith("InlineBackend."):
        reader.found.see("changes_env")


def _sql(rest: str, reader: Reader) -> None:
    read_sql(rest, reader.found)


def _r(rest: str, reader: Reader) -> None:
    read_foreign(rest, "r", reader.found)


def _words(rest: str) -> list[str]:
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


# ---- cell magics ------------------------------------------------------------------------------------------------------------


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
    elif name in _TIMED:
        _over_python(name, rest, body, reader)
    else:
        found.see("opaque", why=f"the magic %%{name[:40]} is not known")


def _over_python(name: str, rest: str, body: str, reader: Reader) -> None:
    if name in ("timeit", "prun", "memit") and _without_options(rest, _TIMED[name]):
        reader.cell(_without_options(rest, _TIMED[name]))
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
    plain = [word for word in _words(rest) if word not in ("-a", "--append")]
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
    words = [*([program] if program else []), *_words(rest)]
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
