"""Kernel messages folded into outputs, and the steps by which others follow."""

import random
from typing import Any

import pytest

from jupyter_pernix.fold import apply_output
from jupyter_pernix.ids import ExecutionId
from jupyter_pernix.kernel.bundles import Caps
from jupyter_pernix.kernel.outputs import Displays, OutputFold

FIRST, SECOND = ExecutionId("exe_1"), ExecutionId("exe_2")

Message = tuple[str, dict[str, Any]]


def stream(text: str, name: str = "stdout") -> Message:
    return ("stream", {"name": name, "text": text})


def display(text: str, display_id: str = "", kind: str = "display_data") -> Message:
    transient = {"display_id": display_id} if display_id else {}
    return (kind, {"data": {"text/plain": text}, "metadata": {}, "transient": transient})


def clear(*, wait: bool) -> Message:
    return ("clear_output", {"wait": wait})


class Follower:
    """Sees only the steps, as a stored log would tell them."""

    def __init__(self) -> None:
        self.lists: dict[ExecutionId, list[dict[str, Any]]] = {FIRST: [], SECOND: []}
        self.ops: list[str] = []

    def follow(self, fold: OutputFold) -> None:
        for step in fold.take():
            self.ops.append(step.op.op)
            apply_output(self.lists[step.execution_id], step.op)


def folded(messages: list[Message], **kwargs: Any) -> list[dict[str, Any]]:
    """The outputs after all messages, told one by one; the follower must have come to the same."""
    fold, follower = OutputFold(FIRST, **kwargs), Follower()
    for msg_type, content in messages:
        fold.add(msg_type, content)
        follower.follow(fold)
    fold.finish()
    follower.follow(fold)
    assert follower.lists[FIRST] == fold.outputs
    return fold.outputs


def texts(outputs: list[dict[str, Any]]) -> list[str]:
    return [str(output["text"] if "text" in output else output["data"]["text/plain"]) for output in outputs]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        pytest.param([stream("a"), stream("b")], ["ab"], id="one stream"),
        pytest.param([stream("a"), stream("b", "stderr"), stream("c")], ["a", "b", "c"], id="streams in their order"),
        pytest.param([stream("a\r"), stream("b")], ["b"], id="joined before it is collapsed"),
        pytest.param([stream("a"), clear(wait=True), stream("b")], ["b"], id="clear waits for the next output"),
        pytest.param([stream("a"), clear(wait=False)], [], id="clear at once"),
        pytest.param([stream("a"), clear(wait=True)], ["a"], id="a pending clear dies with its execution"),
        pytest.param([display("1", "d"), display("2", "d", "update_display_data")], ["2"], id="update"),
        pytest.param([display("1", "d"), display("2", "d")], ["2", "2"], id="a known id shown again updates all"),
        pytest.param([display("x", "never", "update_display_data"), stream("ok")], ["ok"], id="update of nothing"),
        pytest.param(
            [display("old", "z"), clear(wait=False), stream("x"), display("new", "z", "update_display_data")],
            ["x"],
            id="update of what was cleared",
        ),
        pytest.param([("comm_open", {}), ("status", {}), ("stream", {"name": "stdout"})], [], id="no output"),
    ],
)
def test_messages_become_outputs(messages: list[Message], expected: list[str]):
    assert texts(folded(messages)) == expected


def test_transient_is_dropped_and_the_rest_kept():
    content = {
        "data": {"text/plain": "1"},
        "metadata": {"m": 1},
        "execution_count": 4,
        "transient": {"display_id": "d"},
    }
    assert folded([("execute_result", content)]) == [
        {"output_type": "execute_result", "data": {"text/plain": "1"}, "metadata": {"m": 1}, "execution_count": 4}
    ]


def test_a_stream_that_only_grows_is_told_by_its_additions():
    fold, follower = OutputFold(FIRST), Follower()
    for piece in ("a\n", "b\n", "c\n"):
        fold.add(*stream(piece))
        follower.follow(fold)
    assert follower.ops == ["append", "extend", "extend"]


def test_what_was_not_told_yet_is_told_once():
    fold, follower = OutputFold(FIRST), Follower()
    for number in range(500):
        fold.add(*stream(f"\r{number}"))
        fold.add(*display(str(number), "d", "display_data" if number == 0 else "update_display_data"))
    follower.follow(fold)
    assert len(follower.ops) < 5 or follower.ops == ["append"] * len(follower.ops)
    assert texts(follower.lists[FIRST])[1] == "499"


def test_a_progress_bar_below_a_long_log_does_not_repeat_the_log():
    fold, follower = OutputFold(FIRST), Follower()
    fold.add(*stream("log line\n" * 5000))
    fold.add(*stream("  0%"))
    follower.follow(fold)
    told = 0
    for number in range(100):
        fold.add(*stream(f"\r{number:3d}%"))
        steps = fold.take()
        for step in steps:
            apply_output(follower.lists[FIRST], step.op)
            told += len(str(step.op.output or "")) + len(step.op.text)
    assert "".join(texts(follower.lists[FIRST])) == "log line\n" * 5000 + " 99%"
    assert told < 60_000


def test_an_update_reaches_the_outputs_of_an_earlier_execution():
    displays, follower = Displays(), Follower()
    first = OutputFold(FIRST, displays=displays)
    first.add(*display("one", "d"))
    first.finish()
    follower.follow(first)
    second = OutputFold(SECOND, displays=displays)
    second.add(*display("two", "d"))
    follower.follow(second)
    assert texts(follower.lists[FIRST]) == ["two"]
    assert texts(follower.lists[SECOND]) == ["two"]


def test_a_long_stream_keeps_its_beginning_and_end_and_is_put_aside_whole():
    caps = Caps(stream=1000, tail=100)
    fold = OutputFold(FIRST, caps=caps, place=lambda name: f"side/{name}")
    whole = "".join(f"line {n}\n" for n in range(2000))
    for at in range(0, len(whole), 333):
        fold.add(*stream(whole[at : at + 333]))
    fold.finish()
    head, note, tail = texts(fold.outputs)
    assert head == whole[:1000]
    assert tail == whole[-100:]
    assert (
        note
        == f"[… {len(whole) - 1100:,} characters left out here; the whole text is in side/exe_1.txt; the end follows …]"
    )
    assert "".join(spill.text for spill in fold.take_spills() if spill.name == "exe_1.txt") == whole


def test_too_many_outputs_keep_the_first_the_last_and_the_error():
    messages = [display(str(n)) for n in range(3000)] + [("error", {"ename": "E", "evalue": "", "traceback": []})]
    outputs = folded(messages, caps=Caps(outputs=10, tail_outputs=3))
    assert texts(outputs[:11]) == [*map(str, range(10)), "[… 2,988 outputs left out here; the end follows …]"]
    assert [output["output_type"] for output in outputs[11:]] == ["display_data", "display_data", "error"]
    assert texts(outputs[11:13]) == ["2998", "2999"]


def test_the_caps_count_what_is_shown_not_what_was_overwritten():
    outputs = folded([stream(f"\r{n:10d}") for n in range(1000)], caps=Caps(stream=100))
    assert texts(outputs) == [f"{999:10d}"]


def test_clearing_makes_room_again():
    caps = Caps(stream=10, tail=5)
    outputs = folded([stream("x" * 50), clear(wait=True), stream("fresh")], caps=caps)
    assert texts(outputs) == ["fresh"]


def test_a_side_file_is_bounded_too():
    fold = OutputFold(FIRST, caps=Caps(stream=10, spill=100), place=lambda name: name)
    for _ in range(100):
        fold.add(*stream("x" * 50))
    assert sum(len(spill.text) for spill in fold.take_spills()) < 120


def test_hostile_text_can_be_stored():
    outputs = folded(
        [stream("\ud800"), display("\udfff"), ("error", {"ename": "\ud800", "evalue": "", "traceback": ["\ud800"]})]
    )
    str(outputs).encode()


def test_an_error_that_comes_last_is_told_from_one_that_the_code_survived():
    error: Message = ("error", {"ename": "E", "evalue": "v", "traceback": []})
    last, survived = OutputFold(FIRST), OutputFold(FIRST)
    for fold, messages in ((last, [stream("a"), error]), (survived, [error, stream("went on")])):
        for message in messages:
            fold.add(*message)
    assert (last.error_is_last, survived.error_is_last) == (True, False)
    assert survived.error is not None


@pytest.mark.parametrize("seed", range(40))
def test_who_follows_the_steps_sees_the_same_outputs(seed: int):
    chance = random.Random(seed)
    displays, follower = Displays(), Follower()
    caps = Caps(stream=300, tail=50, outputs=12, tail_outputs=3)
    folds = [OutputFold(FIRST, displays=displays, caps=caps), OutputFold(SECOND, displays=displays, caps=caps)]
    pieces = ["a", "b\n", "\r", "\b", "\r\n", "\x1b[K", "x" * 40 + "\n"]
    for fold in folds:
        for _ in range(chance.randrange(60)):
            kind = chance.random()
            if kind < 0.6:
                fold.add(*stream("".join(chance.choices(pieces, k=3)), chance.choice(["stdout", "stderr"])))
            elif kind < 0.9:
                fold.add(
                    *display(
                        str(chance.random()),
                        chance.choice("pq"),
                        chance.choice(["display_data", "update_display_data"]),
                    )
                )
            else:
                fold.add(*clear(wait=chance.random() < 0.5))
            if chance.random() < 0.3:
                follower.follow(fold)
        fold.finish()
        follower.follow(fold)
    assert follower.lists[SECOND] == folds[1].outputs
    assert len(follower.lists[FIRST]) == len(folds[0].outputs)
