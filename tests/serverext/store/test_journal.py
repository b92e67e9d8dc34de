"""The journal's files, byte by byte, and what the next start makes of them."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from jupyter_pernix.serverext.store.database import Database
from jupyter_pernix.serverext.store.ingest import encode_line
from jupyter_pernix.serverext.store.journal import Contents, Journal, JournalFile, encode_record, read_records

PAYLOADS = [b"first", "zweiter \u2026 \u00abPJ1\u00bb".encode(), b"x" * 1000]


def contents(payloads: list[bytes], *, damaged: int = 0, torn: int = 0) -> Contents:
    return Contents(payloads=payloads, damaged=damaged, torn=torn)


def line(seq: int, text: str = "") -> bytes:
    body = b'{"type":"message.completed","turn_id":"trn_1","step_id":"stp_1","text":"%b","session_id":"ses_1"}'
    return encode_line(seq, 1_700_000_000_000_000 + seq, "", body % text.encode())


def seqs(path: Path) -> list[int]:
    with duckdb.connect(str(path)) as connection:
        return [seq for (seq,) in connection.execute("SELECT seq FROM events ORDER BY seq").fetchall()]


def opened_and_closed(path: Path) -> Database:
    database = Database(path)
    database.open()
    database.close()
    return database


def test_what_was_written_is_read_back_with_zeros_behind_it_or_not() -> None:
    data = b"".join(map(encode_record, PAYLOADS))
    assert read_records(data) == contents(PAYLOADS)
    assert read_records(data + bytes(4096)) == contents(PAYLOADS)
    assert read_records(b"") == read_records(bytes(4096)) == contents([])


@pytest.mark.parametrize("zeros", [0, 4096])
def test_a_last_record_that_is_torn_at_any_byte_is_dropped_and_the_others_stay(zeros: int) -> None:
    kept, last = b"".join(map(encode_record, PAYLOADS)), encode_record(b"the last one")
    for cut in range(1, len(last)):
        found = read_records(kept + last[:cut] + bytes(zeros))
        assert (found.payloads, found.damaged, found.torn > 0) == (PAYLOADS, 0, True)


def test_a_change_of_any_byte_of_a_record_in_the_middle_is_noticed_and_loses_that_record_alone() -> None:
    records = [encode_record(payload) for payload in PAYLOADS[:2]]
    last = encode_record(b"behind it")
    start, end = len(records[0]), len(records[0]) + len(records[1])
    data = b"".join(records) + last
    for at in range(start, end):
        changed = data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :]
        assert read_records(changed) == contents([PAYLOADS[0], b"behind it"], damaged=1)


def test_a_file_is_longer_than_its_records_while_it_is_written_and_empty_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "one.journal"
    file = JournalFile(path)
    for payload in PAYLOADS * 400:
        file.append(payload)
    assert read_records(path.read_bytes()) == contents(PAYLOADS * 400)
    file.empty()
    assert path.stat().st_size == 0
    file.append(b"again")
    assert read_records(path.read_bytes()) == contents([b"again"])
    file.remove()
    assert not path.exists()


def test_a_record_that_has_no_room_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "one.journal"
    file = JournalFile(path)
    file.append(b"before")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            file.append(b"y" * 400_000)
        assert read_records(path.read_bytes()) == contents([b"before"])
        file.append(b"z" * 200_000)
        with pytest.raises(OSError, match="File too large"):
            file.append(b"y" * 200_000)
        file.append(b"a small one has room")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    file.append(b"after")
    file.close()
    assert read_records(path.read_bytes()) == contents([b"before", b"z" * 200_000, b"a small one has room", b"after"])


def test_while_one_file_is_taken_in_the_other_takes_what_comes_and_a_failure_keeps_both(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "pernix.duckdb")
    journal.open()
    journal.append(b"one")
    assert journal.seal() == [b"one"]
    journal.append(b"two")
    assert journal.seal() == [b"one"], "an earlier try that failed comes first"
    journal.append(b"three")
    found = sorted(payload for _, kept in journal.read() for payload in kept.payloads)
    assert found == [b"one", b"three", b"two"]
    journal.cut()
    assert journal.seal() == [b"two", b"three"]
    journal.cut()
    assert (journal.seal(), [kept for _, kept in journal.read()]) == ([], [contents([])] * 2)
    journal.close()
    assert list(tmp_path.iterdir()) == []


def test_a_crash_between_the_database_and_the_cut_doubles_nothing(tmp_path: Path) -> None:
    path = tmp_path / "pernix.duckdb"
    database = Database(path)
    database.open()
    for seq in (1, 2, 3):
        database.journal.append(line(seq))
    left = path.with_suffix(".journal").read_bytes()
    assert database.take_in() == 3
    database.close()
    path.with_suffix(".journal").write_bytes(left)
    path.with_suffix(".journal2").write_bytes(encode_record(line(4)) + encode_record(line(5)))
    assert opened_and_closed(path).taken == 5
    assert seqs(path) == [1, 2, 3, 4, 5]
    assert sorted(file.name for file in tmp_path.iterdir()) == [path.name]


def test_damage_is_said_what_is_whole_is_taken_in_and_the_file_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "pernix.duckdb"
    opened_and_closed(path)
    records = [encode_record(line(seq, "t" * 50)) for seq in (1, 2, 3)]
    damaged = records[0] + records[1][:40] + b"?" + records[1][41:] + records[2]
    path.with_suffix(".journal").write_bytes(damaged)
    database = opened_and_closed(path)
    (kept,) = tmp_path.glob("*.damaged-*")
    assert kept.read_bytes() == damaged
    assert [str(kept) in warning for warning in database.warnings] == [True]
    assert seqs(path) == [1, 3]
    assert opened_and_closed(path).warnings == []


DYING = """
import sys
from pathlib import Path
from jupyter_pernix.serverext.store.database import Database
from jupyter_pernix.serverext.store.ingest import encode_line

database = Database(Path(sys.argv[1]))
database.open()
seq = database.taken
while True:
    seq += 1
    body = b'{"type":"turn.submitted","turn_id":"trn_%d","text":"x","origin":"api","session_id":"ses_1"}' % seq
    with database.journal_lock:
        database.journal.append(encode_line(seq, seq, "", body))
    print(seq, flush=True)
    if seq % 7 == 0:
        database.take_in()
"""


@pytest.mark.parametrize("after", [1, 6, 7, 8, 13, 14, 15, 40])
def test_a_process_that_is_killed_while_it_takes_in_loses_and_doubles_nothing(tmp_path: Path, after: int) -> None:
    path = tmp_path / "pernix.duckdb"
    for _ in range(2):
        known = len(seqs(path)) if path.exists() else 0
        dying = subprocess.Popen(
            [sys.executable, "-c", DYING, str(path)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
        )
        assert dying.stdout is not None
        for _ in range(after):
            acknowledged = int(dying.stdout.readline())
        dying.send_signal(signal.SIGKILL)
        rest = [int(text) for text in dying.stdout.read().splitlines()]
        dying.wait(10)
        dying.stdout.close()
        opened_and_closed(path)
        found = seqs(path)
        assert found == list(range(1, len(found) + 1))
        assert len(found) >= max([acknowledged, *rest]) >= known + after
