"""Outputs made safe: valid, storable, bounded."""

import json
from typing import Any

import nbformat
import pytest

from jupyter_pernix.kernel.bundles import (
    Caps,
    clean_bundle,
    clean_output,
    scrub,
    scrub_json,
    shorten,
    shorten_traceback,
)

CAPS = Caps(text=100, html=100, image=100, json=100, evalue=50, traceback=200)


def test_lone_surrogates_become_visible_and_other_text_stays():
    assert scrub("f\udcff.txt") == "f\\udcff.txt"
    assert scrub("ünï 😀 \x00") == "ünï 😀 \x00"


def test_json_loses_what_json_cannot_say():
    dirty: Any = {"n": float("nan"), "i": [float("inf"), 1.5], 3: "\ud800", "t": (1, True, None)}
    clean = scrub_json(dirty)
    assert clean == {"n": None, "i": [None, 1.5], "3": "\\ud800", "t": [1, True, None]}
    json.dumps(clean, allow_nan=False).encode()


def test_long_text_keeps_both_ends_and_says_how_much_is_missing():
    assert shorten("a" * 60 + "b" * 60, 60) == "a" * 40 + "\n[… 60 characters left out …]\n" + "b" * 20
    assert shorten("short", 60) == "short"


def test_long_traceback_keeps_its_first_and_last_frames():
    frames = [f"frame {n:04d} {'x' * 30}" for n in range(1000)]
    short = shorten_traceback(frames, 1000)
    assert sum(map(len, short)) < 1100
    assert (short[0], short[-1]) == (frames[0], frames[-1])
    assert any("frames left out" in line for line in short)


def test_what_is_too_large_is_kept_aside_and_a_note_says_where():
    kept: dict[str, str] = {}

    def keep(suffix: str, text: str) -> str:
        kept[suffix] = text
        return f"side of {suffix}"

    bundle = clean_bundle(
        {"text/plain": "<Figure>", "image/png": "A" * 101, "text/html": "<b>", "application/json": {"k": "v" * 101}},
        caps=CAPS,
        keep=keep,
    )
    assert kept == {"image/png": "A" * 101, "application/json": json.dumps({"k": "v" * 101})}
    assert bundle == {
        "text/html": "<b>",
        "text/plain": "<Figure>\n[image/png of 101 characters left out; it is in side of image/png]\n"
        "[application/json of 110 characters left out; it is in side of application/json]",
    }


def test_long_plain_text_is_shortened_in_place():
    assert "characters left out …]" in clean_bundle({"text/plain": "y" * 5000}, caps=CAPS)["text/plain"]


@pytest.mark.parametrize(
    "raw",
    [
        {"output_type": "stream", "text": ["a\n", "b"]},
        {"output_type": "stream", "name": "weird", "text": 5},
        {"output_type": "error"},
        {"output_type": "error", "ename": None, "evalue": 3, "traceback": "no list"},
        {
            "output_type": "execute_result",
            "data": {"text/plain": ["a", "b"]},
            "execution_count": "three",
            "transient": {},
        },
        {"output_type": "display_data", "data": None, "metadata": None},
        {
            "output_type": "display_data",
            "data": {"text/plain": {"a": 1}, "application/x+json": [float("nan")], "text/\ud800": 1},
        },
        {"output_type": "no such thing", "x": "\ud800"},
        {},
    ],
)
def test_any_output_becomes_a_valid_one(raw: dict[str, Any]):
    clean = clean_output(raw, caps=Caps())
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": "", "execution_count": None, "outputs": [clean]}
    nbformat.validate({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    json.dumps(clean, allow_nan=False).encode()


def test_error_fields_are_bounded():
    error = clean_output(
        {"output_type": "error", "ename": "E" * 999, "evalue": "v" * 999, "traceback": ["t" * 999]}, caps=CAPS
    )
    assert len(error["ename"]) < 250
    assert len(error["evalue"]) < 100
    assert len("".join(error["traceback"])) < 300
