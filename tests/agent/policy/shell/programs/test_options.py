"""Options are read as getopt reads them, and none that writes or runs something is taken for harmless."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from jupyter_pernix.agent.policy.shell.parts import Call, Word
from jupyter_pernix.agent.policy.shell.programs.options import parse, spec
from jupyter_pernix.agent.policy.shell.programs.readers import READERS
from jupyter_pernix.agent.policy.shell.programs.table import judge_program

OPTION = re.compile(r"^\s{0,10}(?P<options>-{1,2}\S.*?)(?:\s{2,}|\t|$)(?P<text>.*)$")
SUSPICIOUS = re.compile(
    r"\bwrite (?:result|output|to)|\bexecut|\bin.place\b|\bset the (?:clock|time|name)\b|\b[Cc]ompile\b"
)
TAKES_FILE = re.compile(r"[= ]\[?(?:FILE|F|PROG|COMMAND|DIR)\b")
HARMLESS_THOUGH = {("diff", "S"): "the name at which to begin, no file that is opened"}

SPEC = spec("a b n: o> f< color? x! t~ all name: output> file< colour? run! tail~", numeric=True)


def test_bundles_and_values_are_read_as_getopt_does():
    found = parse(SPEC, ("-abn5", "one", "-n", "6", "--name=x", "--name", "y", "--color", "-7", "--", "-z"))
    assert found.given == [
        ("-a", None),
        ("-b", None),
        ("-n", "5"),
        ("-n", "6"),
        ("--name", "x"),
        ("--name", "y"),
        ("--color", None),
    ]
    assert (found.operands, found.unknown, found.starts) == (["one", "-z"], "", "")


@pytest.mark.parametrize("given", ["-oout", "-aoout", "--output=out"])
def test_glued_value_of_a_writing_option_is_written(given: str):
    assert parse(SPEC, (given, "in")).writes == ["out"]


@pytest.mark.parametrize("given", ["-o", "-ao", "--output"])
def test_next_word_of_a_writing_option_is_written(given: str):
    found = parse(SPEC, (given, "out", "in"))
    assert (found.writes, found.operands) == (["out"], ["in"])


def test_shortened_option_is_never_harmless_but_its_file_is_seen():
    found = parse(SPEC, ("--outp=out",))
    assert (found.unknown, "out" in found.writes) == ("--outp", True)
    assert parse(SPEC, ("--al",)).unknown == "--al"
    assert "out" in parse(SPEC, ("--outp", "out")).writes


@pytest.mark.parametrize("words", [("-z",), ("-az",), ("--zap",), ("--all=1",), ("-n",), ("--name",), ("--outp",)])
def test_what_is_not_listed_is_unknown(words: tuple[str, ...]):
    assert parse(SPEC, words).unknown


def test_file_behind_an_operand_counts_as_read_where_options_may_have_ended():
    assert parse(SPEC, ("in", "-n", "/etc/passwd")).reads == ["/etc/passwd"]


@pytest.mark.parametrize("name", [name for name in sorted(READERS) if shutil.which(name)])
def test_no_option_whose_help_speaks_of_writing_or_running_is_harmless(name: str):
    told = subprocess.run(
        [name, "--help"], capture_output=True, text=True, timeout=10, stdin=subprocess.DEVNULL, check=False
    )
    wrong: list[str] = []
    for line in (told.stdout + told.stderr).splitlines():
        match = OPTION.match(line)
        if match is None or not (SUSPICIOUS.search(match["text"]) or TAKES_FILE.search(match["options"])):
            continue
        for option in re.findall(r"(?<![\w-])(-{1,2}[A-Za-z0-9][\w-]*)", match["options"]):
            kinds = READERS[name].long if option.startswith("--") else READERS[name].short
            letters = option.lstrip("-")
            if kinds.get(letters) in ("", ":", "?") and (name, letters) not in HARMLESS_THOUGH:
                wrong.append(line.strip())
    assert not wrong


def spellings(name: str, harmless: list[str]) -> list[tuple[str, ...]]:
    """The ways to write an option: on its own, shortened, in a bundle, with its value glued or apart, behind operands."""
    ahead = harmless[0] if harmless else ""
    if len(name) == 1:
        forms = [(f"-{name}x",), (f"-{name}", "x"), (f"-{name}",)]
        forms += [(f"-{ahead}{name}x",), (f"-{ahead}{name}", "x")] if ahead else []
    else:
        forms = [(f"--{name[:end]}=x",) for end in range(1, len(name) + 1)]
        forms += [(f"--{name[:end]}", "x") for end in range(1, len(name) + 1)]
    return [*forms, *(("list.txt", *form) for form in forms), *((*form, "--", "list.txt") for form in forms)]


@pytest.mark.parametrize("name", sorted(READERS))
def test_option_that_does_more_is_seen_in_each_of_its_spellings(name: str, tmp_path: Path):
    of = READERS[name]
    flags = [letter for letter, kind in of.short.items() if kind == "" and letter.isalpha()]
    more = [
        (option, kind) for table in (of.short, of.long) for option, kind in table.items() if kind in (">", "!", "~")
    ]
    read = {long for long, kind in of.long.items() if kind in ("", ":", "?", "<")}
    missed: list[tuple[str, ...]] = []
    for option, _ in [*more, ("zz-unlisted", "")]:
        for words in spellings(option, flags):
            if any(word.startswith("--") and word[2:].partition("=")[0] in read for word in words):
                continue
            call = Call(
                name=name,
                words=tuple(Word(word, word) for word in (name, *words)),
                folder=str(tmp_path),
                root=str(tmp_path),
                home=str(tmp_path.parent),
            )
            if judge_program(call).ruling == "auto":
                missed.append(words)
    assert not missed
