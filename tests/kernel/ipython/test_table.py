"""The result of a query with and without pandas; the answer of a cell."""

import importlib.util
from typing import Any

import pandas as pd
import pytest

from jupyter_pernix.kernel.ipython import answer, table
from jupyter_pernix.kernel.ipython.answer import Answer
from jupyter_pernix.kernel.ipython.table import Table, result_table

RESULT = {
    "columns": ["tool", "at", "at"],
    "types": ["VARCHAR", "TIMESTAMP", "BIGINT"],
    "rows": [["run_code", "2026-01-02T03:04:05", 1], ["<b>x</b>\u202e", None, 2]],
    "truncated": True,
}


@pytest.fixture
def no_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_spec(name: str) -> Any:
        return None if name == "pandas" else importlib.util.find_spec(name)

    for module in (table, answer):
        monkeypatch.setattr(module, "find_spec", find_spec)


def test_with_pandas_it_is_a_frame_with_times():
    frame = result_table(RESULT)
    assert list(frame.columns) == ["tool", "at", "at"]
    assert frame.iloc[0, 1] == pd.Timestamp("2026-01-02T03:04:05")
    assert frame.attrs["truncated"] is True
    assert len(result_table({"columns": ["a"], "types": ["DATE"], "rows": [], "truncated": False})) == 0


@pytest.mark.usefixtures("no_pandas")
def test_without_pandas_it_is_a_table_that_shows_itself():
    found = result_table(RESULT)
    assert isinstance(found, Table)
    assert (len(found), [row["tool"] for row in found]) == (2, ["run_code", "<b>x</b>\u202e"])
    assert repr(found).splitlines()[0].split() == ["tool", "at", "at"]
    assert repr(found).endswith("2 and more rows")
    html = found._repr_html_()
    assert "&lt;b&gt;x" in html and "<b>" not in html and "\u202e" not in html + repr(found)


def test_a_long_table_shows_its_beginning():
    long = Table(["n"], [[number] for number in range(200)])
    assert repr(long).endswith("200 rows, the first 50 are shown")
    assert len(repr(long).splitlines()) == 53
    assert repr(Table(["n"], [[1]])).endswith("1 row")


ANSWER = Answer(
    text="It is **42**.\n<script>x</script>",
    session_id="ses_1",
    turn_id="trn_1",
    ended="answered",
    corrections=("No file\nwas changed.",),
    call_list=(
        {
            "tool": "run_code",
            "title": "x",
            "status": "completed",
            "seconds": 0.1,
            "arguments": {},
            "result": "",
            "call_id": "c",
        },
    ),
)


def test_an_answer_shows_its_text_and_what_is_said_against_it():
    assert str(ANSWER) == "It is **42**.\n<script>x</script>"
    assert repr(ANSWER).startswith("! No file was changed.\nIt is **42**.")
    assert "<script" not in ANSWER._repr_markdown_()
    assert ANSWER._repr_markdown_().startswith("> **Correction:** No file was changed&#46;\n\nIt is **42**.")


def test_the_calls_are_a_frame_with_pandas():
    assert ANSWER.calls["tool"].tolist() == ["run_code"]
    assert list(Answer("", "s", "t", "answered").calls.columns)[:2] == ["tool", "title"]


@pytest.mark.usefixtures("no_pandas")
def test_the_calls_are_a_list_without():
    assert ANSWER.calls == [dict(ANSWER.call_list[0])]
