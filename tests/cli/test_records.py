"""Sessions as files on the command line: exported, and gone on from their run notebooks."""

import json
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from support.lab import Lab
from support.model_server import ModelServer

from jupyter_pernix.headless import WITHOUT_PAGES

from .test_cli import pernix

pytestmark = [pytest.mark.server, pytest.mark.timeout(120)]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home, root = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("root")
    with (
        ModelServer(program="builtin:echo") as model,
        Lab(home=home, root=root, endpoint=model.url, arguments=WITHOUT_PAGES) as server,
    ):
        yield server


@pytest.fixture(scope="module")
def session(lab: Lab) -> str:
    run = pernix(lab, "run", "Say hello.", "--json", "--title", "Greeting")
    return json.loads(run.stdout.splitlines()[0])["session_id"]


@pytest.fixture(scope="module")
def record(lab: Lab) -> Path:
    (path,) = (lab.root / "pernix-runs").glob("*.ipynb")
    return path


def test_a_session_is_exported_by_the_beginning_of_its_id(lab: Lab, session: str, tmp_path: Path):
    page = tmp_path / "run.html"
    written = pernix(lab, "export", session[:-4], "-o", str(page))
    assert (written.returncode, written.stdout) == (0, "")
    assert f"{session} → {page}" in written.stderr
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    notebook = pernix(lab, "export", session)
    nbformat.validate(nbformat.reads(notebook.stdout, as_version=4))
    assert pernix(lab, "export", session, "--format", "md").stdout.startswith("# Greeting\n")
    assert json.loads(pernix(lab, "export", session, "--format", "json").stdout)["view"]["title"] == "Greeting"


def test_an_id_that_nobody_has_is_a_failure(lab: Lab, session: str):
    run = pernix(lab, "export", "ses_nope")
    assert (run.returncode, run.stdout) == (1, "")
    assert "there is no session 'ses_nope'" in run.stderr


def test_a_record_leads_to_its_session(lab: Lab, session: str, record: Path):
    run = pernix(lab, "resume", str(record))
    assert run.returncode == 1
    # it has been answered: there is nothing to go on with, and no other session is made
    assert f'give it its next request with: jupyter pernix run --session {session} "…"' in run.stderr
    listed = [json.loads(line)["session_id"] for line in pernix(lab, "sessions", "--json").stdout.splitlines()]
    assert listed == [session]


def test_a_record_from_elsewhere_begins_a_session(lab: Lab, session: str, record: Path):
    notebook = json.loads(record.read_bytes())
    notebook["metadata"]["pernix"]["session_id"] = "ses_elsewhere"
    theirs = lab.root / "theirs.ipynb"
    theirs.write_text(json.dumps(notebook))
    run = pernix(lab, "resume", "theirs.ipynb")
    assert run.returncode == 0, run.stderr
    assert "Session ses_elsewhere is not on this server" in run.stdout
    assert "None of that code was run again" in run.stdout
    new = run.stdout.rpartition("--session ")[2].split()[0]
    shown = pernix(lab, "show", new)
    assert shown.stdout.startswith("Greeting\n")


def test_what_is_no_record_is_bad_usage(lab: Lab, tmp_path: Path):
    plain = tmp_path / "plain.ipynb"
    plain.write_text(json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    (tmp_path / "broken.ipynb").write_bytes(b"")
    answers = [pernix(lab, "resume", str(tmp_path / name)) for name in ("plain.ipynb", "broken.ipynb", "missing.ipynb")]
    assert [answer.returncode for answer in answers] == [2, 2, 2]
    assert "plain.ipynb is a notebook, but not the record of a session" in answers[0].stderr
    assert "The file is empty (0 bytes)" in answers[1].stderr
    assert "cannot be read: No such file or directory" in answers[2].stderr
