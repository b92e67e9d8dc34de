"""The recorded tour."""

import json
from pathlib import Path

import pytest

from jupyter_pernix.agent.model.conversation import Conversation
from jupyter_pernix.agent.model.parts import CallPart, Part, Reply, TextPart
from jupyter_pernix.agent.model.tour import OVER, TourModel, load_turns, prepare_tour, tour_missing, tour_source
from jupyter_pernix.ids import new_session_id

TOOLS = {"run_code", "read_file", "list_files", "search_files", "write_file", "edit_file", "run_shell", "finish"}


class StoppedClock:
    """Sleeping moves it."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


async def play(model: TourModel, conversation: Conversation) -> list[Part]:
    async with model.stream(conversation, [], session_id=new_session_id()) as parts:
        return [part async for part in parts]


def after(assistant_messages: int) -> Conversation:
    conversation = Conversation("system")
    conversation.append({"role": "user", "content": "go"})
    for _ in range(assistant_messages):
        conversation.append({"role": "assistant", "content": "…"})
    return conversation


async def test_the_first_words_say_that_it_is_a_recording():
    *_, reply = await play(TourModel(clock=StoppedClock()), after(0))
    assert isinstance(reply, Reply)
    assert reply.text.startswith("This is a recorded tour, not a model")


async def test_each_turn_streams_in_pieces_that_join_to_its_reply():
    turns = load_turns()
    for number, turn in enumerate(turns):
        *pieces, reply = await play(TourModel(clock=StoppedClock()), after(number))
        assert isinstance(reply, Reply)
        assert (
            "".join(piece.text for piece in pieces if isinstance(piece, TextPart)) == turn.get("text", "") == reply.text
        )
        for index, call in enumerate(reply.calls):
            raw = "".join(piece.text for piece in pieces if isinstance(piece, CallPart) and piece.index == index)
            assert json.loads(raw) == call.arguments == turn["tool_calls"][index]["arguments"]
            assert call.name in TOOLS
        assert reply.finish_reason == ("tool_calls" if reply.calls else "stop")


async def test_the_whole_tour_is_told_in_under_a_minute():
    clock = StoppedClock()
    for number in range(len(load_turns())):
        await play(TourModel(clock=clock), after(number))
    assert 5 < clock.now < 45


async def test_a_message_after_the_end_is_told_that_the_tour_is_over():
    *_, reply = await play(TourModel(clock=StoppedClock()), after(len(load_turns())))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.calls) == (OVER, ())


def test_each_tour_gets_a_fresh_folder_without_the_recording(tmp_path: Path):
    assert prepare_tour(tmp_path) == "pernix-tour"
    (tmp_path / "pernix-tour" / "csv_import" / "lines.py").write_text("changed")
    assert prepare_tour(tmp_path) == "pernix-tour-2"
    copied = {
        path.relative_to(tmp_path / "pernix-tour-2").as_posix() for path in (tmp_path / "pernix-tour-2").rglob("*")
    }
    assert "data/seattle-weather.csv" in copied
    assert "turns.json" not in copied
    assert "changed" not in (tmp_path / "pernix-tour-2" / "csv_import" / "lines.py").read_text()


@pytest.mark.parametrize("call", [call for turn in load_turns() for call in turn.get("tool_calls", [])])
def test_each_recorded_file_call_fits_the_example(call: dict):
    arguments = call["arguments"]
    if "path" in arguments:
        assert (tour_source() / arguments["path"]).exists()
    if call["name"] == "edit_file":
        assert (tour_source() / arguments["path"]).read_text().count(arguments["old_text"]) == 1


def test_what_the_tour_needs_is_here():
    assert tour_missing() == []
