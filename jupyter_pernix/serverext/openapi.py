"""The API described from its own parts: the route table and the records. OpenAPI 3.1, and one page to read it on."""

import base64
import hashlib
import html
import json
import re
from typing import Any

import msgspec

from .. import __version__
from ..events import Delta, Event
from ..records import Problem
from .routing import BASE, Route, Verb

JSON = dict[str, Any]

_REF = "#/components/schemas/{name}"
_PROBLEMS = {
    400: "The request is wrong; `place` says where.",
    401: "Not logged in.",
    403: "Not allowed.",
    404: "There is no such thing.",
    409: "It does not fit what is true now.",
    503: "The store cannot be had; the message says why.",
}


def describe(routes: tuple[Route, ...]) -> JSON:
    """The OpenAPI document."""
    verbs = [verb for route in routes for verb in route.verbs.values()]
    types: list[Any] = [Problem, Event, Delta]
    types += [kind for verb in verbs for kind in (verb.takes, verb.gives) if kind is not None]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    by_type = {_key(kind): schema for kind, schema in zip(types, schemas, strict=True)}
    components["Event"], components["Delta"] = by_type[_key(Event)], by_type[_key(Delta)]
    components["Stored"] = _stored()
    paths: JSON = {}
    for route in routes:
        names = re.findall(r"\{(\w+)\}", route.path)
        paths[BASE + route.path] = {
            name: _operation(route.path, name, verb, names, by_type) for name, verb in route.verbs.items()
        }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "jupyter_pernix",
            "version": __version__,
            "description": "Sessions of an agent that works in Jupyter kernels: their turns, events and approvals. "
            "Every request is authenticated as on any Jupyter server.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "apiKey", "in": "header", "name": "Authorization", "description": "`token <TOKEN>`"}
            },
        },
        "security": [{"token": []}],
    }


def _key(kind: Any) -> str:
    return repr(kind)


def _stored() -> JSON:
    return {
        "title": "Stored",
        "description": "An event with its place in the log, as one flat object.",
        "allOf": [
            {
                "type": "object",
                "properties": {
                    "seq": {"type": "integer", "description": "One sequence over all sessions."},
                    "recorded_at": {"type": "string", "format": "date-time"},
                },
                "required": ["seq", "recorded_at"],
            },
            {"$ref": _REF.format(name="Event")},
        ],
    }


def _operation(path: str, name: str, verb: Verb, names: list[str], by_type: dict[str, JSON]) -> JSON:
    words = re.sub(r"[{}]", "", path).strip("/").replace("/", "_").replace("-", "_").replace(".", "_")
    operation: JSON = {
        "operationId": f"{name}_{words or 'info'}",
        "summary": verb.says,
        "parameters": [
            *({"name": key, "in": "path", "required": True, "schema": {"type": "string"}} for key in names),
            *(
                {"name": key, "in": "query", "required": False, "description": says, "schema": {"type": "string"}}
                for key, says in verb.query.items()
            ),
        ],
        "responses": {str(verb.status): _success(verb, by_type)},
    }
    if verb.takes is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": by_type[_key(verb.takes)]}},
        }
    problem = {"application/json": {"schema": by_type[_key(Problem)]}}
    for status, says in _PROBLEMS.items():
        operation["responses"][str(status)] = {"description": says, "content": problem}
    return operation


def _success(verb: Verb, by_type: dict[str, JSON]) -> JSON:
    if verb.gives is None and verb.media == "application/json":
        return {"description": "Done; no body."}
    if verb.gives is None:
        return {"description": "The content.", "content": {verb.media: {"schema": {"type": "string"}}}}
    schema = by_type[_key(verb.gives)]
    if verb.gives == list[Event]:
        schema = {"type": "array", "items": {"$ref": _REF.format(name="Stored")}}
    return {"description": "The answer.", "content": {verb.media: {"schema": schema}}}


# ---- the page -----------------------------------------------------------------------------------------------------------

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color-scheme: light dark; }
code, pre { font-family: ui-monospace, monospace; font-size: 13px; }
pre { overflow-x: auto; padding: .6rem; border: 1px solid #8884; border-radius: 4px; }
h2 { margin-top: 2rem; } h3 { margin-bottom: .2rem; }
.verb { display: inline-block; min-width: 4.5em; font-weight: 700; text-transform: uppercase; }
details { margin: .3rem 0; } table { border-collapse: collapse; } td { padding: .1rem .8rem .1rem 0; vertical-align: top; }
""".strip()

PAGE_POLICY = (
    "default-src 'none'; style-src 'sha256-"
    + base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    + "'; frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
)
"""Content-Security-Policy of the page: no script, no outside asset, this one style."""


def page(document: JSON) -> str:
    """The document as HTML that needs nothing but itself."""
    info = document["info"]
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{html.escape(info["title"])} API</title>',
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{html.escape(info['title'])} {html.escape(info['version'])}</h1>",
        f"<p>{_prose(info['description'])}</p>",
        '<p>The same for programs: <a href="openapi.json">openapi.json</a>.</p>',
        "<h2>Requests</h2>",
    ]
    for path, verbs in document["paths"].items():
        for name, operation in verbs.items():
            parts.append(_operation_html(path, name, operation))
    parts.append("<h2>Records</h2>")
    for name, schema in sorted(document["components"]["schemas"].items()):
        parts.append(_schema_html(name, schema))
    return "\n".join([*parts, "</body></html>", ""])


def _prose(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _operation_html(path: str, name: str, operation: JSON) -> str:
    rows = [
        f"<tr><td><code>{html.escape(one['name'])}</code></td><td>{_prose(one.get('description', ''))}</td></tr>"
        for one in operation["parameters"]
        if one["in"] == "query"
    ]
    takes = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    lines = [
        f'<h3><span class="verb">{name}</span> <code>{html.escape(path)}</code></h3>',
        f"<p>{_prose(operation['summary'])}</p>",
        f"<table>{''.join(rows)}</table>" if rows else "",
        f"<p>Takes {_type_html(takes)}.</p>" if takes else "",
    ]
    status, answer = next(iter(operation["responses"].items()))
    for media, content in answer.get("content", {}).items():
        shown = _type_html(content["schema"]) if media == "application/json" else f"<code>{html.escape(media)}</code>"
        lines.append(f"<p>Answers {status} with {shown}.</p>")
    if "content" not in answer:
        lines.append(f"<p>Answers {status} without a body.</p>")
    return "\n".join(line for line in lines if line)


def _type_html(schema: JSON) -> str:
    if "$ref" in schema:
        name = html.escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}"><code>{name}</code></a>'
    if schema.get("type") == "array" and "items" in schema:
        return f"a list of {_type_html(schema['items'])}"
    return f"<code>{html.escape(json.dumps(schema))}</code>"


def _schema_html(name: str, schema: JSON) -> str:
    shown = html.escape(json.dumps({key: value for key, value in schema.items() if key != "description"}, indent=1))
    return (
        f'<h3 id="{html.escape(name)}">{html.escape(name)}</h3>'
        f"<p>{_prose(schema.get('description', ''))}</p><details><summary>Schema</summary><pre>{shown}</pre></details>"
    )
