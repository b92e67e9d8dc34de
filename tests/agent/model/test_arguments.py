import pytest

from jupyter_pernix.agent.model.arguments import Unreadable, read_objects


@pytest.mark.parametrize(
    ("text", "objects"),
    [
        ("", [{}]),
        ("{}", [{}]),
        ('{"a": 1}', [{"a": 1}]),
        ('{"a": "x\ny\tz"}', [{"a": "x\ny\tz"}]),
        ('{}{"a": 1}', [{"a": 1}]),
        ('{"a": 1}{"a": 1}', [{"a": 1}]),
        ('{"a": 1} {"a": 2}', [{"a": 1}, {"a": 2}]),
        ('{"a": [1, 2,], }', [{"a": [1, 2]}]),
        (r'{"p": "\d+\s"}', [{"p": r"\d+\s"}]),
        ("{'a': 'it\\'s', 'b': -1, 'c': [True, None]}", [{"a": "it's", "b": -1, "c": [True, None]}]),
        ("{'a': true, 'b': null}", [{"a": True, "b": None}]),
        ('```json\n{"a": 1}\n```', [{"a": 1}]),
        ('{"code": "```\\nx\\n```"}', [{"code": "```\nx\n```"}]),
    ],
)
def test_what_is_certain_is_read(text: str, objects: list[dict[str, object]]) -> None:
    assert read_objects(text) == objects


@pytest.mark.parametrize(
    "text",
    [
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        "{'a': float('nan')}",
        "{'a': 1e999}",
        '{"a": 1, "a": 2}',
        "{'a': 1, 'a': 2}",
        '{"a": {"b": 1, "b": 2}}',
        '{"a": 1',
        '{"a": "x',
        '{"a": 1} and more',
        '{"a": 1}}',
        "[1, 2]",
        "7",
        '"text"',
        "hello",
        '{"a": "say "hi" now"}',
        '{"a": "say "" now"}',
        "{'a': 'one' 'two'}",
        "{1: 2}",
        "{'a': f'{x}'}",
        "{'a': __import__('os')}",
        r'{"p": "C:\new\data"}',
        r'{"a": "\ud800"}',
        '{"a":' * 5000,
    ],
)
def test_what_is_not_certain_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read_objects(text)
    assert str(caught.value)
