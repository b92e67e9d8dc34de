"""Sessions as files: exported in every form without secrets, and begun from the record of another machine."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest

from jupyter_pernix.agent.context import Transcript

from .carrying import Told, echo
from .conftest import Serve
from .served import TOKEN, Served

pytestmark = pytest.mark.server

GITHUB = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


@pytest.fixture(autouse=True)
def secret_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("WEATHER_API_KEY", "words-that-look-harmless")
    return "words-that-look-harmless"


async def told(server: Served, text: str, **fields: Any) -> str:
    """A session in which ``text`` was asked and echoed."""
    session = await server.new_session(**fields)
    turn = await server.submit(session, text)
    await server.wait(session, lambda event: event["type"] == "turn.finished" and event["turn_id"] == turn)
    await server.wait(session, lambda event: event.get("after") == "idle_ready")
    return session


async def exported(server: Served, session: str, form: str) -> bytes:
    response = await server.http.get(f"/sessions/{session}/export", params={"format": form})
    assert response.status_code == 200, response.text
    assert response.headers["content-disposition"].startswith("attachment; filename=")
    return response.content


class _Parts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.fetched += [
            value or "" for name, value in attrs if name in ("src", "srcset", "data", "poster", "background")
        ]


@pytest.mark.parametrize("form", ["ipynb", "html", "md", "json"])
async def test_a_session_is_exported_without_its_secrets(serve: Serve, form: str, secret_in_the_environment: str):
    async with serve(carry=Told(echo)) as server:
        session = await told(server, f"Use {GITHUB} and {secret_in_the_environment} and {TOKEN}-x <b>please</b>.")
        body = await exported(server, session, form)
        assert body == await exported(server, session, form)
    text = body.decode()
    for secret in (GITHUB, secret_in_the_environment, TOKEN):
        assert secret not in text
    assert "••••" in text or "\\u2022" in text
    match form:
        case "ipynb":
            nbformat.validate(nbformat.reads(text, as_version=4))
            assert json.loads(text)["metadata"]["pernix"]["session_id"] == session
        case "html":
            parts = _Parts()
            parts.feed(text)
            assert not parts.tags & {"script", "iframe", "link", "object"}
            assert parts.fetched == [] and "default-src 'none'" in text
            assert "&lt;b" in text and "<b>please" not in text
        case "md":
            assert text.startswith("# Use ••••") and "## Request 1" in text
        case _:
            exported_json = json.loads(text)
            assert exported_json["view"]["session_id"] == session
            assert [event["type"] for event in exported_json["events"]][:2] == ["session.created", "turn.submitted"]


async def test_the_run_notebook_in_the_folder_has_no_secret_either(
    serve: Serve, root: Path, secret_in_the_environment: str
):
    async with serve(carry=Told(echo)) as server:
        session = await told(server, f"Use {secret_in_the_environment}.")
        path = root / (await server.get(f"/sessions/{session}"))["record_path"]
        assert secret_in_the_environment not in path.read_text(encoding="utf-8")
        written, now = json.loads(path.read_bytes()), json.loads(await exported(server, session, "ipynb"))
    # the file was written before the session was idle again
    assert written["metadata"]["pernix"].pop("last_seq") < now["metadata"]["pernix"].pop("last_seq")
    assert written == now


async def test_what_cannot_be_exported_says_so(serve: Serve):
    async with serve(carry=Told(echo)) as server:
        session = await server.new_session()
        unknown = await server.http.get("/sessions/ses_nope/export")
        assert (unknown.status_code, unknown.json()["message"]) == (404, "there is no session 'ses_nope'")
        form = await server.http.get(f"/sessions/{session}/export", params={"format": "pdf"})
        assert (form.status_code, form.json()["message"]) == (400, "'pdf' is none of ipynb, html, md, json")


def moved(record: bytes, path: Path) -> bytes:
    """The record as one of another machine, whose sessions have other ids."""
    notebook = json.loads(record)
    notebook["metadata"]["pernix"]["session_id"] = "ses_elsewhere"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook))
    return path.read_bytes()


async def test_a_session_goes_on_from_the_record_of_another_machine(serve: Serve, root: Path):
    async with serve(carry=Told(echo)) as server:
        (root / "job").mkdir()
        first = await told(server, "Count the rows of data.csv.", title="Rows", space_root="job")
        path = root / "job" / "pernix-runs" / "theirs.ipynb"
        content = moved(await exported(server, first, "ipynb"), path)

        response = await server.http.post("/records/import", json={"path": "job/pernix-runs/theirs.ipynb"})
        assert response.status_code == 201
        created = response.json()
        assert response.headers["location"].endswith(f"/pernix/api/sessions/{created['session_id']}")
        assert (created["title"], created["space_root"], created["turns"]) == ("Rows", "job", 0)

    async with serve(carry=Told(echo)) as server:  # the next server has not forgotten it
        session = created["session_id"]
        turn = await server.submit(session, "And the columns?")
        await server.wait(session, lambda event: event["type"] == "turn.finished" and event["turn_id"] == turn)
        again = await server.submit(session, "Go on.")
        await server.wait(session, lambda event: event["type"] == "turn.finished" and event["turn_id"] == again)
        turns = (await server.get(f"/sessions/{session}"))["turns"]
        log = await server.log(session)
        path_of_new = (await server.get(f"/sessions/{session}"))["record_path"]

    assert [len(each["context"]) for each in turns] == [1, 0]
    (item,) = turns[0]["context"]
    assert (item["kind"], item["name"]) == ("notebook", "job/pernix-runs/theirs.ipynb")
    assert "made by session ses_elsewhere" in item["text"]
    assert "None of its code was run again here" in item["text"]
    assert "[user] Count the rows of data.csv." in item["text"]
    assert "[you] echo: Count the rows of data.csv." in item["text"]
    messages = Transcript.of("", log).conversation.messages
    asked = next(message for message in messages if message["role"] == "user")
    assert "And the columns?" in asked["content"] and "[user] Count the rows of data.csv." in asked["content"]
    assert path.read_bytes() == content and path_of_new != "job/pernix-runs/theirs.ipynb"


async def test_what_is_no_record_of_another_machine_is_refused_with_a_sentence(
    serve: Serve, root: Path, tmp_path: Path
):
    plain = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (root / "plain.ipynb").write_text(json.dumps(plain))
    (root / "pointer.ipynb").write_text("version https://git-lfs.github.com/spec/v1\n")
    (tmp_path / "outside.ipynb").write_text(json.dumps(plain))
    (root / "link.ipynb").symlink_to(tmp_path / "outside.ipynb")
    async with serve(carry=Told(echo)) as server:
        session = await told(server, "Hello.")
        record = (await server.get(f"/sessions/{session}"))["record_path"]
        answers = {}
        for path in (
            record,
            "plain.ipynb",
            "pointer.ipynb",
            "missing.ipynb",
            "link.ipynb",
            "../outside.ipynb",
            "",
            "a\0b",
        ):
            response = await server.http.post("/records/import", json={"path": path})
            answers[path] = (response.status_code, response.json()["message"])
    assert answers[record] == (409, f"session {session}, which this record belongs to, is here: go on with it instead")
    assert answers["plain.ipynb"] == (
        400,
        "'plain.ipynb' is a notebook, but not the record of a session: it has no metadata of one",
    )
    assert answers["pointer.ipynb"] == (
        400,
        "This is a Git LFS pointer, not the notebook itself: run git lfs pull to get it.",
    )
    assert answers["missing.ipynb"] == (400, "'missing.ipynb' cannot be read: No such file or directory")
    assert {answers[path][0] for path in ("link.ipynb", "../outside.ipynb", "", "a\0b")} == {400}
