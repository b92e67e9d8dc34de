"""Widgets of a real kernel: what of their state is kept for the notebook, and the part that a front end plays."""

import base64
from pathlib import Path
from typing import Any

import anyio
import pytest

from jupyter_pernix.kernel.provision import Kernels, own_manager

from .conftest import Cells, kernel_environ

pytestmark = [pytest.mark.kernel, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def models(cells: Cells, name: str) -> list[dict[str, Any]]:
    found = cells.executor.widget_state()["state"].values()
    return [model for model in found if model["model_name"] == name]


def shown(cells: Cells) -> str:
    """The text in the last ``Output`` widget, if there is one."""
    found = models(cells, "OutputModel")
    outputs = found[-1]["state"]["outputs"] if found else []
    return "".join(output.get("text", output["output_type"]) for output in outputs)


async def test_a_sliders_state_is_kept_as_it_is_now(cells: Cells):
    ran = await cells("import ipywidgets as w\ns = w.IntSlider(value=3)\ns")
    assert "application/vnd.jupyter.widget-view+json" in ran.outputs[0]["data"]
    await cells("s.value = 42")
    (model,) = models(cells, "IntSliderModel")
    assert (model["state"]["value"], model["model_module"]) == (42, "@jupyter-widgets/controls")
    view = ran.outputs[0]["data"]["application/vnd.jupyter.widget-view+json"]
    assert view["model_id"] in cells.executor.widget_state()["state"]
    await cells("s.close()")
    assert models(cells, "IntSliderModel") == []


async def test_bytes_in_a_state_are_kept_as_buffers(cells: Cells):
    await cells("import ipywidgets as w\ni = w.Image(value=b'\\x89PNG!', format='png')")
    await cells("i.value = b'other'")
    (model,) = models(cells, "ImageModel")
    assert model["buffers"] == [{"path": ["value"], "encoding": "base64", "data": base64.b64encode(b"other").decode()}]
    await cells("i.close()")


async def test_what_is_printed_in_an_output_widget_goes_there_and_to_the_kernel(cells: Cells):
    ran = await cells("import ipywidgets as w\no = w.Output()\nwith o: print('inside')\nprint('outside')")
    assert (ran.text, shown(cells)) == ("outside\n", "inside\n")
    assert (await cells("o.outputs[0]['text']")).outputs[0]["data"]["text/plain"] == "'inside\\n'"
    again = await cells("with o:\n    print('more'); display(1)\n1/0")
    assert again.kinds == ["error"]
    assert shown(cells) == "inside\nmore\ndisplay_data"


async def test_an_output_widget_is_cleared_and_set_by_the_kernel(cells: Cells):
    await cells(
        "import ipywidgets as w\nfrom IPython.display import clear_output\no = w.Output()\nwith o: print('one')"
    )
    await cells("with o:\n    clear_output(wait=True); print('two')")
    assert shown(cells) == "two\n"
    await cells("o.append_stdout('three\\n')")
    assert shown(cells) == "two\nthree\n"
    await cells("with o: print('four')")
    assert shown(cells) == "two\nthree\nfour\n"
    await cells("o.clear_output()")
    assert shown(cells) == ""


async def test_an_error_in_an_output_widget_stays_there(cells: Cells):
    ran = await cells("import ipywidgets as w\no = w.Output()\nwith o: 1/0\nprint('after')")
    assert (ran.result.status, ran.kinds) == ("ok", ["stream"])
    assert shown(cells) == "error"


async def test_an_output_widget_takes_again_what_follows_one_within_it(cells: Cells):
    ran = await cells(
        "import ipywidgets as w\nouter, inner = w.Output(), w.Output()\n"
        "with outer:\n    print('one')\n    with inner: print('two')\n    outer.layout.width = '5px'\n    print('three')\nprint('four')"
    )
    texts = [model["state"]["outputs"][0]["text"] for model in models(cells, "OutputModel")[-2:]]
    assert (texts, ran.text) == (["one\nthree\n", "two\n"], "four\n")


async def test_one_who_looks_on_sees_what_the_widget_shows(tmp_path: Path):
    """As a page does that has the widget open: by the kernel's echo of what it was told."""
    manager = own_manager()
    mine, theirs = Kernels(manager), Kernels(manager)
    cells = Cells(await mine.start("python3", tmp_path, kernel_environ()))
    page = Cells(await theirs.attach(cells.executor.kernel_id))
    try:
        await cells("import ipywidgets as w\no = w.Output()\no")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(page.executor.attend)
            await cells("with o: print('for all')")
            with anyio.fail_after(20):
                while not shown(page):  # noqa: ASYNC110
                    await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()
        assert shown(page) == "for all\n"
    finally:
        await theirs.aclose()
        await mine.aclose()


async def test_states_outlive_the_process(python: Cells):
    await python("import ipywidgets as w\ns = w.IntSlider(value=3)")
    await python("import os; os._exit(1)")
    await python("1")
    assert models(python, "IntSliderModel")[0]["state"]["value"] == 3
