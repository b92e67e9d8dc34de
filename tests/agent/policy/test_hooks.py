"""Hooks as real processes around real calls: every way to end, and what comes of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from agent.acting import Acting, answer

from jupyter_pernix.agent.policy.consents import Consents
from jupyter_pernix.agent.policy.hooks_config import waiting_of
from jupyter_pernix.agent.run import Run
from jupyter_pernix.agent.run_settings import OneModel, RunSettings
from jupyter_pernix.agent.testing import MemoryHost, Says, ScriptedModel, Works, call
from jupyter_pernix.events import ApprovalRequested, HookEnded, PolicyDecided, ProblemNoticed, ToolCallStarted
from jupyter_pernix.records import ApprovalAnswer, Mode

Act = Callable[..., Acting]

WRITES = call("write_file", path="new.txt", content="text\n")


def hooks_of(*commands: str, phase: str = "PreToolUse", matcher: str = "", timeout: float | None = None) -> Any:
    entries = [{"type": "command", "command": one} | ({"timeout": timeout} if timeout else {}) for one in commands]
    return {"hooks": {phase: [{"matcher": matcher, "hooks": entries}]}}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """The user's own folder."""
    folder = tmp_path / "config"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def act(tmp_path: Path, config: Path) -> Act:
    """A session with the user's own hooks as given."""

    def make(hooks: Any = None, **values: Any) -> Acting:
        acting = Acting(root=tmp_path, **values)
        acting.host.permissions_folder = config / "permissions"
        if hooks is not None:
            own = config / "hooks.json"
            own.write_text(hooks if isinstance(hooks, str) else json.dumps(hooks))
            own.chmod(0o600)
        return acting

    return make


def lives(pid_file: Path) -> bool:
    """Whether the process does more than wait to be cleared away."""
    try:
        return Path(f"/proc/{int(pid_file.read_text())}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def wait_until(fact: Callable[[], bool]) -> None:
    with anyio.fail_after(60):
        while not fact():  # noqa: ASYNC110 - a fact about another process
            await anyio.sleep(0.01)


def said(acting: Acting) -> list[tuple[str, str, int | None]]:
    return [(one.decision, one.reason, one.exit_code) for one in acting.of(HookEnded)]


async def test_a_hook_that_ends_well_lets_a_call_be_and_is_stored_before_its_effect(act: Act) -> None:
    acting = act(hooks_of("echo all is well"))
    await acting.say([Says(calls=(WRITES,)), answer()])

    assert (acting.space / "new.txt").exists()
    assert said(acting) == [("allow", "", 0)]
    types = acting.host.types
    assert types.index("hook.ended") < types.index("policy.decided") < types.index("tool_call.started")


@pytest.mark.parametrize(
    ("command", "decision", "reason", "exit_code"),
    [
        ("echo not on Fridays >&2; exit 2", "deny", "not on Fridays", 2),
        ("exit 2", "deny", "it gives no reason", 2),
        ("echo oh >&2; exit 1", "failed", "it ended with exit code 1: oh", 1),
        ("exit 3", "failed", "it ended with exit code 3", 3),
        ("no-such-program-at-all 2>/dev/null", "failed", "it ended with exit code 127", 127),
        ("kill -9 $$", "failed", "it was ended by signal 9", -9),
        ("""echo '{"decision": "block", "reason": "no"}'""", "deny", "no", 0),
        ("""echo '{"continue": false, "stopReason": "enough"}'""", "deny", "enough", 0),
        ("""echo '{"hookSpecificOutput": {"permissionDecision": "deny"}}'""", "deny", "it gives no reason", 0),
        ("""echo '{"decision": "blok"}'""", "failed", "its answer cannot be understood: decision is 'blok'", 0),
        ("""echo '{"desicion": "block"}'""", "failed", "its answer cannot be understood: 'desicion' is not known", 0),
        (
            """echo '{"decision": "block", "decision": "approve"}'""",
            "failed",
            "its answer cannot be understood: a key stands there twice",
            0,
        ),
        (
            """echo '{"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {}}}'""",
            "failed",
            "its answer cannot be understood: it wants to change the call, which is not possible here",
            0,
        ),
    ],
)
async def test_whatever_does_not_end_well_denies_the_call(
    act: Act, command: str, decision: str, reason: str, exit_code: int
) -> None:
    acting = act(hooks_of(command))
    await acting.say([Says(calls=(WRITES,)), answer()])

    assert said(acting) == [(decision, reason, exit_code)]
    assert not (acting.space / "new.txt").exists()
    assert acting.of(ToolCallStarted) == []
    assert reason in acting.results[0]
    assert [(one.verdict, one.rule) for one in acting.of(PolicyDecided)] == [("refuse", "hook")]


@pytest.mark.parametrize("broken", ["{", '{"a": ', '{"decision": "block"', "{" * 5000])
async def test_half_an_answer_denies(act: Act, broken: str) -> None:
    acting = act(hooks_of(f"printf '%s' '{broken}'"))
    await acting.say([Says(calls=(WRITES,)), answer()])

    assert not (acting.space / "new.txt").exists()
    [(decision, reason, _)] = said(acting)
    assert decision == "failed"
    assert reason.startswith("its answer cannot be understood")


async def test_at_its_deadline_a_hook_and_what_it_started_are_ended_and_the_call_is_denied(
    act: Act, tmp_path: Path
) -> None:
    acting = act(hooks_of(f"(sleep 600; touch {tmp_path}/late) & echo $! > {tmp_path}/pid; sleep 600", timeout=0.5))
    with anyio.fail_after(60):
        await acting.say([Says(calls=(WRITES,)), answer()])

    assert said(acting) == [("failed", "it did not end within 0.5 s and was ended", None)]
    assert not (acting.space / "new.txt").exists()
    assert not lives(tmp_path / "pid")


async def test_stopped_in_the_middle_of_a_hook_nothing_is_done_and_nothing_lives_on(act: Act, tmp_path: Path) -> None:
    acting = act(hooks_of(f"echo $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; sleep 600"))
    run = acting.run([Says(calls=(WRITES,)), answer()])
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(run.carry)
            await wait_until((tmp_path / "pid").exists)
            group.cancel_scope.cancel()

    assert not (acting.space / "new.txt").exists()
    assert said(acting) == [("failed", "the turn was stopped while it ran", None)]
    assert acting.statuses == ["cancelled"]
    assert not lives(tmp_path / "pid")


async def test_a_hook_reads_who_calls_what_under_known_names_and_ours(act: Act, tmp_path: Path) -> None:
    acting = act(hooks_of(f"cat >> {tmp_path}/told; echo $PWD $CLAUDE_PROJECT_DIR $PERNIX_SPACE >> {tmp_path}/env"))
    (acting.space / "a.txt").write_text("one\n")
    edit = call("edit_file", path="a.txt", old_text="one", new_text="two")
    calls = (call("read_file", path="a.txt"), edit, call("run_shell", command="touch b"), call("run_code", code="1"))
    await acting.say([Says(calls=calls), answer()])

    told = [json.loads(line) for line in (tmp_path / "told").read_text().splitlines()]
    space = str(acting.space)
    assert told[1] == {
        "session_id": acting.host.session_id,
        "cwd": space,
        "permission_mode": "auto",
        "pernix_mode": "auto",
        "hook_event_name": "PreToolUse",
        "tool_name": "Edit",
        "pernix_tool": "edit_file",
        "tool_input": {
            "path": "a.txt",
            "old_text": "one",
            "new_text": "two",
            "file_path": f"{space}/a.txt",
            "old_string": "one",
            "new_string": "two",
        },
    }
    assert [one["tool_name"] for one in told] == ["Read", "Edit", "Bash", "run_code"]
    assert told[2]["tool_input"]["command"] == "touch b"
    assert (tmp_path / "env").read_text().splitlines()[0] == f"{space} {space} {space}"


@pytest.mark.parametrize(
    ("matcher", "seen"),
    [
        ("", ["write_file", "run_shell"]),
        ("*", ["write_file", "run_shell"]),
        ("Bash", ["run_shell"]),
        ("run_shell", ["run_shell"]),
        ("Bash|Write", ["write_file", "run_shell"]),
        ("Edit|NotebookEdit", []),
        (".*shell", ["run_shell"]),
        ("Bas", []),
    ],
)
async def test_a_matcher_is_held_against_the_whole_of_both_names(
    act: Act, tmp_path: Path, matcher: str, seen: list[str]
) -> None:
    acting = act(hooks_of(f"cat >> {tmp_path}/told", matcher=matcher))
    await acting.say([Says(calls=(WRITES, call("run_shell", command="true"))), answer()])

    told = (tmp_path / "told").read_text().splitlines() if seen else []
    assert [json.loads(line)["pernix_tool"] for line in told] == seen
    assert acting.statuses == ["completed", "completed"]


ALLOWS = """echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}'"""
ASKS = """echo '{"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "it is in production"}}'"""


@pytest.mark.parametrize("mode", ["plan", "edit"])
async def test_a_hook_that_allows_lifts_neither_a_refusal_nor_a_question(act: Act, mode: Mode) -> None:
    acting = act(hooks_of(ALLOWS), mode=mode, answers=[ApprovalAnswer(choice="reject_once")])
    await acting.say([Says(calls=(call("run_shell", command="touch x"),)), answer()])

    assert not (acting.space / "x").exists()
    # what is refused anyway is not told to anybody
    assert len(acting.of(HookEnded)) == (1 if mode == "edit" else 0)
    assert len(acting.of(ApprovalRequested)) == (1 if mode == "edit" else 0)


async def test_a_hook_that_asks_makes_a_question_that_cannot_be_remembered(act: Act) -> None:
    acting = act(hooks_of(ASKS), answers=[ApprovalAnswer(choice="allow_once"), ApprovalAnswer(choice="reject_once")])
    again = call("write_file", path="other.txt", content="text\n")
    await acting.say([Says(calls=(WRITES, again)), answer()])

    assert [one.why for one in acting.of(ApprovalRequested)] == ["a hook asks: it is in production"] * 2
    assert acting.of(ApprovalRequested)[0].choices == ["allow_once", "reject_once"]
    assert ((acting.space / "new.txt").exists(), (acting.space / "other.txt").exists()) == (True, False)


async def test_what_a_hook_asks_is_refused_when_nobody_is_there(act: Act) -> None:
    acting = act(hooks_of(ASKS), can_ask=False)
    await acting.say([Says(calls=(WRITES,)), answer()])

    assert not (acting.space / "new.txt").exists()
    assert [(one.verdict, one.rule) for one in acting.of(PolicyDecided)] == [("refuse", "nobody_to_ask")]
    assert "it is in production" in acting.results[0]


async def test_a_no_of_one_hook_is_not_outweighed_by_another(act: Act, tmp_path: Path) -> None:
    acting = act(
        hooks_of(ALLOWS, "exit 2", f"touch {tmp_path}/third", ASKS), answers=[ApprovalAnswer(choice="allow_once")]
    )
    await acting.say([Says(calls=(WRITES,)), answer()])

    assert [decision for decision, _, _ in said(acting)] == ["allow", "deny"]
    assert not (tmp_path / "third").exists()
    assert acting.of(ApprovalRequested) == []


@pytest.mark.parametrize(
    ("command", "added"),
    [
        ("echo lint: unused import >&2; exit 2", "[A hook says of this call: lint: unused import]"),
        ("exit 1", "[A hook says of this call: it ended with exit code 1]"),
        ("""echo '{"decision": "block", "reason": "run the tests"}'""", "[A hook says of this call: run the tests]"),
        (
            """echo '{"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "it was formatted"}}'""",
            "[A hook adds: it was formatted]",
        ),
    ],
)
async def test_after_a_call_its_words_are_added_to_the_result_and_nothing_is_undone(
    act: Act, command: str, added: str
) -> None:
    acting = act(hooks_of(command, phase="PostToolUse"))
    await acting.say([Says(calls=(WRITES,)), answer()])

    assert (acting.space / "new.txt").read_text() == "text\n"
    assert acting.statuses == ["completed"]
    assert acting.results[0].splitlines()[-1] == added
    types = acting.host.types
    assert types.index("tool_call.started") < types.index("hook.ended") < types.index("tool_call.finished")


async def test_a_hook_after_a_call_reads_what_came_of_it(act: Act, tmp_path: Path) -> None:
    acting = act(hooks_of(f"cat >> {tmp_path}/told", phase="PostToolUse"))
    await acting.say([Says(calls=(call("run_shell", command="echo out; exit 4"),)), answer()])

    [told] = [json.loads(line) for line in (tmp_path / "told").read_text().splitlines()]
    assert told["hook_event_name"] == "PostToolUse"
    assert told["tool_response"]["success"] is False
    assert "out" in told["tool_response"]["result"]
    assert len(acting.results[0].splitlines()) == len(told["tool_response"]["result"].splitlines())


@pytest.mark.parametrize("way", ["", ">&2"])
async def test_endless_output_is_cut_and_does_not_fill_memory(act: Act, way: str) -> None:
    acting = act(hooks_of(f"head -c 30000000 /dev/zero | tr '\\0' x {way}; exit 2"))
    await acting.say([Says(calls=(WRITES,)), answer()])

    [(decision, reason, _)] = said(acting)
    assert decision == "deny"
    assert len(reason) <= 10_000
    assert len(acting.results[0]) < 11_000
    assert not (acting.space / "new.txt").exists()


async def test_an_answer_that_is_too_long_to_be_read_denies(act: Act) -> None:
    acting = act(hooks_of("""printf '{"reason": "'; head -c 200000 /dev/zero | tr '\\0' x; printf '"}'"""))
    await acting.say([Says(calls=(WRITES,)), answer()])

    assert said(acting) == [("failed", "it answered with more than can be read", 0)]


async def test_what_could_hide_in_a_reason_is_shown(act: Act) -> None:
    acting = act(hooks_of(r"printf 'a\033[2J\342\200\256b\377\000c' >&2; exit 2"))
    await acting.say([Says(calls=(WRITES,)), answer()])

    assert said(acting) == [("deny", "a\\x1b[2J\\u202eb\ufffd\\x00c", 2)]


async def test_binary_output_is_no_answer(act: Act) -> None:
    acting = act(hooks_of("printf '{\\377\\376\\000}'"))
    await acting.say([Says(calls=(WRITES,)), answer()])

    assert said(acting)[0][0] == "failed"


async def test_input_that_is_not_read_is_no_fault(act: Act) -> None:
    acting = act(hooks_of("exec 0<&-; true"))
    await acting.say([Says(calls=(call("write_file", path="a", content="x" * 3_000_000),)), answer()])

    assert (said(acting), acting.statuses) == ([("allow", "", 0)], ["completed"])


async def test_large_input_is_whole(act: Act, tmp_path: Path) -> None:
    acting = act(hooks_of(f"sleep 0.2; wc -c > {tmp_path}/size"))
    await acting.say([Says(calls=(call("write_file", path="a", content="x" * 3_000_000),)), answer()])

    assert int((tmp_path / "size").read_text()) > 3_000_000


async def test_keys_and_tokens_are_not_in_the_environment(
    act: Act, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_TOKEN", "secret-1")
    monkeypatch.setenv("OPENAI_API_KEY", "secret-2")
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "start"))
    (tmp_path / "start").write_text(f"touch {tmp_path}/started\n")
    acting = act(hooks_of(f"env > {tmp_path}/env"))
    await acting.say([Says(calls=(WRITES,)), answer()])

    assert "secret-" not in (tmp_path / "env").read_text()
    assert not (tmp_path / "started").exists()


async def test_a_hook_is_asked_about_each_delegated_task_before_any_begins(act: Act, tmp_path: Path) -> None:
    seen = hooks_of(f"cat >> {tmp_path}/told; exit 0", matcher="Task")
    after = hooks_of("cat > /dev/null; echo checked >&2; exit 2", phase="PostToolUse", matcher="delegate")
    both = {"hooks": seen["hooks"] | after["hooks"]}
    acting = act(both, workers=[Works(answer="one"), Works(answer="two"), Works(answer="three")])
    calls = tuple(call("delegate", task=f"task {number}") for number in range(3))
    await acting.say([Says(calls=calls), answer()])

    prompts = [json.loads(line)["tool_input"]["prompt"] for line in (tmp_path / "told").read_text().splitlines()]
    assert prompts == ["task 0", "task 1", "task 2"]
    assert acting.statuses == ["completed"] * 3
    assert all(text.endswith("[A hook says of this call: checked]") for text in acting.results)


async def test_an_answer_is_not_held_up_by_hooks(act: Act) -> None:
    acting = act(hooks_of("exit 2"))
    finished = await acting.say([Says(calls=(call("finish", answer="Done."),))])

    assert (finished.code, acting.of(HookEnded)) == ("answered", [])


async def test_hooks_can_be_switched_off(act: Act) -> None:
    acting = act(hooks_of("exit 2"), settings=RunSettings(hooks=False))
    await acting.say([Says(calls=(WRITES,)), answer()])

    assert ((acting.space / "new.txt").exists(), acting.of(HookEnded)) == (True, [])


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"hooks": []}',
        '{"hoks": {}}',
        '{"hooks": {"PreTolUse": []}}',
        '{"hooks": {"PreToolUse": [{"matcher": "(", "hooks": [{"type": "command", "command": "true"}]}]}}',
        '{"hooks": {"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "true"}]}]}}',
        '{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "tiemout": 3}]}]}}',
        '{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "timeout": 601}]}]}}',
        '{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": " "}]}]}}',
    ],
)
async def test_while_the_users_own_hooks_cannot_be_known_everything_is_asked_about(act: Act, text: str) -> None:
    acting = act(text, can_ask=False)
    await acting.say([Says(calls=(WRITES,)), answer()])

    assert not (acting.space / "new.txt").exists()
    [problem] = acting.of(ProblemNoticed)
    assert problem.text.startswith("Your own hooks cannot be run, so everything is asked about: ")
    assert "hooks.json" in problem.text


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
async def test_a_file_that_others_may_write_to_is_not_the_users_own(act: Act, config: Path, mode: int) -> None:
    acting = act(hooks_of(f"touch {config}/ran"), can_ask=False)
    (config / "hooks.json").chmod(mode)
    await acting.say([Says(calls=(WRITES,)), answer()])

    assert not (config / "ran").exists()
    assert not (acting.space / "new.txt").exists()
    assert "that others may write to" in acting.of(ProblemNoticed)[0].text


async def test_hooks_in_a_space_that_holds_the_configuration_are_not_the_users_own(act: Act) -> None:
    acting = act(can_ask=False)
    inside = acting.space / "settings"
    inside.mkdir(mode=0o700)
    acting.host.permissions_folder = inside / "permissions"
    (inside / "hooks.json").write_text(json.dumps(hooks_of(f"touch {acting.space}/ran")))
    (inside / "hooks.json").chmod(0o600)
    await acting.say([Says(calls=(WRITES,)), answer()])

    assert not (acting.space / "ran").exists()
    assert "where the agent may write" in acting.of(ProblemNoticed)[0].text


async def test_hooks_for_moments_of_other_agents_are_left_alone(act: Act, tmp_path: Path) -> None:
    acting = act(hooks_of(f"touch {tmp_path}/ran", phase="SessionStart"))
    await acting.say([Says(calls=(WRITES,)), answer()])

    assert (acting.space / "new.txt").exists()
    assert not (tmp_path / "ran").exists()
    assert acting.of(ProblemNoticed) == []


async def test_a_hook_ends_before_a_person_is_asked(act: Act) -> None:
    acting = act(hooks_of(ALLOWS), mode="edit", answers=[ApprovalAnswer(choice="allow_once")])
    await acting.say([Says(calls=(call("run_shell", command="touch x"),)), answer()])

    types = acting.host.types
    assert types.index("hook.ended") < types.index("policy.decided") < types.index("approval.requested")
    assert (acting.space / "x").exists()


async def test_what_a_hook_said_to_an_earlier_program_counts_for_nothing_in_a_turn_that_goes_on(
    act: Act, config: Path, tmp_path: Path
) -> None:
    acting = act(hooks_of(ALLOWS))
    await acting.say([Says(calls=(WRITES,)), answer()])
    (acting.space / "new.txt").unlink()
    until = acting.host.types.index("hook.ended") + 1
    turn_id = acting.host.events[until - 1].turn_id
    (config / "hooks.json").write_text(json.dumps(hooks_of("exit 2")))

    later = MemoryHost(
        space=acting.space,
        side=tmp_path / "side",
        log=acting.host.log[:until],
        permissions_folder=config / "permissions",
    )
    await Run(later, turn_id, list(later.log), OneModel(ScriptedModel([answer()]))).carry()

    assert [one.decision for one in later.events if isinstance(one, HookEnded)] == ["allow", "deny"]
    assert not (acting.space / "new.txt").exists()


class Walled(MemoryHost):
    """A wall that only leaves a mark."""

    def sandboxed(self, command: Any, *, network: bool) -> list[str]:
        return ["env", "WALLED=yes", *command]


async def test_in_the_sandbox_a_hook_of_the_folder_runs_behind_the_wall_and_the_users_own_before_it(
    config: Path, tmp_path: Path
) -> None:
    space = tmp_path / "space"
    (space / ".pernix").mkdir(parents=True)
    (space / ".pernix/hooks.json").write_text(json.dumps(hooks_of(f"echo folder $WALLED >> {tmp_path}/ran")))
    (config / "hooks.json").write_text(json.dumps(hooks_of(f"echo own $WALLED >> {tmp_path}/ran")))
    (config / "hooks.json").chmod(0o600)
    consents = Consents(config / "permissions", space)
    for one in waiting_of(consents, space, home="/home/nobody"):
        consents.give(one, by="test")
    host = Walled(space=space, side=tmp_path / "side", permissions_folder=config / "permissions")
    host.sandbox = True
    turn_id = host.submit("Go on")
    await Run(host, turn_id, list(host.log), OneModel(ScriptedModel([Says(calls=(WRITES,)), answer()]))).carry()

    assert (tmp_path / "ran").read_text().splitlines() == ["own", "folder yes"]


async def test_where_the_sandbox_cannot_be_had_a_hook_of_the_folder_is_a_no(config: Path, tmp_path: Path) -> None:
    space = tmp_path / "space"
    (space / ".pernix").mkdir(parents=True)
    (space / ".pernix/hooks.json").write_text(json.dumps(hooks_of(f"touch {tmp_path}/ran")))
    consents = Consents(config / "permissions", space)
    for one in waiting_of(consents, space, home="/home/nobody"):
        consents.give(one, by="test")
    host = MemoryHost(space=space, side=tmp_path / "side", permissions_folder=config / "permissions")
    host.sandbox = True
    turn_id = host.submit("Go on")
    await Run(host, turn_id, list(host.log), OneModel(ScriptedModel([Says(calls=(WRITES,)), answer()]))).carry()

    [ended] = [one for one in host.events if isinstance(one, HookEnded)]
    assert (ended.decision, ended.exit_code) == ("failed", None)
    assert not (tmp_path / "ran").exists()
    assert not (space / "new.txt").exists()
