"""What code in other languages than Python is seen to do, by its own words for it. No parsing: names, and the text right after them.

Comments are not told from code, so that nothing can hide behind what only looks like one.
"""

import re
from dataclasses import dataclass

from ..judgement import Effect
from .found import Found

_TEXT = r"""\s*\(?\s*(?:"(?P<d>(?:[^"\\\n]|\\.)*)"|'(?P<s>(?:[^'\\\n]|\\.)*)'|`(?P<b>[^`\n]*)`)"""


@dataclass(frozen=True, slots=True)
class _Word:
    pattern: re.Pattern[str]
    effects: tuple[Effect, ...]
    path: bool = False


def _words(*rows: tuple[str, tuple[Effect, ...]] | tuple[str, tuple[Effect, ...], bool]) -> tuple[_Word, ...]:
    return tuple(_Word(re.compile(rf"(?<![\w.$]){row[0]}"), row[1], len(row) > 2) for row in rows)


_R = _words(
    (r"(?:base::)?(?:system2?|shell|shell\.exec|pipe)\s*\(", ("runs_process",)),
    (r"(?:base::)?(?:unlink|file\.remove)\s*\(|(?:fs::)?(?:file_delete|dir_delete)\s*\(", ("deletes",), True),
    (r"(?:base::)?file\.rename\s*\(|(?:fs::)?file_move\s*\(", ("moves",), True),
    (r"(?:utils::)?download\.file\s*\(", ("network", "writes_file")),
    (
        r"(?:httr2?::)?(?:GET|POST|PUT|DELETE)\s*\(|curl(?:_fetch)?\w*\s*\(|url\s*\(",
        ("network",),
    ),
    (
        r"(?:utils::)?install\.packages\s*\(|BiocManager::install\s*\(|(?:remotes|devtools|pak)::\w*install\w*\s*\(|pak::pkg_install",
        ("installs",),
    ),
    (r"(?:base::)?(?:sys\.)?source\s*\(", ("runs_code_from_file",)),
    (r"eval\s*\(\s*(?:str2lang|str2expression|parse)\s*\(", ("runs_code_from_text", "opaque")),
    (r"(?:readRDS|load|dget|unserialize)\s*\(", ("unpickles",)),
    (
        r"(?:write\.\w+|write_\w+|saveRDS|save|save\.image|writeLines|sink|ggsave|fwrite|dput|dump|file\.copy|file\.create)\s*\(",
        ("writes_file",),
    ),
    (r"setwd\s*\(", ("changes_cwd",)),
    (r"Sys\.setenv\s*\(", ("changes_env",)),
    (r"Sys\.getenv\s*\(", ("reads_env",)),
    (r"(?:readline|readLines\s*\(\s*[\"']stdin)\s*\(?", ("waits_input",)),
    (r"(?:quit|q)\s*\(", ("kills_kernel",)),
    (r"(?:DBI::)?db(?:Execute|SendStatement|WriteTable|RemoveTable|AppendTable)\s*\(", ("db_write",)),
)
_JULIA = _words(
    (r"(?:run|success|open|read|pipeline|readchomp)\s*\(\s*(?:pipeline\s*\(\s*)?(?=`)", ("runs_process",)),
    (r"(?:Base\.)?rm\s*\(", ("deletes",), True),
    (r"(?:Base\.)?mv\s*\(", ("moves",), True),
    (r"(?:Downloads\.)?download\s*\(|HTTP\.\w+\s*\(|connect\s*\(", ("network",)),
    (r"Pkg\.(?:add|develop|update|build)\s*\(|pkg\"|\]\s*(?:add|dev|up)\b", ("installs",)),
    (r"include\s*\(", ("runs_code_from_file",)),
    (r"(?:eval|include_string|Meta\.parse)\s*\(", ("runs_code_from_text", "opaque")),
    (
        r"(?:write|touch|cp|mkpath|CSV\.write|savefig|serialize|jldsave)\s*\(|@save\b|open\s*\([^)\n]*[\"'][wa]\+?[\"']",
        ("writes_file",),
    ),
    (r"cd\s*\(", ("changes_cwd",)),
    (r"ENV\s*\[[^\]]*\]\s*=(?!=)", ("changes_env",)),
    (r"ENV\b(?!\s*\[[^\]]*\]\s*=(?!=))", ("reads_env",)),
    (r"(?:readline|readlines)\s*\(\s*(?:stdin)?\s*\)", ("waits_input",)),
    (r"exit\s*\(", ("kills_kernel",)),
    (r"(?:ccall|unsafe_\w+|@ccall)\b", ("opaque",)),
    (r"deserialize\s*\(", ("unpickles",)),
)
_CPP = _words(
    (r"(?:std::)?(?:system|popen)\s*\(|gSystem\s*->\s*(?:Exec|GetFromPipe\w*)\s*\(", ("runs_process",)),
    (r"(?:execv\w*|execl\w*|fork|posix_spawn\w*)\s*\(", ("runs_process", "kills_kernel")),
    (
        r"(?:std::)?(?:remove|unlink|rmdir)\s*\(|(?:std::)?(?:filesystem|fs)::remove(?:_all)?\s*\(|gSystem\s*->\s*Unlink\s*\(",
        ("deletes",),
        True,
    ),
    (r"(?:std::)?(?:rename|(?:filesystem|fs)::rename)\s*\(", ("moves",), True),
    (
        r"(?:std::)?ofstream\b|fopen\s*\([^)\n]*\"[wa]|\.SaveAs\s*\(|->\s*SaveAs\s*\(|TFile\b[^;\n]*\"(?:RECREATE|UPDATE|CREATE)",
        ("writes_file",),
    ),
    (r"(?:socket|connect|curl_easy_\w+)\s*\(|TSocket\b|TWebFile\b", ("network",)),
    (r"(?:std::)?getenv\s*\(", ("reads_env",)),
    (r"(?:setenv|putenv)\s*\(", ("changes_env",)),
    (r"(?:std::)?(?:exit|abort|_exit|quick_exit)\s*\(|gApplication\s*->\s*Terminate", ("kills_kernel",)),
    (r"(?:std::)?cin\b|getline\s*\(\s*(?:std::)?cin", ("waits_input",)),
    (r"(?:chdir)\s*\(", ("changes_cwd",)),
    (r"(?:dlopen|asm|__asm__)\b|gInterpreter|gROOT\s*->\s*Process", ("opaque",)),
)
_JS = _words(
    (
        r"(?:\)\.)?(?:[\w$]+\.)*(?:exec|execSync|spawn|spawnSync|execFile|execFileSync|fork)\s*\(|new\s+Deno\.Command\s*\(|Deno\.run\s*\(",
        ("runs_process",),
    ),
    (
        r"(?:\)\.)?(?:[\w$]+\.)*(?:unlink|unlinkSync|rm|rmSync|rmdir|rmdirSync)\s*\(|Deno\.remove(?:Sync)?\s*\(",
        ("deletes",),
        True,
    ),
    (r"(?:\)\.)?(?:[\w$]+\.)*(?:rename|renameSync)\s*\(", ("moves",), True),
    (
        r"(?:\)\.)?(?:[\w$]+\.)*(?:writeFile|writeFileSync|appendFile|appendFileSync|writeTextFile|writeTextFileSync|createWriteStream)\s*\(",
        ("writes_file",),
        True,
    ),
    (
        r"fetch\s*\(|(?:https?|axios|net)\.\w+\s*\(|axios\s*\(|new\s+(?:WebSocket|XMLHttpRequest)\b|Deno\.connect\w*\s*\(",
        ("network",),
    ),
    (r"(?:eval|Function)\s*\(|vm\.\w+\s*\(", ("runs_code_from_text", "opaque")),
    (r"process\.env\b|Deno\.env\b", ("reads_env",)),
    (r"(?:process|Deno)\.exit\s*\(|process\.kill\s*\(", ("kills_kernel",)),
    (r"(?:process|Deno)\.chdir\s*\(", ("changes_cwd",)),
    (r"(?:prompt|confirm)\s*\(", ("waits_input",)),
    (r"setTimeout\s*\(|setInterval\s*\(", ("delayed",)),
)
_RUBY = _words(
    (r"(?:Kernel\.)?(?:system|exec|spawn|IO\.popen|Open3\.\w+)(?=[\s(])|%x|(?=`)", ("runs_process",)),
    (r"(?:File|Dir|Pathname|FileUtils)\.(?:delete|unlink|rm\w*|rmdir|remove\w*)\b", ("deletes",), True),
    (r"(?:File\.rename|FileUtils\.mv)\b", ("moves",), True),
    (
        r"(?:File|IO)\.(?:write|binwrite)\b|File\.open\s*\(?[^)\n]*,\s*['\"][wa]|FileUtils\.(?:cp|touch)\w*",
        ("writes_file",),
        True,
    ),
    (r"Net::\w+|URI\.open|(?:TCP|UDP)Socket|HTTParty|Faraday", ("network",)),
    (r"(?:instance_|class_)?eval\b", ("opaque",)),
    (r"ENV\b", ("reads_env",)),
)
_PERL = _words(
    (r"(?:system|exec)\b|qx\b|(?=`)", ("runs_process",)),
    (r"(?:unlink|rmdir|rmtree|remove_tree)\b", ("deletes",), True),
    (r"rename\b|move\b", ("moves",), True),
    (r"open\b[^;\n]*['\"]\s*[>+]", ("writes_file",)),
    (r"LWP::|HTTP::|IO::Socket|socket\b", ("network",)),
    (r"eval\b", ("opaque",)),
    (r"(?<=[%])ENV\b", ("reads_env",)),
)
_OCTAVE = _words(
    (r"(?:system|shell_cmd|dos|unix|popen2?|exec)\s*\(", ("runs_process",)),
    (r"(?:unlink|delete|rmdir|confirm_recursive_rmdir)\s*\(", ("deletes",), True),
    (r"(?:rename|movefile)\s*\(", ("moves",), True),
    (r"(?:save|fopen|csvwrite|dlmwrite|writematrix|writetable|print|saveas|copyfile|imwrite)\s*\(", ("writes_file",)),
    (r"(?:urlread|urlwrite|webread|webwrite|websave)\s*\(", ("network",)),
    (r"(?:eval|evalin|evalc|feval)\s*\(", ("runs_code_from_text", "opaque")),
    (r"(?:source|run)\s*\(", ("runs_code_from_file",)),
    (r"(?:getenv)\s*\(", ("reads_env",)),
    (r"(?:setenv|putenv)\s*\(", ("changes_env",)),
    (r"(?:cd|chdir)\s*\(", ("changes_cwd",)),
    (r"(?:input|keyboard)\s*\(", ("waits_input",)),
    (r"(?:exit|quit)\b", ("kills_kernel",)),
)
_LUA = _words(
    (r"(?:os\.execute|io\.popen)\s*\(?", ("runs_process",)),
    (r"os\.remove\s*\(?", ("deletes",), True),
    (r"os\.rename\s*\(?", ("moves",), True),
    (r"io\.open\s*\([^)\n]*,\s*['\"](?:[wa]|r\+)", ("writes_file",)),
    (r"(?:loadstring|load)\s*\(", ("runs_code_from_text", "opaque")),
    (r"(?:dofile|loadfile)\s*\(", ("runs_code_from_file",)),
    (r"os\.getenv\s*\(", ("reads_env",)),
    (r"os\.exit\s*\(", ("kills_kernel",)),
    (r"require\s*\(?\s*['\"](?:socket|http|ssl|lfs|ffi)", ("network", "opaque")),
)
_LITERAL = re.compile(r"\"[^\"\\\n]*\"|'[^'\\\n]*'")
_ARGUMENTS = re.compile(
    rf"\s*(?:{_LITERAL.pattern})\s*,\s*(?:args\s*=\s*)?(?:c\s*\()?((?:\s*,?\s*(?:{_LITERAL.pattern}))+)"
)
_SHELLS = frozenset(("bash", "sh", "shell", "zsh", "ksh", "dash", "calysto_bash"))
SQL = frozenset(("sql", "sqlite", "sqlite3", "postgres", "postgresql", "mysql", "duckdb", "xsqlite"))

_LANGUAGES: dict[str, tuple[_Word, ...]] = {
    "r": _R,
    "rscript": _R,
    "julia": _JULIA,
    "cpp": _CPP,
    "c++": _CPP,
    "c": _CPP,
    "root": _CPP,
    "javascript": _JS,
    "js": _JS,
    "typescript": _JS,
    "node": _JS,
    "nodejs": _JS,
    "deno": _JS,
    "ruby": _RUBY,
    "perl": _PERL,
    "octave": _OCTAVE,
    "matlab": _OCTAVE,
    "lua": _LUA,
}

_SQL_WRITES = re.compile(
    r"(?i)(?:\A|;|\bas|\()\s*(?:explain\s+analyze\s+)?(?P<verb>drop|delete|truncate|alter|insert|update|create|replace|merge|copy|attach|detach|"
    r"grant|revoke|vacuum|reindex|upsert|call|exec|load|install|pragma\s+\w+\s*=)\b"
)
_SQL_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


def known(language: str) -> bool:
    return _name(language) in _LANGUAGES or _name(language) in _SHELLS or _name(language) in SQL


def _name(language: str) -> str:
    low = language.strip().lower()
    return "c++" if low.startswith(("c++", "xcpp")) else low


def read_sql(text: str, found: Found) -> None:
    """Statements that change a database. What only asks has no effect."""
    bare = _SQL_COMMENT.sub(" ", text)
    verbs = {match["verb"].lower().split()[0] for match in _SQL_WRITES.finditer(bare)}
    if not verbs:
        return
    grave = bool(verbs & {"drop", "delete", "truncate", "grant", "revoke", "exec", "load", "install", "call"})
    verb = sorted(verbs)[0].upper()
    found.see("db_write", why=f"this changes a database ({verb})", grave=grave or None)


def read_foreign(code: str, language: str, found: Found) -> None:
    """What a cell of a kernel that is not Python's is seen to do."""
    name = _name(language)
    if name in _SHELLS:
        found.line(code)
    elif name in SQL:
        read_sql(code, found)
    elif name in _LANGUAGES:
        _read(_special_lines(code, name, found), _LANGUAGES[name], found, lines=True)
    else:
        found.see_mildly("opaque")


def effects_of_script(code: str, language: str, found: Found) -> None:
    """As ``read_foreign``, of text that an interpreter gets; command lines in it are judged and not listed."""
    words = _LANGUAGES.get(_name(language))
    if words is None:
        found.see("opaque")
    else:
        _read(code, words, found, lines=False)


def _special_lines(code: str, name: str, found: Found) -> str:
    """Lines that the kernel itself takes for commands, judged; the rest of the code."""
    if name == "julia" and code.lstrip().startswith(";"):
        found.line(code.lstrip()[1:])
        return ""
    if name in ("octave", "matlab"):
        lines = code.splitlines()
        for line in lines:
            if line.lstrip().startswith("!"):
                found.line(line.lstrip()[1:])
        return "\n".join(line for line in lines if not line.lstrip().startswith("!"))
    if name in ("cpp", "c++", "root", "c"):
        rest: list[str] = []
        for line in code.splitlines():
            bare = line.strip()
            if re.match(r"[.%]?!", bare):
                found.line(bare.lstrip(".%!"))
            elif re.match(r"%%\w+", bare) or bare.startswith((".x", ".L", ".X")):
                found.see("runs_code_from_file")
            else:
                rest.append(line)
        return "\n".join(rest)
    return code


def _read(code: str, words: tuple[_Word, ...], found: Found, *, lines: bool) -> None:
    for word in words:
        for at, match in enumerate(word.pattern.finditer(code)):
            if at >= 20:
                found.see("opaque")
                break
            text = _text_after(code, match.end())
            if "runs_process" in word.effects:
                if text is not None and match[0].rstrip(" (").endswith("system2"):
                    text = _with_arguments(text, code[match.end() :])
                _process(text, word.effects, found, listed=lines)
                continue
            found.see(*word.effects)
            if word.path and text is not None:
                found.path(text, "delete" if "deletes" in word.effects else "write")
            elif text is not None and re.match(r"\w+://", text):
                found.see("network")


def _with_arguments(program: str, code: str) -> str:
    """R's ``system2("rm", c("-r", "x"))`` as a line."""
    listed = _ARGUMENTS.match(code)
    return " ".join((program, *(text[1:-1] for text in _LITERAL.findall(listed[1] if listed else ""))))


def _process(text: str | None, effects: tuple[Effect, ...], found: Found, *, listed: bool) -> None:
    found.see(*effects)
    if text is None:
        found.see("opaque", why="it starts a program that cannot be known before it runs", grave=True)
    elif listed:
        found.line(text)
    else:
        found.parts.append(found.judge(text))


def _text_after(code: str, at: int) -> str | None:
    """The literal text that stands right there; ``None``: something else does."""
    match = re.compile(_TEXT).match(code, at) or re.compile(_TEXT).match(code, max(0, at - 1))
    if match is None:
        return None
    return next(value for value in (match["d"], match["s"], match["b"]) if value is not None)
