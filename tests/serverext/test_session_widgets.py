"""The state of the widgets that a session shows, kept with its log: its record, and a notebook's file, show them without their kernel."""

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter

from jupyter_pernix.agent.testing import Says, call
from jupyter_pernix.kernel.widgetstate import WIDGET_STATE, WIDGET_VIEW, shown_by
from jupyter_pernix.serverext import session_widgets

from .conftest import Serve
from .notebooks.agents import read, run, scripted, turn
from .notebooks.making import code, write
from .served import Served

pytestmark = [pytest.mark.server, pytest.mark.kernel]

SLIDER = "import ipywidgets as w\nslider = w.IntSlider(value=3, description='rows')\nhidden = w.Label('unseen')\nslider"


OLD = {"model_name": "LabelModel", "model_module": "x", "model_module_version": "1", "state": {"value": "old"}}


def runs(source: str) -> list[Says]:
    return [Says(calls=(call("run_code", code=source),))]


async def saved(server: Served, session: str) -> list[dict[str, Any]]:
    events = await server.get("/events", session=session)
    return [event["models"] for event in events if event["type"] == "widgets.saved"]


def models(notebook: Any) -> dict[str, Any]:
    return notebook["metadata"]["widgets"][WIDGET_STATE]["state"]


def sliders(found: dict[str, Any]) -> list[int]:
    return [one["state"]["value"] for one in found.values() if one["model_name"] == "IntSliderModel"]


async def test_the_record_has_the_state_of_what_is_shown_as_each_turn_left_it(serve: Serve, root: Path) -> None:
    script = scripted(runs("1"), runs(SLIDER), runs("print(slider.value)"), runs("slider.value = 5"))
    async with serve(carry=script) as server:
        session = await server.new_session(mode="auto")
        await turn(server, session)
        assert await saved(server, session) == []
        await turn(server, session)
        (first,) = await saved(server, session)
        assert {one["model_name"] for one in first.values()} == {"IntSliderModel", "LayoutModel", "SliderStyleModel"}
        await turn(server, session)
        assert len(await saved(server, session)) == 1
        await turn(server, session)
        _, changed = await saved(server, session)
        assert (len(changed), sliders(changed)) == (1, [5])
        view = await server.get(f"/sessions/{session}")
        record = nbformat.read(root / view["record_path"], as_version=4)
        assert (sliders(models(record)), len(models(record))) == ([5], 3)
        page, _ = HTMLExporter().from_notebook_node(record)
        assert (page.count(f'<script type="{WIDGET_STATE}">'), page.count(f'<script type="{WIDGET_VIEW}">')) == (1, 1)


async def test_a_notebook_that_nobody_has_open_gets_the_state_with_the_outputs(serve: Serve, root: Path) -> None:
    write(root / "a.ipynb", code("show", SLIDER), code("more", "w.IntProgress(value=7)"))
    body = json.loads((root / "a.ipynb").read_text())
    body["metadata"]["widgets"] = {WIDGET_STATE: {"version_major": 2, "version_minor": 0, "state": {"old": OLD}}}
    (root / "a.ipynb").write_text(json.dumps(body))
    async with serve(carry=scripted([read(), run("show", "more")])) as server:
        session = await server.new_session(notebook="a.ipynb", mode="auto")
        await turn(server, session)
        found = models(nbformat.read(root / "a.ipynb", as_version=4))
        assert found["old"] == OLD
        assert sliders(found) == [3]
        assert [one["state"]["value"] for one in found.values() if one["model_name"] == "IntProgressModel"] == [7]
        assert not any(one["model_name"] == "LabelModel" for one in found.values() if one != OLD)


async def test_what_is_too_large_is_not_kept_and_that_is_said_once(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_widgets, "LIMIT", 300)
    async with serve(carry=scripted(runs(SLIDER), runs("slider.value = 5"))) as server:
        session = await server.new_session(mode="auto")
        said = [
            item["text"]
            for done in (await turn(server, session), await turn(server, session))
            for item in done["items"]
            if item["type"] == "problem"
        ]
        assert said == [session_widgets.TOO_LARGE]
        assert await saved(server, session) == []


def test_only_what_outputs_show_counts_and_no_password() -> None:
    known = {
        "box": {"model_name": "VBoxModel", "state": {"children": ["IPY_MODEL_word"]}},
        "word": {"model_name": "PasswordModel", "state": {"value": "hunter2", "layout": "IPY_MODEL_gone"}},
        "other": {"model_name": "LabelModel", "state": {"value": "x"}},
    }
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "box", "version_major": 2}}
    found = shown_by([{"output_type": "display_data", "data": view}, {"output_type": "stream", "text": "a"}], known)
    assert [*found] == ["box", "word"]
    assert found["word"]["state"]["value"] == ""
    assert known["word"]["state"]["value"] == "hunter2"
