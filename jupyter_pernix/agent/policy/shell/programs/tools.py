"""Programs with subcommands: which of them only read, which may be remembered under their name, which change something elsewhere.

A subcommand that no table names is asked: once and for all for tools that work in the space, every time for tools that reach out.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ...judgement import Effect
from ..parts import EXACT, Call, Finding
from .findings import JudgeCall, always, asks, only_reads, path_words
from .options import Spec, parse, spec
from .readers import read_with
from .wrappers import run_inside

_PLAIN = re.compile(r"[A-Za-z0-9][\w:.@-]*")
_READING_VERB = re.compile(
    r"(?:get|list|describe|show|view|ls|status|head|lookup|search|info|validate|explain|logs)(?:-[a-z0-9-]+)?"
)


@dataclass(frozen=True, slots=True)
class Tool:
    """``options``: those in front of the subcommand, ``group_options`` those of a group. ``groups``: subcommands that have subcommands
    (``*``: each has one). ``reads``: what is ``auto``, with its harmless options. ``asked``: what may be remembered; ``None`` for all that
    the other tables do not name. ``fetches``: asked, uses the network or installs. ``cleans``: asked, deletes what was built. ``never``:
    asked every time, for the effect. ``runners``: what follows their options is a command. ``risky``: options that run something else.
    ``reading_verbs``: a last subcommand such as ``list`` or ``describe-x`` may be remembered. ``bare``: whether the tool without a
    subcommand may be."""

    options: Spec
    group_options: Spec
    groups: frozenset[str]
    reads: Mapping[str, Spec]
    asked: frozenset[str] | None
    fetches: frozenset[str]
    cleans: frozenset[str]
    never: Mapping[str, Effect]
    runners: Mapping[str, Spec]
    risky: tuple[str, ...]
    reading_verbs: bool
    bare: bool


def tool(
    options: str = "",
    *,
    group_options: str = "",
    groups: str = "",
    reads: Mapping[str, Spec] | None = None,
    asked: str | None = None,
    fetches: str = "",
    cleans: str = "",
    publishes: str = "",
    deletes: str = "",
    opens: str = "",
    runners: Mapping[str, Spec] | None = None,
    risky: str = "",
    reading_verbs: bool = False,
    bare: bool = True,
) -> Tool:
    """Subcommands are separated by blanks, the words of one by ``/``. ``opens``: a place where text is run or a secret is shown."""
    kinds: tuple[tuple[str, Effect], ...] = ((publishes, "publishes"), (deletes, "deletes"), (opens, "opaque"))
    return Tool(
        options=spec(options),
        group_options=spec(group_options or options),
        groups=frozenset(groups.split()),
        reads=reads or {},
        asked=None if asked is None else _phrases(asked),
        fetches=_phrases(fetches),
        cleans=_phrases(cleans),
        never={phrase: effect for text, effect in kinds for phrase in _phrases(text)},
        runners=runners or {},
        risky=tuple(risky.split()),
        reading_verbs=reading_verbs,
        bare=bare,
    )


def _phrases(text: str) -> frozenset[str]:
    return frozenset(phrase.replace("/", " ") for phrase in text.split())


def judge_tool(call: Call, of: Tool, judge: JudgeCall) -> Finding:
    args = call.args[1:] if call.args[:1] and call.args[0].startswith("+") else call.args
    found = parse(of.options, args, to_first_operand=True)
    paths = tuple(dict.fromkeys((*found.reads, *path_words(args))))
    words = found.operands
    phrase, rest = _phrase(of, words)
    known_ahead = not (found.unknown or found.starts or found.follows)
    if not known_ahead:
        # an option whose reach is not known may hide where the subcommand begins
        runs = found.unknown and is_risky(found.unknown, of.risky)
        if any(word in of.never or word in of.runners for word in args) or found.starts or runs:
            return always(
                f"{call.name} {found.starts or found.unknown} may change what this does",
                "opaque",
                grave=True,
                reads=paths,
            )
        return asks(f"{found.unknown or found.follows} of {call.name} may change what it does", EXACT, reads=paths)
    if not words:
        return (
            asks(f"{call.name} runs", call.name, reads=paths)
            if of.bare
            else always(f"{call.name} asks for commands", "waits_input", grave=True)
        )
    if not all(_PLAIN.fullmatch(word) for word in phrase.split(" ")) or phrase.count(" ") > 1:
        return asks(f"{phrase!r} is no plain subcommand of {call.name}", EXACT, reads=paths)
    risky = next((arg for arg in args if is_risky(arg, of.risky)), "")
    if risky:
        return always(
            f"{risky} lets {call.name} run another program", "runs_process", "opaque", grave=True, reads=paths
        )
    return replace_reads(_by_phrase(call, of, phrase, rest, judge), paths)


def is_risky(arg: str, names: tuple[str, ...]) -> bool:
    """Whether ``arg`` is one of the options ``names``, with one dash or two, with a value or not, shortened or not."""
    if not arg.startswith("-") or arg in ("-", "--"):
        return False
    name = arg.lstrip("-").partition("=")[0]
    if arg.startswith("--"):
        return any(
            len(risky) > 1 and (name.startswith(risky) or (bool(name) and risky.startswith(name))) for risky in names
        )
    return any(arg[1:].startswith(risky) for risky in names)


def replace_reads(finding: Finding, paths: tuple[str, ...]) -> Finding:
    return replace(finding, reads=tuple(dict.fromkeys((*finding.reads, *paths))))


def _phrase(of: Tool, words: list[str]) -> tuple[str, tuple[str, ...]]:
    """The subcommand with its own, options in between left out, and the words after it."""
    if not words:
        return "", ()
    first, rest = words[0], words[1:]
    if first not in of.groups and "*" not in of.groups:
        return first, tuple(rest)
    second = parse(of.group_options, tuple(rest), to_first_operand=True)
    if second.unknown or not second.operands:
        return first, tuple(rest)
    return f"{first} {second.operands[0]}", tuple(second.operands[1:])


def _by_phrase(call: Call, of: Tool, phrase: str, rest: tuple[str, ...], judge: JudgeCall) -> Finding:
    rule = f"{call.name} {phrase}"
    first = phrase.partition(" ")[0]
    effect = of.never.get(phrase) or of.never.get(first)
    if effect is not None:
        return always(_NEVER.get(effect, "{rule} is asked each time").format(rule=rule), effect, grave=True)
    if phrase in of.runners:
        return _runner(call, of.runners[phrase], rule, rest, judge)
    if phrase in of.reads:
        found = parse(of.reads[phrase], rest)
        finding = read_with(replace(call, name=rule), of.reads[phrase], found)
        return finding if finding.ruling == "auto" else asks(finding.why, rule, reads=finding.reads)
    if phrase in of.fetches:
        return asks(f"{rule} uses the network", rule, effects=("network", "runs_process"), grave=True)
    if phrase in of.cleans:
        return asks(f"{rule} deletes what was built", rule, effects=("deletes",), grave=True)
    last = phrase.rpartition(" ")[2]
    remembered = of.asked is None or phrase in of.asked or first in of.asked
    if of.reading_verbs:
        deep = (
            [phrase.partition(" ")[2], *(word for word in rest if _PLAIN.fullmatch(word))] if " " in phrase else [last]
        )
        verb = next((word for word in deep if _READING_VERB.fullmatch(word)), None)
        if verb in deep and verb != deep[0]:
            rule = " ".join((rule, *deep[1 : deep.index(verb) + 1]))
        remembered = phrase in (of.asked or ()) or (
            verb is not None and not any(_WRITING_VERB.fullmatch(word) for word in (*deep, *rest))
        )
    if remembered:
        reaches: tuple[Effect, ...] = ("network", "runs_process") if of.reading_verbs else ("runs_process",)
        return asks(f"{rule} runs", rule, effects=reaches, grave=of.reading_verbs)
    return always(f"{rule} is nothing that is known to leave other places as they are", "publishes", grave=True)


_WRITING_VERB = re.compile(
    r"(?:delete|remove|rm|destroy|create|update|set|put|apply|patch|edit|replace|reset|stop|start|terminate|purge|add|deploy|run|exec|"
    r"scale|drain|cordon|import|login|logout|ssh|cp|mv|sync|rb|mb)(?:-[a-z0-9-]+)?"
)
_NEVER: Mapping[Effect, str] = {
    "publishes": "{rule} changes something outside of this machine",
    "deletes": "{rule} deletes",
    "opaque": "{rule} runs or shows what is not known before",
}


_FETCHING = frozenset(
    ("npx", "bunx", "pnpx", "uvx", "npm exec", "npm x", "pnpm dlx", "yarn dlx", "bun x", "uv tool run", "pipx run")
)
"""Runners that fetch a program that is not there, and run it."""


def _runner(call: Call, options: Spec, rule: str, rest: tuple[str, ...], judge: JudgeCall) -> Finding:
    found = parse(options, rest, to_first_operand=True)
    if found.starts:
        text = found.value(found.starts)
        at = rest.index(found.starts) + 1 if found.starts in rest else len(rest)
        text = text or (rest[at] if at < len(rest) else None)
        return always(
            f"{rule} {found.starts} runs a text or decides what is run",
            "runs_code_from_text",
            runs_text=text,
            reads=path_words(rest),
        )
    command = call.words[len(call.words) - len(found.operands) :] if found.operands else ()
    if found.unknown:
        return always(f"{found.unknown} may change what {rule} runs", "opaque", runs=command, reads=path_words(rest))
    if not command:
        return asks(f"{rule} runs nothing", EXACT)
    package = command[0].text or ""
    if package.startswith("@"):
        why = f"{rule} runs the package {package}"
        return asks(why, f"{rule} {package}", grave=rule in _FETCHING, reads=path_words(rest))
    finding = run_inside(call, command, judge, prefix=f"{rule} ")
    if rule in _FETCHING and not _is_here(call, package):
        finding = replace(finding, effects=tuple(dict.fromkeys((*finding.effects, "network"))), grave=True)
    return replace(finding, reads=(*finding.reads, *found.reads))


def _is_here(call: Call, package: str) -> bool:
    """Whether a package is installed in the space, so that it is not fetched."""
    folder = Path(call.folder)
    below = (one for one in (folder, *folder.parents) if one.is_relative_to(call.root))
    return "/" not in package and any((one / "node_modules" / ".bin" / package).exists() for one in below)


def judge_runner(call: Call, options: Spec, judge: JudgeCall) -> Finding:
    """A program that is nothing but a runner: ``npx``, ``uvx``."""
    return _runner(call, options, call.name, call.args, judge)


def version_only(call: Call) -> Finding:
    return only_reads(f"{call.name} {call.args[0]}")
