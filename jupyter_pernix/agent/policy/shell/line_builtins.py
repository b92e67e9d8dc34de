"""What belongs to bash itself: changing the folder, setting variables, and all that gives later words another meaning."""

import os
import re
from collections.abc import Mapping, Sequence

from ..judgement import Judgement
from ..paths import inside
from .line_state import State
from .parts import Assignment, Word
from .variables import harmless_name


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_RUNS_TEXT = "runs text as code"
ALWAYS: dict[str, str] = {
    "eval": _RUNS_TEXT,
    "exec": "replaces the shell, or moves its files",
    "source": "runs a file in this very shell",
    ".": "runs a file in this very shell",
    "trap": "runs text later",
    "alias": "gives a name another meaning",
    "unalias": "gives a name another meaning",
    "hash": "gives a name another meaning",
    "enable": "gives a name another meaning",
    "builtin": "gives a name another meaning",
    "shopt": "changes how lines are read",
    "bind": "binds code to keys",
    "complete": "runs code for completion",
    "compgen": "may run code",
    "compopt": "changes completion",
    "declare": "may change variables that steer other programs",
    "typeset": "may change variables that steer other programs",
    "local": "may change variables that steer other programs",
    "readonly": "may change variables that steer other programs",
    "unset": "may change variables that steer other programs",
    "mapfile": "may run code for each line",
    "readarray": "may run code for each line",
    "read": "sets a variable to what cannot be known",
    "getopts": "sets a variable to what cannot be known",
    "shift": "changes the arguments of the shell",
    "let": "is arithmetic, which can run commands",
    "pushd": "changes the folder in a way that is not followed",
    "popd": "changes the folder in a way that is not followed",
    "dirs": "shows or changes the stack of folders",
    "history": "reads or writes the history of commands",
    "fc": "runs former commands",
    "jobs": "may run a command",
    "bg": "goes on in the background",
    "fg": "waits for another process",
    "disown": "leaves a process behind",
    "suspend": "stops the shell",
    "logout": "ends the shell",
    "ulimit": "changes what later commands may use",
    "umask": "changes who may read later files",
    "caller": "is for scripts only",
}
"""Asked each time, whatever follows."""

GRAVE = _names(
    """eval exec source . trap alias hash enable builtin bind complete compgen mapfile readarray fc disown declare typeset local readonly"""
)
_ENDS = frozenset({"exit", "return", "break", "continue", "wait"})
_SAFE_SET = re.compile(r"-[eux]+\Z")
_SAFE_OPTION = frozenset({"errexit", "nounset", "xtrace", "pipefail"})
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)


def judge_set(args: Sequence[str]) -> Judgement:
    """``set -euo pipefail`` and the like change nothing but when the line stops; anything else of ``set`` is asked."""
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if word in ("-o", "-eo", "-uo", "-euo", "-ueo", "-exo", "-euxo") and rest and rest.pop(0) in _SAFE_OPTION:
            continue
        if not _SAFE_SET.match(word):
            return Judgement(ruling="ask_always", why="`set` changes the shell itself", effects=("changes_env",))
    if not args:
        return Judgement(
            ruling="ask_always", why="`set` shows all variables, secrets too", effects=("reads_env",), grave=True
        )
    return Judgement(ruling="auto", why="only tells when the line stops")


def judge_end(name: str, args: Sequence[str]) -> Judgement | None:
    """``exit`` and its like, and ``wait``; ``None`` if ``name`` is none of them."""
    if name not in _ENDS:
        return None
    if len(args) > 1 or not all(arg.isdecimal() for arg in args):
        return Judgement(ruling="ask_always", why=f"`{name}` has words that are not plain", effects=("opaque",))
    return Judgement(ruling="auto", why="ends what is running, or waits for it")


def read_names(args: Sequence[str]) -> tuple[str, ...] | None:
    """The variables that ``read`` sets; ``None`` if it may set one that steers the shell."""
    names = [arg for arg in args if not re.fullmatch(r"-[ers]+", arg)]
    plain = all(harmless_name(name, {}, exported=False) for name in names)
    return tuple(names) if names and plain else None


def exported(word: Word) -> Assignment | None:
    """``NAME=value`` as a word of ``export``; ``None`` if it is an option or a bare name."""
    text = word.text or ""
    name, equals, value = text.partition("=")
    if not equals or not _NAME.match(name):
        return None
    return Assignment(name, Word(text=value, raw=value, plain=word.plain))


def change_folder(
    args: Sequence[str], state: State, *, root: str, environ: Mapping[str, str]
) -> tuple[Judgement, State]:
    """``cd``: where the line goes on. Only a plain folder of the space that is there now is followed."""
    given = [arg for index, arg in enumerate(args) if not (index == 0 and arg == "--")]
    if len(given) != 1 or given[0].startswith("-") or not given[0]:
        why = "`cd` without one plain folder leads where it cannot be known"
        return Judgement(ruling="ask_always", why=why, effects=("changes_cwd",), grave=True), state.lost()
    name = given[0]
    if "CDPATH" in environ and name.split("/")[0] not in ("", ".", ".."):
        why = "`CDPATH` leads `cd` elsewhere"
        return Judgement(ruling="ask_always", why=why, effects=("changes_cwd",), grave=True), state.lost()
    joined = name if name.startswith("/") else f"{state.folder}/{name}"
    logical, real = os.path.normpath(joined), os.path.realpath(joined)
    if logical.startswith("//"):
        logical = logical[1:]
    if not inside(real, root):
        why = f"{name} is outside of the space"
        return Judgement(ruling="ask_always", why=why, effects=("changes_cwd",), grave=True), state.at(real)
    if state.may_be_other(joined, real):
        why = f"an earlier part of the line may have changed what {name} is"
        return Judgement(ruling="ask_always", why=why, effects=("changes_cwd",), grave=True), state.lost()
    if os.path.realpath(logical) != real or not os.path.isdir(joined):  # noqa: PTH112
        why = f"{name} is no folder that is there now"
        return Judgement(ruling="ask_always", why=why, effects=("changes_cwd",)), state.lost()
    if real != logical and os.path.realpath(os.path.dirname(logical)) != os.path.dirname(real):  # noqa: PTH120
        why = f"{name} leads through a link, so that later folders are not certain"
        return Judgement(ruling="ask_always", why=why, effects=("changes_cwd",)), state.lost()
    return Judgement(ruling="auto", why="goes to a folder of the space"), state.at(real)
