import json
from datetime import UTC, datetime

import msgspec
import pytest
from support.samples import sample_struct

from jupyter_pernix.events import (
    DELTA_TYPES,
    EVENT_TYPES,
    Delta,
    Event,
    MessageCompleted,
    Stored,
    Unknown,
    decode_event,
    decode_stored,
    encode_delta,
    encode_event,
    encode_stored,
    event_type,
)
from jupyter_pernix.ids import SessionId, StepId, TurnId

WHEN = datetime(2026, 3, 4, 5, 6, 7, 890000, tzinfo=UTC)

events = pytest.mark.parametrize("kind", EVENT_TYPES.values(), ids=EVENT_TYPES)
deltas = pytest.mark.parametrize("kind", DELTA_TYPES.values(), ids=DELTA_TYPES)

TAGS = [
    "session.created",
    "session.renamed",
    "session.configured",
    "session.state_changed",
    "session.archived",
    "turn.submitted",
    "turn.started",
    "turn.finished",
    "step.started",
    "step.finished",
    "message.completed",
    "thought.completed",
    "tool_call.requested",
    "tool_call.started",
    "tool_call.finished",
    "policy.decided",
    "approval.requested",
    "approval.resolved",
    "execution.started",
    "execution.output",
    "execution.finished",
    "file.changed",
    "problem.noticed",
]


def test_tags_that_lie_in_databases_keep_their_names():
    assert set(TAGS) <= set(EVENT_TYPES)


def test_a_tag_is_noun_dot_past_verb():
    for tag in EVENT_TYPES:
        noun, verb = tag.split(".")
        assert (noun + verb).replace("_", "").isalpha()


@events
def test_an_event_survives_store_and_wire(kind: type[Event]):
    event = sample_struct(kind)
    assert decode_event(encode_event(event)) == event
    stored = Stored(seq=12, recorded_at=WHEN, event=event)
    assert decode_stored(encode_stored(stored)) == stored


@events
def test_the_wire_form_is_one_flat_object(kind: type[Event]):
    event = sample_struct(kind)
    wire = json.loads(encode_stored(Stored(seq=12, recorded_at=WHEN, event=event)))
    assert list(wire)[:3] == ["seq", "recorded_at", "type"]
    assert wire == {"seq": 12, "recorded_at": "2026-03-04T05:06:07.890000Z", **json.loads(encode_event(event))}
    assert wire["type"] == event_type(event)


@events
def test_an_event_cannot_be_changed(kind: type[Event]):
    with pytest.raises(AttributeError):
        sample_struct(kind).session_id = SessionId("ses_other")  # pyright: ignore[reportAttributeAccessIssue]


@deltas
def test_a_delta_goes_over_the_wire_with_its_type_and_offset(kind: type[Delta]):
    delta = sample_struct(kind)
    wire = json.loads(encode_delta(delta))
    assert (wire["type"], wire["offset"]) == (delta.__struct_config__.tag, delta.offset)
    assert msgspec.json.decode(encode_delta(delta), type=kind) == delta


def test_events_and_deltas_share_no_tag():
    assert not set(EVENT_TYPES) & set(DELTA_TYPES)


def test_an_event_of_a_newer_program_is_kept_whole():
    body = b'{"type":"moon.landed","session_id":"ses_1","crew":["a","b"],"depth":{"x":1}}'
    event = decode_event(body)
    assert event == Unknown(session_id=SessionId("ses_1"), type="moon.landed", body=json.loads(body))
    assert json.loads(encode_event(event)) == json.loads(body)
    stored = Stored(seq=3, recorded_at=WHEN, event=event)
    assert decode_stored(encode_stored(stored)) == stored


def test_a_known_event_in_an_unreadable_shape_is_kept_whole():
    body = (
        b'{"type":"message.completed","session_id":"ses_1","turn_id":"trn_1","step_id":"stp_1","text":["not","text"]}'
    )
    event = decode_event(body)
    assert isinstance(event, Unknown)
    assert event_type(event) == "message.completed"
    assert json.loads(encode_event(event)) == json.loads(body)


def test_fields_that_a_newer_program_added_are_ignored():
    event = MessageCompleted(
        session_id=SessionId("ses_1"), turn_id=TurnId("trn_1"), step_id=StepId("stp_1"), text="done"
    )
    assert decode_event(json.dumps({**json.loads(encode_event(event)), "mood": "new"})) == event


def test_what_is_not_json_is_an_error():
    with pytest.raises(msgspec.DecodeError):
        decode_event(b'{"type": ')
