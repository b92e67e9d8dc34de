"""A server that is killed in the middle of an undo: asked for again, it is finished, and nothing is half."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from support.lab import Lab
from support.model_server import ModelServer
from support.watch import wait_finished

from jupyter_pernix.client import Client
from jupyter_pernix.errors import ServerError
from jupyter_pernix.headless import WITHOUT_PAGES

from .undoing import Call, read, repository, shell, write

pytestmark = [pytest.mark.server, pytest.mark.timeout(180)]

COUNT = 60
BEFORE = {f"d/{number}.txt": f"{number}\n" * 50 for number in range(COUNT)} | {"a.txt": "a\n"}


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(program="builtin:echo") as server:
        yield server


@pytest.fixture
def lab(model: ModelServer, tmp_path: Path) -> Iterator[Lab]:
    (tmp_path / "home").mkdir()
    (tmp_path / "root").mkdir()
    lab = Lab(
        home=tmp_path / "home",
        root=tmp_path / "root",
        endpoint=model.url,
        arguments=WITHOUT_PAGES,
        settings="scout = false\n",
    )
    with lab:
        yield lab


def turn(client: Client, model: ModelServer, session: str, *calls: Call) -> str:
    replies = [{"tool_calls": [{"name": name, "arguments": given}]} for name, given in calls]
    model.ctl("reset", {})
    model.ctl("script", {"turns": [*replies, {"text": "Done."}], "advance": "counter", "on_end": "last"})
    return client.submit(session, "Go on", origin="api", can_ask=True)["turn_id"]


def files(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): path.read_text()
        for path in root.rglob("*")
        if path.is_file() and not {".git", "pernix-runs"} & set(path.relative_to(root).parts)
    }


def test_an_undo_that_was_killed_is_finished_by_asking_again(lab: Lab, model: ModelServer) -> None:
    repository(lab.root, BEFORE)
    client = lab.client()
    session = client.create_session(mode="auto")["session_id"]
    command = "for f in d/*.txt; do printf 'changed\\n' > $f; printf 'new\\n' > $f.new; done"
    turn_id = turn(client, model, session, shell(command), read("a.txt"), write("a.txt", "A\n"))
    assert wait_finished(client, session, turn_id)["code"] == "answered"
    assert len([file for file in client.files(session) if file["now"] != file["before"]]) == 2 * COUNT + 1

    def undo() -> None:
        with contextlib.suppress(ServerError):
            lab.client().undo_files(session, turn_id=None, paths=[])

    asking = Thread(target=undo)
    asking.start()
    for message in client.events(0, session):
        if message.kind == "pernix" and message.data["type"] == "file.restored":
            break
    lab.kill()
    asking.join()
    left = files(lab.root)
    assert left != BEFORE, "it was done before it could be killed"
    assert all(text in ("changed\n", "new\n", "A\n", BEFORE.get(name)) for name, text in left.items())

    client = lab.start()
    done = client.undo_files(session, turn_id=None, paths=[])
    assert {one["reason"] for one in done} == {""}
    assert files(lab.root) == BEFORE
    assert client.undo_files(session, turn_id=None, paths=[]) == []
    assert all(file["undone"] for file in client.files(session))


def test_what_a_command_had_done_when_the_server_was_killed_is_put_back(lab: Lab, model: ModelServer) -> None:
    repository(lab.root, BEFORE)
    client = lab.client()
    session = client.create_session(mode="auto")["session_id"]
    command = "printf 'changed\\n' > a.txt; printf 'new\\n' > new.txt; touch begun; sleep 600"
    turn(client, model, session, shell(command))
    while not (lab.root / "begun").exists():
        open_ = client.approvals(session)
        assert not open_, open_
    lab.kill()
    client = lab.start()
    assert {file["path"] for file in client.files(session)} == {"a.txt", "new.txt", "begun"}
    assert {one["reason"] for one in client.undo_files(session, turn_id=None, paths=[])} == {""}
    assert files(lab.root) == BEFORE
