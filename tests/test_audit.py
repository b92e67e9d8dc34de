"""The audit's chain: whatever is done to its lines and files is found, and its place is named."""

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from jupyter_pernix.audit import BREAK_FOUND, OPENED, Head, check, day_files, lines_of, next_line, read_line

Chain = dict[str, list[bytes]]
"""By the name of the file."""

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


def written(chain: Chain, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for name, lines in chain.items():
        (folder / name).write_bytes(b"".join(lines))
    return folder


def forged(line: bytes, **changed: object) -> bytes:
    """The line with other fields, and a hash that fits them."""
    fields = json.loads(line) | changed
    del fields["hash"]
    body = json.dumps(fields, separators=(",", ":")).encode()
    return body[:-1] + b',"hash":"%b"}\n' % hashlib.sha256(body).hexdigest().encode()


Tamper = Callable[[random.Random, Chain], tuple[str, int] | None]
"""Changes the chain; the file and line (from 1) at or behind which it must be noticed, ``None``: at the end of the chain."""
TAMPERS: dict[str, Tamper] = {}


def tamper(function: Tamper) -> Tamper:
    TAMPERS[function.__name__] = function
    return function


def somewhere(rng: random.Random, chain: Chain, *, last: bool = True) -> tuple[str, int]:
    name = rng.choice(list(chain))
    return name, rng.randrange(len(chain[name]) - (0 if last else 1))


@tamper
def one_bit(rng: random.Random, chain: Chain) -> tuple[str, int]:
    name, at = somewhere(rng, chain)
    line = chain[name][at]
    place = rng.randrange(len(line) - 1)
    chain[name][at] = line[:place] + bytes([line[place] ^ 1 << rng.randrange(8)]) + line[place + 1 :]
    return name, at + 1


@tamper
def a_verdict(rng: random.Random, chain: Chain) -> tuple[str, int]:
    name, at = somewhere(rng, chain)
    line = chain[name][at]
    chain[name][at] = line.replace(b"refuse", b"allow") if b"refuse" in line else line.replace(b'"allow"', b'"refuse"')
    return name, at + 1


@tamper
def a_verdict_with_a_hash_that_fits(rng: random.Random, chain: Chain) -> tuple[str, int]:
    name, at = somewhere(rng, chain, last=False)
    chain[name][at] = forged(chain[name][at], verdict="none")
    return name, at + 2


@tamper
def the_last_line_with_a_hash_that_fits(rng: random.Random, chain: Chain) -> None:
    chain[f"{DAYS[-1]}.jsonl"][-1] = forged(chain[f"{DAYS[-1]}.jsonl"][-1], verdict="none")


@tamper
def a_key_more(rng: random.Random, chain: Chain) -> tuple[str, int]:
    name, at = somewhere(rng, chain)
    chain[name][at] = json.dumps({**json.loads(chain[name][at]), "x": 1}).encode() + b"\n"
    return name, at + 1


@tamper
def spaces_in_between(rng: random.Random, chain: Chain) -> tuple[str, int]:
    name, at = somewhere(rng, chain)
    chain[name][at] = json.dumps(json.loads(chain[name][at])).encode() + b"\n"
    return name, at + 1


@tamper
def removed(rng: random.Random, chain: Chain) -> tuple[str, int]:
    name, at = somewhere(rng, chain, last=False)
    del chain[name][at]
    return name, at + 1


@tamper
def two_swapped(rng: random.Random, chain: Chain) -> tuple[str, int]:
    name, at = somewhere(rng, chain, last=False)
    chain[name][at], chain[name][at + 1] = chain[name][at + 1], chain[name][at]
    return name, at + 1


@tamper
def repeated(rng: random.Random, chain: Chain) -> tuple[str, int]:
    name, at = somewhere(rng, chain)
    chain[name].insert(at, chain[name][at])
    return name, at + 2


@tamper
def copied_to_another_place(rng: random.Random, chain: Chain) -> tuple[str, int]:
    (source, line), (name, at) = somewhere(rng, chain), somewhere(rng, chain)
    if (source, line) == (name, at):
        return repeated(rng, chain)
    copy = chain[source][line]
    chain[name].insert(at, copy)
    return name, at + 1


@tamper
def a_forged_line_put_in(rng: random.Random, chain: Chain) -> tuple[str, int]:
    name, at = somewhere(rng, chain, last=False)
    before = json.loads(chain[name][at])
    chain[name].insert(at + 1, forged(chain[name][at], n=before["n"] + 1, prev=before["hash"]))
    return name, at + 3


@tamper
def a_forged_line_at_the_end(rng: random.Random, chain: Chain) -> None:
    last = json.loads(chain[f"{DAYS[-1]}.jsonl"][-1])
    chain[f"{DAYS[-1]}.jsonl"].append(forged(chain[f"{DAYS[-1]}.jsonl"][-1], n=last["n"] + 1, prev=last["hash"]))


@tamper
def cut_at_the_end(rng: random.Random, chain: Chain) -> None:
    name = f"{DAYS[-1]}.jsonl"
    del chain[name][-rng.randint(1, len(chain[name])) :]


@tamper
def cut_within_a_line(rng: random.Random, chain: Chain) -> tuple[str, int]:
    name = rng.choice(list(chain))
    line = chain[name][-1]
    chain[name][-1] = line[: rng.randrange(1, len(line) - 1)]
    return name, len(chain[name])


@tamper
def a_day_gone(rng: random.Random, chain: Chain) -> tuple[str, int] | None:
    gone = rng.choice(list(chain))
    del chain[gone]
    behind = [name for name in chain if name > gone]
    return (behind[0], 1) if behind else None


@tamper
def all_gone(rng: random.Random, chain: Chain) -> None:
    chain.clear()


@tamper
def a_day_emptied(rng: random.Random, chain: Chain) -> tuple[str, int] | None:
    name = rng.choice(list(chain))
    chain[name] = []
    behind = [other for other in chain if other > name]
    return (behind[0], 1) if behind else None


@tamper
def two_days_swapped(rng: random.Random, chain: Chain) -> tuple[str, int]:
    one, other = sorted(rng.sample(list(chain), 2))
    chain[one], chain[other] = chain[other], chain[one]
    return one, 1


@tamper
def a_day_under_another_name(rng: random.Random, chain: Chain) -> tuple[str, int]:
    name = rng.choice(list(chain))
    chain["2026-12-01.jsonl"] = chain.pop(name)
    return min(other for other in (*chain, "2026-12-01.jsonl") if other > name), 1


@tamper
def a_line_in_the_file_of_another_day(rng: random.Random, chain: Chain) -> tuple[str, int]:
    first, second = (f"{day}.jsonl" for day in DAYS[:2])
    chain[first].append(chain[second].pop(0))
    return first, len(chain[first])


@tamper
def all_made_anew(rng: random.Random, chain: Chain) -> None:
    name, at = somewhere(rng, chain)
    head, seen = Head(), False
    for day, lines in chain.items():
        for place, raw in enumerate(lines):
            fields = json.loads(raw)
            seen = seen or (day, place) == (name, at)
            rest = {key: value for key, value in fields.items() if key not in ("n", "at", "prev", "kind", "hash")}
            if (day, place) == (name, at):
                rest["verdict"] = "none"
            lines[place], head = next_line(head, at=fields["at"], kind=fields["kind"], fields=rest)


@pytest.mark.parametrize("name", TAMPERS)
def test_whatever_is_done_to_a_chain_is_found_and_its_place_named(name: str, tmp_path: Path) -> None:
    for seed in range(60):
        rng = random.Random(f"{name}{seed}")
        chain, head = a_chain(rng)
        folder = tmp_path / "audit"
        assert check(day_files(written(chain, folder)), known=head).faults == [], "untouched"
        place = TAMPERS[name](rng, chain)
        report = check(day_files(written(chain, folder)), known=head)
        places = [(fault.file, fault.line) for fault in report.faults]
        assert not report.sound, seed
        if place is None:
            assert ("", 0) in places, (seed, places)
        else:
            assert any(found[0] == place[0] and abs(found[1] - place[1]) <= 1 for found in places), (seed, places)


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
