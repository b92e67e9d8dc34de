"""A question as lines of text, and what a typed line answers."""

import pytest

from jupyter_pernix.asked import answer_of, prompt, reason_lines, resolved_line, rule_words

ALL = ["allow_once", "allow_session", "allow_always", "reject_once"]
ONCE = ["allow_once", "reject_once"]


@pytest.mark.parametrize(
    ("line", "choices", "answer"),
    [
        ("y\n", ALL, ("allow_once", "")),
        (" YES ", ALL, ("allow_once", "")),
        ("s", ALL, ("allow_session", "")),
        ("always", ALL, ("allow_always", "")),
        ("allow_always", ALL, ("allow_always", "")),
        ("n", ALL, ("reject_once", "")),
        ("read it first", ALL, ("reject_once", "read it first")),
        ("yes please", ALL, ("reject_once", "yes please")),
        ("a", ONCE, None),
        ("s", ONCE, None),
        ("\n", ALL, None),
    ],
)
def test_a_line_answers_or_is_asked_for_again(line: str, choices: list[str], answer: tuple[str, str] | None):
    assert answer_of(line, choices) == answer


def test_only_what_is_offered_is_in_the_prompt():
    assert prompt(ONCE) == "y = yes, n = no, or what to do instead: "


def test_reasons_say_why_what_was_seen_and_what_would_be_remembered():
    event = {
        "why": "it runs a program of the project\x1b[2J",
        "effects": ["starts a program", "writes a file"],
        "rules": ["cargo test", ">"],
        "choices": ALL,
    }
    assert reason_lines(event) == [
        "why: it runs a program of the project␛[2J",
        "seen in it, as advice: starts a program, writes a file",
        "remembered with 'in this session' or 'always in this folder': commands that begin with cargo test; "
        "output of commands into files of the folder",
    ]
    assert reason_lines({"why": "", "effects": [], "rules": [], "choices": ONCE}) == []


def test_an_answer_is_told_with_what_is_remembered():
    always = {"choice": "allow_always", "by": "user", "rules": ["exact:make x", "dir:/srv"]}
    assert resolved_line(always) == (
        "always allowed in this folder; remembered: exactly this line: make x; the folder with all in it /srv"
    )
    assert resolved_line({"choice": "reject_once", "by": "host", "rules": []}) == "nobody answered, so it was not done"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("tool:run_code", "code in the kernel of this session"),
        ("tool:notes.add", "the tool notes.add"),
        ("file:/srv/a", "the file /srv/a"),
        ("npm run test:unit", "commands that begin with npm run test:unit"),
    ],
)
def test_a_rule_is_said_in_words(rule: str, words: str):
    assert rule_words(rule) == words
