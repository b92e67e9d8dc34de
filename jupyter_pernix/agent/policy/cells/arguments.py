"""The arguments of a call: which of them are a command's words, and whether a file is opened to be written."""

import ast
import shlex

from .acts import Act
from .expansion import system_line
from .found import Found
from .values import Names, PathOf, Text, Value, Words
from .words import word_set

_UNKNOWN = "which command it runs cannot be known before it runs"


def argument(node: ast.Call, where: int | str) -> ast.expr | None:
    if isinstance(where, int):
        return node.args[where] if where < len(node.args) else None
    return next((one.value for one in node.keywords if one.arg == where), None)


def mode_writes(node: ast.Call, at: int, names: Names) -> bool:
    """Whether the mode of ``open`` may write; one that is not known may."""
    given = argument(node, at) or argument(node, "mode")
    if given is None:
        return False
    if isinstance(given, ast.Constant) and isinstance(given.value, int):
        return given.value & 3 != 0
    mode = names.text(given)
    if mode is None:
        dump = ast.unparse(given)
        return "O_" not in dump or any(flag in dump for flag in ("O_WR", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"))
    return not mode.whole or any(letter in mode.text for letter in "wax+")


def commands(act: Act, node: ast.Call, names: Names, found: Found, *, ipython: bool = False, before: str = "") -> None:
    """The command that a call runs, as a shell or a process would get it. ``before``: a word in front of the arguments."""
    if act.form == "line":
        _line(names.text(argument(node, 0) or argument(node, "cmd")), found, ipython=ipython)
        return
    if act.form == "process":
        _process(node, names, found)
        return
    args = node.args[1:] if act.form in ("spawn", "spawnl") else node.args
    if act.form in ("exec", "spawn"):
        rest = names.of(args[1]) if len(args) > 1 else Words(())
        items = (names.of(args[0]) if args else None, *(rest.items[1:] if isinstance(rest, Words) else (None,)))
    elif act.form in ("execl", "spawnl"):
        items = (names.of(args[0]) if args else None, *(names.of(arg) for arg in args[2:]))
    else:
        items = tuple(names.of(arg) for arg in args)
    _run_words((Text(before), *items) if before else items, found)


def _line(text: Text | None, found: Found, *, ipython: bool) -> None:
    if text is None:
        found.see("runs_process")
        found.see("opaque", why=_UNKNOWN, grave=True)
    elif ipython and text.whole:
        system_line(text.text, found)
    else:
        found.line(text.text)
        if not text.whole:
            _partly(text.text, found)


def _partly(line: str, found: Found) -> None:
    program = line.split(None, 1)[0] if line.split() else ""
    grave = "{" in program
    why = _UNKNOWN if grave else "values that cannot be known before it runs stand in a command line"
    found.see("opaque", why=why, grave=grave)


def _process(node: ast.Call, names: Names, found: Found) -> None:
    given = names.of(argument(node, 0) or argument(node, "args"))
    shell = argument(node, "shell")
    by_shell = shell is not None and not (isinstance(shell, ast.Constant) and not shell.value)
    if argument(node, "executable") is not None or argument(node, "preexec_fn") is not None:
        found.see("opaque", why="another program is started than the words say", grave=True)
    if isinstance(given, Words):
        if by_shell and given.items:
            first = given.items[0]
            _line(first if isinstance(first, Text) else None, found, ipython=False)
        else:
            _run_words(given.items, found)
    elif isinstance(given, Text | PathOf):
        text = Text(given.text, given.whole)
        if by_shell:
            _line(text, found, ipython=False)
        else:
            _run_words((text,), found)
    else:
        found.see("opaque", why=_UNKNOWN, grave=True)


def _run_words(items: tuple[Value, ...], found: Found) -> None:
    if not items or not isinstance(items[0], Text | PathOf):
        found.see("opaque", why=_UNKNOWN, grave=True)
        return
    words = [item.text if isinstance(item, Text | PathOf) else "{…}" for item in items]
    found.line(shlex.join(words))
    if not all(isinstance(item, Text | PathOf) and item.whole for item in items):
        _partly(words[0], found)


def environs(node: ast.Call) -> set[ast.AST]:
    """Every node of what a call is given and made of, so that an environment that it hands on is not seen a second time."""
    handed = [node.func, *node.args, *(one.value for one in node.keywords)]
    return {
        part
        for one in handed
        for part in ast.walk(one)
        if isinstance(part, ast.Attribute | ast.Name)
        and (part.attr if isinstance(part, ast.Attribute) else part.id).startswith("environ")
    }


def after(node: ast.Call, at: int) -> list[ast.expr]:
    """What a function that is handed on as argument ``at`` will be given: what stands after it, or in ``args``."""
    given = argument(node, "args") or argument(node, "argument") or argument(node, "kwargs")
    rest = node.args[at + 1 :] if at < len(node.args) else []
    if not rest and given is not None:
        rest = [given]
    if len(rest) == 1 and isinstance(rest[0], ast.List | ast.Tuple):
        return rest[0].elts
    return rest


_DECODERS = word_set(
    "b64decode b32decode b16decode a85decode b85decode urlsafe_b64decode decodebytes unhexlify fromhex "
    "decompress loads decode urlopen get"
)


def is_decoded(node: ast.expr, names: Names) -> bool:
    """Whether text that is run was decoded or fetched first."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            callee = part.func
            name = (
                callee.attr if isinstance(callee, ast.Attribute) else callee.id if isinstance(callee, ast.Name) else ""
            )
            if name in _DECODERS and names.of(part) != Text(""):
                return True
    return False
