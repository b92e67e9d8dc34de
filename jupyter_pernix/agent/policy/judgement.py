"""What the judges of command lines, cells and paths say about one call; pure data. The broker makes a decision of it.

A judge never allows: it says what a call is known to do, and ``auto`` only of what is known to read inside of the space and nothing else.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

RUN_CODE = "tool:run_code"
"""The rule that allows plain code in the session's kernel; for a session, never for good."""

NETWORK = "network"
"""The rule that lets code use the network, as far as that is seen; for a session, never for good."""

Ruling = Literal["auto", "ask", "ask_always", "denied"]
"""``auto``: every part is known to read inside of the space only. ``ask``: a person is asked, and may have it remembered as ``rules``.
``ask_always``: asked each time. ``denied``: a deny rule, or it cannot be done at all."""

ORDER: tuple[Ruling, ...] = ("auto", "ask", "ask_always", "denied")
"""From mild to strict."""

Effect = Literal[
    "runs_process",
    "runs_code_from_text",
    "runs_code_from_file",
    "deletes",
    "moves",
    "writes_file",
    "writes_outside",
    "writes_notebook",
    "reads_outside",
    "reads_secret",
    "reads_env",
    "changes_env",
    "changes_cwd",
    "network",
    "installs",
    "publishes",
    "privilege",
    "runs_later",
    "delayed",
    "kills_kernel",
    "overrides_builtins",
    "frontend_js",
    "unpickles",
    "waits_input",
    "db_write",
    "huge",
    "opaque",
    "syntax_error",
]
"""What a call is seen to do. ``runs_later``: it changes a file that makes something else run. ``opaque``: a part cannot be known."""

EFFECTS_IN_WORDS: dict[Effect, str] = {
    "runs_process": "starts a program",
    "runs_code_from_text": "runs text as code",
    "runs_code_from_file": "runs code from a file",
    "deletes": "deletes",
    "moves": "moves files",
    "writes_file": "writes a file",
    "writes_outside": "writes outside of the space",
    "writes_notebook": "writes a notebook behind the editor",
    "reads_outside": "reads outside of the space",
    "reads_secret": "reads what looks like a secret",
    "reads_env": "reads the environment",
    "changes_env": "changes what later code means",
    "changes_cwd": "changes the folder of later code",
    "network": "uses the network",
    "installs": "installs packages",
    "publishes": "publishes or changes something elsewhere",
    "privilege": "takes other rights",
    "runs_later": "changes what runs later",
    "delayed": "acts after it has ended",
    "kills_kernel": "ends the kernel",
    "overrides_builtins": "replaces what Python or IPython does",
    "frontend_js": "runs script in the page",
    "unpickles": "loads a format that can run code",
    "waits_input": "waits for a line of input",
    "db_write": "changes a database",
    "huge": "may need much memory or time",
    "opaque": "cannot be known before it runs",
    "syntax_error": "is not valid code",
}
"""For a person, after "This …"."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """``rules``: what "always" would save, of an ``ask`` only; never empty there. ``why``: one sentence for a person, without a final
    full stop. ``grave``: asked in mode ``auto`` as well. ``reads`` and ``writes``: canonical absolute paths as far as they are known.
    """

    ruling: Ruling
    why: str
    rules: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()
    grave: bool = False
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


def strictest(found: Iterable[Judgement], *, nothing: str = "does nothing") -> Judgement:
    """All of it together: the strictest ruling with its reason, the rules of all that is asked, every effect and path once."""
    ruling, why = "auto", nothing
    rules: dict[str, None] = {}
    effects: dict[Effect, None] = {}
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    grave = False
    for one in found:
        if ORDER.index(one.ruling) > ORDER.index(ruling) or why == nothing:
            ruling, why = one.ruling, one.why
        rules.update(dict.fromkeys(one.rules))
        effects.update(dict.fromkeys(one.effects))
        reads.update(dict.fromkeys(one.reads))
        writes.update(dict.fromkeys(one.writes))
        grave = grave or one.grave
    return Judgement(
        ruling=ruling,
        why=why,
        rules=tuple(rules) if ruling == "ask" else (),
        effects=tuple(effects),
        grave=grave,
        reads=tuple(reads),
        writes=tuple(writes),
    )


def denied(judgement: Judgement, why: str) -> Judgement:
    return replace(judgement, ruling="denied", why=why, rules=(), grave=True)
