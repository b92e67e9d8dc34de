"""Deny rules see every command that a line might run, however it is written."""

import random

import pytest

from .conftest import World
from .unsafe_lines import around, beside, line, looped, prefixed, substituted


@pytest.mark.parametrize(
    ("rule", "text", "denied"),
    [
        ("rm -rf", "rm --recursive --force x", True),
        ("rm -rf", "rm -R -f x", True),
        ("rm -rf", "rm x -r -- -f", False),
        ("rm -rf", "rm --rec --f x", True),
        ("rm -rf", "rm -r x", False),
        ("rm -rf", "rmdir -rf x", False),
        ("git push", "git -c a=b push", True),
        ("git push", "git --git-dir x push", True),
        ("git push", "git --no-pager push", True),
        ("git push", "git log push", False),
        ("git push --force", "git push origin --force", True),
        ("git push --force", "git push -f", True),
        ("git push --force", "git push", False),
        ("kubectl delete", "kubectl -n dev delete pod x", True),
        ("kubectl delete", "kubectl --namespace=dev delete pod x", True),
        ("kubectl delete", "kubectl get delete", False),
        ("cargo test", "cargo +nightly test", True),
        ("make", "/usr/bin/make", True),
        ("make", "./make", True),
        ("make", "ls; make", True),
        ("make", "echo 'a; make'", False),
        ("make", "cat <<E\n$(make)\nE", True),
        ("make", "cat <<'E'\n$(make)\nE", False),
        ("make", "f() { make; }", True),
        ("make", "bash <<'E'\nmake\nE", True),
        ("make", "cat <<'E' | sh\nmake\nE", True),
        ("make", "sh <<< 'ls; make'", True),
        ("make", "echo 'ls; make' | bash -e", True),
        ("make", "grep make <<< make", False),
        ("make", "make 'unclosed", True),
        ("make", "ls 'unclosed", False),
        ("make", "echo 'x; $(ma", True),
        ("make", "ls " + "a " * 8_000 + "; make", True),
        ("make", "ls " + "a " * 8_000, False),
        ("make", "find . -exec make {} +", True),
        ("make", "trap make EXIT", True),
        ("make", "alias x=make", True),
        ("make", "xargs -n1 make", True),
        ("write:out", "echo x > out/y", True),
        ("write:out", "cd out && echo x > y", True),
        ("write:out", "cp list.txt out/", True),
        ("write:out", "rm out/y", True),
        ("write:out", "cat out/y", False),
        ("write:out", "echo x > output", False),
        ("write:src", "echo x > inlink/y", True),
        ("write:~/other", "echo x > outlink/y", True),
        ("read:data", "cat data/in.csv", True),
        ("read:data", "for f in data/*; do cat $f; done", True),
        ("read:data", "cat < data/in.csv", True),
        ("read:data", "ls src", False),
        ("read:data", "cat d*/in.csv", True),
        ("notes.*", "notes.add x", True),
        ("notes.*", "othernotes.add x", False),
        ("exact:ls src", "ls src", True),
        ("exact:ls src", "ls src tests", False),
    ],
)
def test_deny_rule_forbids_what_it_names(pristine: World, rule: str, text: str, denied: bool):
    judgement = pristine.judge(text, rule)
    assert (judgement.ruling == "denied") == denied, judgement


def test_denied_command_is_found_in_every_writing(pristine: World):
    source = random.Random(3)
    harmless = ["ls src", "cat README.md", "echo done"]
    missed: list[str] = []
    for _ in range(1_500):
        words = ("forbidden", "word", "-x")
        for _ in range(source.choice((0, 1, 1, 2))):
            words = prefixed(words, source)
        text = line(words, source)
        for _ in range(source.choice((0, 1, 2))):
            way = source.choice((around, looped, substituted, lambda inner, source: beside(inner, source, harmless)))
            text = way(text, source)
        # what is computed from other text cannot be seen: it is asked every time
        if (
            pristine.judge(text, "forbidden word").ruling != "denied"
            and "| bash" not in text
            and "source <(" not in text
        ):
            missed.append(text)
    assert missed[:5] == []
