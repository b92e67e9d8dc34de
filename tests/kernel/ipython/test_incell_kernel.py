"""What code may do in the cell that asked: in a real kernel, seen by a client that knows nothing of us, and by the server."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel
from support.lab import Lab
from support.model_server import ModelServer

from jupyter_pernix.headless import WITHOUT_PAGES

pytestmark = [pytest.mark.server, pytest.mark.kernel, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(program="builtin:echo") as server:
        yield server


@pytest.fixture(scope="module")
def lab(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home, root = tmp_path_factory.mktemp("served"), tmp_path_factory.mktemp("root")
    with Lab(home=home, root=root, endpoint=model.url, mode="auto", arguments=WITHOUT_PAGES) as server:
        yield server


@dataclass
class Shown:
    """What a client got for one cell: the displays as they stand at its end, and the reply."""

    displays: list[dict[str, Any]] = field(default_factory=list)
    reply: dict[str, Any] = field(default_factory=dict)

    @property
    def texts(self) -> list[str]:
        """Text of each output; streams that follow each other joined."""
        found: list[str] = []
        before = ""
        for content in self.displays:
            text = content.get("text") or content.get("data", {}).get("text/plain") or content.get("evalue", "")
            if content.get("name") == before and before:
                found[-1] += text
            else:
                found.append(re.sub(r"\d+\.\d s", "0 s", text))
            before = content.get("name", "")
        return found


class Cells:
    """A plain client of one kernel, as editors and scripts have it."""

    def __init__(self, folder: Path) -> None:
        self._manager, self._client = start_new_kernel(cwd=str(folder))

    def run(self, cell: str, *, stdin: str | None = None) -> Shown:
        shown = Shown()
        by_id: dict[str, dict[str, Any]] = {}

        def take(message: dict[str, Any]) -> None:
            kind, content = message["msg_type"], message["content"]
            display_id = content.get("transient", {}).get("display_id")
            if kind == "update_display_data":
                by_id[display_id]["data"] = content["data"]
            elif kind in ("stream", "display_data", "execute_result", "error"):
                shown.displays.append(dict(content))
                if display_id:
                    by_id[display_id] = shown.displays[-1]

        reply = self._client.execute_interactive(
            cell,
            allow_stdin=stdin is not None,
            stdin_hook=lambda _: self._client.input(stdin or ""),
            output_hook=take,
            timeout=60,
        )
        shown.reply = reply["content"]
        return shown

    def close(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel()


@pytest.fixture(scope="module")
def cells(lab: Lab) -> Iterator[Cells]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in lab.environ.items():
            patch.setenv(name, value)
        kernel = Cells(lab.root)
    kernel.run("%load_ext jupyter_pernix")
    kernel.run("import matplotlib; matplotlib.use('module://matplotlib_inline.backend_inline')")
    yield kernel
    kernel.close()


def agent_runs(cells: Cells, model: ModelServer, *codes: str, stdin: str | None = None) -> Shown:
    """A cell in which the agent runs this code; the history is as after any other cell."""
    calls = [{"text": "", "tool_calls": [{"name": "run_code", "arguments": {"code": code}}]} for code in codes]
    model.ctl("script", {"turns": [*calls, {"text": "The end."}], "advance": "assistant_messages", "on_end": "last"})
    before = cells.run("'mark'").reply["execution_count"]
    shown = cells.run("%%pernix --new\nGo", stdin=stdin)
    state = cells.run(
        f"print(len(In) - 1, {before} in Out, sorted(key for key in Out if key > {before}), _ is _pernix, type(_pernix).__name__, "
        "type(__import__('sys').stdout).__name__, type(get_ipython().display_pub).__name__)"
    )
    assert shown.reply["execution_count"] == before + 1
    assert state.reply["execution_count"] == before + 2
    assert state.texts == [
        f"{before + 2} True [{before + 1}] True Answer OutStream ZMQDisplayPublisher\n",
    ], (shown.texts, state.texts)
    return shown


def recorded(lab: Lab) -> dict[str, Any]:
    """The last execution as the server has it."""
    client = lab.client()
    turn = client.session(client.sessions()[0]["session_id"])["turns"][-1]
    return [item["execution"] for item in turn["items"] if item["type"] == "call"][-1]


MAGIC = [
    ("%time x = 1", "ok", "Wall time"),
    ("%%bash\necho from bash", "ok", "from bash"),
    ("!echo from a shell", "ok", "from a shell"),
    ("%matplotlib inline", "ok", ""),
    ("%%capture kept\nprint('caught')", "ok", ""),
    ("%%capture kept\nprint('caught')\n", "ok", ""),
    ("print(get_ipython().run_cell('1 + 1').result)", "ok", "2"),
    ("get_ipython().run_cell('a = 5', store_history=True); print('ran')", "ok", "ran"),
    ("%timeit -n1 -r1 pass", "ok", "per loop"),
    ("%who_ls", "ok", "["),
    ("%pernix status", "ok", "server:"),
    ("import sys, io\nsys.stdout = io.StringIO()\nprint('lost')", "ok", ""),
    (
        "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()) as f: print('in')\nprint(f.getvalue())",
        "ok",
        "in",
    ),
    ("import sys\nsys.exit(3)", "error", "SystemExit"),
    ("exit()", "error", "kernel is not ended"),
    ("quit", "error", "kernel is not ended"),
    ("import os\nos.write(1, b'raw')\nprint('after')", "ok", "after"),
    ("import asyncio\nawait asyncio.sleep(0.01)\nprint('awaited')", "ok", "awaited"),
    ("import asyncio\nasync def f():\n    raise ValueError('inside')\nawait f()", "error", "inside"),
    ("async for x in 3: pass", "error", "TypeError"),
    ("1 / 0", "error", "ZeroDivisionError"),
    ("x = = 1", "error", "SyntaxError"),
    ("raise BaseException('base')", "error", "base"),
    ("from IPython.display import display, HTML\ndisplay(HTML('<b>x</b>'))", "ok", "HTML object"),
    ("h = display('first', display_id=True)\nh.update('second')", "ok", "second"),
    ("import warnings\nwarnings.warn('careful')", "ok", "careful"),
    ("import logging\nlogging.getLogger('x').error('logged')", "ok", "logged"),
    ("import threading\nt = threading.Thread(target=lambda: print('threaded')); t.start(); t.join()", "ok", "threaded"),
    ("import ipywidgets\nipywidgets.IntSlider()", "ok", "IntSlider"),
    ("for _ in range(3): print(_)", "ok", "2"),
    ("Out[1000] = 'more'; print(len(Out) > 0)", "ok", "True"),
    ("%load_ext jupyter_pernix\nprint('twice')", "ok", "twice"),
    ("get_ipython().run_cell_magic('pernix', '', 'again')", "error", "cannot start another"),
]


@pytest.mark.parametrize(("code", "status", "seen"), MAGIC, ids=[code[:30] for code, _, _ in MAGIC])
def test_code_in_the_cell_behaves_as_in_any_cell(
    lab: Lab, model: ModelServer, cells: Cells, code: str, status: str, seen: str
):
    shown = agent_runs(cells, model, code)
    assert shown.reply["status"] == "ok", shown.texts
    assert recorded(lab)["status"] == status, shown.texts
    assert any(seen in text for text in shown.texts), shown.texts
    assert shown.texts[-1] == "The end."
    assert seen in str(recorded(lab)["outputs"])


def test_a_figure_is_shown_once_where_it_was_made(lab: Lab, model: ModelServer, cells: Cells):
    draw = "import matplotlib.pyplot as plt\nplt.figure(figsize=(1, 1)); plt.plot([1, 2]);"
    shown = agent_runs(cells, model, "%matplotlib inline", f"print('before')\n{draw}", "print('after')")
    kinds = [next(iter(sorted(output.get("data", {"stream": 1}))), "") for output in shown.displays]
    assert kinds.count("image/png") == 1
    assert kinds.index("image/png") > shown.texts.index("before\n")
    assert shown.texts.index("after\n") > kinds.index("image/png")


def test_a_line_is_asked_for_at_the_cell(lab: Lab, model: ModelServer, cells: Cells):
    shown = agent_runs(cells, model, "print('hello', input('who? '))", stdin="world")
    assert "hello world\n" in shown.texts


def test_a_capturing_cell_keeps_everything(lab: Lab, model: ModelServer, cells: Cells):
    model.ctl("script", {"turns": [{"text": "Caught."}], "advance": "assistant_messages", "on_end": "last"})
    shown = cells.run("%%capture kept\nget_ipython().run_cell_magic('pernix', '--new', 'Go')")
    assert (shown.reply["status"], shown.displays) == ("ok", [])
    assert cells.run("print(_pernix, len(kept.outputs))").texts == ["Caught. 1\n"]


def test_a_megabyte_of_output_is_shown_whole_and_in_order(lab: Lab, model: ModelServer, cells: Cells):
    shown = agent_runs(cells, model, "for n in range(20_000): print(n, '-' * 40)")
    lines = "".join(text for text in shown.texts if "---" in text).splitlines()
    assert [line.split()[0] for line in lines if line.endswith("-" * 40)] == [str(number) for number in range(20_000)]
