"""Builders that are given targets: the rule names every target, since each may do anything."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..parts import EXACT, Call, Finding
from .findings import always, asks, path_words
from .options import Spec, parse, spec
from .tools import is_risky


@dataclass(frozen=True, slots=True)
class Builder:
    options: Spec
    publishes: frozenset[str]
    cleans: frozenset[str]
    risky: tuple[str, ...]


def _builder(options: str, *, publishes: str = "", cleans: str = "", risky: str = "") -> Builder:
    return Builder(spec(options, "text"), frozenset(publishes.split()), frozenset(cleans.split()), tuple(risky.split()))


_MAKE = _builder(
    """B i k n q s S t w b m d p j? l? O? always-make ignore-errors keep-going dry-run just-print recon question silent quiet no-keep-going
    touch print-directory no-print-directory jobs? load-average? output-sync? debug? trace warn-undefined-variables no-builtin-rules r R
    no-builtin-variables C~ directory~ f~ file~ makefile~ o: W: what-if: old-file: I~ include-dir~ e! environment-overrides! E! eval!""",
)
_MAVEN = _builder(
    "q B o U e X T: P: f~ D? am pl~ quiet batch-mode offline fail-fast threads: activate-profiles: projects: also-make errors",
    publishes="deploy release:perform release:prepare site-deploy",
    cleans="clean",
)
_GRADLE = _builder(
    "q i s S x: P? D? p~ no-daemon offline quiet info stacktrace parallel continue tests: rerun-tasks console: warning-mode:",
    publishes="publish uploadArchives publishToSonatype publishPlugins closeAndReleaseRepository",
    cleans="clean cleanBuildCache",
    risky="init-script I",
)
BUILDERS: Mapping[str, Builder] = {
    "make": _MAKE,
    "gmake": _MAKE,
    "just": _builder(
        "q n l dry-run quiet list summary verbose v f~ justfile~ d~ working-directory~ c! command! shell! set~ e edit!"
    ),
    "task": _builder("s v l n silent verbose list dry parallel p t~ d~ taskfile~ dir~"),
    "rake": _builder("q s n t T quiet silent dry-run trace tasks j? m f~ rakefile~ e! E! p! r! I! require! execute!"),
    "invoke": _builder("l list e echo D: c~ r~"),
    "ninja": _builder("v n j: k: l: C~ f~ t~ d: quiet"),
    "ant": _builder("q v quiet verbose f~ D?"),
    "mvn": _MAVEN,
    "gradle": _GRADLE,
}
_ASSIGNMENT = re.compile(r"([A-Za-z_.][\w.]*)\s*[:?+!]{0,3}=(.*)", re.DOTALL)
_MAKE_DECIDES = re.compile(r"\.?SHELL(?:FLAGS)?|MAKE\w*|PATH|LD_\w+|VPATH|\.\w+|\w*(?:_CMD|_COMMAND)")
_TARGET = re.compile(r"[A-Za-z0-9_][\w.:/%@-]*")


def judge_builder(call: Call) -> Finding:
    of = BUILDERS[call.name]
    found = parse(of.options, call.args)
    paths = path_words(call.args)
    if found.starts or any(is_risky(arg, of.risky) for arg in call.args):
        return always(f"{call.name} is given text or a file to run besides", "runs_code_from_text", reads=paths)
    assigned = [match for word in found.operands if (match := _ASSIGNMENT.fullmatch(word))]
    if any(_MAKE_DECIDES.fullmatch(match[1]) or re.search(r"[$`|;&<>]", match[2]) for match in assigned):
        return always(f"{call.name} is told which programs to run", "runs_code_from_text", reads=paths)
    count = found.has("-j", "-l")  # a number behind these belongs to them
    targets = [word for word in found.operands if not (_ASSIGNMENT.fullmatch(word) or (count and word.isdecimal()))]
    if of.publishes.intersection(_task(target) for target in targets):
        return always(f"{call.name} publishes", "publishes", grave=True, reads=paths)
    rule = " ".join((call.name, *targets))
    if found.unknown or found.follows or assigned or not all(_TARGET.fullmatch(target) for target in targets):
        rule = EXACT
    if of.cleans.intersection(_task(target) for target in targets):
        return asks(f"{call.name} deletes what was built", rule, effects=("deletes",), grave=True, reads=paths)
    return asks(f"{call.name} runs what its file says", rule, effects=("runs_code_from_file",), reads=paths)


def _task(target: str) -> str:
    """``:app:publish`` is ``publish``; a goal of a plugin stays as it is."""
    return target.rpartition(":")[2] if target.startswith(":") or target.count(":") > 1 else target
