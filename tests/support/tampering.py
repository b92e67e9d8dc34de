"""Ways to change a chain of audit lines, each with the place at which it must be noticed."""

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path

from jupyter_pernix.audit import Head, check, day_files, next_line

Chain = dict[str, list[bytes]]
"""By the name of the day's file, oldest first: three days of at least three lines."""


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


LATER = "2999-12-01.jsonl"

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
    chain[list(chain)[-1]][-1] = forged(chain[list(chain)[-1]][-1], verdict="none")


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
def copied_to_another_place(rng: random.Random, chain: Chain) -> tuple[str, int] | None:
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
    last = json.loads(chain[list(chain)[-1]][-1])
    chain[list(chain)[-1]].append(forged(chain[list(chain)[-1]][-1], n=last["n"] + 1, prev=last["hash"]))


@tamper
def cut_at_the_end(rng: random.Random, chain: Chain) -> None:
    name = list(chain)[-1]
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
    chain[LATER] = chain.pop(name)
    return min(other for other in (*chain, LATER) if other > name), 1


@tamper
def a_line_in_the_file_of_another_day(rng: random.Random, chain: Chain) -> tuple[str, int]:
    first, second = list(chain)[:2]
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


def tampered(name: str, rng: random.Random, chain: Chain, head: Head, folder: Path) -> None:
    """Change the chain in that way, and see that it is found and its place named."""
    assert check(day_files(written(chain, folder)), known=head).faults == [], "untouched"
    before = {day: list(lines) for day, lines in chain.items()}
    place = TAMPERS[name](rng, chain)
    if chain == before:
        return
    report = check(day_files(written(chain, folder)), known=head)
    places = [(fault.file, fault.line) for fault in report.faults]
    assert not report.sound, name
    if place is None:
        assert ("", 0) in places, (name, places)
    else:
        assert any(found[0] == place[0] and abs(found[1] - place[1]) <= 1 for found in places), (name, place, places)
