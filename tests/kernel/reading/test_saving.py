"""Saving keeps the file's own style, so that a diff shows the edit and nothing else."""

import copy
import difflib
import json
from typing import Any

import nbformat
import pytest

from jupyter_pernix.kernel.reading import Reading, read_notebook, save_bytes, saving_changes

from .cases import cells_of

NOTEBOOK: dict[str, Any] = {
    "cells": [
        {"cell_type": "markdown", "id": "m1", "metadata": {}, "source": ["# Titel é\n", "words"]},
        {
            "cell_type": "code",
            "execution_count": 2,
            "id": "c1",
            "metadata": {"tags": ["a"], "collapsed": False},
            "outputs": [
                {"name": "stdout", "output_type": "stream", "text": ["one\n", "two\n"]},
                {"data": {"text/plain": ["3"]}, "execution_count": 2, "metadata": {}, "output_type": "execute_result"},
            ],
            "source": ["a = 1\n", "a + 2"],
        },
        {"cell_type": "code", "execution_count": None, "id": "c2", "metadata": {}, "outputs": [], "source": ["b"]},
    ],
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}, "x": 1.50},
    "nbformat": 4,
    "nbformat_minor": 5,
}
STYLES: dict[str, dict[str, Any]] = {
    "one space": {"indent": 1},
    "four spaces": {"indent": 4},
    "tabs": {"indent": "\t"},
    "minified": {"separators": (",", ":")},
    "one line": {},
    "escapes": {"indent": 1, "ensure_ascii": True},
    "sorted": {"indent": 2, "sort_keys": True},
}


def written(style: dict[str, Any], *, end: str = "\n", newline: str = "\n", **top: Any) -> bytes:
    body = json.dumps(NOTEBOOK | top, **{"ensure_ascii": False, **style})
    return (body.replace("\n", newline) + end).encode()


def edited(reading: Reading) -> dict[str, Any]:
    return copy.deepcopy(reading.notebook or {})


def changed_lines(before: bytes, after: bytes) -> list[str]:
    lines = difflib.unified_diff(before.decode().splitlines(True), after.decode().splitlines(True), n=0)
    return [line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")]


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_without_an_edit_the_bytes_are_the_same(style: dict[str, Any], end: str):
    content = written(style, end=end, newline="\r\n" if end == "\r\n" else "\n")
    reading = read_notebook(content)
    assert save_bytes(reading, edited(reading)) == content


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_edit_of_one_cell_is_written_as_the_file_would_have_it(style: dict[str, Any], newline: str):
    content = written(style, newline=newline, end=newline)
    reading = read_notebook(content)
    notebook = edited(reading)
    notebook["cells"][1]["source"] = "a = 5\nü = a + 2"
    notebook["cells"][1]["outputs"].append({"output_type": "stream", "name": "stderr", "text": "x\ny\n"})
    expected = copy.deepcopy(NOTEBOOK)
    expected["cells"][1]["source"] = ["a = 5\n", "ü = a + 2"]
    expected["cells"][1]["outputs"].append({"output_type": "stream", "name": "stderr", "text": ["x\n", "y\n"]})

    body = save_bytes(reading, notebook)

    if "sort_keys" in style:
        # The new output keeps the order that it was given in.
        assert json.loads(body) == expected
    else:
        again = json.dumps(expected, **{"ensure_ascii": False, **style}).replace("\n", newline) + newline
        assert body.decode() == again


def test_a_diff_of_an_edited_line_is_that_line():
    content = written({"indent": 1})
    reading = read_notebook(content)
    notebook = edited(reading)
    notebook["cells"][1]["source"] = "a = 1\na + 3"
    assert changed_lines(content, save_bytes(reading, notebook)) == ['-    "a + 2"\n', '+    "a + 3"\n']


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_cells_that_are_inserted_moved_and_deleted_leave_the_others_as_they_are(style: dict[str, Any]):
    content = written(style)
    reading = read_notebook(content)
    notebook = edited(reading)
    new = {"cell_type": "code", "id": "n1", "metadata": {}, "source": "new", "outputs": [], "execution_count": None}
    one, two, three = notebook["cells"]
    notebook["cells"] = [three, new, one]

    body = save_bytes(reading, notebook)

    again = read_notebook(body)
    assert (again.outcome, again.notebook) == ("opened", notebook)
    nbformat.validate(nbformat.reads(body.decode(), as_version=4))
    if style == {"indent": 1}:
        expected = {**NOTEBOOK, "cells": [NOTEBOOK["cells"][2], {**new, "source": ["new"]}, NOTEBOOK["cells"][0]]}
        assert body.decode() == json.dumps(expected, indent=1, ensure_ascii=False) + "\n"
    assert two["id"] not in body.decode()


def test_all_cells_can_go_and_come_back():
    content = written({"indent": 1})
    reading = read_notebook(content)
    empty = save_bytes(reading, {**edited(reading), "cells": []})
    again = read_notebook(empty)
    assert cells_of(again) == []
    assert save_bytes(again, edited(reading)) == content.replace(b"1.5", b"1.5")


def test_metadata_that_is_edited_leaves_the_cells_as_they_are():
    content = written({"indent": 1})
    reading = read_notebook(content)
    notebook = edited(reading)
    notebook["metadata"]["kernelspec"]["display_name"] = "Other"
    assert changed_lines(content, save_bytes(reading, notebook)) == [
        '-   "display_name": "Python 3"\n',
        '+   "display_name": "Other"\n',
    ]


def test_sources_that_stand_in_one_piece_stay_so():
    cells = [{**cell, "source": "".join(cell["source"])} for cell in NOTEBOOK["cells"]]
    reading = read_notebook(written({"indent": 1}, cells=cells))
    notebook = edited(reading)
    notebook["cells"][2]["source"] = "b\nc"
    assert json.loads(save_bytes(reading, notebook))["cells"][2]["source"] == "b\nc"


def test_mixed_line_ends_become_those_that_most_lines_have_only_where_something_is_new():
    content = written({"indent": 1}, newline="\r\n", end="\r\n")
    content = content.replace(b"\r\n", b"\n", 3)
    reading = read_notebook(content)
    notebook = edited(reading)
    notebook["cells"][2]["source"] = "b\nc"
    body = save_bytes(reading, notebook)
    assert body.startswith(content[:300])
    assert body.count(b"\n") - body.count(b"\r\n") == 3


@pytest.mark.parametrize("minor", [0, 2, 4])
def test_an_older_minor_format_stays_and_gets_no_ids(minor: int):
    cells = [{key: value for key, value in cell.items() if key != "id"} for cell in NOTEBOOK["cells"]]
    content = written({"indent": 1}, cells=cells, nbformat_minor=minor)
    reading = read_notebook(content)
    notebook = edited(reading)
    notebook["cells"][2]["source"] = "c"

    body = save_bytes(reading, notebook)

    assert changed_lines(content, body) == ['-    "b"\n', '+    "c"\n']
    assert saving_changes(reading) == []
    nbformat.validate(nbformat.reads(body.decode(), as_version=nbformat.NO_CONVERT))


def test_ids_that_were_given_are_kept_on_wish_and_raise_the_format():
    cells = [{key: value for key, value in cell.items() if key != "id"} for cell in NOTEBOOK["cells"]]
    reading = read_notebook(written({"indent": 1}, cells=cells, nbformat_minor=4))
    body = save_bytes(reading, edited(reading), keep_ids=True)
    again = read_notebook(body)
    assert (again.minor, again.notebook) == (5, reading.notebook)
    assert saving_changes(reading, keep_ids=True) == [
        "The file becomes format 4.5, which has cell ids; it is format 4.4 now."
    ]


def test_repairs_are_written_and_the_good_cells_stay_as_they_are():
    bad = {"cell_type": "code", "id": "bad", "source": ["x"], "metadata": []}
    content = written({"indent": 1}, cells=[*NOTEBOOK["cells"], bad])
    reading = read_notebook(content)
    body = save_bytes(reading, edited(reading))
    assert {line[0] for line in changed_lines(content, body)} <= {"+", "-"}
    assert body.startswith(content[: content.index(b'"id": "bad"') - 40])
    assert read_notebook(body).outcome == "opened"
    assert saving_changes(reading)[0] == "What was mended is written as it was read:"
