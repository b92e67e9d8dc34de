"""The reader against bash itself: generated lines, thousands in one bash, must be read as bash reads them."""

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_pernix.agent.policy.shell.parts import For, Group, Node, Opaque, Piece, Redirect, Simple, Word
from jupyter_pernix.agent.policy.shell.reader import LONGEST, read_line
from jupyter_pernix.agent.policy.shell.variables import put_in

WORD_PARTS = [
    "k", "q1", "z", "-", "=", "/", ".", ",", ":", "@", "%", "+", "^", "#", "!", "~", "~/", "]", "}", "{", "{k", "kq=", "\\k", "\\\\",
    "\\'", '\\"', "\\ ", "\\$", "\\\n", "\\;", "\\#", "\\~", "\\n", "''", "'k q'", "'k\\'", "'\"'", "'$k'", "'\n'", "'#'", '""', '"k q"',
    '"\\$"', '"\\""', '"\\k"', '"\\\n"', '"\\\\"', '"\'"', '"#;|"', '"$"', '"$PWD"', '"${HOME}x"', "$PWD", "${PWD}", "$HOME/k", "$'k'",
    "$'\\x6b'", "$'\\153q'", "$'\\u006b'", "$'\\n'", "$'\\''", "$'\\\\'", "$'\\q'", "$'\\x'", "$'\\1z'", '$"k q"', "$'", "'", '"', "$",
    "$=", "$/", "$\\\nPWD", "é", "日", "a\\\nb", "PATH=~", "x=~/k:~", "~+", "$'\\cz'", "$'\\x6b\\x'", '"a`"', "'`'", "1", "2",
]  # fmt: skip
BETWEEN = [" ", " ", " ", "  ", "\t", " \\\n", " # k\n", "\n", ";", " ;", "&&", "|", "(", ")", "<", ">"]

COMMANDS = [
    "k1",
    "k2 q",
    "k3 'a b'",
    'k4 "$PWD"',
    "k5=1 k6",
    "k7 #z",
    "'k8' z",
    "k\\9",
    "k10 >/dev/null",
    "2>/dev/null k11",
    "k12 2>&1",
]
JOINTS = [
    " ; ", ";", "\n", " && ", "&&\n", " || ", " | ", "|&", " & ", " ", "", "( ", " )", "{ ", "; }", "! ", "if ", "; then ", "; else ", "; elif ",
    "; fi", "while ! ", "; do ", "; done", "for z in 1 2", "\ndo ", "\nfi", "#c", " #c\n", "\\\n", " \\\n", "time ", "k14() ", "case q in q) ",
    ";; ", " esac", "[[ -n q ]]", "((1))", "$(k15)", "`k16`", "<(k17)", "${z:-$(k18)}", '"$(k19)"', "coproc ", "function k20 ", "<<< z", "<<E\n",
    "\nE\n", "<<'E'\n", "$((1+$(k21)))", "until ", "select z in q", "a=(1 $(k22))", "a[$(k23)]=1 ", "'", '"', "&> z ", ">| z ", "$'\\'", "then ",
]  # fmt: skip

ARGUMENTS_OF_EACH = r"""
k() { printf '%s\0' "$#" "$@"; }
while IFS= read -r -d '' line; do
    eval "k $line" </dev/null 2>/dev/null
    printf '%s\1' "$?"
done
"""
COMMANDS_OF_EACH = r"""
command_not_found_handle() { printf '%s\0' "$1" >&9; return $((RANDOM % 2)); }
while IFS= read -r -d '' line; do
    n=$((n + 1)); export n
    printf '== \0' >&9
    if (eval "unreached() { :
$line
}") 2>/dev/null </dev/null; then printf 'valid\0' >&9; else printf 'invalid\0' >&9; fi
    (RANDOM=$n; eval "$line"; wait) >/dev/null 2>&1 </dev/null
done
"""


def in_bash(script: str, lines: list[str], folder: Path) -> bytes:
    """What one bash says of all lines."""
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", script],
        input=b"".join(line.encode() + b"\0" for line in lines),
        capture_output=True,
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": "/home/kq", "LC_ALL": "C.UTF-8"},
        timeout=100,
        check=False,
    )
    return done.stdout


def random_words(source: random.Random) -> str:
    words = ["".join(source.choices(WORD_PARTS, k=source.randint(1, 4))) for _ in range(source.randint(1, 3))]
    return "".join(word + (source.choice(BETWEEN) if source.random() < 0.3 else " ") for word in words).rstrip(" ")


def read_arguments(line: str, variables: dict[str, str]) -> list[str] | None:
    """The words behind the first, where the reader knows them all."""
    node = read_line(line)
    if not isinstance(node, Simple) or node.redirects or node.assignments:
        return None
    known = [put_in(word, variables) for word in node.words[1:]]
    if any(one.unknown or one.word.glob for one in known):
        return None
    return [one.word.text or "" for one in known]


def test_tilde_before_a_colon_is_only_known_in_a_plain_assignment():
    variables = {"PWD": "/p", "HOME": "/h"}
    assert read_arguments("k a~:x x=~:~/y", variables) == ["a~:x", "x=/h:/h/y"]
    assert all(read_arguments(line, variables) is None for line in ("k ~+:$/x", "k ~:x", "k ~:'x'", "k x=~:'y'"))


@pytest.mark.parametrize("seed", range(3))
def test_words_are_decoded_as_bash_decodes_them(tmp_path: Path, seed: int):
    source = random.Random(seed)
    variables = {"PWD": str(tmp_path), "HOME": "/home/kq"}
    lines = [random_words(source) for _ in range(6000)]
    checked = [(line, read) for line in lines if (read := read_arguments(f"k {line}", variables)) is not None][:1200]
    said = in_bash(ARGUMENTS_OF_EACH, [line for line, _ in checked], tmp_path).decode().split("\1")[:-1]
    assert len(said) == len(checked) >= 900
    wrong: list[str] = []
    for (line, read), answer in zip(checked, said, strict=True):
        words = answer.split("\0")
        if words != [str(len(read)), *read, "0"]:
            wrong.append(f"{line!r}: bash {words}, read {read}")
    assert wrong == []


def random_structure(source: random.Random) -> str:
    out = source.choice(COMMANDS)
    for _ in range(source.randint(1, 6)):
        out += source.choice(JOINTS)
        if source.random() < 0.8:
            out += source.choice(COMMANDS)
    return source.choice(["", "", "( ", "{ ", "if ", "! ", "for z in 1 2; do "]) + out


def programs(node: Node) -> Iterator[str]:
    """Every program that is seen in a line, also where it is only perhaps run."""
    match node:
        case Simple():
            for word in (*node.words, *(one.value for one in node.assignments)):
                for piece in word.pieces:
                    for inner in piece.inner:
                        yield from programs(inner)
            yield from in_redirects(node.redirects)
            if node.words:
                yield node.words[0].text or ""
        case Group():
            for part in node.parts:
                yield from programs(part)
            yield from in_redirects(node.redirects)
        case For():
            for inner in (node.body, *(inner for word in node.words for piece in word.pieces for inner in piece.inner)):
                yield from programs(inner)
        case Opaque():
            for part in node.inner:
                yield from programs(part)


def in_redirects(redirects: tuple[Redirect, ...]) -> Iterator[str]:
    for redirect in redirects:
        for piece in redirect.target.pieces:
            for inner in piece.inner:
                yield from programs(inner)


def is_whole(node: Node) -> bool:
    """Whether nothing in it was given up."""
    match node:
        case Opaque():
            return False
        case Group():
            return all(is_whole(part) for part in node.parts)
        case For():
            return is_whole(node.body)
        case Simple():
            words = (*node.words, *(one.value for one in node.assignments), *(one.target for one in node.redirects))
            return not any(piece.kind == "unknown" for word in words for piece in word.pieces)


@pytest.mark.parametrize("seed", range(3))
def test_every_command_that_bash_runs_was_read(tmp_path: Path, seed: int):
    source = random.Random(1000 + seed)
    lines = [random_structure(source) for _ in range(900)]
    log = tmp_path / "log"
    in_bash(f"exec 9>>{log}\n{COMMANDS_OF_EACH}", lines, tmp_path)
    answers = log.read_text().split("== \0")[1:]
    assert len(answers) == len(lines)
    wrong: list[str] = []
    whole = 0
    for line, answer in zip(lines, answers, strict=True):
        ran = answer.split("\0")[:-1]
        node = read_line(line)
        whole += is_whole(node)
        if is_whole(node):
            unseen = {name for name in ran if name not in ("valid", "invalid")} - set(programs(node))
            unseen.discard("k17")  # a process substitution of the line before may still run
            if ("invalid" in ran and "<<" not in line) or unseen:
                wrong.append(f"{line!r}: {ran}, read {sorted(set(programs(node)))}")
    assert wrong == []
    assert whole > 60


def simple(line: str) -> list[str | None]:
    node = read_line(line)
    assert isinstance(node, Simple)
    return [word.text for word in node.words]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("r''m \"x\"y", ["rm", "xy"]),
        ("$'\\x72\\u006d' $'a\\tb'", ["rm", "a\tb"]),
        ("mak\\\ne x#y #z", ["make", "x#y"]),
        ("a $'\\u00e9'", ["a", None]),
        ("a $'x\\0y'", ["a", None]),
        ("a $'\\e[2J'", ["a", None]),
        ("a {b,c} {d..f} {g} {}", ["a", None, None, "{g}", "{}"]),
        ("a $b `c` $(d) ${e} $((1)) <(f)", ["a", None, None, None, None, None, None]),
    ],
)
def test_words_are_known_or_not(line: str, words: list[str | None]):
    assert simple(line) == words


def test_quote_that_ends_at_an_apostrophe_is_a_doubt():
    node = read_line("echo 'it's")
    assert isinstance(node, Group)
    assert node.parts[1] == Opaque("a quote ends where an apostrophe may be meant")
    assert is_whole(read_line("echo 'it'x's' 'a b'"))


@pytest.mark.parametrize(
    "line",
    [
        ";ls", "ls;;", "ls &&", "| ls", "ls | | wc", "(ls", "ls)", "{ ls", "ls; }", "if ls; fi", "for f in a; ls; done", "echo 'x", 'echo "x',
        "echo `x", "echo $(x", "echo ${x", "ls >", "ls > > x", "ls \\", "a b()", "ls (x)", "a=(1)", "a[0]=1", "fi", "done; ls", "! ", "cat <<E",
        "a >#b", "> \\\n> x", "ls &\\\n& rm", "while ls; do done", "select", "((", "[[ a", "echo \0",
    ],
)  # fmt: skip
def test_what_is_no_line_is_given_up_as_a_whole(line: str):
    node = read_line(line)
    assert isinstance(node, Opaque)
    assert node.what.startswith(("it ", "an operator"))


@pytest.mark.parametrize(
    ("line", "inner"),
    [
        ("f() { rm x; }", ["rm"]),
        ("function f { rm x; }", ["rm"]),
        ("case a in b|c) rm x;; (d) ls;; esac", ["rm", "ls"]),
        ("select f in a; do rm $f; done", ["rm"]),
        ("coproc N { rm x; }", ["rm"]),
        ("[[ -n $(rm x) ]]", ["rm"]),
        ("(( $(rm x) ))", ["rm"]),
        ("for ((;;)); do rm x; done", ["rm"]),
        ("echo $(rm x) `ls $(wc)`", ["rm", "ls", "wc", "echo"]),
        ('echo "a ${b:-$(rm x)}"', ["rm", "echo"]),
        ("cat <(rm x) > >(ls)", ["rm", "ls", "cat"]),
        ("cat <<E\n$(rm x)\nE\nls", ["cat", "ls", "rm"]),
        ('cat <<E\nit\'s "$(r"m" x)\nE\nls', ["cat", "ls", "rm"]),
    ],
)
def test_commands_in_what_is_not_taken_apart_are_seen(line: str, inner: list[str]):
    seen = list(programs(read_line(line)))
    assert set(inner) <= set(seen), seen


@pytest.mark.parametrize(
    "text", ["$((", "$(", "(", "\"$(", "${", "{ ", "<(", "if ", "case x in ", "[[ ", "((", "! ", "a && b || ", "f() ", "coproc "]
)  # fmt: skip
@pytest.mark.parametrize("times", [40, 10_000])
def test_deep_nesting_is_given_up(text: str, times: int):
    assert isinstance(read_line(text * times), Opaque)


def test_line_of_the_greatest_length_is_read():
    words = "echo " + "a " * (LONGEST // 2 - 3)
    assert isinstance(read_line(words), Simple)
    assert isinstance(read_line(words + "a" * LONGEST), Opaque)


def test_word_keeps_what_it_was_made_of():
    node = read_line("k a\"$b\"~'c'")
    assert isinstance(node, Simple)
    assert node.words[1] == Word(
        text=None,
        raw="a\"$b\"~'c'",
        plain=False,
        pieces=(
            Piece("text", "a"),
            Piece("text", "", True),
            Piece("variable", "b", True),
            Piece("text", "~"),
            Piece("text", "c", True),
        ),
    )
