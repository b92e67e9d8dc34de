"""Run notebooks opened again in JupyterLab: calls, questions, plans and changes as cards; opening one changes nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import nbformat
import pytest
from playwright.sync_api import Locator, expect
from support.browser import Screen
from support.jobs import call, hostile_payloads
from support.lab import Lab
from support.model_server import ModelServer
from support.notebook_view import NotebookView
from support.story import SESSION, story

from jupyter_pernix.fold import SessionFold
from jupyter_pernix.kernel.record import run_notebook

LIVE = """book => [...book.querySelectorAll('.jp-Pernix-mime, .jp-Pernix-mime *')].flatMap(node => [...node.attributes]
  .filter(({name, value}) => name.startsWith('on') || name === 'data-commandlinker-command' ||
    ((name === 'href' || name === 'src' || name === 'xlink:href') && /^\\s*(javascript|vbscript|data:text)/i.test(value)))
  .map(({name, value}) => `${node.tagName} ${name}=${value}`))"""
FOLDED = ".jp-Pernix-mime .jp-Pernix-callHead[aria-expanded=false], .jp-Pernix-mime details:not([open]) > summary"


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(program="builtin:echo") as server:
        yield server


@pytest.fixture(scope="module")
def endpoint(model: ModelServer) -> str:
    return model.url


def script(model: ModelServer, *turns: dict[str, Any]) -> None:
    model.ctl("script", {"turns": list(turns), "advance": "assistant_messages", "on_end": "last"})


def book(screen: Screen) -> Locator:
    return screen.page.locator(".jp-NotebookPanel:visible")


def test_a_record_opened_again_shows_its_cards_and_is_not_changed_by_that(
    screen: Screen, lab: Lab, root: Path, model: ModelServer
):
    script(
        model,
        {"text": "I run it.", "tool_calls": [call("run_code", code="print(6 * 7)")]},
        {"tool_calls": [call("edit_file", path="README.md", old_text="# ", new_text="# The ")]},
        {"text": "It is **42**."},
    )
    screen.new_session("csv_import")
    screen.choose_mode("edit")
    screen.send("Compute it")
    screen.calls("run_code").first.get_by_role("button", name="Allow once").click(timeout=60_000)
    screen.wait_turn(0, "answered")
    screen.wait_ready()
    path = str(lab.client().sessions()[0]["record_path"])
    before = (root / path).read_bytes()
    screen.panel.get_by_role("button", name="Open run notebook").click()
    view = NotebookView(screen.page, path)
    view.wait_kernel()
    expect(book(screen).get_by_role("group", name="Run this code").first).to_contain_text("Allowed once")
    edited = book(screen).locator('.jp-Pernix-mime .jp-Pernix-call[data-tool="edit_file"]')
    expect(edited).to_contain_text("README.md")
    expect(book(screen).locator(".jp-Pernix-mime button").filter(has_text="Allow once")).to_have_count(0)
    screen.settle()
    screen.shot("record")
    assert not view.dirty
    assert (root / path).read_bytes() == before


def test_every_kind_of_card_stands_in_a_record(screen: Screen, root: Path):
    notebook = run_notebook(SessionFold.of(SESSION, story()).view)
    nbformat.write(nbformat.from_dict(notebook), root / "story.ipynb")
    screen.command("docmanager:open", path="story.ipynb")
    expect(book(screen).get_by_role("group", name="Plan")).to_contain_text("Count, then mend.")
    expect(book(screen).get_by_role("group", name="Run this code?")).to_contain_text("Allowed for this session")
    changes = book(screen).locator(".jp-Pernix-cellChange")
    expect(changes.first).to_have_attribute("data-status", "undone")
    expect(changes.nth(1)).to_contain_text("not there any more")
    expect(book(screen).locator(".jp-Pernix-decide")).to_have_count(0)
    expect(book(screen).get_by_role("group", name="Worker: look for the same fault elsewhere")).to_contain_text(
        "Nowhere else."
    )


def hostile_bundles(text: str) -> list[dict[str, Any]]:
    snapshot = {"cell_id": text, "cell_type": "markdown", "source": text}
    change = {"change_id": "g", "path": text, "op": "edit", "cell_id": text, "before": snapshot, "after": snapshot}
    tool = {
        "tool": text,
        "title": text,
        "status": "failed",
        "arguments": {text: text},
        "result": text,
        "rule": text,
        "verdict": "refuse",
        "files": [{"path": text, "diff": text, "added_lines": 1, "removed_lines": text}],
        "cells": [{"change": change | {"after": snapshot | {"source": f"{text}!"}}, "status": "made", "detail": text}],
        "worker": {"worker_id": text, "title": text, "answer": text, "code": "answered"},
    }
    approval = {"question": text, "detail": text, "choice": "reject_once", "text": text, "by": text, "choices": [text]}
    plan = {"approach": text, "steps": [{"text": text, "status": text}], "tools": [text], "by": text}
    names = {"tool-call": tool, "approval": approval, "plan": plan}
    return [{f"application/vnd.pernix.{name}+json": data} for name, data in names.items()]


def test_a_record_that_somebody_made_up_runs_and_fetches_nothing(screen: Screen, root: Path):
    payloads = [payload["payload"] for payload in hostile_payloads() if "\0" not in payload["payload"]]
    # JupyterLab draws fifty outputs of a cell.
    texts = ["\n".join(payloads[start : start + 8]) for start in range(0, len(payloads), 8)]
    odd = [
        {f"application/vnd.pernix.{name}+json": data} for name in ("approval", "plan") for data in ([], {"steps": 1})
    ]
    bundles = [bundle for text in texts for bundle in hostile_bundles(text)] + odd
    outputs = [nbformat.v4.new_output("display_data", data=bundle) for bundle in bundles]
    cells = [nbformat.v4.new_code_cell("", outputs=outputs)]
    text = msgspec.json.encode(nbformat.v4.new_notebook(cells=cells))
    (root / "made-up.ipynb").write_bytes(text)
    screen.command("docmanager:open", path="made-up.ipynb")
    expect(book(screen).locator(".jp-Pernix-mime")).to_have_count(len(bundles))
    book(screen).evaluate(f"book => book.querySelectorAll('{FOLDED}').forEach(node => node.click())")
    screen.settle()
    book(screen).evaluate(f"book => book.querySelectorAll('{FOLDED}').forEach(node => node.click())")
    screen.settle()
    assert book(screen).first.evaluate(LIVE) == []
    assert (screen.ran, screen.foreign) == ([], [])
    drawn = book(screen).locator(".jp-Pernix-mime")
    assert drawn.locator("script, style, iframe, object, embed, form, base, meta, link").count() == 0
    assert drawn.get_by_role("button").filter(has_text="Undo").count() == 0
