"""The ways of holding an answer to a schema: what is sent, and that the grammars mean the schema."""

import json
import re
from typing import Any, get_args

import pytest

from jupyter_pernix.agent.model.action_schema import schema_for
from jupyter_pernix.agent.model.constraint import constrained, constraint_fields, ways_of
from jupyter_pernix.agent.model.grammar import to_gbnf, to_regex
from jupyter_pernix.agent.tools.registry import TOOLS
from jupyter_pernix.records import Constraint, EndpointKind

SCHEMA: dict[str, Any] = {
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "action": {"const": "read"},
                "path": {"type": "string"},
                "from": {"type": "integer"},
                "kinds": {"type": "array", "items": {"enum": ["a", "b.c"]}},
            },
            "required": ["action", "path"],
            "additionalProperties": False,
        },
        {"type": "object", "properties": {"action": {"const": "finish"}}, "required": ["action"]},
    ]
}
ALLOWED = [
    {"action": "finish"},
    {"action": "read", "path": 'a "b"\n\\ü'},
    {"action": "read", "path": "", "from": -12},
    {"action": "read", "path": "x", "kinds": []},
    {"action": "read", "path": "x", "from": 0, "kinds": ["a", "b.c"]},
]
REFUSED = [
    {},
    {"action": "read"},
    {"action": "other"},
    {"action": "finish", "path": "x"},
    {"action": "read", "path": 1},
    {"action": "read", "path": "x", "from": "1"},
    {"action": "read", "path": "x", "kinds": ["bxc"]},
    "finish",
]


@pytest.mark.parametrize("way", get_args(Constraint))
def test_each_way_adds_its_own_fields_and_leaves_the_rest(way: Constraint) -> None:
    body = {"model": "m", "temperature": 0}
    made = constrained(body, SCHEMA, way)
    assert {key: made[key] for key in body} == body
    assert set(made) - set(body) == set(constraint_fields(SCHEMA, way))
    assert body == {"model": "m", "temperature": 0}


def test_openai_s_own_way_is_strict_and_named() -> None:
    assert constraint_fields(SCHEMA, "response_format") == {
        "response_format": {"type": "json_schema", "json_schema": {"name": "action", "strict": True, "schema": SCHEMA}}
    }


@pytest.mark.parametrize("kind", get_args(EndpointKind))
def test_openai_s_own_way_is_tried_first_everywhere(kind: EndpointKind) -> None:
    assert ways_of(kind)[0] == "response_format"


@pytest.mark.parametrize("value", ALLOWED, ids=json.dumps)
def test_the_regular_expression_takes_what_the_schema_takes(value: Any) -> None:
    assert re.fullmatch(to_regex(SCHEMA), json.dumps(value, ensure_ascii=False))


@pytest.mark.parametrize("value", REFUSED, ids=json.dumps)
def test_the_regular_expression_refuses_what_the_schema_refuses(value: Any) -> None:
    assert not re.fullmatch(to_regex(SCHEMA), json.dumps(value))


@pytest.mark.parametrize("value", ALLOWED, ids=json.dumps)
def test_the_grammar_takes_what_the_schema_takes(value: Any) -> None:
    assert Gbnf(to_gbnf(SCHEMA)).takes(json.dumps(value, ensure_ascii=False))


@pytest.mark.parametrize("value", REFUSED, ids=json.dumps)
def test_the_grammar_refuses_what_the_schema_refuses(value: Any) -> None:
    assert not Gbnf(to_gbnf(SCHEMA)).takes(json.dumps(value))


def test_an_object_of_any_depth_has_a_grammar_but_no_regular_expression() -> None:
    deep = {
        "type": "object",
        "properties": {"action": {"const": "x"}, "more": {"type": "object"}},
        "required": ["action"],
    }
    assert Gbnf(to_gbnf(deep)).takes('{"action": "x", "more": {"a": [1.5e3, {"b": null}]}}')
    with pytest.raises(ValueError, match="no regular expression"):
        to_regex(deep)


def test_the_product_s_own_tools_can_be_held_to_by_a_grammar() -> None:
    schema = schema_for([tool.spec for tool in TOOLS.values()])
    grammar = Gbnf(to_gbnf(schema))
    assert grammar.takes('{"action": "read_file", "path": "data.csv"}')
    assert grammar.takes('{"action": "finish"}')
    assert not grammar.takes('{"action": "read_file"}')
    assert not grammar.takes('{"action": "fly"}')


class Gbnf:
    """Just enough of llama.cpp's grammar language to run one against a text, all choices tried."""

    TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(\[(?:[^\]\\]|\\.)*\])|([a-z]+)|([()|?*+]))')

    def __init__(self, text: str) -> None:
        self.rules = {name: self._parse(body) for name, body in re.findall(r"^([a-z]+) ::= (.*)$", text, re.MULTILINE)}

    def _parse(self, body: str) -> Any:
        self._tokens = [next((one for one in found.groups() if one), "") for found in self.TOKEN.finditer(body)]
        assert "".join(self._tokens).replace(" ", "") == body.replace(" ", ""), body
        made = self._choice()
        assert self._tokens == []
        return made

    def _choice(self) -> Any:
        options = [self._chain()]
        while self._tokens[:1] == ["|"]:
            self._tokens.pop(0)
            options.append(self._chain())
        return ("or", options)

    def _chain(self) -> Any:
        items: list[Any] = []
        while self._tokens and self._tokens[0] not in ("|", ")"):
            token = self._tokens.pop(0)
            if token == "(":
                item = self._choice()
                assert self._tokens.pop(0) == ")"
            elif token[0] == '"':
                item = ("text", json.loads(token))
            elif token[0] == "[":
                item = ("set", re.compile(token, re.DOTALL))
            else:
                item = ("rule", token)
            if self._tokens and self._tokens[0] in ("?", "*", "+"):
                item = (self._tokens.pop(0), item)
            items.append(item)
        return ("and", items)

    def takes(self, text: str) -> bool:
        return len(text) in self._ends(self.rules["root"], text, 0)

    def _ends(self, node: Any, text: str, at: int) -> set[int]:
        kind, inner = node
        if kind == "text":
            return {at + len(inner)} if text.startswith(inner, at) else set()
        if kind == "set":
            return {at + 1} if inner.match(text, at) else set()
        if kind == "rule":
            return self._ends(self.rules[inner], text, at)
        if kind == "or":
            return {end for option in inner for end in self._ends(option, text, at)}
        if kind == "and":
            places = {at}
            for item in inner:
                places = {end for place in places for end in self._ends(item, text, place)}
            return places
        seen = set[int]() if kind == "+" else {at}
        front = {at}
        while front:
            front = {end for place in front for end in self._ends(inner, text, place)} - seen
            seen |= front
            if kind == "?":
                break
        return seen
