"""``%pernix`` in a real kernel, executed as a notebook, against a real server and a scripted model."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat
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
def served(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home, root = tmp_path_factory.mktemp("served"), tmp_path_factory.mktemp("root")
    with Lab(home=home, root=root, endpoint=model.url, mode="auto", arguments=WITHOUT_PAGES) as server:
        yield server


@pytest.fixture
def lab(served: Lab, model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Lab:
    for name, value in served.environ.items():
        monkeypatch.setenv(name, value)
    says(model, "Understood.")
    return served


def says(model: ModelServer, *texts: str | dict[str, Any]) -> None:
    turns = [{"text": text} if isinstance(text, str) else text for text in texts]
    model.ctl("script", {"turns": turns, "advance": "assistant_messages", "on_end": "last"})


def executed(folder: Path, *cells: str, **options: Any) -> list[Any]:
    """The cells behind the one that loads the magics."""
    sources = ["%load_ext jupyter_pernix", *cells]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(book, timeout=90, resources=resources, **options).execute()
    nbformat.validate(book)
    return book.cells[1:]


def plain(cell: Any) -> str:
    texts = [output.get("text") or output.get("evalue") or output["data"]["text/plain"] for output in cell.outputs]
    return "\n".join(texts)


def asked(lab: Lab) -> str:
    """The text of the last message."""
    client = lab.client()
    return client.session(client.sessions()[0]["session_id"])["turns"][-1]["text"]


def test_values_and_references_are_in_what_is_sent(lab: Lab):
    cells = executed(
        lab.root,
        "import pandas as pd\nframe = pd.DataFrame({'a': [1, 2]})\nsecret = 'hunter2'\nn = 7",
        "frame.a.sum()",
        "n / 0",
        '%%pernix Is {n} right?\nSee Out[3] and Err[4]: {"n": 1}, {frame}, {secret}, In[2]',
        allow_errors=True,
    )
    sent = asked(lab)
    assert sent.startswith(
        'Is 7 right?\nSee Out[3] and Err[4]: {"n": 1}, pandas.DataFrame 2 × 1 (a int64)\na\n1\n2, <secret: not shown'
    )
    assert "Out[3]:\n```\n3\n```" in sent
    assert "ZeroDivisionError: division by zero" in sent
    assert "frame = pd.DataFrame" in sent
    assert plain(cells[3]) == "{secret} looks like a secret and is not sent\n\nUnderstood."


def test_the_last_error_is_given_to_be_mended(lab: Lab):
    cells = executed(
        lab.root, "def f(x):\n    return x.nothing\nf(3)", "%pernix fix in one line", "_.text", allow_errors=True
    )
    sent = asked(lab)
    assert sent.startswith("Mend this error. The cell In[2] is:\n\n```python\ndef f(x):")
    assert "AttributeError: 'int' object has no attribute 'nothing'" in sent
    assert sent.endswith("in one line")
    assert (plain(cells[1]), plain(cells[2])) == ("Understood.", "'Understood.'")


def test_queries_come_as_frames(lab: Lab):
    cells = executed(
        lab.root,
        "%%pernix\nGo",
        "%%pernix sql\nSELECT text, code, started_at FROM turns\n"
        "WHERE session_id = (SELECT session_id FROM sessions ORDER BY created_at DESC LIMIT 1)",
        "t = _; (type(t).__module__.split('.')[0], t.text.tolist(), t.code.tolist(), str(t.started_at.dtype)[:10])",
        "%pernix sql SELECT count(*) AS n FROM events WHERE body ->> '$.text' = 'Go'",
        "_.n[0] > 0",
    )
    assert "<table" in cells[1].outputs[0]["data"]["text/html"]
    assert plain(cells[2]) == "('pandas', ['Go'], ['answered'], 'datetime64')"
    assert plain(cells[4]) in ("True", "np.True_")


REFUSED = [
    ("%pernix sql DELETE FROM events", "only queries that read are carried out"),
    ("%pernix sql SELECT nothing FROM turns", 'column "nothing" not found'),
    ("%pernix sql", "write a query, e.g. %pernix sql SELECT"),
    ("%pernix nonsense", "there is no %pernix nonsense; there is status, sessions"),
    ("%pernix mode mad", "'mad' is no mode; there is ask, plan, edit, auto"),
    ("%pernix model none-such", "there is no endpoint or model 'none-such'; there is:"),
    ("%pernix budget speed=1", "'speed=1' is no limit; write e.g. rounds=10"),
    ("%pernix open", "name the session: %pernix open ID"),
    ("%pernix open ses_none", "there is no session 'ses_none'"),
    ("%pernix attach", "this kernel does not know its notebook"),
    ("%pernix fix", "no cell has failed"),
    ("%%pernix --session ses_none\nGo", "there is no session 'ses_none'"),
]


def test_what_cannot_be_done_is_said_in_a_sentence(lab: Lab):
    cells = executed(lab.root, *(cell for cell, _ in REFUSED), allow_errors=True)
    for cell, (source, said) in zip(cells, REFUSED, strict=True):
        (output,) = cell.outputs
        assert said in output["evalue"], source
        assert output["traceback"] == [output["evalue"]], source


def test_mode_model_and_limits_are_set_before_and_in_a_session(lab: Lab, model: ModelServer):
    endpoint = lab.client().endpoints()["endpoints"][0]
    cells = executed(
        lab.root,
        "%pernix mode plan",
        "%pernix budget rounds=5 tokens=9000",
        "%pernix model",
        "%%pernix --budget rounds=2\nGo",
        "%pernix budget",
        f"%pernix model {endpoint['model']}",
        "%pernix mode ask",
        "%pernix budget none",
        "%pernix status",
        "%pernix undo",
        "%pernix stop",
        "%pernix open new",
    )
    assert plain(cells[0]).strip() == "the next session works in the mode plan"
    assert plain(cells[1]).strip() == "the next session may use 5 rounds, 9000 tokens, over all its questions"
    assert endpoint["model"] in plain(cells[2])
    assert plain(cells[4]).startswith("limits: 5 rounds, 9000 tokens; used: 1 rounds, ")
    assert plain(cells[5]).strip() == f"the session answers with {endpoint['name']}"
    assert plain(cells[7]).strip() == "the session may use no limits, over all its questions"
    assert "mode ask" in plain(cells[8])
    assert plain(cells[9]).strip() == "no cells of notebooks and no files were changed by the last question"
    assert plain(cells[10]).strip() == "nothing is running in this session"
    view = lab.client().session(lab.client().sessions()[0]["session_id"])
    assert (view["turns"][0]["mode"], view["turns"][0]["budget"]["rounds"], view["mode"]) == ("plan", 2, "ask")


def test_a_session_with_a_kernel_of_its_own_goes_on_in_a_cell(lab: Lab, model: ModelServer):
    session = lab.client().create_session(mode="auto")["session_id"]
    call = {"name": "run_code", "arguments": {"code": "import os\nprint('there', 6 * 7)"}}
    says(model, {"text": "", "tool_calls": [call]}, "Done there.")
    cells = executed(lab.root, f"%pernix open {session[:-2]}", "%%pernix\nGo", "_.code, _.session_id")
    assert "its code runs in a kernel of its own, not in this one" in plain(cells[0])
    assert [text for text in plain(cells[1]).splitlines() if text][1:] == ["there 42", "Done there."]
    assert session in plain(cells[2])


def test_undo_says_what_it_cannot_undo(lab: Lab, model: ModelServer):
    calls = [
        {"name": "run_code", "arguments": {"code": "x = 1"}},
        {"name": "write_file", "arguments": {"path": "made.txt", "content": "x\n"}},
        {"name": "run_shell", "arguments": {"command": "true"}},
    ]
    says(model, {"text": "", "tool_calls": calls}, "Done.")
    cells = executed(lab.root, "%%pernix --mode auto\nGo", "%pernix undo")
    assert plain(cells[1]).strip().splitlines() == [
        "made.txt: put back",
        "not undone: what 1 piece of code did, e.g. to variables; restart the kernel to be rid of it",
        "not undone: what 1 shell command did",
    ]


def test_cells_that_were_changed_are_put_back(lab: Lab, model: ModelServer):
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("a = 1", id="one")])
    nbformat.write(book, lab.root / "other.ipynb")
    insert = {
        "op": "insert",
        "path": "other.ipynb",
        "behind": "one",
        "cell_type": "code",
        "source": "b = 2",
    }
    says(
        model,
        {"text": "", "tool_calls": [{"name": "read_notebook", "arguments": {"path": "other.ipynb"}}]},
        {"text": "", "tool_calls": [{"name": "edit_notebook", "arguments": insert}]},
        "Inserted.",
    )
    cells = executed(lab.root, "%%pernix --mode auto\nGo", "%pernix undo", "%pernix undo")
    assert "other.ipynb" in plain(cells[1]) and "undone" in plain(cells[1]), (plain(cells[0]), plain(cells[1]))
    assert [cell.source for cell in nbformat.read(lab.root / "other.ipynb", 4).cells] == ["a = 1"]


def test_a_line_that_a_kernel_elsewhere_asks_for_is_read_at_the_cell(lab: Lab, model: ModelServer):
    session = lab.client().create_session(mode="auto")["session_id"]
    call = {"name": "run_code", "arguments": {"code": "print('hello', input('who? '))"}}
    says(model, {"text": "", "tool_calls": [call]}, "Done.")
    manager, client = start_new_kernel(cwd=str(lab.root))
    try:
        shown: list[str] = []
        prompts: list[str] = []

        def typed(message: dict[str, Any]) -> None:
            prompts.append(message["content"]["prompt"])
            client.input("world")

        def take(message: dict[str, Any]) -> None:
            content = message["content"]
            shown.append(content.get("text") or content.get("data", {}).get("text/plain") or "")

        for cell in ("%load_ext jupyter_pernix", f"%pernix open {session}", "%%pernix\nGo"):
            client.execute_interactive(cell, allow_stdin=True, stdin_hook=typed, output_hook=take, timeout=60)
    finally:
        client.stop_channels()
        manager.shutdown_kernel()
    assert prompts == ["who? "]
    assert any("hello world" in text for text in shown)
    assert shown[-1] == "Done." or "Done." in shown[-2:]


def test_a_session_is_attached_to_the_kernels_notebook(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("a = 1")]), lab.root / "mine.ipynb")
    monkeypatch.setenv("JPY_SESSION_NAME", str(lab.root / "mine.ipynb"))
    cells = executed(lab.root, "%pernix attach", "%pernix sessions")
    said = plain(cells[0])
    session_id = said.split()[1]
    view = lab.client().session(session_id)
    assert "works in mine.ipynb now" in said
    assert (view["notebook"]["path"], view["place"]) == ("mine.ipynb", "attached")
    detached = executed(lab.root, f"%pernix detach {session_id}")
    assert "no longer attached" in plain(detached[0])
    assert lab.client().session(session_id)["notebook"] is None


def test_a_terminal_shows_each_text_once(lab: Lab, model: ModelServer):
    call = {"name": "run_code", "arguments": {"code": "print('there', 6 * 7)\n6 * 8"}}
    says(model, {"text": "I look.", "tool_calls": [call]}, "It is said.")
    source = (
        "shell = get_ipython(); shell.run_line_magic('load_ext', 'jupyter_pernix'); "
        "shell.run_cell('%%pernix --mode auto\\nGo', store_history=True); print('then', _.text, shell.execution_count)"
    )
    command = [sys.executable, "-m", "IPython", "--colors=NoColor", "--no-banner", "-c", source]
    done = subprocess.run(command, cwd=lab.root, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    assert [done.stdout.count(text) for text in ("I look.", "there 42", "48", "Out[")] == [1, 1, 1, 0]
    assert done.stdout.rstrip().splitlines()[-2:] == ["It is said.", "then It is said. 2"]
