"""The pages: what is drawn from the code is fresh, links lead somewhere, and README's examples do what they say."""

import importlib.util
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import nbclient
import nbformat
import pytest
from support.isolation import isolated_environ
from support.lab import Lab, copy_examples
from support.model_server import ModelServer
from traitlets.config import Config

from jupyter_pernix.config import load, read_file
from jupyter_pernix.headless import WITHOUT_PAGES
from jupyter_pernix.serverext.app import PernixApp

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def update() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_update", ROOT / "docs" / "update.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(name: str) -> list[str]:
    return re.findall(rf"<!-- test: {name} -->\n```\w+\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("name", ["architecture.md", "api.md", "configuration.md", "permissions.md", "security.md"])
def test_what_is_drawn_from_the_code_is_fresh(name: str):
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert "<!-- from the code:" in page
    assert update().updated(page) == page, "run: python docs/update.py"


def anchors(page: str) -> set[str]:
    """As GitHub makes them from headings."""
    heads = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("document", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path):
    for target in re.findall(r"\]\((?!https?://)([^)]+)\)", document.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        file = document.parent / path if path else document
        assert file.is_file(), target
        assert not anchor or anchor in anchors(file.read_text(encoding="utf-8")), target


def test_readmes_settings_are_ones(tmp_path: Path):
    (block,) = blocks("settings")
    (tmp_path / "config.toml").write_text(block)
    assert set(read_file(tmp_path / "config.toml")) == {"endpoint", "mode", "endpoints"}


def test_the_configuration_pages_examples_are_settings(tmp_path: Path):
    page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "config.toml").write_text(block)
    (python,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    jupyter = Config()
    exec(python, {"c": jupyter})
    environ = dict(re.findall(r"`(PERNIX_\w+)=([^`…]+)`", page))
    assignments = re.findall(r"--set (\S+=[^\s`]+)", page.split("## On the command line")[1])
    assert len(environ) == 3 and len(assignments) == 2
    settings = load(
        config_file=tmp_path / "config.toml",
        environ=environ,
        assignments=assignments,
        overrides=jupyter.PernixApp.overrides,
    )
    assert set(jupyter.PernixApp) <= set(PernixApp.class_trait_names(config=True))
    assert (settings.roles.background.endpoint, settings.mode, settings.deadlines.shell) == ("small", "ask", 60)


def test_readmes_table_of_modes_is_the_hosts():
    words = {"allow": "yes", "ask": "asks", "refuse": "no"}
    rows = dict(re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|(.*)\|$", README.split("## What it may do")[1], re.MULTILINE))
    for name, cells in rows.items():
        for mode in re.findall(r"\w+", name):
            verdicts = update().VERDICTS[mode]
            said = [re.split(r"\W", cell.strip())[0] for cell in cells.split("|")]
            assert said == [words[verdicts[action]] for action in ("read", "write", "execute")]
            assert verdicts["shell"] == verdicts["execute"]


# ---- the examples -----------------------------------------------------------------------------------------------------------


def scripted(text: str) -> list[dict[str, Any]]:
    code = "import pandas as pd\nprices = pd.read_csv('prices/data.csv')\ntotal = round(float(prices['price'].sum()), 2)\nlen(prices), total"
    return [
        {"text": text, "tool_calls": [{"name": "run_code", "arguments": {"code": code}}]},
        {"text": "There they are."},
    ]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    root = copy_examples(tmp_path_factory.mktemp("work") / "examples")
    with ModelServer(program="builtin:echo") as model:
        script = {"turns": scripted("I count."), "advance": "assistant_messages", "on_end": "last"}
        model.ctl("script", script)
        with Lab(home=tmp_path_factory.mktemp("home"), root=root, endpoint=model.url, arguments=WITHOUT_PAGES) as lab:
            yield lab


@pytest.fixture
def lab(served: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    for name, value in served.environ.items():
        monkeypatch.setenv(name, value)
    return served


def price_total() -> str:
    rows = (ROOT / "examples/prices/data.csv").read_text().splitlines()
    column = rows[0].split(",").index("price")
    return f"{sum(float(row.split(',')[column]) for row in rows[1:]):.2f}".rstrip("0")


@pytest.mark.server
@pytest.mark.kernel
def test_readmes_cells_run(lab: Lab):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(block) for block in blocks("cells")])
    nbclient.NotebookClient(notebook, timeout=90, resources={"metadata": {"path": str(lab.root)}}).execute()
    assert notebook.cells[-1].outputs[0].text.strip() == price_total()


@pytest.mark.server
@pytest.mark.kernel
@pytest.mark.parametrize("name", ["shell", "config", "limits", "permissions"])
def test_readmes_commands_run(lab: Lab, name: str):
    (block,) = blocks(name)
    jupyter = Path(sys.executable).with_name("jupyter")
    for line in block.splitlines():
        words = shlex.split(line)
        assert words[0] == "jupyter"
        done = subprocess.run([str(jupyter), *words[1:]], cwd=lab.root, capture_output=True, text=True, timeout=90)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
        assert done.stdout or words[2:4] in (["permissions", "add"], ["permissions", "deny"])


@pytest.mark.server
@pytest.mark.kernel
def test_readmes_script_runs(lab: Lab):
    (block,) = blocks("python")
    done = subprocess.run([sys.executable, "-c", block], cwd=lab.root, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    kinds = [line.split()[1] for line in done.stdout.splitlines()]
    assert kinds[0] == "turn.submitted"
    assert kinds[-2:] == ["turn.finished", "session.state_changed"]


@pytest.mark.server
@pytest.mark.kernel
def test_readmes_records_are_made_and_run_again(lab: Lab):
    jupyter = str(Path(sys.executable).with_name("jupyter"))

    def run(*words: str) -> str:
        done = subprocess.run([jupyter, *words], cwd=lab.root, capture_output=True, text=True, timeout=90)
        assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    first = run("pernix", "run", "How many rows has prices/data.csv?", "--mode", "auto", "--json").splitlines()[0]
    session = json.loads(first)["session_id"]
    (block,) = blocks("records")
    said = [run(*shlex.split(line.replace("$SESSION", session))[1:]) for line in block.splitlines()]
    assert "<html" in (lab.root / "run.html").read_text(encoding="utf-8")
    assert "1 same" in said[-1]


@pytest.mark.server
@pytest.mark.kernel
def test_readmes_undo_puts_files_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    root = copy_examples(tmp_path / "examples")
    jupyter = str(Path(sys.executable).with_name("jupyter"))
    write = {"name": "write_file", "arguments": {"path": "notes.txt", "content": "new\n"}}
    script = {
        "turns": [{"text": "I write.", "tool_calls": [write]}, {"text": "Done."}],
        "advance": "assistant_messages",
        "on_end": "last",
    }
    with ModelServer(program="builtin:echo") as model:
        model.ctl("script", script)
        with Lab(home=tmp_path / "home", root=root, endpoint=model.url, arguments=WITHOUT_PAGES) as lab:
            for name, value in lab.environ.items():
                monkeypatch.setenv(name, value)

            def run(*words: str) -> str:
                done = subprocess.run([jupyter, *words], cwd=root, capture_output=True, text=True, timeout=90)
                assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
                return done.stdout

            first = run("pernix", "run", "Write a note", "--mode", "auto", "--json").splitlines()[0]
            session = json.loads(first)["session_id"]
            assert (root / "notes.txt").exists()
            (block,) = blocks("undo")
            said = [run(*shlex.split(line.replace("$SESSION", session))[1:]) for line in block.splitlines()]
    assert "+new" in said[0]
    assert not (root / "notes.txt").exists()
    assert said[2]


# ---- permissions ------------------------------------------------------------------------------------------------------------


def permissions_blocks(name: str) -> list[str]:
    page = (ROOT / "docs/permissions.md").read_text(encoding="utf-8")
    (block,) = re.findall(rf"<!-- test: {name} -->\n```\w+\n(.*?)```", page, re.DOTALL)
    return block.splitlines()


def shell(line: str, *, home: Path, space: Path) -> str:
    environ = isolated_environ(home) | {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "NO_COLOR": "1"}
    done = subprocess.run(["bash", "-c", line], cwd=space, env=environ, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def space(tmp_path: Path) -> Path:
    """A folder with the names that the page about permissions uses."""
    for name in ("space/src", "space/data", "space/target"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path / "space"


@pytest.mark.parametrize("name", ["explain", "json"])
def test_the_permissions_page_shows_what_explain_says(tmp_path: Path, space: Path, name: str):
    shown: list[str] = []
    for line in permissions_blocks(name):
        if line.startswith("$ "):
            shown += [line, *shell(line[2:], home=tmp_path / "home", space=space).splitlines()]
    assert shown == permissions_blocks(name)


def test_the_permissions_pages_commands_save_and_forget_rules(tmp_path: Path, space: Path):
    *_, listing, last = [shell(line, home=tmp_path / "home", space=space) for line in permissions_blocks("rules")]
    assert [line.split("  ")[1:3] for line in listing.splitlines() if line.startswith("  ")] == [
        ["deny", " git push"],
        ["allow", "cargo test"],
    ]
    assert last == ""
