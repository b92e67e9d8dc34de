"""``jupyter pernix audit`` on the files of a real store, without a server and with one."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pytest
from support.story import SESSION, story

from jupyter_pernix import client as client_module
from jupyter_pernix.audit import Head, day_files, lines_of, next_line
from jupyter_pernix.cli import main
from jupyter_pernix.cli.audit_words import _WORDS
from jupyter_pernix.events import ApprovalResolved, Event, PolicyDecided, ToolCallRequested, Unknown
from jupyter_pernix.ids import ApprovalId, CallId, StepId, TurnId
from jupyter_pernix.serverext.audit.noting import NOTED
from jupyter_pernix.serverext.audit.projection import KINDS
from jupyter_pernix.serverext.audit.trail import Trail
from jupyter_pernix.serverext.store import EventStore

from .fake_api import FakeApi, fake_api

TURN, CALL = TurnId("trn_1"), CallId("cal_9")
ASKED: list[Event] = [
    ToolCallRequested(
        session_id=SESSION,
        turn_id=TURN,
        step_id=StepId("stp_9"),
        call_id=CALL,
        wire_id="w",
        tool="run_shell",
        kind="execute",
        title="cargo test --quiet",
        arguments={"command": "cargo test --quiet"},
    ),
    PolicyDecided(
        session_id=SESSION,
        turn_id=TURN,
        call_id=CALL,
        action="shell",
        verdict="ask",
        rule="mode:edit:shell",
        mode="edit",
        targets=["cargo test --quiet"],
    ),
    ApprovalResolved(
        session_id=SESSION,
        turn_id=TURN,
        call_id=CALL,
        approval_id=ApprovalId("apr_9"),
        choice="allow_session",
        text="",
        by="panel",
        rules=["cargo test"],
    ),
]


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """Of a server that was stopped in order."""
    folder = tmp_path / "data"
    await lived(folder, [one.event for one in story()])
    await lived(folder, ASKED)
    return folder


async def lived(data: Path, events: Sequence[Event | Unknown]) -> None:
    store = await EventStore.open(data / "pernix.duckdb", auditor=Trail(data / "audit", on=True))
    await store.append(events)
    await store.aclose()


def verify(data: Path, *options: str) -> int:
    return main(["audit", "verify", "--data-dir", str(data), *options])


def only_file(data: Path) -> Path:
    (path,) = day_files(data / "audit")
    return path


# ---- verify -----------------------------------------------------------------------------------------------------------------


async def test_an_audit_that_nobody_touched_is_sound(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(data) == 0
    said = capsys.readouterr()
    assert said.out.startswith("sound: ")
    assert (said.out.rstrip().endswith("checked against the store"), said.err) == (True, "")


@pytest.mark.parametrize("how", ["changed", "removed", "cut off", "put behind", "gone"])
async def test_what_was_done_is_named_with_its_place(data: Path, how: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = only_file(data)
    lines = path.read_bytes().splitlines(keepends=True)
    match how:
        case "changed":
            lines[9] = lines[9].replace(b"ses_0001", b"ses_0002")
            told = f"{path.name}:10: line n=10 was changed"
        case "removed":
            del lines[9]
            told = f"{path.name}:10: in front of line n=11, n=10 is missing"
        case "cut off":
            del lines[-2:]
            told = f"the last 2 lines are missing: the store knows n={len(lines) + 2}"
        case "put behind":
            last = json.loads(lines[-1])
            head = Head(n=last["n"], hash=last["hash"], day=path.stem)
            lines.append(next_line(head, at=last["at"], kind="turn.finished", fields={})[0])
            told = "that the log does not give"
        case _:
            lines = []
            told = f"the last {json.loads(path.read_bytes().splitlines()[-1])['n']} lines are missing"
    path.write_bytes(b"".join(lines))
    assert verify(data) == 1
    said = capsys.readouterr().out
    assert told in said
    assert "not sound: " in said
    assert verify(data, "--json") == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["sound"], bool(report["faults"]), set(report["head"])) == (False, True, {"n", "hash", "day"})


async def test_a_store_that_is_gone_is_no_reason_to_believe_the_files(data: Path) -> None:
    (data / "pernix.duckdb").unlink()
    assert verify(data) == 1


async def test_what_a_killed_server_has_not_written_yet_is_no_fault(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = only_file(data)
    lines = path.read_bytes().splitlines(keepends=True)
    end = json.loads(lines[-4])
    with duckdb.connect(str(data / "pernix.duckdb")) as connection:
        values = [end["n"], end["hash"], end["seq"]]
        connection.execute("UPDATE audit_state SET n = ?, hash = ?, seq = ?", values)
    for kept in (lines[:-2], [*lines[:-2], lines[-2][:50]]):
        path.write_bytes(b"".join(kept))
        assert verify(data) == 0
        assert "The last 2 lines are not written yet" in capsys.readouterr().err
    path.write_bytes(b"".join([*lines[:-2], lines[-1]]))
    assert verify(data) == 1


async def test_files_alone_are_checked_against_a_head_that_is_given(data: Path, tmp_path: Path) -> None:
    head = list(lines_of(day_files(data / "audit")))[-1]
    copy = tmp_path / only_file(data).name
    copy.write_bytes(only_file(data).read_bytes())
    given = ["--head", f"{head.n}:{head.hash}"]
    assert main(["audit", "verify", str(copy), *given]) == 0
    copy.write_bytes(b"".join(copy.read_bytes().splitlines(keepends=True)[:-1]))
    assert main(["audit", "verify", str(copy)]) == 0
    assert main(["audit", "verify", str(copy), *given]) == 1


def test_bad_usage_is_said() -> None:
    for options in (["--head", "3"], ["--since", "yesterday"]):
        with pytest.raises(SystemExit) as caught:
            main(["audit", "verify", *options])
        assert caught.value.code == 2
    assert main(["audit", "verify", "/no/such/folder"]) == 2
    assert main(["audit", "show", "--data-dir", "/no/such/folder"]) == 2


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    with fake_api() as found:
        monkeypatch.setattr(client_module, "find", found.client)
        yield found


async def test_a_running_server_is_asked_how_far_the_audit_goes(
    data: Path, api: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    head = list(lines_of(day_files(data / "audit")))[-1]
    told = {
        "n": head.n,
        "hash": head.hash,
        "day": head.at[:10],
        "on": True,
        "store_id": "",
        "folder": "",
        "problem": "",
    }
    api.routes["GET /"] = (200, {"data_dir": str(data)})
    api.routes["GET /audit"] = (200, told)
    assert main(["audit", "verify"]) == 0
    api.routes["GET /audit"] = (200, {**told, "n": head.n + 3, "problem": "the audit cannot be written"})
    assert main(["audit", "verify"]) == 1
    said = capsys.readouterr()
    assert "the last 3 lines are missing" in said.out
    assert "the audit cannot be written" in said.err


# ---- show and tail ----------------------------------------------------------------------------------------------------------


async def test_lines_are_shown_in_words(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "tail", "-n", "3", "--data-dir", str(data)]) == 0
    day, *lines = capsys.readouterr().out.splitlines()
    assert day == f"{only_file(data).stem} (UTC)"
    assert [line[9:] for line in lines] == [
        f"{SESSION} run_shell requested, 32 bytes of arguments",
        f"{SESSION} run_shell asked (rule 'mode:edit:shell', mode edit)",
        f"{SESSION} run_shell asked → allowed for the session by panel (rule 'cargo test')",
    ]


async def test_lines_are_chosen_by_session_and_time_and_given_as_json(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def shown(*options: str) -> list[str]:
        assert main(["audit", "show", "--json", "--data-dir", str(data), *options]) == 0
        return capsys.readouterr().out.splitlines()

    everything = shown()
    assert everything == [json.dumps(line.fields, ensure_ascii=False) for line in lines_of(day_files(data / "audit"))]
    assert len(shown("--session", SESSION)) == len(everything) - 1, "all but the first line, which is of no session"
    assert shown("--session", "ses_none") == shown("--since", "2999-01-01") == []
    assert shown("--since", json.loads(everything[0])["at"][:10]) == everything


def test_a_follower_sees_what_comes(tmp_path: Path) -> None:
    data = tmp_path / "data"
    asyncio.run(lived(data, ASKED))
    command = [sys.executable, "-m", "jupyter_pernix.cli", "audit", "tail", "-f", "-n", "1", "--data-dir", str(data)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stdout is not None
        assert "(UTC)" in process.stdout.readline()
        assert "allowed for the session" in process.stdout.readline()
        asyncio.run(lived(data, ASKED[:1]))
        assert "run_shell requested" in process.stdout.readline()
        process.kill()


def test_each_kind_of_line_has_words() -> None:
    assert {*KINDS, *NOTED} - set(_WORDS) == set()
    empty = {"n": 1, "kind": "x"}
    assert all(say(empty) for say in _WORDS.values())
