"""The client of the HTTP API: what it asks, and what it says when it does not get it."""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_pernix import client as client_module
from jupyter_pernix.client import Address, Client, read_address
from jupyter_pernix.errors import RequestFailed, ServerAway, ServerError, ServerRefused

from .fake_api import FakeApi, fake_api, sse, stored


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with fake_api() as fake:
        yield fake


def test_a_request_carries_the_token_in_a_header_only(api: FakeApi):
    api.routes["POST /sessions"] = (201, {"session_id": "ses_1"})
    assert api.client().create_session(title="x") == {"session_id": "ses_1"}
    method, path, body, headers = api.seen[0]
    assert (method, path, body, headers["Authorization"]) == ("POST", "/sessions", {"title": "x"}, "token secret")


def test_without_a_token_cookie_and_header_agree(api: FakeApi):
    api.routes["GET /"] = (200, {"version": "1"})
    api.client(token="").info()
    headers = api.seen[0][3]
    assert headers["Cookie"] == f"_xsrf={headers['X-XSRFToken']}"


def test_the_token_shows_in_no_repr():
    address = Address("http://127.0.0.1:1/", "secret", 1, "/root")
    assert "secret" not in repr(address) + str(address) + repr(Client(address)) + f"{address}"


@pytest.mark.parametrize(
    ("status", "body", "error", "sentence"),
    [
        (
            400,
            {"message": "must be a string", "place": "$.text", "hint": ""},
            RequestFailed,
            "text: must be a string",
        ),
        (403, {"message": "Forbidden"}, ServerRefused, "the server refuses us (403): Forbidden"),
        (302, b"", ServerRefused, "the server refuses us (302): the token is not accepted"),
        (404, b"<html>", RequestFailed, "this Jupyter server has no jupyter_pernix extension"),
        (503, {"message": "the store is held", "hint": "stop it"}, RequestFailed, "the store is held"),
        (500, b"<html>", RequestFailed, "GET /sessions was answered with HTTP 500"),
    ],
)
def test_an_error_answer_becomes_a_sentence(
    api: FakeApi, status: int, body: object, error: type[ServerError], sentence: str
):
    api.routes["GET /sessions"] = (status, body)
    with pytest.raises(error) as caught:
        api.client().sessions()
    assert str(caught.value) == sentence


def test_a_server_that_is_away_is_named_without_its_token():
    with pytest.raises(ServerAway) as caught:
        Client(Address("http://127.0.0.1:9/", "secret", 1, "")).info()
    assert str(caught.value).startswith("the Jupyter server at http://127.0.0.1:9/ does not answer: ")
    assert "secret" not in str(caught.value)


def test_a_stream_that_breaks_goes_on_behind_the_last_event(api: FakeApi):
    api.streams = [
        [sse("hello", {"last_seq": 2}), stored(1, "a"), b'id: 2\nevent: pernix\ndata: {"seq": 2, '],
        [stored(2, "b"), b": still here\n\n", stored(3, "c")],
    ]
    messages = itertools.islice((m for m in api.client().events(0, "ses_1") if m.kind == "pernix"), 3)
    assert [message.data["type"] for message in messages] == ["a", "b", "c"]
    asked = [(query["after"], headers["Last-Event-ID"]) for _, _, query, headers in api.seen]
    assert asked == [(["0"], "0"), (["1"], "1")]


def test_a_stream_whose_server_stays_away_ends_with_a_sentence(api: FakeApi):
    api.streams = [[]]
    with pytest.raises(ServerAway):
        list(api.client().events(0, patience=0.0))


def test_deltas_come_as_they_are(api: FakeApi):
    delta = {"type": "message.delta", "session_id": "ses_1", "text": "é\n", "offset": 0}
    api.streams = [[sse("delta", delta)]]
    assert next(api.client().events(0)) == ("delta", delta)


def test_past_events_are_read_page_by_page(api: FakeApi):
    log = [{"seq": seq} for seq in range(1, 1201)]
    pages = iter([log[:500], log[500:1000], log[1000:]])
    api.routes["GET /events"] = lambda _: (200, next(pages))
    assert list(api.client().past_events("ses_1")) == log
    assert [query["after"] for _, _, query, _ in api.seen] == [["0"], ["500"], ["1000"]]


def test_a_server_file_of_an_ended_process_is_no_address(tmp_path: Path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    path = tmp_path / "server.json"
    for pid, found in ((ended.pid, False), (os.getpid(), True)):
        path.write_text(json.dumps({"url": "http://127.0.0.1:1/", "token": "t", "pid": pid, "root_dir": "/r"}))
        assert (read_address(path) is not None) is found
    path.write_text("{")
    assert read_address(path) is None


def test_the_kernels_own_server_is_found_before_the_one_of_the_store(api: FakeApi, monkeypatch: pytest.MonkeyPatch):
    api.routes["GET /"] = (200, {"version": "1"})
    own = {"url": api.url, "token": "own", "pid": os.getpid(), "root_dir": "/own"}
    runtime = Path(os.environ["JUPYTER_RUNTIME_DIR"])
    (runtime / f"jpserver-{os.getpid()}.json").write_text(json.dumps(own))
    client_module.data_dir().mkdir(parents=True)
    (client_module.data_dir() / "server.json").write_text(json.dumps({**own, "token": "store", "root_dir": "/store"}))
    found = client_module.find()
    assert found is not None and found.address.token == "store"
    monkeypatch.setenv("JPY_PARENT_PID", str(os.getpid()))
    found = client_module.find()
    assert found is not None and found.address.token == "own"


def test_the_data_folder_follows_environment_and_settings_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    assert client_module.data_dir() == Path(os.environ["JUPYTER_DATA_DIR"]) / "pernix"
    settings = Path(os.environ["JUPYTER_CONFIG_DIR"]) / "pernix" / "config.toml"
    settings.parent.mkdir()
    settings.write_text(f'data_dir = "{tmp_path}"\n')
    assert client_module.data_dir() == tmp_path
    monkeypatch.setenv("PERNIX_DATA_DIR", "/elsewhere")
    assert client_module.data_dir() == Path("/elsewhere")
