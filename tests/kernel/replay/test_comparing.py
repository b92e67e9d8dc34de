"""Outputs are the same when nothing but the run is different."""

import base64
import struct
import zlib
from typing import Any

import pytest

from jupyter_pernix.kernel.replay import compare_outputs
from jupyter_pernix.kernel.replay.normal import normal_text
from jupyter_pernix.kernel.replay.pictures import picture_digest


def stream(text: str, name: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": name, "text": text}


def result(**data: Any) -> dict[str, Any]:
    bundle = {key.replace("_", "/"): value for key, value in data.items()}
    return {"output_type": "execute_result", "data": bundle, "metadata": {}, "execution_count": 3}


SAME = [
    ("<__main__.A object at 0x7f3a2c1d5e50>", "<__main__.A object at 0x7f11aa0001c0>"),
    (
        "CPU times: user 3.2 ms, sys: 120 µs, total: 3.32 ms\nWall time: 3.4 ms",
        "CPU times: user 12 ms, sys: 0 ns, total: 12 ms\nWall time: 1.2 s",
    ),
    (
        "12.3 ms ± 120 µs per loop (mean ± std. dev. of 7 runs, 100 loops each)",
        "9.81 ms ± 1.4 ms per loop (mean ± std. dev. of 7 runs, 1,000 loops each)",
    ),
    ("done in 0.31 s", "done in 12.04 s"),
    ("took 3 seconds", "took 4 seconds"),
    ("2026-11-30 12:00:01.123456 start", "2027-01-02 03:04:05.5 start"),
    ("at 2026-11-30T12:00:00+00:00", "at 2026-12-01T00:00:00Z"),
    ("Mon Nov 30 12:00:00 UTC 2026", "Tue Dec  1 08:10:11 UTC 2026"),
    ("time: 1764500000.123", "time: 1796036000.4"),
    ("id 6f1a7c1e-0b0c-4f6e-9d55-0a7e5a6f2a11", "id 00000000-1111-4222-8333-444455556666"),
    ("pid 123", "pid 45678"),
    ("wrote /tmp/tmpab12cd/x.csv", "wrote /tmp/tmpzz98yy/x.csv"),
    (
        "/tmp/ipykernel_123/456.py:1: UserWarning: old\n  warn('old')",
        "/tmp/ipykernel_9/1.py:1: UserWarning: old\n  warn('old')",
    ),
    (
        "/usr/lib/python3/dist-packages/a.py:3: FutureWarning: x",
        "/home/me/.venv/lib/python3.11/site-packages/a.py:77: FutureWarning: x",
    ),
    ("\x1b[31mred\x1b[0m", "red"),
    (
        "  0%|          | 0/10\r 50%|█████     | 5/10 [00:01<00:01,  4.9it/s]\r100%|██████████| 10/10 [00:02<00:00]\ndone",
        "100%|██████████| 10/10 [00:09<00:00,  1.1it/s]\ndone",
    ),
    ("Downloading 1.2 MB 3.4MB/s\nok", "Downloading 1.2 MB 800kB/s\nok"),
    ("listening on http://localhost:45123/", "listening on http://localhost:60001/"),
    ("Out[3] and In [4]", "Out[7] and In [12]"),
    ("a  \nb\n", "a\nb"),
    ("File <ipython-input-3-abcdef012345>", "File <ipython-input-9-0123456789ab>"),
    ("id 140069394903616 and 94022550719968", "id 139945624006768 and 94652828722480"),
    ('<td id="T_e1a2d_row0_col0">#T_e1a2d {', '<td id="T_0fbcc_row0_col0">#T_0fbcc {'),
    ("Writing out.txt", "Overwriting out.txt"),
    (
        "The slowest run took 7.63 times longer than the fastest. This could mean that it is cached.\n1 ms",
        "3 ms",
    ),
    ("30/11/2026 08:39 PM", "1/12/2026 11:02 AM"),
    ("on 2026-11-30 08:39", "on 2026-12-01 11:02"),
    ("datetime.datetime(2026, 11, 30, 20, 39, 21, 447705)", "datetime.datetime(2026, 12, 1, 2, 3)"),
    ("datetime.timedelta(microseconds=469384)", "datetime.timedelta(seconds=1, microseconds=11)"),
    ("Started server process [812]", "Started server process [77123]"),
    (" 45%[========>          ] 1.2M", "100%[==================>] 9.9M"),
    ("\u2501\u2501\u2501\u2501\u2501\u2501 40% done", "\u2501\u2501\u2501\u2501\u2501\u2501 100% done"),
]


@pytest.mark.parametrize(("one", "two"), SAME)
def test_what_differs_in_every_run_is_no_difference(one: str, two: str):
    assert compare_outputs([stream(one)], [stream(two)]) == []
    assert normal_text(normal_text(one)) == normal_text(one)


DIFFERENT = [
    ("3", "4"),
    ("{1, 2}", "{2, 1}"),
    ("{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}"),
    ("rows: 120", "rows: 121"),
    ("0.31", "0.32"),
    ("version 2.1.0", "version 2.2.0"),
    ("accuracy 0.93 in 3 s", "accuracy 0.91 in 3 s"),
    ("commit 579288b442f4826a753379c8fb34d663f336b5a3", "commit 679288b442f4826a753379c8fb34d663f336b5a3"),
    ("a", "a\nb"),
    ("10%", "11%"),
    ("Accuracy: 93% on test", "Accuracy: 12% on test"),
    ("93% - good", "12% - good"),
    ("growth 3% [2%, 4%]", "growth 9% [8%, 10%]"),
    ("| a | 10% | 20% |", "| a | 10% | 30% |"),
    ("Will process 5 items", "Will process 6 items"),
    ("process 120 rows", "process 121 rows"),
    ("5", "1"),
    ("datetime.timedelta(days=3)", "datetime.timedelta(days=4)"),
    ("Writing a.txt", "Writing b.txt"),
    ("x.py:3: UserWarning: one", "x.py:3: UserWarning: two"),
    ("3 months", "4 months"),
    ("5 samples", "6 samples"),
    ("1 2 3", "1 2  3"),
]


@pytest.mark.parametrize(("one", "two"), DIFFERENT)
def test_everything_else_is_one(one: str, two: str):
    assert compare_outputs([stream(one)], [stream(two)])


def test_a_difference_is_told_as_a_diff_of_what_is_compared():
    diff = compare_outputs([stream("a\nb at 0x7f0000001234\nc")], [stream("a\nb at 0x7f0000009999\nd")])
    assert diff == ["--- recorded", "+++ now", "@@ -2,3 +2,3 @@", " a", " b at <address>", "-c", "+d"]


def test_a_long_difference_is_cut():
    diff = compare_outputs([stream("\n".join(map(str, range(5000))))], [stream("x")])
    assert len(diff) == 201 and "more lines" in diff[-1]


def test_streams_are_compared_by_name_however_they_were_cut():
    one = [stream("a"), stream("w", "stderr"), stream("b\n"), result(text_plain="1")]
    two = [stream("ab\n"), stream("w", "stderr"), result(text_plain="1")]
    assert compare_outputs(one, two) == []
    assert compare_outputs(one, [*two[:1], *two[2:]])


def test_an_error_is_compared_by_its_name_and_its_text():
    one = {
        "output_type": "error",
        "ename": "ValueError",
        "evalue": "bad <A object at 0x7f0012345678>",
        "traceback": ["line 3"],
    }
    two = {**one, "evalue": "bad <A object at 0x7fffffffffff>", "traceback": ["elsewhere"]}
    assert compare_outputs([one], [two]) == []
    assert compare_outputs([one], [{**one, "ename": "KeyError"}])
    assert compare_outputs([one], [])


def png(pixels: bytes, *, level: int = 6, text: bytes = b"", width: int = 2) -> str:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, 1, 8, 0, 0, 0, 0)
    packed = zlib.compress(pixels, level)
    parts = [
        chunk(b"IHDR", head),
        *([chunk(b"tEXt", text)] if text else []),
        chunk(b"IDAT", packed[:5]),
        chunk(b"IDAT", packed[5:]),
        chunk(b"IEND", b""),
    ]
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


def test_pictures_are_compared_by_what_they_show():
    one = png(b"\x00\x10\x20", text=b"Software\x00matplotlib 3.8")
    two = png(b"\x00\x10\x20", level=0, text=b"Software\x00matplotlib 3.9")
    lines = f"{one[:40]}\n{one[40:]}\n"
    assert picture_digest("image/png", one) == picture_digest("image/png", two) == picture_digest("image/png", lines)
    assert picture_digest("image/png", one) != picture_digest("image/png", png(b"\x00\x10\x21"))
    plot = {"image_png": one, "text_plain": "<Figure size 640x480 with 1 Axes>"}
    assert (
        compare_outputs([result(**plot)], [result(**plot | {"image_png": two, "text_plain": "<Figure with 1 Axes>"})])
        == []
    )
    told = compare_outputs([result(**plot)], [result(**plot | {"image_png": png(b"\x00\x10\x21")})])
    assert any(line.startswith("+[image/png 2 × 1] ") for line in told)


def test_a_picture_of_other_letters_is_compared_as_it_stands():
    assert compare_outputs([result(image_png="é")], [result(image_png="é")]) == []
    assert compare_outputs([result(image_png="é")], [result(image_png="è")])


def test_a_damaged_picture_is_compared_by_its_bytes():
    assert picture_digest("image/png", "no base64!") != picture_digest("image/png", "no base64?")
    broken = base64.b64encode(base64.b64decode(png(b"\x00\x01\x02"))[:45]).decode()
    assert picture_digest("image/png", broken) == picture_digest("image/png", broken)


def test_vector_pictures_are_compared_without_their_dates_and_names():
    svg = '<svg><metadata><dc:date>{date}</dc:date></metadata><path id="{name}" d="M0 0"/><use xlink:href="#{name}"/></svg>'
    one, two = svg.format(date="2026", name="m1a2"), svg.format(date="2027", name="m9f9")
    assert picture_digest("image/svg+xml", one) == picture_digest("image/svg+xml", two)
    assert picture_digest("image/svg+xml", one) != picture_digest("image/svg+xml", one.replace("M0 0", "M0 1"))


def test_identities_of_widgets_are_no_difference_but_json_is_compared():
    view = "application/vnd.jupyter.widget-view+json"
    one = {
        "output_type": "display_data",
        "metadata": {},
        "data": {view: {"model_id": "a"}, "text/plain": "IntSlider(value=1)"},
    }
    two = {**one, "data": {view: {"model_id": "b"}, "text/plain": "IntSlider(value=1)"}}
    assert compare_outputs([one], [two]) == []
    table = {"application/json": {"b": [1], "a": 2}}
    again = {"application/json": {"a": 2, "b": [1]}}
    shown = {"output_type": "display_data", "metadata": {}}
    assert compare_outputs([{**shown, "data": table}], [{**shown, "data": again}]) == []
    assert compare_outputs([{**shown, "data": table}], [{**shown, "data": {"application/json": {"a": 3}}}])
