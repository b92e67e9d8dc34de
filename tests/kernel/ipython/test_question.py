"""From the text of a cell to what is sent: values, references, and what must not be sent."""

from typing import Any

import pandas as pd
import pytest

from jupyter_pernix.kernel.ipython.question import ATTACHED, VALUE, Kept, ask

NOTHING = Kept(sources=lambda number: None, values={}, errors={})


class Loud:
    """Whatever is done with it is seen."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def __call__(self) -> str:
        self.done.append("call")
        return "called"

    @property
    def bad(self) -> str:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        return "<loud>"


NAMES: dict[str, Any] = {
    "n": 3,
    "word": "hi",
    "rows": [10, 20, 30],
    "d": {"a": {"b": 1}, 2: "two"},
    "frame": pd.DataFrame({"a": range(100), "b": "x"}),
    "loud": Loud(),
    "long": "z" * 100_000,
    "many": list(range(1_000_000)),
}


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("is {n} odd?", "is 3 odd?"),
        ("{word}, { n }", "hi, 3"),
        ("{rows[0]} {rows[-1]} {d['a']} {d[2]}", "10 30 {'b': 1} two"),
        ("{frame.shape}", "(100, 2)"),
        ("{loud}", "<loud>"),
        # what is no value stays as it is
        ('{"a": {"n": 1}, "b": []}', '{"a": {"n": 1}, "b": []}'),
        ("{'n': 1}", "{'n': 1}"),
        ("f'{n!r} {n:.2f} {n + 1} {loud()} {str(n)}'", "f'{n!r} {n:.2f} {n + 1} {loud()} {str(n)}'"),
        ("{unknown} {n.unknown} {rows[99]} {d['c']} {n[0]} {}", "{unknown} {n.unknown} {rows[99]} {d['c']} {n[0]} {}"),
        ("{rows[n]} {rows[:2]} {rows[f'x']}", "{rows[n]} {rows[:2]} {rows[f'x']}"),
        ("x = {n for n in rows}", "x = {n for n in rows}"),
        ("\\frac{1}{2} ${n}$", "\\frac{1}{2} $3$"),
        # written twice, they are braces
        ("{{n}} and {{ d['a'] }}", "{n} and { d['a'] }"),
        ('{"a": {"b": {}}}', '{"a": {"b": {}}}'),
    ],
)
def test_braces_are_a_value_only_where_they_name_one(written: str, sent: str):
    assert ask(written, NAMES, NOTHING).text == sent
    assert NAMES["loud"].done == []


def test_a_frame_is_its_schema_and_first_rows():
    text = ask("{frame}", NAMES, NOTHING).text
    assert text.startswith("pandas.DataFrame 100 × 2 (a int64, b ")
    assert len(text.splitlines()) == 7


@pytest.mark.parametrize("name", ["long", "many", "frame"])
def test_every_value_is_bounded(name: str):
    assert len(ask(f"{{{name}}}", NAMES, NOTHING).text) < VALUE + 100


def test_a_property_that_raises_leaves_the_text_and_a_note():
    question = ask("{loud.bad}", NAMES, NOTHING)
    assert (question.text, question.notes) == ("{loud.bad}", ["{loud.bad} is sent as it is written: RuntimeError"])


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("password", {"password": "hunter2"}),
        ("api_key", {"api_key": "abcd1234efgh"}),
        ("config.token", {"config": type("Config", (), {"token": "xyz"})()}),
        ("d['secret']", {"d": {"secret": "xyz"}}),
        ("text", {"text": "use sk-abcdefghijklmnop1234"}),
        ("d", {"d": {"password": "hunter22"}}),
        ("url", {"url": "postgres://me:pass@host/db"}),
    ],
)
def test_what_looks_like_a_secret_is_never_sent(path: str, names: dict[str, Any]):
    for written in (f"{{{path}}}", f"@{path}"):
        question = ask(written, names, NOTHING)
        for secret in ("hunter2", "abcd1234", "xyz", "sk-abc", "me:pass"):
            assert secret not in question.text
    kept = Kept(sources=lambda number: None, values={1: names[path.split(".")[0].split("[")[0]]}, errors={})
    assert "sk-abc" not in ask("Out[1]", {}, kept).text


def test_a_number_of_tokens_is_no_secret():
    assert ask("{max_tokens}", {"max_tokens": 7}, NOTHING).text == "7"


def test_references_add_what_they_name_once():
    kept = Kept(
        sources={3: "x = 1"}.get, values={4: pd.DataFrame({"a": [1]}), 5: "five"}, errors={2: "ValueError: no\n```"}
    )
    question = ask("Why does In[3] give Err[2]? See Out[4], Out[5], In[3]; In[9] and xIn[3] too.", {}, kept)
    first, *added = question.text.split("\n\n")
    assert first.startswith("Why does In[3]")
    assert added == [
        "In[3]:\n```python\nx = 1\n```",
        "Err[2]:\n````\nValueError: no\n```\n````",
        "Out[4]:\n```\npandas.DataFrame 1 × 1 (a int64)\na\n1\n```",
        "Out[5]:\n```\nfive\n```",
    ]
    assert question.text.count("x = 1") == 1
    assert question.notes == ["In[9] is not there (any more); only its name is sent"]


def test_a_long_source_is_cut():
    kept = Kept(sources=lambda number: "y" * 1_000_000, values={}, errors={})
    assert len(ask("In[1]", {}, kept).text) < ATTACHED + 200


def test_a_mention_adds_a_variable_and_an_address_does_not():
    text = ask("Plot @frame for me@n.org, @nobody and @n", NAMES, NOTHING).text
    assert "@frame:\n```\npandas.DataFrame 100 × 2" in text
    assert text.endswith("@n:\n```\n3\n```")
    assert "@nobody:" not in text


class Ending:
    def __repr__(self) -> str:
        raise SystemExit(3)


def test_a_value_whose_text_ends_the_program_is_only_named():
    assert ask("see {end}", {"end": Ending()}, NOTHING).text == "see <Ending, whose text cannot be had: SystemExit>"


def test_what_no_request_can_carry_becomes_visible():
    assert ask("say {half} \udfff", {"half": "é\ud800"}, NOTHING).text == "say é\\ud800 \\udfff"
