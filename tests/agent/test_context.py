"""The log as the model reads it: legal, append-only, the same bytes live and rebuilt."""

import json
import re
from pathlib import Path

import pytest
from agent.acting import Acting, answer
from agent.test_cancelling import assert_legal_messages

from jupyter_pernix.agent.context import NO_RESULT, Transcript, is_unanswered
from jupyter_pernix.agent.model.parts import ModelCall
from jupyter_pernix.agent.run import Run
from jupyter_pernix.agent.run_settings import OneModel
from jupyter_pernix.agent.testing import Executes, FakeExecutor, MemoryHost, Says, ScriptedModel, call, printed
from jupyter_pernix.errors import EndpointRefused
from jupyter_pernix.events import Event, Stored, ToolCallRequested, TurnFinished, decode_stored, encode_stored
from jupyter_pernix.records import JSON, Budget, SessionState, TerminalCode, Usage

SYSTEM = "You are here."


def rebuilt(acting: Acting) -> bytes:
    """The model input made from the stored form of the log."""
    log = [decode_stored(encode_stored(stored)) for stored in acting.host.log]
    system = (acting.root / "side" / "system.md").read_text(encoding="utf-8")
    return Transcript.of(system, log).conversation.encoded()


async def test_rebuilding_gives_the_bytes_of_every_request_of_the_live_runs(tmp_path: Path) -> None:
    executor = FakeExecutor([Executes(ops=(printed("é\u2028\x1b[31mred\x1b[0m\n"),))])
    acting = Acting(root=tmp_path, executor=executor)
    (acting.space / "AGENTS.md").write_text("Use tabs.\n")
    sent: list[bytes] = []
    scripts = [
        [
            Says(
                text="Zuerst schaue ich.", calls=(call("list_files", wire_id="call_0"), call("nope", wire_id="call_0"))
            ),
            Says(thought="hm", calls=(call("run_code", code="print('\ud800')", wire_id="call_0"),)),
            Says(),
            Says(text="Let me write it down."),
            Says(calls=(call("write_file", path="a.txt", content="ä\n"), call("finish", answer="Fertig."))),
        ],
        [Says(error=EndpointRefused("no"))],
        [Says(text="Yes.", calls=(call("read_file", path="a.txt"),)), answer("It is there.")],
        [answer("Good.")],
    ]
    for script in scripts:
        await acting.say(script, text=f"Request {len(sent)}")
        sent += acting.model.sent
        (acting.space / "AGENTS.md").write_text("Use spaces now.\n")

    whole = rebuilt(acting)
    assert len(sent) == 9
    for request in sent:
        assert whole.startswith(request[:-1])
    assert_legal_messages(Transcript.of("", acting.host.log).conversation.messages)


async def test_a_session_reads_like_this(acting: Acting) -> None:
    (acting.space / "a").write_text("a\n")
    await acting.say([Says(text="I look.", calls=(call("read_file", path="a", wire_id="w1"),)), answer("It is a.")])
    acting.host.mode = "plan"
    await acting.say([answer("Bye.")], text="Thanks")

    assert acting.model.requests[0][1:] == [
        {"role": "user", "content": "Do it\n\n(Mode: auto. Time: 2026-01-01 00:00 UTC.)"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {"id": "w1", "type": "function", "function": {"name": "read_file", "arguments": '{"path": "a"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "w1", "content": "a: lines 1-1 of 1.\n1\ta"},
        {"role": "assistant", "content": "It is a."},
        {"role": "user", "content": "Thanks\n\n(Mode: plan. Time: 2026-01-01 00:00 UTC.)"},
    ]


async def test_arguments_go_back_as_the_model_wrote_them(acting: Acting) -> None:
    raw = '{"path":"a",  "end_line":2.0}'
    odd = ModelCall(wire_id="w", name="read_file", arguments={"path": "a", "end_line": 2.0}, raw=raw)
    await acting.say([Says(calls=(odd,)), answer()])

    assert acting.of(ToolCallRequested)[0].raw == raw
    assert acting.model.requests[1][2]["tool_calls"][0]["function"]["arguments"] == raw
    assert rebuilt(acting).startswith(acting.model.sent[1][:-1])


async def test_ids_that_an_endpoint_gives_twice_are_made_unique(acting: Acting) -> None:
    same = tuple(call("read_file", path=name, wire_id="call_0") for name in "ab")
    await acting.say([Says(calls=same), answer()])
    await acting.say([Says(calls=same), answer()])

    ids = [event.wire_id for event in acting.of(ToolCallRequested)]
    assert ids[0] == "call_0"
    assert len(set(ids)) == 4
    assert_legal_messages(acting.model.requests[-1])


async def test_finish_is_told_as_the_answer_that_it_was(acting: Acting) -> None:
    await acting.say([Says(text="So.", calls=(call("finish", answer="42"),))])
    await acting.say([answer()])

    assert [message["content"] for message in acting.model.requests[0][2:3]] == ["So.\n\n42"]
    assert "tool_calls" not in acting.model.requests[0][2]


async def test_finish_beside_other_calls_is_told_after_their_results(acting: Acting) -> None:
    await acting.say([Says(calls=(call("list_files"), call("finish", answer="Empty.")))])
    await acting.say([answer()])

    roles = [(message["role"], message["content"]) for message in acting.model.requests[0][2:-1]]
    assert roles == [("assistant", None), ("tool", "No files in '.'."), ("assistant", "Empty.")]


@pytest.mark.parametrize("code", [code for code in TerminalCode if code is not TerminalCode.ANSWERED])
async def test_a_turn_without_an_answer_is_closed_by_a_line(acting: Acting, code: TerminalCode) -> None:
    await acting.say([Says(calls=(call("list_files"),)), answer()], budget=Budget(rounds=1))
    log = [
        stored
        if not isinstance(stored.event, TurnFinished)
        else Stored(
            seq=stored.seq,
            recorded_at=stored.recorded_at,
            event=TurnFinished(
                session_id=stored.event.session_id, turn_id=stored.event.turn_id, code=code, detail="", usage=Usage()
            ),
        )
        for stored in acting.host.log
    ]
    last = Transcript.of(SYSTEM, log).conversation.messages[-1]
    assert last["role"] == "assistant"
    assert last["content"].startswith("(This turn ended without an answer because ")
    assert is_unanswered(last)


async def test_an_answer_is_not_taken_for_a_line_about_a_missing_one(acting: Acting) -> None:
    assert not is_unanswered({"role": "assistant", "content": "Done."})
    assert not is_unanswered({"role": "assistant", "content": None})


async def test_calls_that_a_crash_cut_off_get_a_result_when_the_log_is_read(acting: Acting) -> None:
    await acting.say(
        [Says(calls=(call("list_files"), call("run_code", code="1"), call("list_files", path="x"))), answer()]
    )
    kinds = acting.host.types
    cut = [index for index, tag in enumerate(kinds) if tag == "tool_call.started"][1]
    log = acting.host.log[: cut + 1]

    resumed = MemoryHost(space=acting.space, side=acting.root / "side", log=log)
    resumed.state = SessionState.IDLE_READY
    turn_id = resumed.submit("Go on")
    model = ScriptedModel([answer()])
    await Run(resumed, turn_id, list(resumed.log), OneModel(model)).carry()

    messages = model.requests[0]
    assert_legal_messages(messages)
    assert [message["content"] for message in messages if message["role"] == "tool"] == [
        "No files in '.'.",
        NO_RESULT,
        NO_RESULT,
    ]
    assert messages[-2]["content"] == "(This turn ended without an answer because the program was interrupted.)"


async def test_a_message_that_was_withdrawn_is_not_sent(acting: Acting) -> None:
    withdrawn = acting.host.submit("Never mind")
    finished: Event = TurnFinished(
        session_id=acting.host.session_id, turn_id=withdrawn, code=TerminalCode.CANCELLED, detail="", usage=Usage()
    )
    await acting.host.append(finished)
    await acting.say([answer()])

    request: list[JSON] = acting.model.requests[0]
    assert [message["role"] for message in request] == ["system", "user"]
    assert request[1]["content"].startswith("Do it")


async def test_thoughts_are_not_sent_again(acting: Acting) -> None:
    await acting.say([Says(thought="secret plan", text="Yes.")])
    await acting.say([answer()])

    assert "secret plan" not in acting.model.sent[0].decode()


async def test_what_strict_endpoints_would_refuse_of_a_call_is_not_sent_back(acting: Acting) -> None:
    written = '{"path": "a\tb"}'  # a bare tab: not JSON to a strict reader
    wrong = (
        ModelCall(wire_id="w" * 3000, name="", arguments={}, raw=""),
        ModelCall(wire_id="a b\u202e", name="run shell\n\u202e", arguments={}, raw=""),
        ModelCall(wire_id="", name="x" * 5000, arguments={}, raw=""),
        ModelCall(wire_id="fine", name="read_file", arguments={"path": "a\tb"}, raw=written),
    )
    await acting.say([Says(calls=wrong), answer()])

    calls = acting.model.requests[-1][2]["tool_calls"]
    for one in calls:
        assert re.fullmatch("[A-Za-z0-9_-]{1,64}", one["function"]["name"])
        assert re.fullmatch("[A-Za-z0-9_.:-]{1,64}", one["id"])
        assert isinstance(json.loads(one["function"]["arguments"]), dict)
    assert calls[3]["id"] == "fine"
    assert "run shell" in acting.results[1]
