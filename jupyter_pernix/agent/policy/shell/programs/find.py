"""find and xargs: what they run for each file is judged in their place."""

from dataclasses import replace

from ..parts import EXACT, Call, Finding, Word
from .findings import JudgeCall, always, as_folder, asks, inner, only_reads, strictest_of
from .links import stays
from .options import parse, spec, word_set

_TESTS_BARE = word_set("""-daystart -depth -d -mount -xdev -noleaf -warn -nowarn -ignore_readdir_race -empty
    -executable -readable -writable -nogroup -nouser
    -true -false -prune -quit -print -print0 -ls -a -o -and -or -not ! ( ) , -nofollow -x""")
_TESTS_VALUED = word_set("""-maxdepth -mindepth -regextype -amin -cmin -mmin -atime -ctime -mtime -fstype -gid -group
    -ilname -iname -inum -ipath -iregex
    -iwholename -links -lname -name -path -perm -regex -size -type -uid -used -user -wholename -xtype -context -printf -newermt -newerat
    -newerct -since""")
_TESTS_FILE = word_set("-newer -anewer -cnewer -samefile -neweraa -neweram -newercm -newermm -newerBB")
_WRITES = word_set("-fprint -fprint0 -fls -fprintf")
_RUNS = word_set("-exec -execdir -ok -okdir")

_XARGS = spec(
    """0 r t p x o n: L: P: s: I: d: E: a< J: R: S: i? l? e? null no-run-if-empty verbose interactive exit max-args: max-lines? max-procs:
    max-chars: replace? delimiter: eof? arg-file< open-tty process-slot-var:"""
)


def judge_find(call: Call, judge: JudgeCall) -> Finding:
    words = list(call.words[1:])
    while words and words[0].text in ("-P", "-H"):
        words.pop(0)
    if (
        words
        and (words[0].text or "").startswith(("-L", "-D", "-O", "-f", "-E", "-X", "-s"))
        and words[0].text not in _TESTS_VALUED
    ):
        return always(
            "find follows links or reads in a way that is not known",
            "opaque",
            reads=[word.text or "" for word in words],
        )
    folders: list[str] = []
    while words and not (words[0].text or "").startswith(("-", "(", "!")):
        folders.append(words.pop(0).text or "")
    finding, runs, plain_files, patterns = _expression(words)
    finding = replace(finding, reads=(*(map(as_folder, folders or ["."])), *finding.reads))
    if not runs or finding.ruling == "ask_always":
        return replace(finding, runs=runs[0] if runs else ())
    for command in runs:
        called = inner(call, command)
        found = judge(called) if called else always("find runs what cannot be taken apart", "opaque")
        finding = strictest_of(finding, found)
    if finding.ruling == "ask":
        finding = replace(finding, rule=EXACT)
    elif finding.ruling == "auto" and not (plain_files or stays(call, folders or ["."], patterns=patterns)):
        finding = strictest_of(finding, asks("A link that find comes by may lead out of the space", EXACT))
    if len(runs) == 1:
        return replace(finding, runs=runs[0])
    return replace(
        finding, runs_text="\n".join(" ".join(_quoted(word.text or "") for word in command) for command in runs)
    )


def _expression(words: list[Word]) -> tuple[Finding, list[tuple[Word, ...]], bool, tuple[str, ...]]:
    """The finding of the words after the folders, the commands in them, whether only files that are no links are found, and the patterns
    that every name found matches."""
    reads: list[str] = []
    writes: list[str] = []
    runs: list[tuple[Word, ...]] = []
    strict: Finding | None = None
    joined = not any(word.text in ("-o", "-or", ",", "!", "-not", "-follow") for word in words)
    types: list[str] = []
    patterns: list[str] = []
    while words:
        word = words.pop(0).text or ""
        if word in _TESTS_VALUED:
            value = words.pop(0).text if words else ""
            types += [value or ""] if word == "-type" and not runs else []
            patterns += [value or ""] if word == "-name" and not runs and "\\" not in (value or "") else []
        elif word in _TESTS_FILE:
            reads.append(words.pop(0).text or "" if words else "")
        elif word in _WRITES:
            writes.append(words.pop(0).text or "" if words else "")
            words[:1] = [] if word == "-fprintf" else words[:1]
        elif word in _RUNS:
            command = _command(words)
            if command is None:
                strict = always("find runs what cannot be taken apart", "opaque")
                break
            runs.append(command)
        elif word == "-delete":
            strict = strict or asks("find deletes what it finds", EXACT, effects=("deletes",), grave=True)
        elif word not in _TESTS_BARE:
            paths = [word, *(each.text or "" for each in words)]
            strict = always(f"{word!r} is nothing of find that is known to only read", "opaque", reads=paths)
            break
    if writes and strict is None:
        strict = asks(f"find writes {writes[0]!r} here", EXACT, effects=("writes_file",))
    finding = strict or only_reads("find")
    finding = replace(finding, reads=(*finding.reads, *reads), writes=tuple(writes))
    return finding, runs, joined and types in (["f"], ["d"]), tuple(patterns) if joined else ()


def _command(words: list[Word]) -> tuple[Word, ...] | None:
    """Takes the command of an ``-exec`` off ``words``, up to ``;`` or ``{} +``."""
    command: list[Word] = []
    while words:
        word = words.pop(0)
        if word.text == ";" or (word.text == "+" and command and command[-1].text == "{}"):
            known = command and "{}" not in (command[0].text or "")
            return tuple(command) if known else None
        command.append(word)
    return None


def judge_xargs(call: Call, judge: JudgeCall) -> Finding:
    found = parse(_XARGS, call.args, to_first_operand=True)
    count = len(found.operands)
    command = call.words[len(call.words) - count :] if count else (Word("echo", "echo"),)
    called = inner(call, command)
    if called is None or found.unknown or found.starts:
        why = "The names that xargs gives to a program are not known"
        return always(why, "opaque", reads=found.reads, runs=command)
    judged = judge(called)
    why = f"The words that xargs gives to {called.name} are not known"
    if judged.ruling == "auto" and called.name in _TAKE_ANY:
        finding = asks(why, f"xargs {called.name}", reads=(*found.reads, *judged.reads))
    elif (
        judged.ruling == "ask"
        and judged.rule != EXACT
        and " " in judged.rule
        and not judged.grave
        and not judged.writes
    ):
        finding = asks(why, f"xargs {judged.rule}", reads=(*found.reads, *judged.reads), effects=judged.effects)
    else:
        finding = strictest_of(always(why, "opaque", reads=found.reads), judged)
    return replace(finding, runs=command, unknown_operands=True)


_TAKE_ANY = word_set("""cat head tail wc grep egrep fgrep ls stat file md5sum sha1sum sha256sum sha512sum cut sort
    uniq nl strings basename dirname realpath
    readlink echo printf du test column od rev tac cmp diff""")
"""Readers to which no word of a file can give a program to run."""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
