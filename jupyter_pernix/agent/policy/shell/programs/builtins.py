"""What the shell does by itself: what runs text, changes the shell or prints its variables is asked each time."""

import re

from ..parts import Call, Finding
from .findings import always, asks, only_reads, path_words
from .options import word_set

_RUN_TEXT = {
    "eval": "eval runs a text as commands",
    "trap": "trap keeps a text that runs later",
    "bind": "bind binds commands to keys",
    "mapfile": "mapfile can run a text for each line",
    "readarray": "readarray can run a text for each line",
    "enable": "enable changes or loads builtins",
    "complete": "complete keeps a text that runs later",
    "compgen": "compgen can run a text",
    "compopt": "compopt changes how words are completed",
    "alias": "alias gives a name to a text that runs later",
    "unalias": "unalias changes what a name runs",
    "let": "let evaluates a text",
    "fc": "fc edits and runs earlier lines",
    "history": "history reads and writes what was typed",
    "coproc": "coproc runs a command beside this one",
    "hash": "hash changes where programs are found",
    "getopts": "getopts sets variables",
}
_VARIABLES = word_set(
    "export declare typeset local readonly unset set shopt shift read setopt unsetopt emulate autoload zmodload"
)
_CONTROL = word_set("exit return break continue logout suspend disown bg fg wait jobs times caller")
_FOLDERS = frozenset(("cd", "pushd", "popd", "chdir"))

BUILTINS = frozenset(_RUN_TEXT) | _VARIABLES | _CONTROL | _FOLDERS | {"source", ".", "dirs", "ulimit", "help"}


def judge_builtin(call: Call) -> Finding:
    name, args = call.name, call.args
    if name in _RUN_TEXT:
        text = " ".join(args) if name == "eval" else args[0] if name == "trap" and args else None
        return always(_RUN_TEXT[name], "runs_code_from_text", runs_text=text)
    if name in ("source", "."):
        return always("This runs a file within the shell itself", "runs_code_from_file", reads=args[:1])
    if name in _FOLDERS:
        return always(f"{name} changes the folder of what follows", "changes_cwd", reads=path_words(args))
    if name in _VARIABLES:
        shows = not args or any(re.fullmatch(r"-[a-zA-Z]*p[a-zA-Z]*", arg) for arg in args)
        if shows and name in ("export", "declare", "typeset", "readonly", "set", "local"):
            return always(f"{name} prints variables, which may hold secrets", "reads_env", grave=True)
        return always(f"{name} changes what later commands mean", "changes_env")
    if name in ("jobs", "times", "dirs", "help") or (
        name in ("exit", "return", "break", "continue", "wait") and not args
    ):
        return only_reads(name)
    if name in ("exit", "return", "break", "continue") and len(args) == 1 and args[0].isdecimal():
        return only_reads(name)
    if name == "ulimit":
        return (
            only_reads(name) if args in (("-a",), ()) else asks("ulimit changes what later commands may use", "ulimit")
        )
    return always(f"{name} changes what runs", "changes_env")
