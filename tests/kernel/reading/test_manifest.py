"""Each odd or broken notebook does what the manifest expects of it."""

import base64
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from jupyter_pernix.agent.tools.notebookview import notebook_text
from jupyter_pernix.kernel.reading import (
    InstalledKernel,
    Reading,
    choose_kernel,
    pair_left_behind,
    parameters,
    read_file,
    read_notebook,
    rescue,
    save_bytes,
    saving_changes,
    source_to_run,
    with_parameters,
)

from .cases import MANIFEST, OUTCOMES, ROOT, cells_of, metadata_of, outputs_of, reading_of, said, sources_of

CHECKS: dict[str, Callable[[Reading], None]] = {}
PYTHON = InstalledKernel(display_name="Python 3 (ipykernel)", language="python")
BASH = InstalledKernel(display_name="Bash", language="bash")


def check(name: str) -> Callable[[Callable[[Reading], None]], Callable[[Reading], None]]:
    def put(function: Callable[[Reading], None]) -> Callable[[Reading], None]:
        assert name not in CHECKS
        CHECKS[name] = function
        return function

    return put


def saved(reading: Reading) -> dict[str, object]:
    """What the file holds after saving it without an edit."""
    assert reading.notebook is not None
    return json.loads(save_bytes(reading, reading.notebook))


def test_every_case_is_checked():
    assert {entry["file"] for entry in MANIFEST} == set(CHECKS)
    assert len(CHECKS) == 67


@pytest.mark.parametrize("entry", MANIFEST, ids=[entry["file"] for entry in MANIFEST])
def test_case_is_read_as_expected(entry: dict[str, str], tmp_path: Path):
    path = tmp_path / Path(entry["file"]).name
    shutil.copyfile(ROOT / entry["file"], path)
    if entry["file"] in SCRIPTS:
        script, age = SCRIPTS[entry["file"]]
        path.with_suffix(".py").write_text(script, encoding="utf-8")
        moment = path.stat().st_mtime_ns + age
        os.utime(path.with_suffix(".py"), ns=(moment, moment))
    content = path.read_bytes()

    reading = read_file(path)

    assert reading.outcome == OUTCOMES[entry["expect"]]
    assert bool(reading.sentences) == (entry["expect"] != "opens")
    assert path.read_bytes() == content
    if reading.notebook is not None:
        nbformat.validate(nbformat.from_dict(reading.notebook))
        json.dumps(reading.notebook, allow_nan=False).encode()
    CHECKS[entry["file"]](reading)


@pytest.mark.parametrize(
    "entry", [entry for entry in MANIFEST if entry["expect"] != "refuses"], ids=lambda e: e["file"]
)
def test_case_is_saved_so_that_nbformat_reads_the_same(entry: dict[str, str]):
    reading = reading_of(entry["file"])
    assert reading.notebook is not None

    body = save_bytes(reading, reading.notebook)

    if reading.outcome == "opened" and reading.major == 4:
        assert body == (ROOT / entry["file"]).read_bytes()
    again = read_notebook(body)
    assert (again.outcome, again.notebook) == ("opened", reading.notebook)
    nbformat.validate(nbformat.reads(body.decode(), as_version=4))


# ---- versions


@check("v2_old.ipynb")
def _v2_old(reading: Reading) -> None:
    assert (reading.major, "old format 2" in said(reading)) == (2, True)
    assert sources_of(reading) == ["old", "print 'hi'"]
    assert outputs_of(reading, 1) == [{"output_type": "stream", "name": "stdout", "text": "hi\n"}]
    assert cells_of(reading)[1]["execution_count"] == 1
    assert saving_changes(reading) == ["The file becomes format 4.5; it is format 2 now."]


@check("v3_two_worksheets.ipynb")
def _v3_two_worksheets(reading: Reading) -> None:
    assert sources_of(reading) == ["1", "2"]
    assert "2 worksheets" in said(reading)


@check("v3_no_metadata.ipynb")
def _v3_no_metadata(reading: Reading) -> None:
    assert (cells_of(reading), metadata_of(reading)) == ([], {"orig_nbformat": 3})


@check("v5_major.ipynb")
def _v5_major(reading: Reading) -> None:
    assert "notebook format 5 is newer than this program knows (4)" in said(reading)


@check("nbformat_as_string.ipynb")
def _nbformat_as_string(reading: Reading) -> None:
    assert "read as 4" in said(reading) and "read as 5" in said(reading)
    assert (saved(reading)["nbformat"], saved(reading)["nbformat_minor"]) == (4, 5)


@check("nbformat_missing.ipynb")
def _nbformat_missing(reading: Reading) -> None:
    assert sources_of(reading) == ["1"]
    assert "4 is assumed" in said(reading)
    assert saved(reading)["nbformat"] == 4


# ---- ids


@check("ids_present_4_4.ipynb")
def _ids_present(reading: Reading) -> None:
    assert saved(reading)["nbformat_minor"] == 5
    assert [cell["id"] for cell in cells_of(reading)] == [
        cell["id"] for cell in nbformat_cells("ids_present_4_4.ipynb")
    ]
    assert any("4.5" in each and "4.4" in each for each in saving_changes(reading))


@check("ids_duplicate.ipynb")
def _ids_duplicate(reading: Reading) -> None:
    ids = [cell["id"] for cell in cells_of(reading)]
    assert ids[0] == nbformat_cells("ids_duplicate.ipynb")[0]["id"] and len(set(ids)) == 3
    assert len(reading.notes) == 1
    assert [cell["id"] for cell in cells_of(reading_of("ids_duplicate.ipynb"))] == ids


@check("ids_numeric.ipynb")
def _ids_numeric(reading: Reading) -> None:
    assert [cell["id"] for cell in cells_of(reading)] == ["7", "8"]


def nbformat_cells(name: str) -> list[dict[str, str]]:
    return json.loads((ROOT / name).read_bytes())["cells"]


# ---- broken JSON


@check("broken_trailing_comma.ipynb")
def _trailing_comma(reading: Reading) -> None:
    refusal = reading.refusal
    assert refusal is not None and refusal.kind == "trailing_comma"
    assert (refusal.line, refusal.column) == place_of("broken_trailing_comma.ipynb", ",\n}")
    assert f"line {refusal.line}, column {refusal.column}" in refusal.text
    assert refusal.offers == ("text", "rescue")
    assert rescued("broken_trailing_comma.ipynb") == ["# Title", 'x = 1\nprint("hi")', "x + 1"]


@check("broken_missing_comma.ipynb")
def _missing_comma(reading: Reading) -> None:
    refusal = reading.refusal
    assert refusal is not None and refusal.kind == "missing_comma"
    assert (refusal.line, refusal.column) == place_of("broken_missing_comma.ipynb", '"source": "# Title"')


@check("broken_truncated.ipynb")
def _truncated(reading: Reading) -> None:
    refusal = reading.refusal
    assert refusal is not None and refusal.kind == "truncated"
    assert "truncated at byte 743" in refusal.text and refusal.offset == 743
    assert "3 whole cells" in refusal.text
    assert rescued("broken_truncated.ipynb") == ["# Title", 'x = 1\nprint("hi")', "x + 1"]


@check("broken_tail_garbage.ipynb")
def _tail_garbage(reading: Reading) -> None:
    assert reading.refusal is not None and reading.refusal.kind == "extra_data"
    assert said(reading).startswith("Extra data: the notebook ends before line 55, column 1")


@check("broken_comments.ipynb")
def _comments(reading: Reading) -> None:
    assert reading.refusal is not None and (reading.refusal.kind, reading.refusal.line) == ("comments", 1)
    assert len(rescued("broken_comments.ipynb")) == 3


def place_of(name: str, part: str) -> tuple[int, int]:
    text = (ROOT / name).read_text(encoding="utf-8")
    before = text[: text.index(part)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def rescued(name: str) -> list[str]:
    reading = rescue((ROOT / name).read_bytes())
    return sources_of(reading) if reading is not None else []


# ---- not notebooks


@check("not_json_html.ipynb")
def _html(reading: Reading) -> None:
    assert reading.refusal is not None and reading.refusal.kind == "html"
    assert "HTML page" in said(reading) and "download the raw file" in said(reading)


@check("not_json_lfs_pointer.ipynb")
def _lfs(reading: Reading) -> None:
    assert reading.refusal is not None and reading.refusal.kind == "lfs_pointer"
    assert "Git LFS pointer" in said(reading) and "git lfs pull" in said(reading)


@check("not_json_python.ipynb")
def _python(reading: Reading) -> None:
    assert reading.refusal is not None and reading.refusal.kind == "python"


@check("empty_0_bytes.ipynb")
def _empty(reading: Reading) -> None:
    assert "empty (0 bytes)" in said(reading) and ".ipynb_checkpoints" in said(reading)
    assert reading.notebook is None and rescue(b"") is None


@check("json_null.ipynb")
def _null(reading: Reading) -> None:
    assert said(reading) == "The file holds only null, not a notebook."


# ---- encodings


@check("latin1_bytes.ipynb")
def _latin1(reading: Reading) -> None:
    refusal = reading.refusal
    assert refusal is not None and (refusal.kind, refusal.offset) == ("not_utf8", 67)
    assert "not UTF-8" in refusal.text and "byte 67" in refusal.text
    assert rescued("latin1_bytes.ipynb") == ["café ’quoted’"]


@check("crlf_in_source.ipynb")
def _crlf(reading: Reading) -> None:
    assert sources_of(reading) == ["x = 1\r\nprint(x)\r\n", "%%bash\r\necho hi\r\n"]
    assert source_to_run(sources_of(reading)[1]) == "%%bash\necho hi\n"


@check("lone_surrogate_escape.ipynb")
def _surrogate(reading: Reading) -> None:
    assert outputs_of(reading)[0]["text"] == "bad \\ud83d end"
    edited = json.loads(json.dumps(reading.notebook))
    edited["cells"][0]["source"] = "2"
    assert b'"text":"bad \\ud83d end"' in save_bytes(reading, edited).replace(b'": ', b'":')


@check("nul_and_controls.ipynb")
def _controls(reading: Reading) -> None:
    assert outputs_of(reading)[0]["text"] == "a\x00b\x1b[31mred\x1b[0m\x07\n"


@check("ünï cödé 名前 (1).ipynb")
def _unicode_name(reading: Reading) -> None:
    assert reading.name == "ünï cödé 名前 (1).ipynb" and len(cells_of(reading)) == 3


@check("nan_in_output.ipynb")
def _nan(reading: Reading) -> None:
    assert outputs_of(reading)[0]["data"]["application/json"] == {"v": None, "w": None}
    assert b"NaN" not in save_bytes(reading, reading.notebook or {})


# ---- sizes


@check("big_base64_output.ipynb")
def _big(reading: Reading) -> None:
    image = next(value for mime, value in outputs_of(reading)[0]["data"].items() if mime.startswith("image/"))
    text = notebook_text((ROOT / "big_base64_output.ipynb").read_bytes(), name="x")
    assert image[:200] not in text and len(text) < 2000


@check("many_outputs.ipynb")
def _many_outputs(reading: Reading) -> None:
    assert len(outputs_of(reading)) == 3000
    assert len(notebook_text((ROOT / "many_outputs.ipynb").read_bytes(), name="x")) < 5000


@check("many_cells.ipynb")
def _many_cells(reading: Reading) -> None:
    assert len(cells_of(reading)) == 1200


@check("long_line_source.ipynb")
def _long_line(reading: Reading) -> None:
    assert max(map(len, sources_of(reading))) > 290_000


# ---- kernelspecs


@check("kernelspec_unknown.ipynb")
def _unknown_kernel(reading: Reading) -> None:
    assert reading.notebook is not None
    choice = choose_kernel(reading.notebook, {"python3": PYTHON, "bash": BASH})
    assert choice.name == ""
    assert choice.note == "The kernel conda-env-analysis_1-py is not installed; installed python kernels: python3."
    assert metadata_of(reading)["kernelspec"]["name"] == "conda-env-analysis_1-py"


@check("kernelspec_empty.ipynb")
def _empty_spec(reading: Reading) -> None:
    assert "treated as missing" in said(reading) and "kernelspec" not in metadata_of(reading)


@check("kernelspec_null.ipynb")
def _null_spec(reading: Reading) -> None:
    assert "treated as missing" in said(reading) and "kernelspec" not in metadata_of(reading)


@check("kernelspec_name_only.ipynb")
def _name_only(reading: Reading) -> None:
    content = (ROOT / "kernelspec_name_only.ipynb").read_bytes()
    known = read_notebook(content, display_names={"python3": "Python 3 (ipykernel)"})
    assert metadata_of(known)["kernelspec"] == {"name": "python3", "display_name": "Python 3 (ipykernel)"}
    assert metadata_of(reading)["kernelspec"]["display_name"] == "python3"


@check("kernelspec_mismatch.ipynb")
def _mismatch(reading: Reading) -> None:
    assert reading.notebook is not None
    assert (
        choose_kernel(reading.notebook, {"python3": PYTHON, "ir": InstalledKernel(display_name="R", language="R")}).name
        == "python3"
    )
    assert "'python'" in said(reading) and "'R'" in said(reading) and "kernelspec counts" in said(reading)


# ---- schema


@check("cell_no_metadata.ipynb")
def _no_metadata(reading: Reading) -> None:
    assert [cell["metadata"] for cell in cells_of(reading)] == [{}, {}]
    assert said(reading) == "In cells 1 and 2, the metadata is missing: {} is assumed."


@check("code_no_outputs_no_count.ipynb")
def _no_outputs(reading: Reading) -> None:
    assert (outputs_of(reading), cells_of(reading)[0]["execution_count"]) == ([], None)


@check("outputs_list_of_strings.ipynb")
def _strings_as_outputs(reading: Reading) -> None:
    assert [outputs_of(reading, 0), outputs_of(reading, 1)] == [[], []]
    assert said(reading).count("left out") == 2


@check("stream_no_name.ipynb")
def _stream_no_name(reading: Reading) -> None:
    assert outputs_of(reading)[0]["name"] == "stdout"


@check("execute_result_no_count.ipynb")
def _no_count(reading: Reading) -> None:
    assert outputs_of(reading)[0]["execution_count"] is None


@check("error_empty_traceback.ipynb")
def _empty_traceback(reading: Reading) -> None:
    output = outputs_of(reading)[0]
    assert (output["output_type"], output["traceback"]) == ("error", [])
    text = notebook_text((ROOT / "error_empty_traceback.ipynb").read_bytes(), name="x")
    assert output["ename"] in text


@check("output_transient.ipynb")
def _transient(reading: Reading) -> None:
    assert all("transient" not in output for output in outputs_of(reading))
    assert b"transient" not in save_bytes(reading, reading.notebook or {})


@check("output_unknown_type.ipynb")
def _unknown_output(reading: Reading) -> None:
    assert outputs_of(reading) == [{"output_type": "display_data", "data": {"text/plain": "x"}, "metadata": {}}]
    assert "clear_output" in said(reading)


@check("cell_extra_properties.ipynb")
def _extra(reading: Reading) -> None:
    assert "'outputExpanded'" in said(reading) and "'status'" in said(reading)
    assert "status" not in cells_of(reading)[1]


@check("cell_unknown_type.ipynb")
def _unknown_type(reading: Reading) -> None:
    kinds = [(cell["cell_type"], cell["source"]) for cell in cells_of(reading)]
    assert kinds == [("markdown", "# Old heading"), ("raw", "select 1")]


@check("metadata_list.ipynb")
def _metadata_list(reading: Reading) -> None:
    assert metadata_of(reading) == {} and "{} is assumed" in said(reading)


@check("cell_metadata_list.ipynb")
def _cell_metadata_list(reading: Reading) -> None:
    assert cells_of(reading)[0]["metadata"] == {} and "{} is assumed" in said(reading)


@check("tags_not_list.ipynb")
def _tags(reading: Reading) -> None:
    assert [cell["metadata"]["tags"] for cell in cells_of(reading)] == [["parameters"], ["a b"]]
    assert "taken as one tag" in said(reading) and "'a b', 3" in said(reading)


@check("image_with_newlines.ipynb")
def _image(reading: Reading) -> None:
    data = outputs_of(reading)[0]["data"]
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert all(isinstance(value, str) for value in data.values())


@check("svg_script.ipynb")
def _svg(reading: Reading) -> None:
    assert "trusted" not in json.dumps([cell["metadata"] for cell in cells_of(reading)])


@check("duplicate_json_keys.ipynb")
def _duplicates(reading: Reading) -> None:
    assert sources_of(reading) == ["1"] and "'cells'" in said(reading)
    edited = json.loads(json.dumps(reading.notebook))
    edited["cells"][0]["source"] = "2"
    assert save_bytes(reading, edited).count(b'"cells"') == 1


@check("raw_cells.ipynb")
def _raw(reading: Reading) -> None:
    assert [cell["cell_type"] for cell in cells_of(reading)].count("raw") == 2


@check("attachment_missing.ipynb")
def _attachment(reading: Reading) -> None:
    assert "attachment:" in sources_of(reading)[0]


# ---- papermill, widgets, vendors


@check("parameters_tag.ipynb")
def _parameters(reading: Reading) -> None:
    assert reading.notebook is not None
    found = [(each.name, each.value, each.type) for each in parameters(reading.notebook)]
    assert found == [("alpha", 0.5, "float"), ("name", "x", "str")]
    assert parameters(reading.notebook)[0].help == "learning rate"
    injected = with_parameters(reading.notebook, {"alpha": 2})
    assert [cell["metadata"].get("tags") for cell in injected["cells"]][:2] == [["parameters"], ["injected-parameters"]]
    assert with_parameters(injected, {"alpha": 3})["cells"][1]["source"] == "# Parameters\nalpha = 3"


@check("parameters_twice.ipynb")
def _parameters_twice(reading: Reading) -> None:
    assert "the first of them counts" in said(reading)
    assert reading.notebook is not None
    first = next(cell for cell in cells_of(reading) if "parameters" in cell["metadata"].get("tags", []))
    assert f"{parameters(reading.notebook)[0].name} = {parameters(reading.notebook)[0].value!r}" in first["source"]


@check("papermill_ok.ipynb")
def _papermill(reading: Reading) -> None:
    assert metadata_of(reading) == json.loads((ROOT / "papermill_ok.ipynb").read_bytes())["metadata"]
    assert "execution" in cells_of(reading)[0]["metadata"]


@check("widgets_state_ok.ipynb")
def _widgets(reading: Reading) -> None:
    assert "application/vnd.jupyter.widget-state+json" in metadata_of(reading)["widgets"]
    text = notebook_text((ROOT / "widgets_state_ok.ipynb").read_bytes(), name="x")
    assert outputs_of(reading)[0]["data"]["text/plain"] in text


@check("widgets_no_mime_key.ipynb")
def _old_widgets(reading: Reading) -> None:
    assert "widgets" not in metadata_of(reading) and "ignored" in said(reading)


@check("vendor_colab.ipynb")
def _colab(reading: Reading) -> None:
    raw = json.loads((ROOT / "vendor_colab.ipynb").read_bytes())
    assert metadata_of(reading) == raw["metadata"]
    assert [cell["metadata"] for cell in cells_of(reading)] == [cell["metadata"] for cell in raw["cells"]]
    assert (reading.minor, saving_changes(reading)) == (0, [])


@check("vendor_dotnet_polyglot.ipynb")
def _dotnet(reading: Reading) -> None:
    assert reading.notebook is not None
    choice = choose_kernel(reading.notebook, {"python3": PYTHON})
    assert (choice.name, choice.note.startswith("The kernel .net-csharp is not installed")) == ("", True)


@check("vendor_azuredatastudio.ipynb")
def _azure(reading: Reading) -> None:
    assert cells_of(reading)[0]["execution_count"] is None
    assert saved(reading)["nbformat_minor"] == 2


@check("vendor_sagemaker.ipynb")
def _sagemaker(reading: Reading) -> None:
    assert reading.notebook is not None
    choice = choose_kernel(reading.notebook, {"python3": PYTHON})
    assert choice.name == "" and "python3" in choice.note and "arn" in choice.note


@check("vendor_pycharm.ipynb")
def _pycharm(reading: Reading) -> None:
    assert cells_of(reading)[0]["execution_count"] is None
    assert "ExecuteTime" in cells_of(reading)[0]["metadata"]


@check("vendor_jupyterlite_pyodide.ipynb")
def _jupyterlite(reading: Reading) -> None:
    assert reading.notebook is not None
    choice = choose_kernel(reading.notebook, {"python3": PYTHON})
    assert (choice.name, choice.note) == ("python3", "The notebook names the kernel 'python': python3 is used.")


# ---- Jupytext

SCRIPT = "# %% [markdown]\n# # Pair\n\n# %%\na = {value}\n\n# %%\na + 1\n"
SECOND = 1_000_000_000
SCRIPTS = {
    "jupytext_pair/pair.ipynb": (SCRIPT.format(value=1), -SECOND),
    "jupytext_pair_newer_py/pair2.ipynb": (SCRIPT.format(value=41), SECOND),
}
"""What lies beside each paired notebook, and how much later it was written, in nanoseconds."""


@check("jupytext_pair/pair.ipynb")
def _pair(reading: Reading) -> None:
    assert pair_left_behind(reading) == [
        "The paired file pair.py is not changed with it; run jupytext --sync to bring it up to date."
    ]


@check("jupytext_pair_newer_py/pair2.ipynb")
def _newer_pair(reading: Reading) -> None:
    assert "pair2.py is newer and differs" in said(reading) and "'a = 41'" in said(reading)


# ---- controls


@check("good_tab_indent.ipynb")
def _tabs(reading: Reading) -> None:
    changed = changed_lines(reading)
    assert len(changed) == 1 and changed[0].startswith("\t")


@check("good_minified.ipynb")
def _minified(reading: Reading) -> None:
    assert reading.notebook is not None
    edited = json.loads(json.dumps(reading.notebook))
    edited["cells"][0]["source"] = "other"
    body = save_bytes(reading, edited)
    assert b"\n" not in body and body != reading.origin and len(body) < 720


def changed_lines(reading: Reading) -> list[str]:
    """The lines of the file that are new after the first line of the first cell was changed."""
    assert reading.notebook is not None and reading.origin is not None
    edited = json.loads(json.dumps(reading.notebook))
    edited["cells"][0]["source"] = "other"
    before = reading.origin.content.decode().splitlines()
    return [line for line in save_bytes(reading, edited).decode().splitlines() if line not in before]
