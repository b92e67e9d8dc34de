"""Pictures on their way to a model that sees, over real HTTP; and what one that does not see is told instead."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent.acting import Acting
from agent.model.fakeserver import Answer, FakeServer, Route, as_json, stream
from agent.test_beside import PNG

from jupyter_pernix.agent.context import Transcript
from jupyter_pernix.agent.model.client import ChatModel, Endpoint
from jupyter_pernix.agent.model.conversation import (
    BEHIND_RESULTS,
    MOST_PICTURE_CHARACTERS,
    MOST_PICTURES,
    PICTURE_BYTES,
    Conversation,
)
from jupyter_pernix.agent.run import Run
from jupyter_pernix.agent.run_settings import OneModel, RunSettings
from jupyter_pernix.agent.sizes import Sizes
from jupyter_pernix.agent.testing import Executes, FakeExecutor, Says, ScriptedModel, call, shown
from jupyter_pernix.agent.testing.notebooks import MemoryNotebooks
from jupyter_pernix.errors import EndpointFailed
from jupyter_pernix.events import ContextCompacted, StepRetryScheduled
from jupyter_pernix.records import JSON, CellSnapshot, Mention, Picture, TerminalCode

PICTURE = Picture(mime="image/png", data=PNG)
IMAGE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}


def images(body: JSON) -> int:
    return json.dumps(body["messages"]).count("image_url")


def chat(refuses: Callable[[JSON], Answer | None] = lambda body: None) -> Route:
    """A model that runs code once a turn and then answers."""

    def answer(body: JSON) -> Answer:
        refused = refuses(body)
        if refused is not None:
            return refused
        if body["messages"][-1]["role"] == "tool" or BEHIND_RESULTS in json.dumps(body["messages"][-1]):
            return stream({"content": "Seen."})
        made = {"index": 0, "id": f"c{len(body['messages'])}", "type": "function"}
        arguments = json.dumps({"code": f"plot({len(body['messages'])})"})
        return stream({"tool_calls": [{**made, "function": {"name": "run_code", "arguments": arguments}}]})

    return answer


async def carry(acting: Acting, server: FakeServer, *, sees: bool, turns: int = 1) -> ChatModel:
    endpoint = Endpoint(server.url)
    model = ChatModel(endpoint, name="m", endpoint_name="e", sees=sees)
    for _ in range(turns):
        turn_id = acting.host.submit("Plot it")
        settings = RunSettings(scout=False)
        finished = await Run(
            acting.host, turn_id, list(acting.host.log), OneModel(model), settings, acting.clock
        ).carry()
        assert finished.code is TerminalCode.ANSWERED, finished.detail
    await endpoint.aclose()
    return model


@pytest.fixture
def acting(tmp_path: Path) -> Acting:
    plots = [Executes(ops=(shown({"image/png": PNG, "text/plain": "<Figure>"}),)) for _ in range(3)]
    return Acting(root=tmp_path, executor=FakeExecutor(plots))


async def test_a_model_that_sees_is_shown_the_pictures_behind_the_results(acting: Acting) -> None:
    with FakeServer({"POST /v1/chat/completions": chat()}).running() as server:
        await carry(acting, server, sees=True, turns=2)
    first, second, third, _ = (body["messages"] for body in server.requests)
    assert [one["role"] for one in second] == ["system", "user", "assistant", "tool", "user"]
    assert second[3]["content"] == "ok [1]\n<Figure>\n[image/png, shown to the user]"
    assert second[4]["content"] == [{"type": "text", "text": BEHIND_RESULTS}, IMAGE]
    assert second[: len(first)] == first  # it only grows
    assert third[: len(second)] == second
    assert images({"messages": third}) == 1 * 2  # key and type of one picture


async def test_a_model_that_does_not_see_is_told_in_text(acting: Acting) -> None:
    with FakeServer({"POST /v1/chat/completions": chat()}).running() as server:
        await carry(acting, server, sees=False)
    assert [one["role"] for one in server.requests[-1]["messages"]] == ["system", "user", "assistant", "tool"]
    assert images(server.requests[-1]) == 0


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Invalid content type. image_url is only supported by certain models."),
        (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
        (422, "messages.3.content: Input should be a valid string"),
        (400, "After the optional system message, conversation roles must alternate user/assistant/user"),
        (413, "Request Entity Too Large"),
        (400, "At most 0 image(s) may be provided in one prompt."),
    ],
)
async def test_an_endpoint_that_refuses_pictures_is_shown_none_any_more(
    acting: Acting, status: int, message: str
) -> None:
    def refuses(body: JSON) -> Answer | None:
        return as_json({"error": {"message": message}}, status)(body) if images(body) else None

    with FakeServer({"POST /v1/chat/completions": chat(refuses)}).running() as server:
        model = await carry(acting, server, sees=True, turns=2)
    assert [bool(images(body)) for body in server.requests] == [False, True, False, False, False]
    (said,) = acting.of(StepRetryScheduled)
    assert "from now on it is shown no pictures" in said.text
    assert said.seconds == 0
    assert not model.sees


async def test_another_refusal_does_not_cost_the_sight(acting: Acting) -> None:
    model = ChatModel(Endpoint("http://127.0.0.1:1/v1"), name="m", endpoint_name="e", sees=True)
    conversation = Conversation("s")
    conversation.append({"role": "user", "content": "x"}, [PICTURE])
    model._learn(EndpointFailed("the endpoint answered (HTTP 500): overloaded", status=500), conversation)
    assert model.sees


# ---- the conversation -----------------------------------------------------------------------------------------------------


def test_a_picture_counts_as_a_flat_number_whatever_its_length() -> None:
    short, long = Conversation("s"), Conversation("s")
    short.append({"role": "user", "content": "x"}, [PICTURE])
    long.append({"role": "user", "content": "x"}, [Picture(mime="image/png", data=PNG * 50_000)])
    assert short.size == long.size == short.text_size + PICTURE_BYTES
    sizes = Sizes(())
    seeing, blind = ScriptedModel([], sees=True), ScriptedModel([])
    assert 900 < sizes.tokens(seeing, long) - sizes.tokens(blind, long) < 1_300


def test_both_forms_only_grow_and_are_one_as_long_as_there_are_no_pictures() -> None:
    conversation = Conversation("s")
    conversation.append({"role": "user", "content": "x"})
    before = conversation.encoded(pictures=True)
    assert before == conversation.encoded()
    conversation.append({"role": "tool", "tool_call_id": "1", "content": "r"}, [PICTURE])
    conversation.append({"role": "assistant", "content": "y"})
    seeing = conversation.encoded(pictures=True)
    assert seeing.startswith(before[:-1])
    assert [one["role"] for one in json.loads(seeing)] == ["system", "user", "tool", "user", "assistant"]
    assert [one["role"] for one in json.loads(conversation.encoded())] == ["system", "user", "tool", "assistant"]


def test_a_conversation_holds_so_many_pictures_and_says_when_there_were_more() -> None:
    conversation = Conversation("s")
    for _ in range(MOST_PICTURES // 4 + 2):
        conversation.append({"role": "user", "content": "x"}, [PICTURE] * 4)
    messages = json.loads(conversation.encoded(pictures=True))
    assert conversation.pictures == MOST_PICTURES
    assert "Further pictures are not shown to you" in json.dumps(messages[-1])
    assert images({"messages": messages}) == 2 * MOST_PICTURES


def test_the_pictures_of_a_conversation_are_bounded_in_size_too() -> None:
    large = Picture(mime="image/png", data="A" * 900_000)
    conversation = Conversation("s")
    for _ in range(4):
        conversation.append({"role": "user", "content": "x"}, [large, large])
    messages = json.loads(conversation.encoded(pictures=True))
    assert conversation.pictures == 4
    assert len(conversation.encoded(pictures=True)) < MOST_PICTURE_CHARACTERS + 10_000
    assert "Further pictures are not shown to you" in json.dumps(messages[-1])


async def test_a_picture_of_a_cell_stands_in_the_users_message(tmp_path: Path) -> None:
    acting = Acting(root=tmp_path)
    plot = {"output_type": "display_data", "data": {"image/png": PNG}, "metadata": {}}
    cell = CellSnapshot(cell_id="c1", cell_type="code", source="plot()", outputs=[plot])
    acting.host.notebooks = MemoryNotebooks({"a.ipynb": [cell]}, attached="a.ipynb")
    turn_id = acting.host.submit("Explain it", [Mention(kind="cell", name="c1")])
    model = ScriptedModel([Says(text="It is a plot.")], sees=True)
    await acting.go_on(turn_id, model).carry()

    request = json.loads(model.sent[0])[1]
    assert request["content"][0]["text"].startswith("Explain it\n\n(The user's message is about the code cell c1")
    assert request["content"][1:] == [IMAGE]


@pytest.mark.parametrize("level", ["outputs", "summary"])
async def test_a_compaction_drops_pictures(acting: Acting, level: Any) -> None:
    model = ScriptedModel([Says(calls=(call("run_code", code="plot()"),)), Says(text="Seen.")], sees=True)
    await acting.say(model)
    transcript = Transcript.of("s", acting.host.log)
    assert transcript.conversation.pictures == 1
    group = transcript.groups[1]
    compacted = ContextCompacted(
        session_id=acting.host.session_id,
        turn_id=None,
        level=level,
        upto_seq=acting.host.log[-1].seq,
        summary="A plot was made.",
        kept=[],
        dropped="",
        tokens_before=0,
        tokens_after=0,
    )
    await acting.host.append(compacted)
    transcript.add(acting.host.log[-1])
    assert transcript.conversation.pictures == 0
    assert group.size > group.shortened().size + PICTURE_BYTES - 200
    assert images({"messages": json.loads(transcript.conversation.encoded(pictures=True))}) == 0
