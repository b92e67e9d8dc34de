"""Compare outputs with what a recorded case expects of them."""

import re
from typing import Any

from jupyter_pernix.kernel.terminal import TerminalText

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def _text_matches(rule: dict[str, Any], actual: Any) -> bool:
    text = actual if isinstance(actual, str) else "".join(actual) if isinstance(actual, list) else str(actual)
    contains = rule.get("contains", [])
    collapsed = TerminalText()
    collapsed.write(text)
    return all(
        (
            all(part in text for part in ([contains] if isinstance(contains, str) else contains)),
            "re" not in rule or re.search(rule["re"], _ANSI.sub("", text)) is not None,
            len(text) >= rule.get("len_min", 0),
            len(text) <= rule.get("len_max", len(text)),
            "collapsed" not in rule or collapsed.text == rule["collapsed"],
        )
    )


_RULES = {"contains", "re", "len_min", "len_max", "present", "any", "collapsed"}


def matches(expected: Any, actual: Any) -> bool:
    """Objects may have more keys than expected; an object of rule words is a rule for a text."""
    if isinstance(expected, dict):
        if expected and set(expected) <= _RULES:
            return _text_matches(expected, actual)
        return isinstance(actual, dict) and all(matches(value, actual.get(key)) for key, value in expected.items())
    if isinstance(actual, list) and isinstance(expected, str):
        return expected == "".join(actual)
    return expected == actual


def _with_joined_streams(outputs: list[Any]) -> list[Any]:
    """Where another output came in between, a stream lies in pieces."""
    names = dict.fromkeys(output["name"] for output in outputs if output["output_type"] == "stream")
    streams = [
        {"output_type": "stream", "name": name, "text": "".join(o["text"] for o in outputs if o.get("name") == name)}
        for name in names
    ]
    return streams + [output for output in outputs if output["output_type"] != "stream"]


def outputs_match(expected: list[Any], actual: list[Any], *, mode: str) -> bool:
    """``exact``: one by one; ``subset``: in order, with gaps allowed; ``unordered``: each somewhere, a stream in pieces or whole."""
    if mode == "unordered":
        joined = _with_joined_streams(actual)
        return all(any(matches(wanted, output) for output in joined) for wanted in expected)
    if mode == "subset":
        rest = iter(actual)
        return all(any(matches(wanted, output) for output in rest) for wanted in expected)
    return len(expected) == len(actual) and all(map(matches, expected, actual))
