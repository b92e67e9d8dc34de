"""Which judge knows which program. What no judge knows is asked under its own name; what only looks like a known program, each time."""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from ..parts import EXACT, Call, Finding
from . import (
    awk,
    building,
    changing,
    consoles,
    find,
    git,
    interpreters,
    network,
    readers,
    remote,
    sed,
    tools,
    toolset,
    wrappers,
)
from .builtins import BUILTINS, judge_builtin
from .findings import always, asks, depth_of, inner, path_words
from .options import could_be_option, word_set

OWN_TOOLS = word_set("""edit_file edit_notebook inspect_variables list_files read_file read_notebook run_cells
    run_code run_shell search_files write_file
    web_search web_fetch delegate finish memory_search remember run_job insert_cell execute_cell apply_patch read_output""")
"""Tools of this and other agents, sometimes typed as commands by a model."""

_SYSTEM_FOLDERS = frozenset(("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/usr/local/sbin"))
_SMALL: dict[str, Callable[[Call], Finding]] = {
    "date": consoles.judge_date,
    "uniq": consoles.judge_uniq,
    "xxd": consoles.judge_xxd,
    "ps": consoles.judge_ps,
    "jq": consoles.judge_jq,
    "yq": consoles.judge_yq,
    "test": consoles.judge_test,
    "[": consoles.judge_test,
    "printf": consoles.judge_printf,
    "sleep": consoles.judge_sleep,
    **dict.fromkeys(("echo", "true", "false", ":", "expr"), consoles.judge_text),
    "printenv": consoles.judge_environment,
    **dict.fromkeys(("sed", "gsed"), sed.judge_sed),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk", "original-awk"), awk.judge_awk),
    "git": git.judge_git,
}
_VERSION_LETTER = {
    **dict.fromkeys(word_set("node npm npx pnpm bun ruby php tsc gcc perl"), "-v"),
    **dict.fromkeys(word_set("python python3 uv uvx pip cargo rustc curl deno ruff ssh grep rg"), "-V"),
    **dict.fromkeys(word_set("java javac go"), "-version"),
}
_VERSION_VERB = word_set("go docker kubectl helm terraform podman")
_HELP_RUNS_CODE = toolset.PLAIN_TOOLS | frozenset(building.BUILDERS) | frozenset(toolset.RUNNERS)
"""Their help tells of what the space configures, and loads it."""
_RUNS_OTHER_VERSION = word_set("yarn gradle mvn mix sbt tox nox bundle rails")
"""The space decides which file answers for them."""
_SERVERS = (("lab",), ("notebook",), ("server",), ("nbclassic",), ("voila",))
"""Subcommands of jupyter that open a port."""
_REACHES_OUT = re.compile(
    r"(?:\w+:)?(?:publish|unpublish|deploy|push|upload|delete|destroy|release|purge|wipe|drop|terminate)(?:[:-]\w+)?"
)
_ALSO_PLAIN_WORDS = word_set("test help type file id host at service task link read set format version true false")
"""Names of programs that are as often a subcommand or a value."""
_NEVER_ASKED_FOR_VERSION = wrappers.PRIVILEGE | changing.CHANGING | BUILTINS | wrappers.OPAQUE


_MOST_WORDS = 2000
_LONGEST = 30_000
"""Characters in all words of one call."""


def judge_program(call: Call) -> Finding:
    """What running ``call`` would do. Fails closed: what is not known to be harmless is asked."""
    if len(call.words) > _MOST_WORDS or sum(len(word.text or "") for word in call.words) > _LONGEST:
        return always(f"{call.name} is given too much to be looked through", "opaque", grave=True)
    text = call.words[0].text or ""
    if "/" in text and text.rpartition("/")[0] not in _SYSTEM_FOLDERS:
        return _by_path(call, text)
    if could_be_option(call.words[1:]) and _has_dashed(call.folder):
        return always(
            "A file here is named like an option, and a pattern may put it in its place",
            "opaque",
            reads=path_words(call.args),
        )
    return _by_name(call)


def knows(name: str) -> bool:
    """Whether ``name`` is a program that a judge knows."""
    return name in _known() or interpreters.is_interpreter(name)


@cache
def _known() -> frozenset[str]:
    tables = (
        readers.READERS,
        wrappers.WRAPPERS,
        toolset.TOOLS,
        toolset.RUNNERS,
        building.BUILDERS,
        remote.REMOTES,
        _SMALL,
    )
    named = frozenset(name for table in tables for name in table)
    sets = (wrappers.OPAQUE, wrappers.PRIVILEGE, toolset.PLAIN_TOOLS, changing.CHANGING, network.NETWORK, BUILTINS)
    return named.union(*sets, ("find", "xargs", "env", "command", "java"))


def _by_name(call: Call) -> Finding:
    name = call.name
    if _asks_version(call):
        return tools.version_only(call)
    if _is_ours(call):
        return always(
            "This is the user's own command: it can change what the agent may do", "privilege", "opaque", grave=True
        )
    if name in _SMALL:
        return _SMALL[name](call)
    if name in readers.READERS:
        return readers.judge_reader(call)
    if name == "find":
        return find.judge_find(call, judge_program)
    if name == "xargs":
        return find.judge_xargs(call, judge_program)
    if name == "env":
        return wrappers.judge_env(call, judge_program)
    if name in wrappers.WRAPPERS:
        query = consoles.judge_command_query(call) if name == "command" else None
        return query or wrappers.judge_wrapper(call, judge_program)
    if name == "jupyter" and "list" in call.args and call.args[0] in ("lab", "notebook", "server", "nbclassic"):
        return always("This shows the tokens of the servers that run here", "reads_secret", grave=True)
    if name in toolset.TOOLS:
        finding = tools.judge_tool(call, toolset.TOOLS[name], judge_program)
        serves = (
            name == "jupyter" and call.args[:1] in _SERVERS and finding.ruling == "ask" and call.args[1:] != ("build",)
        )
        return replace(finding, grave=True) if serves else finding
    if name in toolset.RUNNERS:
        return tools.judge_runner(call, toolset.RUNNERS[name], judge_program)
    if interpreters.is_interpreter(name):
        return interpreters.judge_interpreter(call, judge_program)
    return _others(call)


def _is_ours(call: Call) -> bool:
    """Whether this is our own command line, in any of its forms."""
    if call.name == "jupyter-pernix" or (call.name == "jupyter" and "pernix" in call.args):
        return True
    if not interpreters.is_interpreter(call.name):
        return False
    for at, arg in enumerate(call.args):
        module = call.args[at + 1] if arg.endswith("m") and at + 1 < len(call.args) else arg.partition("m")[2]
        if arg.startswith("-") and not arg.startswith("--") and module.split(".")[0] == "jupyter_pernix":
            return True
    return False


def _others(call: Call) -> Finding:
    name = call.name
    if name in BUILTINS:
        return judge_builtin(call)
    if name in building.BUILDERS:
        return building.judge_builder(call)
    if name in remote.REMOTES:
        return remote.judge_remote(call, judge_program)
    if name in network.NETWORK:
        return network.judge_network(call)
    if name in changing.CHANGING:
        return changing.judge_changing(call)
    if name in wrappers.PRIVILEGE:
        return wrappers.judge_privilege(call, judge_program, knows)
    if name in wrappers.OPAQUE:
        return wrappers.judge_opaque(call, judge_program, knows)
    if name in toolset.PLAIN_TOOLS:
        if name in ("less", "more", "most") and any(arg.startswith("+") for arg in call.args):
            return always(f"{name} is given keys, which can run a program", "runs_process", grave=True)
        return asks(f"{name} runs", name, reads=path_words(call.args))
    if name == "java":
        return asks("java runs a program", EXACT, effects=("runs_code_from_file",), reads=path_words(call.args))
    return _unknown(call)


def _unknown(call: Call) -> Finding:
    name, paths = call.name, path_words(call.args)
    if name in OWN_TOOLS:
        return always(f"{name} is a tool of the agent and no program: it is called as a tool", "opaque")
    if name.startswith("mkfs"):
        return always(f"{name} formats a disk", "deletes", "privilege", grave=True, reads=paths)
    if not re.fullmatch(r"[A-Za-z0-9_][\w.+:@-]*", name, re.ASCII):
        return always("This name is no plain name of a program", "opaque", reads=paths)
    if call.args and _REACHES_OUT.fullmatch(call.args[0]):
        return always(
            f"{name} is not known, and {call.args[0]} may change something elsewhere",
            "opaque",
            "publishes",
            grave=True,
            reads=paths,
        )
    command = wrappers.known_from(call, _is_program_word)
    if (len(command) > 1 or any(_is_shell_text(arg) for arg in call.args)) and depth_of(call) < 4:
        return wrappers.judge_opaque(call, judge_program, knows)
    return asks(f"{name} is a program that is not known", name, reads=paths)


def _is_program_word(text: str) -> bool:
    return text not in _ALSO_PLAIN_WORDS and knows(text)


def _is_shell_text(arg: str) -> bool:
    """Whether ``arg`` reads as a command of its own: several words that begin with a known program."""
    words = arg.split()
    return len(words) > 1 and knows(words[0].rpartition("/")[2])


def _by_path(call: Call, text: str) -> Finding:
    """A program named by its path: a script of the space under that path, anything that poses as a known program each time."""
    paths = (text, *path_words(call.args))
    if knows(call.name):
        called = inner(call, call.words)
        seen = _by_name(called) if called else None
        grave = seen is not None and seen.grave
        why = f"{text} is not the {call.name} of this machine and may be any program"
        return always(why, "runs_code_from_file", "opaque", grave=grave, reads=paths, runs=seen.runs if seen else ())
    if any(word.glob for word in call.words[:1]):
        return always("Which program this runs is not known", "opaque", reads=paths)
    command = wrappers.known_from(call, knows)
    if len(command) > 1:
        return always(
            f"{text} may run the command it is given", "runs_code_from_file", "opaque", reads=paths, runs=command
        )
    return asks(f"This runs the file {text}", text, effects=("runs_code_from_file",), reads=paths)


def _asks_version(call: Call) -> bool:
    if len(call.words) != 2 or call.name in _NEVER_ASKED_FOR_VERSION or not knows(call.name):
        return False
    word = call.args[0]
    if call.name in _RUNS_OTHER_VERSION or (word == "--help" and call.name in _HELP_RUNS_CODE):
        return False
    if word in ("--version", "--help"):
        return call.name not in _SMALL or call.name in ("git", "awk", "sed", "jq", "date")
    return _VERSION_LETTER.get(call.name) == word or (word == "version" and call.name in _VERSION_VERB)


def _has_dashed(folder: str) -> bool:
    try:
        with os.scandir(folder) as entries:
            return any(entry.name.startswith("-") for entry in entries)
    except OSError:
        return True


__all__ = ["OWN_TOOLS", "judge_program", "knows"]
