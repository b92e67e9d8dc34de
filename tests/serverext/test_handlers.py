"""The HTTP border: who may ask, what is refused and how, and the description of it all."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from jupyter_pernix.events import EVENT_TYPES
from jupyter_pernix.serverext.handlers import ROUTES
from jupyter_pernix.serverext.handlers.base import BODY_LIMIT
from jupyter_pernix.serverext.openapi import describe, page
from jupyter_pernix.serverext.routing import BASE, Verb, pattern

from .carrying import Told, echo
from .conftest import Serve
from .served import TOKEN

pytestmark = pytest.mark.server


def requests() -> Iterator[tuple[str, str, Verb]]:
    for route in ROUTES:
        path = route.path
        for name in ("session_id", "turn_id", "approval_id", "execution_id", "name"):
            path = path.replace("{" + name + "}", "x")
        for method, verb in route.verbs.items():
            yield method.upper(), path, verb


async def test_every_verb_of_every_route_refuses_a_stranger(serve: Serve) -> None:
    async with serve(carry=Told(echo), authenticated=False) as server:
        for method, path, _ in requests():
            for headers in ({}, {"Authorization": "token wrong"}):
                response = await server.http.request(method, path, headers=headers, content=b"{}")
                assert (method, path, response.status_code) == (method, path, 403)


async def test_every_verb_asks_the_authorizer_for_pernix(serve: Serve) -> None:
    from jupyter_server.auth import Authorizer

    asked: list[tuple[str, str]] = []

    class Nobody(Authorizer):
        def is_authorized(self, handler: Any, user: Any, action: str, resource: str) -> bool:
            asked.append((action, resource))
            return False

    async with serve(carry=Told(echo)) as server:
        server.app.web_app.settings["authorizer"] = Nobody(parent=server.app)
        for method, path, _ in requests():
            asked.clear()
            response = await server.http.request(method, path, content=b"{}")
            action = "read" if method == "GET" else "write"
            assert (method, path, response.status_code, asked) == (method, path, 403, [(action, "pernix")])


async def test_no_handler_answers_a_verb_that_the_table_does_not_name() -> None:
    for route in ROUTES:
        for method in ("get", "post", "put", "patch", "delete", "head"):
            defined = getattr(route.handler, method).__qualname__.split(".")[0] != "RequestHandler"
            assert (route.path, method, defined) == (route.path, method, method in route.verbs)


async def test_a_browser_of_another_site_gets_nothing(serve: Serve) -> None:
    async with serve(carry=Told(echo), authenticated=False) as server:
        response = await server.http.post("/sessions", json={}, headers={"Origin": "http://evil.example"})
        assert response.status_code in (403, 404)
        assert "access-control-allow-origin" not in response.headers


BAD_BODIES: list[tuple[bytes, str]] = [
    (b"{", "$"),
    (b"\xff\xfe{", "$"),
    (b"[1]", "$"),
    (b"null", "$"),
    (b'"text"', "$"),
    (b'{"a":' * 100_000, "$"),
    (b'{"title": 7}', "$.title"),
    (b'{"title": "\xff"}', "$"),
    (b'{"nonsense": 1}', "$"),
    (b'{"mode": "root"}', "$.mode"),
    (b'{"title": "' + b"x" * 201 + b'"}', "$.title"),
    (b'{"endpoint": "no such"}', "$.endpoint"),
    (b'{"kernel_name": "no such"}', "$.kernel_name"),
    (b'{"space_root": "a\\u0000b"}', "$.space_root"),
]


async def test_a_bad_body_is_answered_with_400_and_the_place_of_the_fault(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        for body, place in BAD_BODIES:
            response = await server.http.post("/sessions", content=body)
            assert (body[:40], response.status_code, response.json()["place"]) == (body[:40], 400, place)
            assert response.json()["message"]
        assert await server.get("/sessions") == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("rounds", 0), ("rounds", -1), ("tokens", 10**26), ("seconds", -5.0), ("cost", 0), ("changed_lines", -3)],
)
async def test_a_budget_that_nothing_could_keep_is_refused(serve: Serve, name: str, value: float) -> None:
    async with serve(carry=Told(echo)) as server:
        session = await server.new_session()
        wrong = {"budget": {name: value}}
        for method, path, body in (
            ("POST", "/sessions", wrong),
            ("PATCH", f"/sessions/{session}", wrong),
            ("POST", f"/sessions/{session}/turns", {"text": "go", **wrong}),
        ):
            response = await server.http.request(method, path, json=body)
            assert (response.status_code, response.json().get("place")) == (400, f"$.budget.{name}"), response.text


async def test_no_verb_breaks_on_a_body_or_a_name_that_makes_no_sense(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        for method, path, _ in requests():
            if (method, path) in (("GET", "/stream"), ("POST", "/tour"), ("POST", "/endpoints/discover")):
                continue
            for body in (b"\x00", b"[]"):
                for name in ("x", "x%00y", "a" * 3000, "..%2f.."):
                    url = path.replace("/x", f"/{name}")
                    response = await server.http.request(method, url, content=body)
                    assert response.status_code < 500, (method, url[:80], body[:9], response.text)
                    assert "Traceback" not in response.text


async def test_a_body_beyond_the_limit_is_refused(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        response = await server.http.post("/sessions", content=b'{"title":"' + b"x" * BODY_LIMIT + b'"}')
        assert response.status_code == 413
        assert "at most" in response.json()["message"]


async def test_a_bad_query_is_answered_with_400(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        for query in ("after=x", "after=-1", "after=1e3", "limit=", "after=" + "9" * 30):
            response = await server.http.get(f"/events?{query}")
            place = f"query {query.partition('=')[0]}"
            assert (query, response.status_code, response.json()["place"]) == (query, 400, place)


MISSING = [
    ("GET", "/sessions/ses_none"),
    ("PATCH", "/sessions/ses_none"),
    ("POST", "/sessions/ses_none/turns"),
    ("POST", "/sessions/ses_none/turns/trn_none/cancel"),
    ("POST", "/sessions/ses_none/resume"),
    ("GET", "/events?session=ses_none"),
    ("GET", "/stream?session=ses_none"),
    ("GET", "/approvals?session=ses_none"),
    ("GET", "/side-files/ses_none/x.txt"),
]


async def test_what_is_not_there_is_404_and_named(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        for method, path in MISSING:
            response = await server.http.request(method, path, json={"text": "x"} if path.endswith("/turns") else {})
            message = "there is no session 'ses_none'"
            assert (path, response.status_code, response.json()["message"]) == (path, 404, message)


async def test_an_unknown_turn_is_not_found(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        session = await server.new_session()
        response = await server.http.post(f"/sessions/{session}/turns/trn_none/cancel")
        assert (response.status_code, response.json()["message"]) == (404, "there is no turn 'trn_none'")


async def test_an_empty_message_is_refused(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        session = await server.new_session()
        response = await server.http.post(f"/sessions/{session}/turns", json={"text": " \n"})
        assert (response.status_code, response.json()["place"]) == (400, "$.text")


async def test_creation_says_where_the_session_is(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        response = await server.http.post("/sessions", json={})
        assert response.status_code == 201
        assert response.headers["location"].endswith(f"/pernix/api/sessions/{response.json()['session_id']}")


async def test_answers_are_not_sniffed_and_run_nothing(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        for path in ("/", "/sessions", "/events", "/openapi.json", "/docs"):
            response = await server.http.get(path)
            assert response.headers["x-content-type-options"] == "nosniff"
            assert "default-src 'none'" in response.headers["content-security-policy"]


async def test_a_side_file_is_served_as_plain_text(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        session = await server.new_session()
        runtime = await server.extension.runtime()
        path, address = runtime.side_files.new(session, "out.txt")  # type: ignore[arg-type]
        path.write_text("<script>alert(1)</script>")
        response = await server.http.get(f"/{address}")
        assert response.headers["content-type"] == "text/plain; charset=utf-8"
        assert response.text == "<script>alert(1)</script>"
        for name in ("missing.txt", "..%2fpernix.duckdb", ".hidden", "%2e%2e"):
            assert (await server.http.get(f"/side-files/{session}/{name}")).status_code in (400, 404)


async def test_the_server_says_what_it_is(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        info = await server.get("/")
        assert (info["last_seq"], info["sessions"], info["server_root"]) == (0, 0, str(server.root))


async def test_the_doctor_looks_at_every_part(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        findings = await server.get("/doctor")
        assert [finding["name"] for finding in findings] == [
            "versions",
            "store",
            "audit",
            "run notebooks",
            "endpoints",
            "kernels",
            "sandbox",
            "browser extension",
        ]
        assert all(finding["hint"] for finding in findings if finding["status"] != "ok")


# ---- the description ----------------------------------------------------------------------------------------------------

DOCUMENT = describe(ROUTES)


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        yield from (one for item in value.values() for one in references(item))
    elif isinstance(value, list):
        yield from (one for item in value for one in references(item))


def test_the_description_names_each_route_and_verb() -> None:
    described = {(path, verb) for path, verbs in DOCUMENT["paths"].items() for verb in verbs}
    assert described == {(BASE + route.path, verb) for route in ROUTES for verb in route.verbs}
    identifiers = [verb["operationId"] for verbs in DOCUMENT["paths"].values() for verb in verbs.values()]
    assert len(identifiers) == len(set(identifiers))


def test_the_description_refers_to_nothing_that_it_lacks() -> None:
    known = {f"#/components/schemas/{name}" for name in DOCUMENT["components"]["schemas"]}
    assert {name for name in references(DOCUMENT) if name not in known} == set()


def test_each_schema_of_the_description_is_one() -> None:
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_each_event_is_described() -> None:
    text = json.dumps(DOCUMENT["components"]["schemas"])
    assert [tag for tag in EVENT_TYPES if f'"{tag}"' not in text] == []


async def test_answers_are_as_described(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        session = await server.new_session()
        await server.submit(session, "hello")
        await server.wait_idle(session)
        document = await server.get("/openapi.json")
        for path, key in (
            ("/sessions", "/sessions"),
            (f"/sessions/{session}", "/sessions/{session_id}"),
            ("/events", "/events"),
            ("/endpoints", "/endpoints"),
            ("/doctor", "/doctor"),
            ("/", "/"),
        ):
            answer = document["paths"][BASE + key]["get"]["responses"]["200"]
            schema = answer["content"]["application/json"]["schema"] | {"components": document["components"]}
            jsonschema.validate(await server.get(path), schema)


def test_the_page_needs_nothing_but_itself() -> None:
    text = page(DOCUMENT)
    for word in ("<script", "<link", "<img", "src=", "http://", "https://", "@import", "url("):
        assert word not in text
    assert all(route.path in text for route in ROUTES)


def test_patterns_take_one_part_of_a_path_for_a_name() -> None:
    assert pattern("/sessions/{session_id}/turns") == "/pernix/api/sessions/([^/]+)/turns"


async def test_the_token_is_not_in_any_answer(serve: Serve) -> None:
    async with serve(carry=Told(echo)) as server:
        for path in ("/", "/doctor", "/endpoints", "/docs", "/openapi.json"):
            assert TOKEN not in (await server.http.get(path)).text
