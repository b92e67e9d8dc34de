"""``%%pernix`` in a real kernel, executed as a notebook, against a real server and a scripted model."""

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import nbclient
import nbformat
import pytest
from jupyter_client.manager import start_new_kernel
from nbclient.exceptions import CellExecutionError
from support.lab import Lab
from support.model_server import ModelServer
from support.watch import wait_event

from jupyter_pernix.headless import WITHOUT_PAGES

pytestmark = [pytest.mark.server, pytest.mark.kernel, pytest.mark.timeout(180)]


def code(text: str, say: str = "") -> dict[str, Any]:
    return {"text": say, "tool_calls": [{"name": "run_code", "arguments": {"code": text}}]}


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(program="builtin:echo") as server:
        yield server


@pytest.fixture(scope="module")
def served(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home, root = tmp_path_factory.mktemp("served"), tmp_path_factory.mktemp("root")
    (root / "work").mkdir()
    with Lab(home=home, root=root, endpoint=model.url, mode="auto", arguments=WITHOUT_PAGES) as server:
        yield server


@pytest.fixture
def lab(served: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Kernels that are started here find this server as a user's do: by its file in the data folder."""
    for name, value in served.environ.items():
        monkeypatch.setenv(name, value)
    return served


def notebook(*cells: str) -> Any:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])


def script(model: ModelServer, *turns: dict[str, Any]) -> None:
    model.ctl("script", {"turns": list(turns), "advance": "assistant_messages", "on_end": "last"})


def execute(book: Any, folder: Path) -> Any:
    nbclient.NotebookClient(book, timeout=90, resources={"metadata": {"path": str(folder)}}).execute()
    nbformat.validate(book)
    return book


def plain(cell: Any) -> list[str]:
    return [output.get("text") or output["data"]["text/plain"] for output in cell.outputs]


def test_the_agents_code_runs_in_the_users_own_kernel(lab: Lab, model: ModelServer):
    script(
        model,
        code("print('double of', mine)\ndoubled = mine * 2\ndoubled", say="I double it."),
        code("doubled / 0"),
        {"text": "It is **42**."},
    )
    book = notebook(
        "%load_ext jupyter_pernix",
        "mine = 21\n'kept'",
        "%%pernix\nDouble my number",
        "(_ is _pernix is Out[3], doubled, str(_), _.ended, Out[2], list(Out), len(In))",
        "print(_pernix.code); [_pernix.session_id[:4], _pernix.turn_id[:4], _pernix.usage['prompt_tokens'] > 0]",
        "_pernix.calls[['tool', 'status']]",
        "_pernix",
    )
    execute(book, lab.root / "work")
    first, stream, value, second, traceback, answer = plain(book.cells[2])
    assert re.fullmatch(r"I double it\.\n\n✓ .*print\('double of', mine\).* \d\.\d s", first)
    assert (stream, value) == ("double of 21\n", "42")
    assert second.startswith("✗ ") and "ZeroDivisionError" in traceback
    assert answer == "It is **42**."
    assert plain(book.cells[3]) == ["(True, 42, 'It is **42**.', 'answered', 'kept', [2, 3], 5)"]
    ran = "print('double of', mine)\ndoubled = mine * 2\ndoubled\n\ndoubled / 0\n"
    assert plain(book.cells[4]) == [ran, "['ses_', 'trn_', True]"]
    assert [line.split()[1:] for line in plain(book.cells[5])[0].splitlines()[1:]] == [
        ["run_code", "completed"],
        ["run_code", "failed"],
    ]
    assert book.cells[6].outputs[0]["data"]["text/markdown"] == "It is **42**."

    client = lab.client()
    view = client.session(client.sessions()[0]["session_id"])
    assert (view["place"], view["space_root"], view["turns"][0]["origin"]) == ("in_cell", "work", "magic")
    executions = [item["execution"] for item in view["turns"][0]["items"] if item["type"] == "call"]
    assert [execution["status"] for execution in executions] == ["ok", "error"]
    assert [output["output_type"] for output in executions[0]["outputs"]] == ["stream", "execute_result"]
    assert executions[1]["ename"] == "ZeroDivisionError"
    record = nbformat.read(lab.root / view["record_path"], as_version=nbformat.NO_CONVERT)
    assert any("double of 21" in str(cell.get("outputs")) for cell in record.cells)


def test_the_next_cell_goes_on_with_the_session_until_a_new_one_is_wanted(lab: Lab, model: ModelServer):
    script(model, {"text": "one"}, {"text": "two"})
    book = notebook(
        "%load_ext jupyter_pernix",
        "%%pernix\na",
        "%%pernix --mode ask\nb",
        "%%pernix --new\nc",
        "%pernix sessions",
        "%pernix status",
    )
    before = {session["session_id"] for session in lab.client().sessions()}
    execute(book, lab.root)
    assert [plain(cell) for cell in book.cells[1:4]] == [["one"], ["two"], ["one"]]
    fresh = [session["session_id"] for session in lab.client().sessions() if session["session_id"] not in before]
    assert plain(book.cells[4])[0].startswith(f"* {fresh[0]}")
    status = plain(book.cells[5])[0]
    assert lab.url in status and "scripted-1" in status and lab.token not in str(book)
    views = [lab.client().session(session_id) for session_id in fresh]
    assert sorted(len(view["turns"]) for view in views) == [1, 2]
    assert {view["mode"] for view in views if len(view["turns"]) == 2} == {"ask"}


def test_what_has_to_be_asked_is_refused_when_a_notebook_is_executed(lab: Lab, model: ModelServer):
    script(model, code("made = True"), {"text": "I was not allowed to."})
    book = notebook("%load_ext jupyter_pernix", "%%pernix --mode edit\nMake it", "'made' in globals()")
    execute(book, lab.root)
    assert plain(book.cells[1])[-1].endswith("I was not allowed to.")
    assert plain(book.cells[2]) == ["False"]


def test_a_turn_that_fails_fails_the_cell_with_a_sentence(lab: Lab, model: ModelServer):
    script(model, {"fault": {"kind": "status", "status": 401}})
    with pytest.raises(CellExecutionError) as caught:
        execute(notebook("%load_ext jupyter_pernix", "%%pernix\nHello"), lab.root)
    assert "model_failed" in str(caught.value)
    assert "Traceback" not in str(caught.value)


def test_bad_usage_says_what_there_is(lab: Lab):
    with pytest.raises(CellExecutionError, match="'mad' is no mode; there is ask, plan, edit, auto"):
        execute(notebook("%load_ext jupyter_pernix", "%%pernix --mode mad\nHello"), lab.root)


async def test_a_stop_from_another_face_interrupts_the_code_in_the_cell(lab: Lab, model: ModelServer):
    script(model, code("import time\nprint('begun', flush=True)\ntime.sleep(100)"), {"text": "never said"})
    book = notebook("%load_ext jupyter_pernix", "%%pernix\nWait")
    begin = int(lab.client().info()["last_seq"])

    def stop() -> None:
        client = lab.client()
        for message in client.events(begin):
            if message.data.get("type") == "execution.output":
                client.cancel(message.data["session_id"], message.data["turn_id"])
                return

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, stop)
            with pytest.raises(CellExecutionError, match="cancelled"):
                await nbclient.NotebookClient(book, resources={"metadata": {"path": str(lab.root)}}).async_execute()
    session_id = lab.client().sessions()[0]["session_id"]
    assert wait_event(lab.client(), session_id, "execution.finished")["status"] == "cancelled"


def test_without_a_server_the_kernel_starts_one_and_ends_it(model: ModelServer, isolated_home: Path, tmp_path: Path):
    script(model, code("x = 1"), {"text": "done"})
    settings = Path(os.environ["JUPYTER_CONFIG_DIR"]) / "pernix" / "config.toml"
    settings.parent.mkdir()
    settings.write_text(
        f'endpoint = "s"\nmode = "auto"\n[endpoints.s]\nbase_url = "{model.url}"\nmodel = "scripted-1"\nprotocol = "tools"\n'
    )
    book = execute(notebook("%load_ext jupyter_pernix", "%pernix", "%%pernix\nGo", "x"), tmp_path)
    assert plain(book.cells[1])[0].startswith("No Jupyter server")
    assert plain(book.cells[3]) == ["1"]
    assert [path.suffix for path in (tmp_path / "pernix-runs").iterdir()] == [".ipynb"]
    server_file = Path(os.environ["JUPYTER_DATA_DIR"]) / "pernix" / "server.json"
    assert not server_file.exists()


class Attended:
    """A kernel with somebody in front of it."""

    def __init__(self, folder: Path) -> None:
        self._manager, self.client = start_new_kernel(cwd=str(folder))
        self.shown: list[str] = []
        self.run("import os; print(os.getpid())")
        self.pid = int(self.shown.pop())

    def run(self, cell: str, answer: Callable[[str], str | None] = lambda prompt: "") -> dict[str, Any]:
        """``answer``: what is typed at a prompt; ``None``: nothing."""

        def typed(message: dict[str, Any]) -> None:
            text = answer(message["content"]["prompt"])
            if text is not None:
                self.client.input(text)

        def show(message: dict[str, Any]) -> None:
            content = message["content"]
            text = content.get("text") or content.get("data", {}).get("text/plain") or content.get("evalue")
            self.shown += [text] if text else []

        reply = self.client.execute_interactive(cell, allow_stdin=True, stdin_hook=typed, output_hook=show, timeout=60)
        return reply["content"]

    def interrupt(self) -> None:
        """As the kernel manager does; safe to call from another thread."""
        os.kill(self.pid, signal.SIGINT)

    def close(self) -> None:
        self.client.stop_channels()
        self._manager.shutdown_kernel()


@pytest.fixture
def attended(lab: Lab) -> Iterator[Attended]:
    kernel = Attended(lab.root)
    kernel.run("%load_ext jupyter_pernix")
    yield kernel
    kernel.close()


def test_a_question_is_answered_at_the_cell(lab: Lab, model: ModelServer, attended: Attended):
    script(model, code("made = 1"), code("made = 2"), {"text": "Half of it."})
    answers = iter(["y", "", "leave it at one"])
    prompts: list[str] = []
    reply = attended.run("%%pernix --mode edit\nMake it", lambda prompt: prompts.append(prompt) or next(answers))
    assert reply["status"] == "ok"
    assert len(prompts) == 3 and "y = yes" in prompts[0]
    assert any("why: " in text for text in attended.shown)
    attended.run("made")
    assert attended.shown[-1] == "1"
    view = lab.client().session(lab.client().sessions()[0]["session_id"])
    approvals = [item["approval"] for item in view["turns"][0]["items"] if item["type"] == "call"]
    assert [(a["choice"], a["text"]) for a in approvals] == [("allow_once", ""), ("reject_once", "leave it at one")]


def test_a_question_that_is_answered_in_the_panel_ends_the_prompt(lab: Lab, model: ModelServer, attended: Attended):
    script(model, code("made = 7"), {"text": "Made."})

    def elsewhere(prompt: str) -> None:
        client = lab.client()
        (approval,) = client.request("GET", "/approvals")
        client.answer(approval["approval_id"], "allow_once")

    assert attended.run("%%pernix --mode edit\nMake it", elsewhere)["status"] == "ok"
    attended.run("made")
    assert attended.shown[-2:] == ["Made.", "7"]


def test_an_interrupt_at_the_cell_stops_code_and_turn(lab: Lab, model: ModelServer, attended: Attended):
    script(model, code("import time\nprint('begun', flush=True)\ntime.sleep(100)"), {"text": "never said"})
    begin = int(lab.client().info()["last_seq"])

    def interrupt() -> None:
        for message in lab.client().events(begin):
            if message.data.get("type") == "execution.output":
                attended.interrupt()
                return

    thread = threading.Thread(target=interrupt)
    thread.start()
    reply = attended.run("%%pernix\nWait")
    thread.join()
    assert (reply["status"], reply["ename"]) == ("error", "CellStopped")
    turn = lab.client().session(lab.client().sessions()[0]["session_id"])["turns"][0]
    assert turn["code"] == "cancelled"
    assert attended.run("1")["status"] == "ok"
