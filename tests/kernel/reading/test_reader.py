"""More odd files, of the kinds that the given ones have and of others."""

import base64
import copy
import json
import random
import time
from typing import Any

import nbformat
import pytest

from jupyter_pernix.kernel.reading import read_notebook, rescue, save_bytes, saving_changes

from .cases import MANIFEST, ROOT, cells_of, metadata_of, outputs_of, said, sources_of

CELL: dict[str, Any] = {
    "cell_type": "code",
    "execution_count": 1,
    "id": "c1",
    "metadata": {},
    "outputs": [],
    "source": ["a = 1\n", "a"],
}


def file_of(*cells: Any, **top: Any) -> bytes:
    made = {"cells": list(cells) or [CELL], "metadata": {}, "nbformat": 4, "nbformat_minor": 5} | top
    return json.dumps(made, indent=1).encode() + b"\n"


def with_output(output: Any) -> bytes:
    return file_of({**CELL, "outputs": [output]})


# ---- what is opened, though it is odd


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_other_encodings_of_unicode_are_read_and_saved_as_utf8(encoding: str):
    content = file_of({**CELL, "source": "'é 名 🙂'"}).decode().encode(encoding)

    reading = read_notebook(content)

    assert (reading.outcome, sources_of(reading)) == ("repaired", ["'é 名 🙂'"])
    assert "UTF-" in said(reading) or "byte order mark" in said(reading)
    assert json.loads(save_bytes(reading, reading.notebook or {}))["cells"][0]["source"] == "'é 名 🙂'"


def test_an_utf16_file_that_breaks_off_inside_a_character_is_refused():
    assert read_notebook(b"\xff\xfe" + "{".encode("utf-16-le") + b"\x00").outcome == "refused"


def test_marks_of_a_conflict_inside_a_source_are_told_but_no_conflict_of_the_file():
    source = "<<<<<<< HEAD\na = 1\n=======\na = 2\n>>>>>>> other\n"
    reading = read_notebook(file_of({**CELL, "source": source.splitlines(True)}))
    assert (reading.outcome, sources_of(reading)) == ("opened", [source])
    assert said(reading) == "In cell 1, the source holds marks of a merge conflict."


def test_a_real_conflict_is_refused_with_its_line():
    lines = file_of().decode().split("\n")
    at = next(number for number, line in enumerate(lines) if '"execution_count"' in line)
    conflict = ["<<<<<<< HEAD", lines[at], "=======", lines[at].replace("1", "2"), ">>>>>>> branch"]
    content = "\n".join([*lines[:at], *conflict, *lines[at + 1 :]]).encode()

    refusal = read_notebook(content).refusal

    assert refusal is not None
    assert (refusal.kind, refusal.line, refusal.column) == ("merge_conflict", at + 1, 1)
    assert f"a merge conflict of Git, the first at line {at + 1}" in refusal.text


def test_whole_numbers_beyond_any_program_are_shown_and_stay_in_the_file():
    content = file_of({**CELL, "metadata": {"big": 10**30}}, CELL | {"id": "c2"})
    content = content.replace(b'"metadata": {},\n "nbformat"', b'"metadata": {"n": ' + b"9" * 6000 + b'},\n "nbformat"')
    reading = read_notebook(content)
    assert cells_of(reading)[0]["metadata"]["big"] == str(10**30)
    assert metadata_of(reading)["n"] == "9" * 6000
    edited = copy.deepcopy(reading.notebook or {})
    edited["cells"][1]["source"] = "b"
    assert b'"big": 1000000000000000000000000000000\n' in save_bytes(reading, edited)


def test_numbers_keep_their_spelling_in_what_is_not_edited():
    content = file_of().replace(b'"metadata": {},\n "nbformat"', b'"metadata": {"n": 1.0E+2, "m": 1e-07},\n "nbformat"')
    reading = read_notebook(content)
    edited = copy.deepcopy(reading.notebook or {})
    edited["cells"][0]["source"] = "b"
    assert b'{"n": 1.0E+2, "m": 1e-07}' in save_bytes(reading, edited)


@pytest.mark.parametrize("spelled", [b"NaN", b"-Infinity", b"1e999"])
def test_numbers_that_json_lacks_become_null(spelled: bytes):
    content = file_of().replace(b'"metadata": {},\n "nbformat"', b'"metadata": {"n": ' + spelled + b'},\n "nbformat"')
    reading = read_notebook(content)
    assert (reading.outcome, metadata_of(reading)) == ("repaired", {"n": None})
    assert json.loads(save_bytes(reading, reading.notebook or {}))["metadata"] == {"n": None}


def test_nul_characters_and_lone_surrogates_are_read_in_every_place():
    content = file_of({**CELL, "source": "a\x00b", "metadata": {"k\ud800": "\udfff"}}, metadata={"t": "\ud83d"})
    reading = read_notebook(content)
    assert sources_of(reading) == ["a\x00b"]
    assert metadata_of(reading) == {"t": "\\ud83d"}
    json.dumps(reading.notebook, ensure_ascii=False).encode()
    assert save_bytes(reading, reading.notebook or {}) == content


def test_attachments_are_kept_and_mended():
    good = {"cell_type": "markdown", "id": "m1", "metadata": {}, "source": "![](attachment:a.png)"}
    content = file_of(
        {**good, "attachments": {"a.png": {"image/png": "QUJD"}}},
        {**good, "id": "m2", "attachments": {"a.png": "QUJD", "b.png": {"image/png": ["QU", "JD"]}}},
    )
    reading = read_notebook(content)
    assert cells_of(reading)[0]["attachments"] == {"a.png": {"image/png": "QUJD"}}
    assert cells_of(reading)[1]["attachments"] == {"b.png": {"image/png": "QUJD"}}


def test_format_1_is_read():
    content = json.dumps(
        {
            "nbformat": 1,
            "cells": [{"cell_type": "text", "text": "words"}, {"cell_type": "code", "code": "1", "prompt_number": 7}],
        }
    ).encode()
    reading = read_notebook(content)
    assert (reading.major, sources_of(reading)) == (1, ["words", "1"])
    assert cells_of(reading)[1]["execution_count"] == 7


def test_every_kind_of_output_of_format_3_is_read():
    outputs = [
        {"output_type": "pyout", "prompt_number": 3, "text": ["2"], "html": "<b>2</b>", "metadata": {}},
        {"output_type": "pyerr", "ename": "E", "evalue": "v", "traceback": ["t"]},
        {"output_type": "display_data", "png": "QUJD", "metadata": {}},
        {"output_type": "stream", "stream": "stderr", "text": "oh"},
    ]
    cell = {"cell_type": "code", "input": ["1\n", "2"], "language": "python", "outputs": outputs, "prompt_number": 3}
    heading = {"cell_type": "heading", "level": 2, "source": "Part", "metadata": {}}
    content = json.dumps(
        {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": "n"}, "worksheets": [{"cells": [heading, cell]}]}
    ).encode()

    reading = read_notebook(content)

    assert sources_of(reading) == ["## Part", "1\n2"]
    assert outputs_of(reading, 1) == [
        {
            "output_type": "execute_result",
            "data": {"text/plain": "2", "text/html": "<b>2</b>"},
            "metadata": {},
            "execution_count": 3,
        },
        {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["t"]},
        {"output_type": "display_data", "data": {"image/png": "QUJD"}, "metadata": {}},
        {"output_type": "stream", "name": "stderr", "text": "oh"},
    ]


def test_an_id_that_two_files_share_is_the_same_id_each_time_it_is_given():
    plain = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": "x"}
    before = read_notebook(file_of(plain, {**plain, "source": "y"}, nbformat_minor=4))
    after = read_notebook(file_of({**plain, "source": "new"}, plain, {**plain, "source": "y"}, nbformat_minor=4))
    ids = [cell["id"] for cell in cells_of(before)]
    assert [cell["id"] for cell in cells_of(after)][1:] == ids
    assert before.outcome == "opened"


# ---- what is refused

REFUSED: list[tuple[str, bytes, str, str]] = [
    ("blanks", b" \n\t\n", "empty", "nothing but blanks"),
    ("zeros", b"\x00" * 4096, "empty", "4,096 bytes of the file are zero"),
    ("zero tail", file_of()[:-40] + b"\x00" * 4096, "truncated", "4,096 zero bytes follow"),
    ("zip", b"PK\x03\x04rest", "binary", "zip archive"),
    ("picture", b"\x89PNG\r\n\x1a\n", "binary", "PNG picture"),
    ("list", b"[1, 2]", "not_a_notebook", "a list"),
    ("number", b"3", "not_a_notebook", "a single value"),
    ("text in JSON", b'"words"', "not_a_notebook", "a text"),
    ("web service", b'{"message": "Not Found", "documentation_url": "x"}', "not_a_notebook", "'Not Found'"),
    ("other JSON", b'{"name": "package", "version": "1"}', "not_a_notebook", "it has 'name', 'version'"),
    ("empty object", b"{}", "not_a_notebook", "it is empty"),
    ("cells is an object", b'{"cells": {}, "nbformat": 4}', "not_a_notebook", "cells are no list"),
    ("no cells", b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}', "not_a_notebook", "has no cells"),
    ("Python's repr", b"{'cells': [], 'metadata': {}}", "not_json", "single quotes"),
    ("None", b'{"cells": [], "metadata": None}', "not_json", "'None' is Python"),
    ("line break in a text", b'{"cells": [], "metadata": {"a": "b\nc"}}', "not_json", "line break"),
    ("sign in", b"<!DOCTYPE html><html><title>Sign in to Site</title>", "html", "a page to sign in"),
    ("not found", b"<html><head><title>404 Not Found</title></head></html>", "html", "does not exist"),
    ("svg", b"<svg xmlns='x'/>", "text", "an SVG picture"),
    ("markdown", b"Some words\n\nMore words.\n", "text", "begins with 'Some words'"),
    ("two notebooks", file_of() + file_of(), "extra_data", "Extra data"),
    ("comment inside", file_of().replace(b' "metadata"', b' # why\n "metadata"', 1), "comments", "there is a comment"),
    ("cut in a character", file_of({**CELL, "source": "x"})[:30] + b"\xc3", "not_utf8", "byte 30"),
    ("cut after a comma", b'{"cells": [], ', "truncated", "byte 14"),
    ("far newer", file_of(nbformat=40), "too_new", "format 40 is newer"),
    ("deep", b'{"cells": [], "metadata": {"a": ' + b"[" * 5000 + b"]" * 5000 + b"}}", "too_deep", "nested too deep"),
    ("less deep", b'{"cells": [], "metadata": {"a": ' + b"[" * 200 + b"]" * 200 + b"}}", "too_deep", "nested too deep"),
    ("very deep", b"[" * 200_000, "too_deep", "nested too deep"),
]


@pytest.mark.parametrize(
    ("content", "kind", "words"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_what_is_no_notebook_is_refused_in_plain_words(content: bytes, kind: str, words: str):
    reading = read_notebook(content)
    assert reading.refusal is not None
    assert (reading.outcome, reading.notebook, reading.refusal.kind) == ("refused", None, kind)
    assert words in reading.refusal.text
    assert reading.refusal.text.endswith(".")
    with pytest.raises(ValueError, match="refused"):
        save_bytes(reading, {})


def test_of_two_notebooks_in_one_file_the_first_can_be_rescued():
    reading = rescue(file_of() + file_of({**CELL, "source": "second"}))
    assert reading is not None and sources_of(reading) == ["a = 1\na"]


def test_comments_and_commas_inside_texts_stay_when_a_file_is_rescued():
    content = file_of({**CELL, "source": "# no // comment ,]\n'/* x */'"}).replace(b"}\n ],", b"},\n ], // oops")
    assert read_notebook(content).outcome == "refused"
    reading = rescue(content)
    assert reading is not None and sources_of(reading) == ["# no // comment ,]\n'/* x */'"]


# ---- every notebook that is opened is one that nbformat takes


def scrambled(value: Any, chance: random.Random) -> Any:
    """The same JSON with a few of its parts missing, doubled or replaced by something that does not belong there."""
    wrong: list[Any] = [None, 0, -1, 1.5, True, "", "x,y", [], {}, [None], {"a": []}, "\ud800", 2**70]
    if chance.random() < 0.04:
        return chance.choice(wrong)
    if isinstance(value, dict):
        made = {key: scrambled(item, chance) for key, item in value.items() if chance.random() > 0.04}
        return made | ({"surprise": chance.choice(wrong)} if chance.random() < 0.04 else {})
    if isinstance(value, list):
        made_list = [scrambled(item, chance) for item in value if chance.random() > 0.04]
        return made_list + made_list[:1] if chance.random() < 0.04 else made_list
    return value


SMALL = [entry["file"] for entry in MANIFEST if entry["bytes"] < 3000 and entry["expect"] != "refuses"]


@pytest.mark.parametrize("seed", range(300))
def test_scrambled_notebooks_are_refused_or_valid(seed: int):
    chance = random.Random(seed)
    value = json.loads((ROOT / chance.choice(SMALL)).read_bytes())
    content = json.dumps(scrambled(value, chance), indent=chance.choice([None, 1, "\t"])).encode()

    reading = read_notebook(content)

    if reading.notebook is None:
        assert reading.refusal is not None
        return
    nbformat.validate(nbformat.from_dict(reading.notebook))
    body = save_bytes(reading, reading.notebook)
    again = read_notebook(body)
    assert again.notebook == reading.notebook
    assert [note for note in again.notes if note.repair] == []
    assert saving_changes(again) == []
    if reading.outcome == "opened" and reading.major == 4:
        assert body == content


def test_any_bytes_are_refused_or_read():
    chance = random.Random(7)
    whole = file_of({**CELL, "source": "é"})
    for _ in range(500):
        at, length = chance.randrange(len(whole)), chance.randrange(4)
        content = whole[:at] + chance.randbytes(length) + whole[at + chance.randrange(3) :]
        reading = read_notebook(content)
        assert (reading.notebook is None) == (reading.outcome == "refused")
        assert all(sentence.strip() for sentence in reading.sentences)


def test_a_picture_of_100_megabytes_is_read_in_time_that_grows_with_its_size():
    """No part of the reader looks at a long text character by character: ten times the text takes far less than a hundred times."""
    picture = base64.b64encode(b"x" * 7_500_000).decode()
    output = {"output_type": "display_data", "data": {"image/png": picture}, "metadata": {}}
    small = with_output(output)
    large = with_output({**output, "data": {"image/png": picture * 10}})
    assert len(large) > 100_000_000

    spent = [_cpu_seconds(content) for content in (small, large)]

    assert spent[1] < 40 * max(spent[0], 0.01)


def _cpu_seconds(content: bytes) -> float:
    began = time.process_time()
    assert read_notebook(content).outcome == "opened"
    return time.process_time() - began


# ---- what would have broken or held up the reader


@pytest.mark.parametrize("number", ["²", "٤", " 4 ", "4.0", "1e400", "", "."])
@pytest.mark.parametrize("key", ["nbformat", "nbformat_minor"])
def test_versions_in_any_digits_are_read_or_refused(key: str, number: str):
    reading = read_notebook(file_of(**{key: number}))
    assert reading.outcome in ("repaired", "refused")
    assert reading.sentences


@pytest.mark.parametrize(("count", "read"), [("1.0", 1), ("7", 7), (3.0, 3), ("٣", 3), ("²", None), (1e300, None)])
def test_counts_in_other_spellings_are_read_as_far_as_they_are_whole(count: object, read: int | None):
    assert cells_of(read_notebook(file_of({**CELL, "execution_count": count})))[0]["execution_count"] == read


HOLDING_UP = {
    "comments of HTML": b"<!---->" * 5000 + b"x",
    "slashes": b'{"a": 1,' + b"/" * 5000 + b" x",
    "hashes": b'{"a": 1,' + b"#" * 5000 + b" x",
    "empty lines": b"#" + b"\n" * 200_000 + b'"cells"',
    "texts for cells": b'{"cells": [' + b'"",' * 30_000,
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("content", HOLDING_UP.values(), ids=HOLDING_UP)
def test_the_time_for_reading_grows_with_the_file_alone(content: bytes):
    assert read_notebook(content).outcome == "refused"
    rescue(content)


@pytest.mark.timeout(20)
def test_many_cells_without_ids_get_theirs_in_time():
    cell = {key: value for key, value in CELL.items() if key != "id"}
    reading = read_notebook(
        json.dumps({"cells": [cell] * 30_000, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
    )
    assert len({cell["id"] for cell in cells_of(reading)}) == 30_000
