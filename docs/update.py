"""Writes the parts of these pages that are drawn from the code: ``python docs/update.py``. ``tests/test_docs.py`` fails when they are stale.

A part stands between ``<!-- from the code: NAME -->`` and ``<!-- end -->``.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from jupyter_pernix import config
from jupyter_pernix.agent import states
from jupyter_pernix.agent.policy.modes import ACTIONS, VERDICTS
from jupyter_pernix.agent.tools.registry import TOOLS
from jupyter_pernix.events import DELTA_TYPES, EVENT_TYPES, Event
from jupyter_pernix.records import EXIT_CODES
from jupyter_pernix.serverext.handlers import ROUTES
from jupyter_pernix.settings import project, schema
from jupyter_pernix.settings.values import expectation

DOCS = Path(__file__).parent
PAGES = ("architecture.md", "api.md", "configuration.md", "permissions.md", "security.md")
_PART = re.compile(r"(<!-- from the code: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.replace("``", "`").replace("|", "\\|").split())


def _said(cls: type) -> str:
    return _cell(cls.__dict__.get("__doc__") or "")


def _fields(cls: type[Any], leave_out: set[str]) -> str:
    return ", ".join(f"`{field.name}`" for field in msgspec.structs.fields(cls) if field.name not in leave_out)


def events() -> str:
    rows = [[f"`{tag}`", _fields(cls, {"session_id"}), _said(cls)] for tag, cls in EVENT_TYPES.items()]
    return _table(["tag", "carries, besides `session_id`", "true from now on"], rows)


def deltas() -> str:
    common = {"session_id", "turn_id", "step_id"}
    rows = [[f"`{tag}`", _fields(cls, common), _said(cls)] for tag, cls in DELTA_TYPES.items()]
    return _table(["tag", "carries, besides `session_id`, `turn_id`, `step_id`", "says"], rows)


def state_picture() -> str:
    return f"```mermaid\n{states.picture()}```\n"


def modes() -> str:
    rows = [
        [f"`{mode}`", *(verdicts[action] for action in ACTIONS if action != "none")]
        for mode, verdicts in VERDICTS.items()
    ]
    return _table(["mode", *(action for action in ACTIONS if action != "none")], rows)


def tools() -> str:
    specs = [tool.spec for tool in TOOLS.values()]
    return _table(["tool", "told to the model"], [[f"`{spec.name}`", _cell(spec.description)] for spec in specs])


def exit_codes() -> str:
    return _table(["code", "ending"], [[str(code), f"`{ending.value}`"] for ending, code in EXIT_CODES.items()])


def _default(value: Any) -> str:
    if value is schema.REQUIRED:
        return "has to be given"
    return "none" if value is None else f"`{msgspec.json.encode(value).decode()}`"


def settings() -> str:
    rows: list[list[str]] = []
    said = ""
    for node in schema.values(config.TREE):
        if node.about and node.about != said:
            rows.append([f"`{schema.dotted(node.path[:-1])}`", _cell(node.about), "a table", "", ""])
        said = node.about
        key = schema.dotted(node.path)
        rule = project.allowed(key)
        must = _cell(re.sub(r"'([^' ]+)'", r"`\1`", expectation(node.kind)))
        default = "" if node.path[-1] == "NAME" else _default(node.default)
        rows.append([f"`{key}`", _cell(node.doc), must, default, rule.says if rule else "no"])
    return _table(["key", "what it is for", "must be", "default", "in a project file"], rows)


def _shape(kind: Any) -> str:
    name = getattr(kind, "__name__", "")
    if name == "list":
        return f"list of {_shape(kind.__args__[0])}"
    if kind == Event:
        return "`Event`"
    return f"`{name}`" if isinstance(kind, type) else ""


def _routes() -> Iterator[list[str]]:
    for route in ROUTES:
        for method, verb in route.verbs.items():
            says = _cell(verb.says)
            if verb.query:
                says += " Query: " + ", ".join(f"`{name}` ({_cell(text)})" for name, text in verb.query.items()) + "."
            yield [
                f"`{method.upper()} {route.path}`",
                _shape(verb.takes),
                f"{verb.status} {_shape(verb.gives)}".strip(),
                says,
            ]


def routes() -> str:
    return _table(["request", "body", "answer", "does"], list(_routes()))


PARTS = {
    "events": events,
    "deltas": deltas,
    "states": state_picture,
    "modes": modes,
    "tools": tools,
    "exit_codes": exit_codes,
    "routes": routes,
    "settings": settings,
}


def updated(page: str) -> str:
    """``page`` with each part as the code has it now."""
    return _PART.sub(lambda match: match[1] + PARTS[match[2]]() + match[3], page)


def main() -> None:
    for name in PAGES:
        path = DOCS / name
        path.write_text(updated(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
