"""awk: its program is read for what starts programs, opens files or looks at the environment; anything uncertain is asked.

Outside of ``system`` and ``getline`` awk reaches files and programs only by ``print … >`` and ``print … |``. The dangerous names are looked
for in the whole text, strings and patterns included, so that no reading of quotes can hide them.
"""

import re

from ..parts import EXACT, Call, Finding
from .findings import always, asks, only_reads
from .options import parse, spec

_AWK = spec("F: v: f! field-separator: assign: file!", "text")
_RUNS = re.compile(r"\bsystem\b|\bgetline\b|@")
_LOOKS = re.compile(r"\b(?:ENVIRON|ARGV|ARGC|ARGIND|SYMTAB|FUNCTAB|PROCINFO)\b")
_SYSTEM_TEXT = re.compile(
    r'\bsystem\s*\(\s*"((?:[^"\\\n]|\\.)*)"\s*\)|"((?:[^"\\\n]|\\.)*)"\s*\|&?\s*getline|\|&?\s*"((?:[^"\\\n]|\\.)*)"'
)
_READ_FILE = re.compile(r'getline[^;}]*<\s*"((?:[^"\\\n]|\\.)*)"')
_TOKEN = re.compile(
    r"""(?P<space>[ \t\r]+|\\\n|\#[^\n]*)|(?P<line>\n)|(?P<string>"(?:[^"\\\n]|\\.)*")|(?P<name>[A-Za-z_]\w*)|(?P<number>\d+(?:\.\d+)?|\.\d+)
    |(?P<operator>\|\||\|&|>>|>=|&&|[-+*/%^!=<>~|?:;,(){}\[\]$])""",
    re.VERBOSE,
)
_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[\^?+\]?+(?:[^\]\\\n/]|\\[^/])*+\])*+/")
_BEFORE_PATTERN = frozenset(("print", "printf", "return", "case", "in", "do", "else"))
_STREAMS = frozenset(('"/dev/stdout"', '"/dev/stderr"'))


def judge_awk(call: Call) -> Finding:
    found = parse(_AWK, call.args, to_first_operand=True)
    if found.starts:
        return always(
            "The program of awk stands in a file and is not known", "runs_code_from_file", reads=found.operands
        )
    if found.unknown or not found.operands:
        return always(
            f"{found.unknown or 'a missing program'} is nothing of awk that is known", "opaque", reads=found.operands
        )
    program, files = found.operands[0], found.operands[1:]
    if any(word.glob and word.text == program for word in call.words[1:]):
        return always("The program of awk is not known", "opaque", reads=files)
    opened = _READ_FILE.findall(program)
    if "\\\n" in program or "\r" in program:
        return always("The program of awk cannot be taken apart", "opaque", reads=files)
    if _RUNS.search(program):
        texts = ["".join(match) for match in _SYSTEM_TEXT.findall(program)]
        text = "\n".join(texts) if texts and not any("\\" in each for each in texts) else None
        why = "This awk program runs commands or opens files by itself"
        runs = re.search(r"system|\||@", program) is not None
        return always(why, "runs_process", "opaque", grave=runs, reads=[*files, *opened], runs_text=text)
    if _LOOKS.search(program):
        return always(
            "This awk program looks at the environment or changes which files it reads", "reads_env", reads=files
        )
    targets = _redirects(program)
    if targets is None:
        return always(
            "awk writes to what is not known before it runs, or to a program",
            "writes_file",
            "opaque",
            grave="|" in program,
            reads=files,
        )
    if targets:
        return asks(f"awk writes {targets[0]!r} here", EXACT, effects=("writes_file",), reads=files, writes=targets)
    return only_reads("awk", reads=files)


def _redirects(program: str) -> list[str] | None:
    """The files that ``print`` writes; ``None`` if one is not a plain string, a program, or if the text cannot be read."""
    if ">" not in program and "|" not in program.replace("||", ""):
        return []
    tokens = _tokens(program)
    if tokens is None:
        return None
    targets: list[str] = []
    printing, depth = False, 0
    for place, (kind, text) in enumerate(tokens):
        if kind == "name" and text in ("print", "printf"):
            printing, depth = True, 0
        elif not printing or kind != "operator":
            continue
        elif text in "([{":
            depth += 1
        elif text in ")]}":
            depth -= 1
            printing = depth >= 0
        elif text == ";" and depth == 0:
            printing = False
        elif text in ("|", "|&") and depth == 0:
            return None
        elif text in (">", ">>", ">=") and depth == 0:
            target = tokens[place + 1] if place + 1 < len(tokens) else ("end", "")
            after = tokens[place + 2][1] if place + 2 < len(tokens) else ";"
            if text == ">=" or target[0] != "string" or "\\" in target[1] or after not in (";", "}", "\n"):
                return None
            if target[1] not in _STREAMS:
                targets.append(target[1][1:-1])
    return targets


def _tokens(program: str) -> list[tuple[str, str]] | None:
    """``None`` where it is not certain whether a slash divides or begins a pattern."""
    tokens: list[tuple[str, str]] = []
    place = 0
    while place < len(program):
        before = next((token for token in reversed(tokens) if token[0] != "line"), ("start", ""))
        if program[place] == "/" and _begins_pattern(before):
            match = _REGEX.match(program, place)
            kind = "pattern"
        else:
            if program[place] == "/" and before[1] in (")", "++", "--"):
                return None
            match = _TOKEN.match(program, place)
            kind = match.lastgroup or "" if match else ""
        if match is None:
            return None
        if kind != "space":
            tokens.append((kind, match[0]))
        place = match.end()
    return tokens


def _begins_pattern(before: tuple[str, str]) -> bool:
    kind, text = before
    if kind == "name":
        return text in _BEFORE_PATTERN
    return kind in ("start", "pattern") or (kind == "operator" and text not in (")", "]", "$"))
