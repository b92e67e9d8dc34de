"""Names that are not there, and ids that are not whole."""

from collections.abc import Iterator

import pytest

from jupyter_pernix import client as client_module
from jupyter_pernix.cli import main

from .fake_api import FakeApi, fake_api

SESSIONS = [
    {"session_id": f"ses_01abc{number:02}", "title": f"Job {number}", "created_at": f"2026-01-{number:02}T00:00:00Z"}
    for number in range(1, 9)
]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    with fake_api() as found:
        monkeypatch.setattr(client_module, "find", found.client)
        yield found


def refused(name: str) -> tuple[int, object]:
    return 404, {"message": f"there is no endpoint '{name}'"}


@pytest.mark.parametrize(
    ("action", "route"),
    [
        ("probe", "POST /endpoints/labb/probe"),
        ("default", "POST /endpoints/labb/default"),
        ("remove", "DELETE /endpoints/labb"),
    ],
)
def test_an_endpoint_that_is_not_there_is_answered_with_those_that_are(
    api: FakeApi, action: str, route: str, capsys: pytest.CaptureFixture[str]
) -> None:
    api.routes[route] = refused("labb")
    api.routes["GET /endpoints"] = (200, {"endpoints": [{"name": "lab"}, {"name": "big\x1b[31m"}], "discoveries": []})
    assert main(["endpoints", action, "labb"]) == 1
    said = capsys.readouterr().err
    assert "there is no endpoint 'labb'" in said
    assert said.splitlines()[-1].startswith("There are: lab, big")
    assert "\x1b" not in said


def test_where_there_is_no_endpoint_at_all_it_says_how_to_add_one(
    api: FakeApi, capsys: pytest.CaptureFixture[str]
) -> None:
    api.routes["DELETE /endpoints/labb"] = refused("labb")
    api.routes["GET /endpoints"] = (200, {"endpoints": [], "discoveries": []})
    assert main(["endpoints", "remove", "labb"]) == 1
    assert "No endpoint is known. Add one: jupyter pernix endpoints add NAME URL" in capsys.readouterr().err


def test_another_failure_of_an_endpoint_is_told_as_it_is(api: FakeApi, capsys: pytest.CaptureFixture[str]) -> None:
    api.routes["DELETE /endpoints/lab"] = (409, {"message": "it comes from the settings", "hint": "remove it there"})
    assert main(["endpoints", "remove", "lab"]) == 1
    said = capsys.readouterr().err
    assert "it comes from the settings" in said and "remove it there" in said
    assert not any(path == "/endpoints" for _, path, _, _ in api.seen)


@pytest.mark.parametrize("command", ["show", "stop"])
def test_the_begin_of_several_ids_is_answered_with_a_few_of_them(
    api: FakeApi, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    api.routes["GET /sessions"] = (200, SESSIONS)
    assert main([command, "ses_01abc"]) == 2
    said = capsys.readouterr().err
    assert "8 sessions have an id that begins with 'ses_01abc'" in said
    assert said.count("ses_01abc0") == 5 and "Job 1" in said and "and 3 more" in said
    assert [(method, path) for method, path, _, _ in api.seen] == [("GET", "/sessions")]


def test_an_id_that_is_whole_is_meant_even_if_another_one_begins_with_it(api: FakeApi) -> None:
    api.routes["GET /sessions"] = (200, [*SESSIONS, {"session_id": "ses_01abc011", "title": "other"}])
    assert main(["stop", "ses_01abc01"]) == 1
    assert api.seen[-1][1].startswith("/sessions/ses_01abc01/")
