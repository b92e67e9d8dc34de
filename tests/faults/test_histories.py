"""Histories that a strict server takes, whatever happened before; and contexts that stay within their bounds."""

import json
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from agent.model.fakeserver import FakeServer, as_json
from faults.registry import fault
from faults.stage import KEY, Stage, assert_valid, calls, does, says

from jupyter_pernix.agent.excerpt import excerpt
from jupyter_pernix.agent.tools.base import RESULT_LIMIT
from jupyter_pernix.events import ToolCallFinished, ToolCallRequested
from jupyter_pernix.records import TerminalCode


async def stop_when(stage: Stage, fact: Callable[[], bool], *, text: str = "Go on") -> None:
    """Carry a turn and stop it once the fact is there."""
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(stage.say, text)
            while not fact():  # noqa: ASYNC110 - a fact about a file that another process makes
                await anyio.sleep(0.01)
            group.cancel_scope.cancel()


@fault("orphan-on-cancel")
async def test_after_a_stop_in_a_slow_call_the_next_request_is_whole(stage: Stage) -> None:
    stage.play(does("run_shell", command="touch begun; sleep 60"), says("Hello."))
    await stop_when(stage, (stage.space / "begun").exists)
    finished = await stage.say("Hello?")

    assert finished.code == TerminalCode.ANSWERED
    assert_valid(stage.requests[-1])
    (result,) = [message for message in stage.requests[-1] if message["role"] == "tool"]
    assert result["content"].startswith("Stopped: the user stopped the turn while this call ran.")


@fault("orphan-parallel")
async def test_of_three_calls_that_were_stopped_in_the_second_each_has_one_result(stage: Stage) -> None:
    stage.play(
        calls(
            ("write_file", {"path": "a", "content": "a"}),
            ("run_shell", {"command": "touch begun; sleep 60"}),
            ("write_file", {"path": "c", "content": "c"}),
        ),
        says("Hello."),
    )
    await stop_when(stage, (stage.space / "begun").exists)
    await stage.say("Hello?")

    assert_valid(stage.requests[-1])
    told = [message["content"] for message in stage.requests[-1] if message["role"] == "tool"]
    assert [text.split(" ")[0] for text in told] == ["Created", "Stopped:", "Not"]
    assert ((stage.space / "a").exists(), (stage.space / "c").exists()) == (True, False)


@fault("orphan-on-cancel", "orphan-result")
async def test_a_session_whose_program_died_in_a_call_is_read_as_whole(stage: Stage) -> None:
    stage.play(does("list_files"), says("Nothing."), says("Hello."))
    await stage.say("List")
    stage.host.log = [one for one in stage.host.log if not isinstance(one.event, ToolCallFinished)]
    await stage.say("Hello?")
    assert_valid(stage.requests[-1])


@fault("half-args-stored", "retry-after-side-effect")
async def test_a_stream_that_breaks_in_the_arguments_leaves_nothing_of_itself(stage: Stage) -> None:
    two = calls(("run_shell", {"command": "echo one >> ran"}), ("run_shell", {"command": "echo two >> ran"}))
    stage.play(two, says("Done."))
    stage.fault("drop", after_chunks=3)
    finished = await stage.say("Run both")

    assert (finished.code, (stage.space / "ran").read_text()) == (TerminalCode.ANSWERED, "one\ntwo\n")
    assert len(stage.of(ToolCallRequested)) == 2
    for messages in stage.requests:
        assert_valid(messages)
        for message in messages:
            for call in message.get("tool_calls") or []:
                assert isinstance(json.loads(call["function"]["arguments"]), dict)


@fault("retry-after-side-effect")
async def test_a_stream_that_breaks_after_a_call_was_run_does_not_run_it_again(stage: Stage) -> None:
    stage.play(
        does("run_shell", command="echo one >> ran"),
        {**says("Done."), "fault": {"kind": "drop", "after_chunks": 1, "times": 1}},
    )
    await stage.say("Run it")
    assert (stage.space / "ran").read_text() == "one\n"


@fault("dup-tool-ids")
async def test_ids_that_a_server_gives_twice_are_told_apart(stage: Stage) -> None:
    one = {"tool_calls": [{"name": "write_file", "arguments": {"path": "a", "content": "1"}, "id": "call_0"}]}
    two = {"tool_calls": [{"name": "write_file", "arguments": {"path": "b", "content": "2"}, "id": "call_0"}]}
    stage.play(one, says("One."), two, says("Two."), says("Three."))
    for text in ("One", "Two", "Three"):
        await stage.say(text)

    assert_valid(stage.requests[-1])
    told = [message["content"] for message in stage.requests[-1] if message["role"] == "tool"]
    assert [text.split(" ")[1] for text in told] == ["a", "b"]


@fault("switch-model")
async def test_another_model_is_sent_only_what_every_server_takes(stage: Stage) -> None:
    stage.play({**does("list_files"), "reasoning": "hm, hm"}, {**says("Nothing."), "reasoning": "so"}, says("Hello."))
    await stage.say("List")
    await stage.say("Hello?")

    allowed = {"role", "content", "tool_calls", "tool_call_id"}
    for message in stage.requests[-1]:
        assert set(message) <= allowed
        for call in message.get("tool_calls") or []:
            assert (set(call), set(call["function"])) == ({"id", "type", "function"}, {"name", "arguments"})
            assert isinstance(call["function"]["arguments"], str)
    assert "hm, hm" not in json.dumps(stage.requests[-1])


@fault("huge-result")
async def test_ten_megabytes_of_output_are_cut_for_the_model_and_whole_in_a_file(stage: Stage) -> None:
    stage.play(does("run_shell", command="yes 0123456789 | head -c 10000000"), says("Long."))
    await stage.say("Print it")

    (finished,) = stage.of(ToolCallFinished)
    assert len(finished.result) < RESULT_LIMIT + 1000
    assert len(json.dumps(stage.requests[-1])) < 60_000
    whole = stage.root / finished.side_file
    assert whole.stat().st_size == 10_000_000


@fault("huge-result")
async def test_one_line_of_ten_megabytes_is_cut_too(stage: Stage) -> None:
    stage.play(does("run_shell", command="head -c 10000000 /dev/zero | tr '\\0' x"), says("Long."))
    await stage.say("Print it")
    assert len(stage.results[0]) < RESULT_LIMIT + 1000
    assert "more characters in this line" in stage.results[0] or "cut here" in stage.results[0]


@fault("cut-json-mid")
@pytest.mark.parametrize("limit", range(20, 400, 7))
def test_a_cut_falls_between_whole_lines_and_says_what_is_missing(limit: int) -> None:
    items = json.dumps(
        [{"name": f"数据{number}", "value": number} for number in range(40)], indent=1, ensure_ascii=False
    )
    lines = items.split("\n")
    short = excerpt(items, limit=limit)
    kept = short.text.rstrip("\n").split("\n")
    notes = [line for line in kept if line.startswith("[… ")]
    assert (short.whole, len(notes)) == (False, 1)
    assert all(line in lines for line in kept if line not in notes)
    missing = int(notes[0].split(" ")[1].replace(",", ""))
    assert len(kept) - 1 + missing == len(lines)
    short.text.encode()


@fault("notebook-outputs-flood")
async def test_a_notebook_with_five_megabytes_of_output_is_read_in_short(stage: Stage) -> None:
    outputs = [{"output_type": "stream", "name": "stdout", "text": "x" * 50_000} for _ in range(100)]
    cells = [
        {
            "cell_type": "code",
            "id": f"c{n}",
            "source": f"run({n})",
            "outputs": outputs if n == 1 else [],
            "metadata": {},
            "execution_count": n,
        }
        for n in range(3)
    ]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (stage.space / "n.ipynb").write_text(json.dumps(notebook))
    stage.play(does("read_file", path="n.ipynb"), says("Three cells."))
    await stage.say("What is in n.ipynb?")

    assert len(stage.results[0]) < 4000
    assert "cell 1: code id=c1" in stage.results[0] and "more outputs" in stage.results[0]
    assert "cell 2: code id=c2" in stage.results[0]


def _put(file: Path, content: str) -> None:
    file.write_text(content)


def _content(file: Path) -> str:
    return file.read_text()


@fault("nb-bad-json-replaced")
@pytest.mark.parametrize("content", ["{", '{"cells": [{"cell_type": "code"', "", "[]", '{"cells": 3}'])
async def test_a_broken_notebook_is_reported_with_its_place_and_never_written(stage: Stage, content: str) -> None:
    _put(stage.space / "n.ipynb", content)
    stage.play(
        does("read_file", path="n.ipynb"),
        does("write_file", path="n.ipynb", content="{}"),
        does("edit_file", path="n.ipynb", old_text="{", new_text="{}"),
        says("It is broken."),
    )
    await stage.say("Repair it")

    assert _content(stage.space / "n.ipynb") == content
    assert "It was not changed" in stage.results[0]
    assert all(result.startswith("Not done") for result in stage.results[1:])


@fault("retry-storm")
async def test_a_server_that_asks_to_wait_is_obeyed_and_not_for_ever(stage: Stage) -> None:
    stage.play(says("Hello."))
    for _ in range(10):
        stage.fault("status", status=429, retry_after=7)
    finished = await stage.say("Hello?")

    assert finished.code == TerminalCode.MODEL_FAILED
    assert all(seconds >= 7 for seconds in stage.clock.slept)
    assert 1 <= len(stage.clock.slept) <= 5


@fault("key-in-error")
async def test_a_key_that_the_server_repeats_is_masked_everywhere(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    echoes = as_json({"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}, 401)
    with FakeServer({"POST /v1/chat/completions": echoes}).running() as server:
        stage.server = server  # type: ignore[assignment]
        finished = await stage.say("Hello?")

    assert finished.code == TerminalCode.MODEL_FAILED
    told = json.dumps([repr(event) for event in stage.host.events]) + caplog.text + finished.detail
    assert KEY not in told and KEY[8:] not in told
    assert "key" in finished.detail.lower()
