"""Further ways in which servers vary the stream, of the same kinds as the recorded ones: each is a sentence, its bytes and its meaning."""

import json

import pytest
from agent.model.varied import TOOLS, Case
from agent.model.varied_calls import CALLS, WRITTEN
from agent.model.varied_streams import ENDS, FRAMING, TEXTS, THOUGHTS, USAGES

from jupyter_pernix.agent.model.parts import Part, Reply
from jupyter_pernix.agent.model.stream import ReplyReader

GROUPS = {
    "framing": FRAMING,
    "text": TEXTS,
    "calls": CALLS,
    "written": WRITTEN,
    "thoughts": THOUGHTS,
    "ends": ENDS,
    "usage": USAGES,
}
CASES = [pytest.param(case, id=f"{group}: {name}") for group, cases in GROUPS.items() for name, case in cases.items()]


def read(pieces: list[bytes]) -> Reply:
    reader = ReplyReader(TOOLS)
    parts: list[Part] = []
    for piece in pieces:
        parts += reader.feed(piece)
    parts += reader.close()
    reply = parts[-1]
    assert isinstance(reply, Reply)
    return reply


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("cut", [False, True], ids=["whole", "byte by byte"])
def test_a_server_s_way_is_read_as_what_it_means(case: Case, cut: bool) -> None:
    pieces = [case.sse[at : at + 1] for at in range(len(case.sse))] if cut else [case.sse]
    if case.error is not None:
        with pytest.raises(case.error):
            read(pieces)
        return
    reply = read(pieces)
    assert [(one.name, one.arguments) for one in reply.calls] == case.calls
    assert (reply.text.strip(), reply.thought.strip()) == (case.text, case.thought)
    assert len({one.wire_id for one in reply.calls}) == len(reply.calls)
    assert all(json.loads(one.raw) == one.arguments for one in reply.calls)
    if case.finish:
        assert reply.finish_reason == case.finish
    if case.usage is not None:
        assert reply.usage == case.usage
