"""What of an event comes into the audit, and what never does."""

import json
from typing import Any

import msgspec
import pytest
from support.story import story

from jupyter_pernix.agent import toolbox
from jupyter_pernix.agent.tools import delegate, registry
from jupyter_pernix.events import EVENT_TYPES, encode_event
from jupyter_pernix.serverext.audit.guards import TOOLS, Digests
from jupyter_pernix.serverext.audit.projection import KINDS, LEFT_OUT, entries_of, entry_of, time_of
from jupyter_pernix.serverext.store.ingest import encode_line

DIGESTS = Digests(b"k" * 32)
SECRET = "tr0ub4dor&3 correct horse"
"""It has no shape that anything could know it by."""


def facts_of(event: Any) -> dict[str, Any] | None:
    entry = entry_of(7, 1_700_000_000_000_000, encode_event(event), DIGESTS)
    return entry.fields if entry is not None else None


def test_each_kind_of_event_is_audited_or_left_out() -> None:
    assert set(KINDS) | set(LEFT_OUT) == set(EVENT_TYPES)
    assert set(KINDS) & set(LEFT_OUT) == set()


def test_the_story_gives_a_line_for_each_event_that_is_audited() -> None:
    told = {str(one.event.__struct_config__.tag) for one in story() if facts_of(one.event) is not None}
    assert told == set(KINDS)


def with_secret(value: Any) -> Any:
    """``value`` with the secret in place of every text but ids and tags."""
    if isinstance(value, dict):
        return {key: item if key == "type" or key.endswith("_id") else with_secret(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_secret(item) for item in value]
    return SECRET if isinstance(value, str) else value


@pytest.mark.parametrize("seq", range(len(story())))
def test_no_text_of_an_event_comes_into_its_line(seq: int) -> None:
    """Whatever field a secret stands in; even one that should hold a name."""
    body = msgspec.json.encode(with_secret(msgspec.to_builtins(story()[seq].event)))
    entry = entry_of(7, 0, body, DIGESTS)
    told = json.dumps(entry.fields) if entry is not None else ""
    assert not any(word in told for word in SECRET.split())


@pytest.mark.parametrize(
    "name",
    [
        "sk-proj-abcdefghij0123456789ABCDEFGHIJ",
        "AKIAIOSFODNN7EXAMPLE",
        "jt0123456789abcdef0123456789abcdef",
        "a b",
        "x" * 200,
        "é",
    ],
)
def test_a_name_that_is_more_than_a_name_becomes_a_digest(name: str) -> None:
    assert DIGESTS.word(name) == DIGESTS.of(name)


@pytest.mark.parametrize(
    "name",
    ["run_shell", "gpt-4o-2024-08-06", "Qwen2.5-Coder-32B-Instruct", "meta-llama/Llama-3.1-8B", "python3", "panel"],
)
def test_names_stay_as_they_are(name: str) -> None:
    assert DIGESTS.word(name) == name


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("src/data loader.py", True),
        ("daten/größe.csv", True),
        ("/home/ada/x.py", False),
        ("~/x", False),
        ("a\nb", False),
        ("keys/sk-proj-abcdefghij0123456789ABCDEFGHIJ.txt", False),
        ("ghp_canary0123456789abcdef0123456789abcdef", False),
    ],
)
def test_paths_below_the_space_stay_unless_a_key_could_stand_in_them(path: str, plain: bool) -> None:
    assert DIGESTS.path(path) == (path if plain else DIGESTS.of(path))


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("cargo test", "cargo test"),
        (">", ">"),
        ("mode:edit:shell", "mode:edit:shell"),
        ("tool:read_file", "tool:read_file"),
        ("asked_each_time", "asked_each_time"),
        ("saved:cargo test", "saved:cargo test"),
        ("session:npm run + >", "session:npm run + >"),
        ("saved:make + exact:a + velvet", f"saved:make + exact:{DIGESTS.of('a + velvet')}"),
        ("exact:mysql -ptr0ub4dor", f"exact:{DIGESTS.of('mysql -ptr0ub4dor')}"),
        ("dir:/home/ada", f"dir:{DIGESTS.of('/home/ada')}"),
        ("mysql -ptr0ub4dor", DIGESTS.of("mysql -ptr0ub4dor")),
        ("PASSWORD=tr0ub4dor", DIGESTS.of("PASSWORD=tr0ub4dor")),
    ],
)
def test_a_rule_is_named_without_what_it_holds(rule: str, told: str) -> None:
    assert DIGESTS.rule(rule) == told


def test_a_digest_needs_the_key() -> None:
    assert Digests(b"a" * 32).of("hunter2") != Digests(b"b" * 32).of("hunter2")
    assert len(DIGESTS.of("hunter2")) == 33


def test_a_payload_of_the_journal_gives_its_entries_in_order() -> None:
    log = story()
    payload = b"".join(encode_line(one.seq, 1_700_000_000_000_000, "", encode_event(one.event)) for one in log)
    entries = entries_of(payload, DIGESTS)
    assert [entry.seq for entry in entries] == [one.seq for one in log if facts_of(one.event) is not None]
    assert {entry.at for entry in entries} == {"2023-11-14T22:13:20.000000Z"} == {time_of(1_700_000_000_000_000)}


def test_events_of_a_newer_program_are_passed_over() -> None:
    assert entry_of(1, 0, b'{"type":"from.the_future","session_id":"ses_1"}', DIGESTS) is None
    assert entry_of(1, 0, b'{"session_id":"ses_1","type":"tool_call.started"}', DIGESTS) is None


def test_shapes_that_are_not_as_expected_fail_nothing() -> None:
    for tag in KINDS:
        for wrong in (None, 3, [1], {"x": 1}, "text"):
            fields = dict.fromkeys(_fields(tag), wrong)
            assert entry_of(1, 0, msgspec.json.encode({"type": tag, **fields}), DIGESTS) is not None


def _fields(tag: str) -> tuple[str, ...]:
    return EVENT_TYPES[tag].__struct_fields__


def test_tools_are_known_by_name_and_what_else_a_model_calls_is_text() -> None:
    assert {*registry.TOOLS, delegate.DELEGATE, toolbox.USE_TOOL} == TOOLS
    assert DIGESTS.tool("run_shell") == "run_shell"
    assert DIGESTS.tool("velvet_otter") == DIGESTS.of("velvet_otter")


def test_errors_are_named_where_python_gave_the_name() -> None:
    assert DIGESTS.error("ValueError") == "ValueError"
    assert DIGESTS.error("velvet_otter") == DIGESTS.of("velvet_otter")
    assert DIGESTS.error("") is None
