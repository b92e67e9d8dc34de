"""What a real agent tells its model of a real kernel, by the requests that the model's server gets."""

import json
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from agent.model.fakeserver import Answer, FakeServer, as_json, stream
from traitlets.config import Config

from .conftest import Serve
from .notebooks.making import code, write
from .served import Served

pytestmark = [pytest.mark.server, pytest.mark.kernel]

CODE = """\
import base64
from IPython.display import Image, display
token = 'hunter2hunter2'
numbers = list(range(1000))
display(Image(base64.b64decode('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=')))
"""


def model(body: dict[str, Any]) -> Answer:
    """Runs the code once, looks at the variables when it is told to, and then answers."""
    last = body["messages"][-1]
    text = last["content"] if isinstance(last["content"], str) else last["content"][0]["text"]
    for word, name, arguments in (
        ("Run it", "run_code", {"code": CODE}),
        ("Look", "inspect_variables", {"names": ["numbers", "token"]}),
    ):
        if last["role"] == "user" and text.startswith(word):
            function = {"name": name, "arguments": json.dumps(arguments)}
            made = {"index": 0, "id": f"c{len(body['messages'])}", "type": "function", "function": function}
            return stream({"tool_calls": [made]})
    return stream({"content": "Done."})


def settings(root: Path, server: FakeServer) -> Config:
    file = root.parent / "config.toml"
    file.write_text(
        'endpoint = "e"\nmode = "auto"\n[endpoints.e]\nmodel = "m"\nprotocol = "tools"\nvision = true\ncontext_length = 30000\n'
        f'base_url = "{server.url}"\n'
    )
    return Config({"PernixApp": {"settings_file": str(file)}})


async def say(server: Served, session: str, text: str, **fields: Any) -> None:
    turn = await server.submit(session, text, **fields)
    events = await server.wait(session, lambda event: event["type"] == "turn.finished" and event["turn_id"] == turn)
    assert events[-1]["code"] == "answered", events[-1]


def asked(fake: FakeServer, number: int) -> list[dict[str, Any]]:
    """The messages of the request with this number, of those that go to the agent."""
    return [body for body in fake.requests if "tools" in body][number]["messages"]


async def test_a_kernel_is_told_pictures_are_shown_and_secrets_stay(serve: Serve, root: Path) -> None:
    routes = {
        "GET /v1/models": as_json({"data": [{"id": "m"}]}),
        "POST /v1/chat/completions": model,
    }
    with FakeServer(routes).running() as fake:
        async with serve(config=settings(root, fake)) as server:
            session = await server.new_session(mode="auto")
            await say(server, session, "Run it")
            assert "The kernel is" not in asked(fake, 0)[1]["content"]
            picture = asked(fake, 1)[-1]["content"]
            assert [part["type"] for part in picture] == ["text", "image_url"]

            await say(server, session, "What is @numbers? Ask me@example.org, @nobody.", mentions=[])
            told = asked(fake, 2)[-1]["content"]
            assert "(The kernel is python3: python 3." in told
            assert "working in the space's folder" in told
            assert "numbers: list (length 1,000)\nvalue: [0, 1, 2, 3, 4, 5, …]" in told

            await say(server, session, "Look", mentions=[{"kind": "variable", "name": "token"}])
            assert (
                "(The message is about this variable of the kernel:)\ntoken: str (not shown"
                in asked(fake, 3)[-1]["content"]
            )
            result = asked(fake, 4)[-1]
            assert result["role"] == "tool"
            assert "token: str (not shown: it looks like a secret)" in result["content"]
            everything = json.dumps(fake.requests)
            assert everything.count("hunter2hunter2") == everything.count(
                "token = 'hunter2hunter2'"
            )  # the model's own code
            first, second = json.dumps(asked(fake, 3)), json.dumps(asked(fake, 4))
            assert second.startswith(first[:-1])  # nothing that was told is told in another way later


async def test_a_notebooks_kernel_is_told_in_short_also_while_the_users_own_cell_runs(serve: Serve, root: Path) -> None:
    write(root / "a.ipynb", code("one", "x = 1"))
    routes = {"GET /v1/models": as_json({"data": [{"id": "m"}]}), "POST /v1/chat/completions": model}
    with FakeServer(routes).running() as fake:
        async with serve(config=settings(root, fake)) as server:
            made = await server.app.session_manager.create_session(
                path="a.ipynb", name="a.ipynb", type="notebook", kernel_name="python3"
            )
            client: Any = server.app.kernel_manager.get_kernel(made["kernel"]["id"]).client()
            client.start_channels()
            try:
                await client.wait_for_ready(timeout=30)
                session = await server.new_session(mode="auto")
                await server.post(f"/sessions/{session}/notebook", {"path": "a.ipynb"}, status=200)
                client.execute("theirs = [1, 2]\nimport time\nwhile theirs: time.sleep(0.01)\nprint(theirs)")
                with anyio.fail_after(30):
                    while not (found := await server.get(f"/sessions/{session}/variables"))["total"]:
                        await anyio.lowlevel.checkpoint()
                assert [each["preview"] for each in found["variables"]] == ["[1, 2]"]
                await say(server, session, "Hello")
                told = asked(fake, 0)[1]["content"]
                assert (
                    "(You are attached to the notebook a.ipynb: run_code runs in its kernel, which holds 1 variable:"
                    in told
                )
                assert "- theirs: list (length 2) = [1, 2])" in told
            finally:
                client.stop_channels()


async def test_a_notebook_whose_kernel_is_gone_gets_none_for_a_look(serve: Serve, root: Path) -> None:
    write(root / "a.ipynb", code("one", "x = 1"))
    routes = {"GET /v1/models": as_json({"data": [{"id": "m"}]}), "POST /v1/chat/completions": model}
    with FakeServer(routes).running() as fake:
        async with serve(config=settings(root, fake)) as server:
            session = await server.new_session(mode="auto")
            await server.post(f"/sessions/{session}/notebook", {"path": "a.ipynb"}, status=200)
            (kernel_id,) = server.app.kernel_manager.list_kernel_ids()
            await server.app.kernel_manager.shutdown_kernel(kernel_id)
            for other in await server.app.session_manager.list_sessions():
                await server.app.session_manager.delete_session(other["id"])
            assert (await server.http.get(f"/sessions/{session}/variables")).status_code == 409
            await say(server, session, "About @x", mentions=[{"kind": "variable", "name": "y"}])
            assert "(The message is about the variable y, but there is no kernel.)" in asked(fake, 0)[1]["content"]
            assert list(server.app.kernel_manager.list_kernel_ids()) == []


async def test_the_kernel_of_a_cell_that_asks_is_looked_into_beside_that_cell(serve: Serve, root: Path) -> None:
    write(root / "a.ipynb", code("one", "x = 1"))
    routes = {"GET /v1/models": as_json({"data": [{"id": "m"}]}), "POST /v1/chat/completions": model}
    with FakeServer(routes).running() as fake:
        async with serve(config=settings(root, fake)) as server:
            made = await server.app.session_manager.create_session(
                path="a.ipynb", name="a.ipynb", type="notebook", kernel_name="python3"
            )
            kernel_id = made["kernel"]["id"]
            client: Any = server.app.kernel_manager.get_kernel(kernel_id).client()
            client.start_channels()
            try:
                await client.wait_for_ready(timeout=30)
                client.execute("x = 7\nimport time\nwhile x: time.sleep(0.01)")
                session = await server.new_session(mode="auto", place="in_cell", origin="magic")
                with anyio.fail_after(30):
                    while (await client.get_iopub_msg())["msg_type"] != "execute_input":
                        pass
                await say(server, session, "What is @x?", kernel_id=kernel_id)
                told = asked(fake, 0)[1]["content"]
                assert "(The kernel is python3: python 3." in told
                assert "(The message is about this variable of the kernel:)\nx: int\nvalue: 7" in told
                assert (await server.get(f"/sessions/{session}/variables/x"))["preview"] == "7"
                await say(server, session, "And @x?", kernel_id="another")
                assert "value: 7" not in asked(fake, 1)[-1]["content"]
                assert (await server.http.get(f"/sessions/{session}/variables")).status_code == 409
                await server.http.patch(f"/sessions/{session}", json={"archived": True})
                assert list(server.app.kernel_manager.list_kernel_ids()) == [kernel_id]
            finally:
                client.stop_channels()
