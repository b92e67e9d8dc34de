"""The widgets in a real kernel, against a real server and a scripted model: what goes over iopub, and when."""

from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import start_new_kernel
from support.lab import Lab
from support.model_server import ModelServer
from support.watch import wait_finished

from jupyter_pernix.headless import WITHOUT_PAGES
from jupyter_pernix.records import JSON

pytestmark = [pytest.mark.server, pytest.mark.kernel, pytest.mark.timeout(180)]

PATIENCE = 60
HEAD = "from jupyter_pernix.widgets import *\n"


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(program="builtin:echo") as server:
        yield server


@pytest.fixture(scope="module")
def lab(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home, root = tmp_path_factory.mktemp("served"), tmp_path_factory.mktemp("root")
    with Lab(home=home, root=root, endpoint=model.url, mode="auto", arguments=WITHOUT_PAGES) as server:
        yield server


class Kernel:
    """A kernel and what it says. ``state``: of each widget's model, by the variable that ``run`` left it in."""

    def __init__(self, client: BlockingKernelClient) -> None:
        self.client = client
        self.models: dict[str, JSON] = {}
        self.pictures: list[JSON] = []
        self.said = ""
        self.busy = 0
        self.messages = 0

    def run(self, code: str) -> str:
        """What the code printed."""
        self.said = ""
        msg_id = self.client.execute(code)
        self.until(lambda message: message["msg_type"] == "status" and message["parent_header"].get("msg_id") == msg_id
                   and message["content"]["execution_state"] == "idle")  # fmt: skip
        return self.said

    def until(self, fact: Callable[[JSON], bool]) -> JSON:
        """The first message that the fact is true of; the test's own timeout bounds the wait."""
        while True:
            message: JSON = self.client.get_iopub_msg(timeout=PATIENCE)
            self._take(message)
            if fact(message):
                return message

    def state(self, fact: Callable[[JSON], bool]) -> JSON:
        """The state of the first model that the fact is true of, now or later."""
        while True:
            for state in self.models.values():
                if fact(state):
                    return state
            self._take(self.client.get_iopub_msg(timeout=PATIENCE))

    def drain(self) -> int:
        """How many messages there were."""
        before = self.messages
        while True:
            try:
                self._take(self.client.get_iopub_msg(timeout=0))
            except Empty:
                return self.messages - before

    def _take(self, message: JSON) -> None:
        self.messages += 1
        content = message["content"]
        match message["msg_type"]:
            case "comm_open":
                self.models[content["comm_id"]] = dict(content["data"]["state"])
            case "comm_msg" if content["data"].get("method") == "update":
                self.models[content["comm_id"]].update(content["data"]["state"])
            case "update_display_data":
                self.pictures.append(content["data"])
            case "stream":
                self.said += content["text"]
            case "error":
                self.said += f"{content['ename']}: {content['evalue']}"
            case "status":
                self.busy += content["execution_state"] == "busy"
            case _:
                pass


@pytest.fixture
def kernel(lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Kernel]:
    """A kernel that finds this server as a user's does: by its file in the data folder."""
    for name, value in lab.environ.items():
        monkeypatch.setenv(name, value)
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    kernel = Kernel(client)
    try:
        yield kernel
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def script(model: ModelServer, *turns: JSON) -> None:
    model.ctl("script", {"turns": list(turns), "advance": "assistant_messages", "on_end": "last"})


def run_code(text: str) -> JSON:
    return {"text": "", "tool_calls": [{"name": "run_code", "arguments": {"code": text}}]}


def new_session(lab: Lab, **fields: Any) -> str:
    return str(lab.client().create_session(space_root="", mode="auto", **fields)["session_id"])


def ask(lab: Lab, session: str, text: str) -> None:
    client = lab.client()
    wait_finished(client, session, str(client.submit(session, text, origin="api", can_ask=False)["turn_id"]))


def entry(state: JSON, at: int) -> JSON:
    return state[f"entry{state['order'][at]}"]


def is_over(state: JSON) -> bool:
    return state["session"]["state"] == "idle_ready" and any(state.get(f"entry{at}") for at in state["order"])


def test_a_widget_follows_its_session_while_the_kernel_stays_idle(lab: Lab, model: ModelServer, kernel: Kernel):
    key = "ghp_" + "a1B2c3D4e5F6" * 3
    script(model, run_code(f"print('seen', 6 * 7)\ntoken = '{key}'"), {"text": "Forty-two."})
    session = new_session(lab)
    kernel.run(f"{HEAD}shown = ToolCalls({session!r})\ndisplay(shown)")
    (state,) = (each for each in kernel.models.values() if "session" in each)
    assert (state["session"]["session_id"], state["order"]) == (session, [])
    # Nothing goes on in the session, so nothing is said, and one message for each change of it.
    busy = kernel.busy
    assert kernel.drain() == 0
    ask(lab, session, "How much?")
    state = kernel.state(lambda each: "session" in each and is_over(each))
    call = entry(state, 0)
    assert (call["tool"], call["status"]) == ("run_code", "completed")
    assert call["execution"]["outputs"] == [{"output_type": "stream", "name": "stdout", "text": "seen 42\n"}]
    kernel.until(lambda message: message["msg_type"] == "update_display_data"
                 and "✓  Run code" in message["content"]["data"]["text/plain"])  # fmt: skip
    assert kernel.busy == busy
    picture = kernel.pictures[-1]
    assert set(picture) == {
        "text/plain",
        "text/html",
        "application/vnd.jupyter.widget-view+json",
        "application/vnd.pernix.widget+json",
    }
    still = picture["application/vnd.pernix.widget+json"]
    assert still["model_id"] == picture["application/vnd.jupyter.widget-view+json"]["model_id"]
    assert still["state"]["entry0"] == call
    # Saved with the notebook, it must not carry what can be recognised as a secret.
    assert key not in str(kernel.models) + str(kernel.pictures)


def test_widgets_of_one_session_share_one_stream_which_ends_with_them(lab: Lab, model: ModelServer, kernel: Kernel):
    session = new_session(lab)
    threads = "print(sum(each.name.startswith('pernix ') for each in __import__('threading').enumerate()))"
    kernel.run(f"{HEAD}all_three = [ToolCalls({session!r}), Trace({session!r}), Budget({session!r})]")
    assert kernel.run(threads) == "2\n"
    kernel.run("for each in all_three: each.close()\nfor each in all_three: each.close()")
    # The reader may sit in a read until the next event; the other has no reason to stay.
    assert kernel.run(threads) in ("0\n", "1\n")
    script(model, {"text": "Nobody hears it."})
    kernel.drain()
    ask(lab, session, "Is anybody there?")
    assert kernel.drain() == 0


def test_the_trace_and_the_budget_tell_time_tokens_and_limits(lab: Lab, model: ModelServer, kernel: Kernel):
    script(model, run_code("1 + 1"), {"text": "Two."})
    session = new_session(lab, budget={"rounds": 9})
    ask(lab, session, "How much?")
    said = kernel.run(f"{HEAD}print(Trace({session!r}))\nprint(Budget({session!r}))")
    assert "model reading" in said and "tools" in said
    assert said.splitlines()[3].split() == [
        "step",
        "prompt",
        "cached",
        "computed",
        "written",
        "first",
        "token",
        "in",
        "all",
        "calls",
    ]
    (rounds,) = (line.split() for line in said.splitlines() if line.startswith("session  steps"))
    assert rounds == ["session", "steps", "2", "9"]


def test_a_session_is_named_by_its_beginning_or_is_the_last_one(lab: Lab, kernel: Kernel):
    session = new_session(lab, title="The newest")
    said = kernel.run(
        f"{HEAD}for name in ({session!r}, {session[:20]!r}, None):\n    print(ToolCalls(name).session['title'])"
    )
    assert said == "The newest\n" * 3
    assert kernel.run("ToolCalls('ses_nothing')") == "NotFound: there is no session 'ses_nothing'"
    other = new_session(lab)
    assert kernel.run("print(ToolCalls().session['session_id'])") == f"{other}\n"
    kernel.run(f"%load_ext jupyter_pernix\n%pernix open {session}")
    assert kernel.run("print(ToolCalls().session['title'])") == "The newest\n"
    assert kernel.run("ToolCalls('ses')").startswith("NotFound: there is no single session 'ses (it could be ses_")


def test_a_server_that_is_away_is_said_and_found_again(lab: Lab, model: ModelServer, kernel: Kernel):
    script(model, {"text": "Here again."})
    session = new_session(lab)
    kernel.run(f"{HEAD}shown = Trace({session!r})")
    lab.stop()
    try:
        state = kernel.state(lambda each: each.get("link", {}).get("state") == "away")
        assert "does not answer" in state["link"]["text"]
        assert kernel.run("ToolCalls()").startswith("ServerAway: no Jupyter server with jupyter_pernix is running")
    finally:
        lab.start()
    kernel.state(lambda each: each.get("link") == {"state": "live", "text": ""} and "session" in each)
    ask(lab, session, "Are you back?")
    state = kernel.state(lambda each: "session" in each and is_over(each))
    assert entry(state, 0)["text"] == "Are you back?"


def test_the_gpus_are_looked_at_only_while_a_view_is_seen(kernel: Kernel):
    said = kernel.run(f"{HEAD}shown = Vram()\nprint(shown)\nprint(shown._thread)")
    picture, thread = said.strip().splitlines()
    assert picture.startswith("no NVIDIA GPU found: ") or "GiB" in picture
    assert thread == "None"
    seen = "shown._told(None, {'view': 'a', 'visible': %s}, [])\nprint(shown._is_seen(), shown._thread.is_alive())"
    assert kernel.run(seen % True) == "True True\n"
    assert kernel.run(seen % False) == "False True\n"
    assert kernel.run("shown.close()\nshown._thread.join(30)\nprint(shown._thread.is_alive())") == "False\n"
