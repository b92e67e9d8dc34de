"""Programs that run another one given as their words: what that one does is judged in their place, under its own rule, never ``auto``."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from ...judgement import Judgement
from ..parts import EXACT, Assignment, Call, Finding, Word
from ..variables import Known, judge_assignment
from .findings import JudgeCall, always, asks, inner, strictest_of
from .options import Spec, parse, spec, word_set


@dataclass(frozen=True, slots=True)
class Wrapper:
    """``positions``: words before the command."""

    options: Spec
    positions: int = 0


WRAPPERS = {
    "timeout": Wrapper(spec("s: k: v f p signal: kill-after: preserve-status foreground verbose"), positions=1),
    "gtimeout": Wrapper(spec("s: k: v f p signal: kill-after: preserve-status foreground verbose"), positions=1),
    "nice": Wrapper(spec("n: adjustment:", numeric=True)),
    "nohup": Wrapper(spec("")),
    "stdbuf": Wrapper(spec("i: o: e: input: output: error:")),
    "time": Wrapper(spec("p v f: o> a q format: output> append verbose portability quiet")),
    "gtime": Wrapper(spec("p v f: o> a q format: output> append verbose portability quiet")),
    "ionice": Wrapper(spec("c: n: t p! P! u! class: classdata: ignore pid! pgid! uid!")),
    "setsid": Wrapper(spec("c w f! ctty wait fork!")),
    "command": Wrapper(spec("p")),
    "builtin": Wrapper(spec("")),
    "exec": Wrapper(spec("c l a!")),
    "chrt": Wrapper(
        spec("b f i o r v R batch fifo idle other rr reset-on-fork verbose p! pid! a! m max T: P: D:"), positions=1
    ),
    "taskset": Wrapper(spec("c cpu-list p! pid! a!"), positions=1),
    "numactl": Wrapper(
        spec(
            """N: m: C: i: p: l cpunodebind: membind: physcpubind: interleave: preferred: localalloc all hardware! show!""",
        )
    ),
    "caffeinate": Wrapper(spec("d i m s u t: w!")),
    "unbuffer": Wrapper(spec("")),
    "catchsegv": Wrapper(spec("")),
    "busybox": Wrapper(spec("")),
    "toybox": Wrapper(spec("")),
}

OPAQUE = word_set("""strace ltrace gdb lldb perf valgrind flock watch systemd-run script scriptreplay parallel entr
    xvfb-run dbus-run-session
    firejail bwrap proot fakeroot faketime rlwrap expect screen tmux daemonize start-stop-daemon at batch inotifywait watchexec nodemon
    hyperfine cgexec prlimit setarch linux64 linux32 trickle proxychains proxychains4 torsocks torify socat dbus-launch nix-shell direnv
    hatchet ts-node-dev pm2 forever supervisord runit chronic ifne sem eatmydata setpriv coproc""")
"""They run what they are given in a way that is not taken apart: traced, repeated, later, or as text."""

PRIVILEGE = word_set(
    "sudo doas pkexec runuser su gosu su-exec chroot unshare nsenter capsh run0 sg newgrp runas gksudo kdesu"
)

_ENV = spec(
    """i 0 v u: C< S! P! ignore-environment null unset: chdir< split-string! debug argv0! block-signal? default-signal? ignore-signal?
    list-signal-handling""",
)

KnowsProgram = Callable[[str], bool]


def judge_wrapper(call: Call, judge: JudgeCall) -> Finding:
    wrapper = WRAPPERS[call.name]
    found = parse(wrapper.options, call.args, to_first_operand=True)
    rest = len(found.operands) - wrapper.positions
    command = call.words[len(call.words) - rest :] if rest > 0 else ()
    if found.starts or found.unknown:
        name = found.starts or found.unknown
        return _seen(
            always(f"{call.name} {name} acts in a way that is not taken apart", "opaque", reads=found.reads),
            command,
            judge,
            call,
        )
    finding = run_inside(call, command, judge)
    if found.writes:
        finding = strictest_of(finding, asks(f"{call.name} writes {found.writes[0]!r}", EXACT, writes=found.writes))
        finding = replace(finding, rule=EXACT if finding.ruling == "ask" else "")
    return replace(finding, reads=(*finding.reads, *found.reads))


def judge_env(call: Call, judge: JudgeCall) -> Finding:
    found = parse(_ENV, call.args, to_first_operand=True)
    words = list(call.words[len(call.words) - len(found.operands) :]) if found.operands else []
    assigned: list[Judgement] = []
    while words and (match := re.match(r"([A-Za-z_]\w*)=(.*)", words[0].text or "", re.DOTALL)):
        value = Word(match[2], match[2])
        one = Assignment(match[1], value)
        assigned.append(judge_assignment(one, Known(value), {}, exported=True))
        del words[0]
    if found.starts or found.unknown:
        text = found.value("-S", "--split-string")
        split = [text] if text else call.args[1:2] if found.starts else []
        tail = " ".join(word.raw for word in words)
        runs = " ".join([*split, tail]).strip() or None
        return always(
            f"env {found.starts or found.unknown} makes a command out of a text",
            "opaque",
            reads=found.reads,
            runs_text=runs,
        )
    if not words:
        return always("env prints variables of the environment, which may hold secrets", "reads_env")
    finding = run_inside(call, tuple(words), judge)
    for one in assigned:
        if one.ruling != "auto":
            strange = always(one.why, *one.effects, grave=one.grave, runs=finding.runs)
            finding = strictest_of(strange, finding)
    if found.has("-C", "--chdir"):
        finding = strictest_of(always("env runs this in another folder", "changes_cwd", runs=finding.runs), finding)
    return replace(finding, reads=(*finding.reads, *found.reads))


def run_inside(call: Call, command: tuple[Word, ...], judge: JudgeCall, *, prefix: str = "") -> Finding:
    """The finding of ``command`` as run by ``call``: its own, never ``auto``; its rule with ``prefix`` in front."""
    called = inner(call, command)
    if called is None:
        return always(f"What {call.name} runs cannot be taken apart", "opaque", runs=command)
    found = judge(called)
    rule = EXACT if found.rule == EXACT else f"{prefix}{found.rule or called.name}"
    finding = asks(f"{call.name} runs {called.name}", rule, reads=found.reads, writes=found.writes, effects=())
    if found.ruling != "auto":
        finding = replace(strictest_of(finding, found), rule=rule if found.ruling == "ask" else "", why=found.why)
    return replace(finding, runs=command, runs_text=found.runs_text)


def judge_opaque(call: Call, judge: JudgeCall, knows: KnowsProgram) -> Finding:
    finding = always(f"{call.name} runs other programs in a way that is not taken apart", "runs_process", "opaque")
    return _with_seen(finding, call, judge, knows)


def judge_privilege(call: Call, judge: JudgeCall, knows: KnowsProgram) -> Finding:
    finding = always(f"{call.name} runs a program with the rights of another user", "privilege", grave=True)
    return _with_seen(finding, call, judge, knows)


def known_from(call: Call, knows: KnowsProgram) -> tuple[Word, ...]:
    """The words from the first one on that names a known program; empty if none does."""
    for place, word in enumerate(call.words[1:], start=1):
        if knows((word.text or "").rpartition("/")[2]):
            return call.words[place:]
    return ()


def _with_seen(finding: Finding, call: Call, judge: JudgeCall, knows: KnowsProgram) -> Finding:
    command = known_from(call, knows)
    if not command:
        finding = replace(finding, runs_text=_known_text(call, knows))
    return _seen(finding, command, judge, call)


def _known_text(call: Call, knows: KnowsProgram) -> str | None:
    """What one word of the call holds from a known program on: ``script -c 'rm x'``."""
    for arg in call.args:
        words = arg.split()
        place = next((place for place, word in enumerate(words) if knows(word.rpartition("/")[2])), None)
        if place is not None and len(words) > 1:
            return " ".join(words[place:])
    return None


def _seen(finding: Finding, command: tuple[Word, ...], judge: JudgeCall, call: Call) -> Finding:
    """``finding`` with what is known of the command within it."""
    called = inner(call, command)
    if called is None:
        return replace(finding, runs=command)
    return replace(strictest_of(finding, judge(called)), runs=command)
