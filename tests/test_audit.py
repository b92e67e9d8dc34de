"""The audit's chain: whatever is done to its lines and files is found, and its place is named."""

import json
import random
from pathlib import Path

import pytest
from support.tampering import TAMPERS, Chain, tampered, written

from jupyter_pernix.audit import BREAK_FOUND, OPENED, Head, check, day_files, lines_of, next_line, read_line

DAYS = ("2026-11-28", "2026-11-29", "2026-11-30")
KINDS = ("policy.decided", "tool_call.started", "approval.resolved", "turn.finished")


def a_chain(rng: random.Random) -> tuple[Chain, Head]:
    """Three days of lines, four at least each."""
    chain: Chain = {}
    head = Head()
    for day in DAYS:
        for hour in sorted(rng.sample(range(10, 24), rng.randint(4, 12))):
            kind = OPENED if head.n == 0 else rng.choice(KINDS)
            fields = {"session": "ses_1", "seq": head.n, "verdict": rng.choice(["allow", "refuse"])}
            raw, head = next_line(head, at=f"{day}T{hour}:00:00.000000Z", kind=kind, fields=fields)
            chain.setdefault(f"{day}.jsonl", []).append(raw)
    return chain, head


@pytest.mark.parametrize("name", TAMPERS)
def test_whatever_is_done_to_a_chain_is_found_and_its_place_named(name: str, tmp_path: Path) -> None:
    for seed in range(60):
        rng = random.Random(f"{name}{seed}")
        chain, head = a_chain(rng)
        tampered(name, rng, chain, head, tmp_path / "audit")


def test_what_was_done_is_said_in_words(tmp_path: Path) -> None:
    chain, head = a_chain(random.Random(1))
    name = f"{DAYS[1]}.jsonl"
    del chain[name][1]
    first = json.loads(chain[name][0])["n"]
    report = check(day_files(written(chain, tmp_path / "audit")), known=head)
    assert [str(fault) for fault in report.faults] == [
        f"{name}:2: in front of line n={first + 2}, n={first + 1} is missing: removed"
    ]


def test_a_chain_without_a_known_head_is_sound_even_if_its_end_was_cut_off(tmp_path: Path) -> None:
    """It cannot be seen: that is what the store's head is for."""
    chain, head = a_chain(random.Random(2))
    chain[f"{DAYS[2]}.jsonl"].pop()
    folder = written(chain, tmp_path / "audit")
    assert check(day_files(folder)).sound
    assert not check(day_files(folder), known=head).sound


def test_a_part_of_a_chain_is_checked_from_the_day_on_that_is_asked_for(tmp_path: Path) -> None:
    chain, head = a_chain(random.Random(3))
    files = day_files(written(chain, tmp_path / "audit"))
    assert check(files[1:], known=head, from_start=False).sound
    assert not check(files[1:], known=head).sound


def test_lines_of_a_clock_that_was_set_back_stay_in_the_latest_file(tmp_path: Path) -> None:
    raw, head = next_line(Head(), at="2026-11-30T00:00:01.000000Z", kind=OPENED, fields={})
    back, later = next_line(head, at="2026-11-29T23:59:59.000000Z", kind="turn.started", fields={})
    assert (head.day, later.day) == ("2026-11-30", "2026-11-30")
    folder = written({"2026-11-30.jsonl": [raw, back]}, tmp_path / "audit")
    assert check(day_files(folder), known=later).sound


def test_the_first_line_of_a_day_has_the_hash_of_the_last_one_of_the_day_before(tmp_path: Path) -> None:
    chain, _ = a_chain(random.Random(4))
    lines = list(lines_of(day_files(written(chain, tmp_path / "audit"))))
    assert [line.prev for line in lines[1:]] == [line.hash for line in lines[:-1]]
    assert len({line.at[:10] for line in lines}) == 3


def test_a_line_says_a_break_that_the_server_found(tmp_path: Path) -> None:
    chain, head = a_chain(random.Random(5))
    raw, later = next_line(head, at=f"{DAYS[2]}T23:59:59.000000Z", kind=BREAK_FOUND, fields={"found": "a file is gone"})
    chain[f"{DAYS[2]}.jsonl"].append(raw)
    report = check(day_files(written(chain, tmp_path / "audit")), known=later)
    assert [fault.says for fault in report.faults] == [
        "here the server found the files changed, and said: a file is gone"
    ]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b'{"n":1}',
        b"\xff\xfe",
        b'{"n":true,"at":"","prev":"","kind":"","hash":"%b"}' % (b"0" * 64),
    ],
)
def test_what_is_no_line_is_none(raw: bytes) -> None:
    assert read_line(raw) is None


def test_files_of_other_names_are_no_part_of_it(tmp_path: Path) -> None:
    for name in ("2026-11-30.jsonl", "2026-11-30.jsonl.bak", "notes.txt", "x2026-11-30.jsonl"):
        (tmp_path / name).touch()
    assert [path.name for path in day_files(tmp_path)] == ["2026-11-30.jsonl"]
    assert day_files(tmp_path / "none") == []
