"""The command line against a real server and a scripted model, as a person or a script runs it."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.lab import Lab
from support.model_server import ModelServer
from support.watch import wait_event

from jupyter_pernix.client import find
from jupyter_pernix.headless import WITHOUT_PAGES

pytestmark = [pytest.mark.server, pytest.mark.timeout(120)]

COMMAND = [sys.executable, "-m", "jupyter_pernix.cli"]


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(program="builtin:echo") as server:
        yield server


@pytest.fixture(scope="module")
def lab(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home, root = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("root")
    with Lab(home=home, root=root, endpoint=model.url, arguments=WITHOUT_PAGES) as server:
        yield server


@pytest.fixture
def script(model: ModelServer) -> Any:
    def say(*turns: dict[str, Any]) -> None:
        model.ctl("reset", {})
        model.ctl("script", {"turns": list(turns), "advance": "assistant_messages", "on_end": "last"})

    return say


def pernix(lab: Lab, *arguments: str, cwd: Path | None = None, timeout: float = 90) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        cwd=cwd or lab.root,
        env=lab.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def session_of(text: str) -> str:
    found = re.search(r"ses_\w+", text)
    assert found is not None, text
    return found.group()


def test_the_answer_alone_is_on_stdout(lab: Lab, script: Any):
    (lab.root / "a.txt").write_text("one\ntwo\n")
    script({"text": "I read it.", **call("read_file", path="a.txt")}, {"text": "It has **two** lines.\nThat is all."})
    done = pernix(lab, "run", "How long is a.txt?")
    assert (done.returncode, done.stdout) == (0, "I read it.\nIt has **two** lines.\nThat is all.\n")
    assert re.search(r"✓ .*a\.txt.* \d\.\d s", done.stderr)
    view = lab.client().session(session_of(done.stderr))
    assert view["turns"][0]["origin"] == "cli"
    assert (lab.root / view["record_path"]).is_file()


def test_json_prints_each_stored_event_once_in_order(lab: Lab, script: Any):
    script({"text": "Hello."})
    done = pernix(lab, "run", "Greet me", "--json", "--mode", "ask")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    stored = list(lab.client().past_events(events[0]["session_id"]))
    assert events == stored
    assert [events[0]["type"], events[-1]["type"]] == ["session.created", "session.state_changed"]
    assert [event["code"] for event in events if event["type"] == "turn.finished"] == ["answered"]


def test_a_session_goes_on_with_its_history(lab: Lab, script: Any):
    script({"text": "First."}, {"text": "Second."})
    first = pernix(lab, "run", "one")
    second = pernix(lab, "run", "two", "--session", session_of(first.stderr))
    assert (first.stdout, second.stdout) == ("First.\n", "Second.\n")
    assert len(lab.client().session(session_of(second.stderr))["turns"]) == 2


def test_what_has_to_be_asked_is_refused_when_nobody_is_there(lab: Lab, script: Any):
    script(call("run_shell", command="touch made"), {"text": "I may not."})
    done = pernix(lab, "run", "Make a file", "--mode", "edit")
    assert (done.returncode, done.stdout.splitlines()[1:]) == (0, ["I may not."])
    assert re.match("! Nothing was changed .*touch made", done.stdout), "what the host says comes before the answer"
    assert "✗" in done.stderr
    assert not (lab.root / "made").exists()


def test_a_person_at_a_terminal_is_asked(lab: Lab, script: Any):
    script(call("run_shell", command="touch asked-for"), {"text": "Made."})
    control, terminal = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "run", "Make a file", "--mode", "edit"],
        cwd=lab.root,
        env=lab.environ | {"TERM": "xterm"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    seen = read_until(control, "instead: ")
    assert "touch asked-for" in seen
    os.write(control, b"y\n")
    seen = read_until(control, ".ipynb\x1b[0m\r\n")
    assert process.wait(30) == 0
    os.close(control)
    assert "Made." in seen
    assert (lab.root / "asked-for").exists()


def test_what_was_typed_before_a_question_answers_it_not(lab: Lab, script: Any):
    script(call("run_shell", command="touch never-asked-for"), {"text": "Left alone."})
    control, terminal = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "run", "Make a file", "--mode", "edit"],
        cwd=lab.root,
        env=lab.environ | {"TERM": "xterm"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    os.write(control, b"y\ny\ny\n")
    seen = read_until(control, "instead: ")
    assert "why: " in seen
    os.write(control, b"only look at it\n")
    seen = read_until(control, ".ipynb\x1b[0m\r\n")
    assert process.wait(30) == 0
    os.close(control)
    assert "Left alone." in seen
    assert not (lab.root / "never-asked-for").exists()
    session = max(lab.client().sessions(), key=lambda each: each["created_at"])
    (asked,) = [
        item["approval"] for item in lab.client().session(session["session_id"])["turns"][0]["items"] if "tool" in item
    ]
    assert (asked["choice"], asked["text"]) == ("reject_once", "only look at it")


def test_a_person_at_a_terminal_gives_running_code_its_line(lab: Lab, script: Any):
    script(call("run_code", code="print('hello', input('your name? ') + '!')"), {"text": "Greeted."})
    control, terminal = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "run", "Greet me", "--mode", "auto"],
        cwd=lab.root,
        env=lab.environ | {"TERM": "xterm"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    read_until(control, "your name? ")
    os.write(control, "Žofia\n".encode())
    seen = read_until(control, ".ipynb\x1b[0m\r\n")
    assert process.wait(30) == 0
    os.close(control)
    assert "Greeted." in seen
    session = max(lab.client().sessions(), key=lambda each: each["created_at"])
    (call_view,) = [item for item in lab.client().session(session["session_id"])["turns"][0]["items"] if "tool" in item]
    assert call_view["execution"]["outputs"][0]["text"] == "hello Žofia!\n"
    assert call_view["execution"]["inputs"][0]["text"] == "Žofia"


def read_until(control: int, mark: str) -> str:
    seen = b""
    while mark.encode() not in seen:
        try:
            chunk = os.read(control, 4096)
        except OSError:
            chunk = b""
        assert chunk, seen.decode(errors="replace")
        seen += chunk
    return seen.decode(errors="replace")


def test_nothing_that_a_model_or_tool_says_can_steer_the_terminal(lab: Lab, script: Any):
    (lab.root / "evil.txt").write_text("x\n")
    script(
        {"text": "\x1b]0;title\x07\x1b[2J", **call("read_file", path="no\x1b[31m-such-file")},
        {"text": "done\x1b[8m hidden \u202e"},
    )
    done = pernix(lab, "run", "\x1b[1mGo")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", done.stdout + done.stderr)
    shown = pernix(lab, "show", session_of(done.stderr))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", shown.stdout)


def test_a_model_that_fails_gives_its_exit_code_and_says_why(lab: Lab):
    done = pernix(lab, "run", "Hello", "--endpoint", "http://127.0.0.1:9/v1", "--model", "none")
    assert done.returncode in (3, 4)
    assert "127.0.0.1:9" in done.stderr
    names = [endpoint["name"] for endpoint in lab.client().endpoints()["endpoints"]]
    assert "run-127-0-0-1-9" not in names


def test_an_address_serves_one_turn(lab: Lab, model: ModelServer, script: Any):
    script({"text": "From the address."})
    done = pernix(lab, "run", "Hello", "--endpoint", model.url, "--model", "scripted-1")
    assert (done.returncode, done.stdout) == (0, "From the address.\n")


def test_a_turn_that_takes_too_long_is_stopped(lab: Lab, script: Any):
    script({"text": "Never said.", "first_token_ms": 60_000})
    done = pernix(lab, "run", "Be slow", "--timeout", "1.5")
    assert done.returncode == 9
    assert "it took longer than --timeout 1.5 s" in done.stderr
    assert lab.client().session(session_of(done.stderr))["turns"][0]["code"] == "cancelled"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_stops_the_turn(lab: Lab, script: Any, number: signal.Signals):
    script({"text": "Never said.", "first_token_ms": 60_000})
    process = subprocess.Popen(
        [*COMMAND, "run", "Be slow", "--json"], cwd=lab.root, env=lab.environ, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    session_id = json.loads(process.stdout.readline())["session_id"]
    wait_event(lab.client(), session_id, "step.started")
    process.send_signal(number)
    rest, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert [json.loads(line)["code"] for line in rest.splitlines() if '"turn.finished"' in line] == ["cancelled"]


def test_a_turn_whose_output_nobody_reads_any_more_is_stopped(lab: Lab, script: Any):
    script({"text": "Here.", **call("list_files", path=".")}, {"text": "word " * 5000, "tps": 100})
    process = subprocess.Popen(
        [*COMMAND, "run", "Be long", "--title", "Unread"], cwd=lab.root, env=lab.environ, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.read(4) == b"Here"
    process.stdout.close()
    assert process.wait(30) == 0
    (session_id,) = [one["session_id"] for one in lab.client().sessions() if one["title"] == "Unread"]
    assert wait_event(lab.client(), session_id, "turn.finished")["code"] == "cancelled"


@pytest.mark.parametrize(
    ("redirection", "code", "said"), [(">&-", 0, ""), ("> /dev/full", 1, "No space left on device")]
)
def test_an_output_that_cannot_be_written_is_no_traceback(
    lab: Lab, script: Any, redirection: str, code: int, said: str
):
    script({"text": "Hello."})
    command = f"{' '.join(COMMAND)} run Hello {redirection}"
    done = subprocess.run(["bash", "-c", command], cwd=lab.root, env=lab.environ, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, "Traceback" in done.stderr, said in done.stderr) == (code, False, True)


def test_a_folder_elsewhere_is_refused_with_what_to_do(lab: Lab, tmp_path: Path):
    done = pernix(lab, "run", "Hello", cwd=tmp_path)
    assert done.returncode == 2
    assert f"{tmp_path} is not under {lab.root}" in done.stderr
    assert pernix(lab, "run", "Hello", "--space", "nowhere").returncode == 2


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["run"],
        ["run", ""],
        ["run", "x", "--mode", "mad"],
        ["run", "x", "--model", "m"],
        ["run", "x", "--timeout", "-1"],
    ],
)
def test_bad_usage_is_exit_code_2(lab: Lab, arguments: list[str]):
    assert pernix(lab, *arguments).returncode == 2


def test_an_unknown_session_is_named(lab: Lab):
    done = pernix(lab, "show", "ses_none")
    assert (done.returncode, done.stdout) == (1, "")
    assert "'ses_none'" in done.stderr


def test_sessions_are_listed_and_shown(lab: Lab, script: Any):
    script(call("list_files", path="."), {"text": "Nothing *here*."})
    session_id = session_of(pernix(lab, "run", "Look around", "--title", "A look").stderr)
    listed = pernix(lab, "sessions").stdout.splitlines()
    assert listed[0].startswith(session_id) and listed[0].endswith("  ready  A look")
    rows = [json.loads(line) for line in pernix(lab, "sessions", "--json").stdout.splitlines()]
    assert rows[0]["session_id"] == session_id
    shown = pernix(lab, "show", session_id[:-2]).stdout
    assert f"{session_id}: ready, mode edit, endpoint: the default" in shown
    assert "> Look around" in shown and "Nothing *here*." in shown and "✓" in shown
    events = [json.loads(line) for line in pernix(lab, "show", session_id, "--json").stdout.splitlines()]
    assert events == list(lab.client().past_events(session_id))


def test_endpoints_are_listed_added_and_removed(lab: Lab, model: ModelServer):
    added = pernix(lab, "endpoints", "add", "mine", model.url, "--model", "scripted-1")
    assert added.returncode == 0 and "mine: scripted-1" in added.stdout
    listed = pernix(lab, "endpoints").stdout
    assert "mine" in listed
    assert pernix(lab, "endpoints", "list").stdout == listed
    assert pernix(lab, "endpoints", "remove", "mine").returncode == 0
    assert "mine" not in pernix(lab, "endpoints").stdout


def test_doctor_looks_through_the_running_server(lab: Lab):
    done = pernix(lab, "doctor", "--json")
    findings = {finding["name"]: finding for finding in map(json.loads, done.stdout.splitlines())}
    assert findings["server"]["status"] == "ok" and str(lab.root) in findings["server"]["detail"]
    assert {"versions", "settings", "server extension", "browser extension", "server"} < set(findings)
    assert done.returncode == int(any(finding["status"] == "problem" for finding in findings.values()))
    assert lab.token not in done.stdout


def test_doctor_names_a_setting_that_is_wrong(isolated_home: Path):
    settings = Path(os.environ["JUPYTER_CONFIG_DIR"]) / "pernix" / "config.toml"
    settings.parent.mkdir()
    settings.write_text('mod = "auto"\n')
    done = subprocess.run([*COMMAND, "doctor", "--no-start"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "unknown setting 'mod'; did you mean 'mode'?" in done.stdout


def test_magics_are_loaded_by_themselves_only_when_wanted(isolated_home: Path):
    def magics(action: str) -> str:
        done = subprocess.run([*COMMAND, "magics", action], capture_output=True, text=True, timeout=60, check=True)
        return done.stdout

    assert "not loaded" in magics("status")
    assert "loaded in every new IPython kernel" in magics("enable")
    config = json.loads((Path(os.environ["IPYTHONDIR"]) / "profile_default/ipython_kernel_config.json").read_text())
    assert config == {"IPKernelApp": {"extra_extensions": ["jupyter_pernix"]}}
    assert "not loaded" in magics("disable")


def test_without_a_server_one_is_started_and_stopped(
    isolated_home: Path, tmp_path: Path, model: ModelServer, script: Any
):
    script({"text": "On my own."})
    arguments = ["run", "Hello", "--endpoint", model.url, "--model", "scripted-1"]
    done = subprocess.run(
        [*COMMAND, *arguments], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90
    )
    assert (done.returncode, done.stdout) == (0, "On my own.\n"), done.stderr
    assert [path.suffix for path in (tmp_path / "pernix-runs").iterdir()] == [".ipynb"]
    assert list(Path(os.environ["JUPYTER_RUNTIME_DIR"]).glob("jpserver-*.json")) == []
    assert not (Path(os.environ["JUPYTER_DATA_DIR"]) / "pernix" / "server.json").exists()


def test_a_server_that_another_command_is_busy_with_is_left_running(
    isolated_home: Path, tmp_path: Path, model: ModelServer, script: Any
):
    script({"text": "Never said.", "first_token_ms": 60_000})
    settings = Path(os.environ["JUPYTER_CONFIG_DIR"]) / "pernix" / "config.toml"
    settings.parent.mkdir()
    settings.write_text(f'endpoint = "s"\n[endpoints.s]\nbase_url = "{model.url}"\nmodel = "m"\nprotocol = "tools"\n')
    owner = subprocess.Popen([*COMMAND, "run", "Hello", "--json"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    owner.stdout.readline()
    found = find()
    assert found is not None
    session = found.create_session(mode="ask")
    turn = found.submit(session["session_id"], "mine", origin="api", can_ask=False)
    wait_event(found, session["session_id"], "step.started", turn_id=turn["turn_id"])
    owner.send_signal(signal.SIGINT)
    owner.communicate(timeout=30)
    assert owner.returncode == 130
    assert found.info()["busy"] == 1
    found.cancel(session["session_id"], turn["turn_id"])
    os.kill(found.address.pid, signal.SIGTERM)


def test_a_limit_that_is_given_ends_the_turn_with_its_code(lab: Lab, script: Any):
    script(*({"text": f"Look {n}.", **call("read_file", path=f"{n}.txt")} for n in range(6)))
    done = pernix(lab, "run", "Look at everything", "--max-rounds", "2")
    assert done.returncode == 7, done.stderr
    view = lab.client().session(session_of(done.stderr))
    assert (view["turns"][0]["code"], len(view["turns"][0]["steps"])) == ("budget_rounds", 2)
    submitted = [event for event in lab.client().past_events(view["session_id"]) if event["type"] == "turn.submitted"]
    assert submitted[0]["budget"]["rounds"] == 2
    assert submitted[0]["budget"]["seconds"] == 3600.0, "the other limits are as in the settings"
    assert pernix(lab, "run", "x", "--max-rounds", "0").returncode == 2


def test_a_turn_is_paused_resumed_and_made_shorter_from_outside(lab: Lab, script: Any):
    script({"text": "First.", **call("run_shell", command="touch held")}, {"text": "Second."})
    client = lab.client()
    session_id = client.create_session(mode="edit", title="Held")["session_id"]
    assert "nothing to pause" in pernix(lab, "pause", session_id).stderr
    client.submit(session_id, "two steps", origin="api", can_ask=True)
    wait_event(client, session_id, "session.state_changed", after="awaiting_user")
    paused = pernix(lab, "pause", session_id[:-2])
    assert (paused.returncode, f"jupyter pernix resume {session_id}" in paused.stdout) == (0, True)
    (question,) = client.approvals(session_id)
    client.answer(question["approval_id"], "allow_once")
    wait_event(client, session_id, "session.state_changed", after="paused")
    resumed = pernix(lab, "resume", session_id)
    assert (resumed.returncode, resumed.stdout) == (0, "Second.\n")
    assert "nothing to go on with" in pernix(lab, "resume", session_id).stderr
    compacted = pernix(lab, "compact", session_id)
    assert compacted.returncode == 0
    assert "shorter" in compacted.stdout + compacted.stderr or "nothing" in compacted.stdout + compacted.stderr
    assert "nothing is running" in pernix(lab, "stop", session_id).stderr
    shown = pernix(lab, "show", session_id).stdout
    assert "Second." in shown
