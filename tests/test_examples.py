import csv
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest
from support.lab import EXAMPLES, Lab, copy_examples
from support.model_server import ModelServer

JOBS = Path(__file__).parent / "support" / "jobs.py"


def test_the_importer_fails_one_test_because_its_last_row_is_lost(tmp_path: Path):
    folder = copy_examples(tmp_path / "root") / "csv_import"
    command = [sys.executable, "-m", "pytest", "-q"]
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert answer.returncode == 1
    assert "1 failed, 4 passed" in answer.stdout
    assert "test_four_years_of_days_are_imported" in answer.stdout


def test_the_importers_data_has_a_thousand_rows_and_no_last_newline():
    text = (EXAMPLES / "csv_import/data/seattle-weather.csv").read_text()
    assert len(list(csv.DictReader(text.splitlines()))) == 1461
    assert not text.endswith("\n")


def test_the_prices_are_what_their_readme_says():
    rows = list(csv.DictReader((EXAMPLES / "prices/data.csv").read_text().splitlines()))
    total = f"{sum(float(row['price']) for row in rows):.2f}"
    assert f"{len(rows)} rows" in (EXAMPLES / "prices/README.md").read_text()
    assert f"add up to {total}" in (EXAMPLES / "prices/README.md").read_text()


def test_the_notebook_is_valid_and_carries_no_outputs():
    notebook = nbformat.read(EXAMPLES / "explore.ipynb", as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [(cell.outputs, cell.execution_count) for cell in cells] == [([], None)] * len(cells)


@pytest.mark.server
@pytest.mark.kernel
def test_the_notebook_runs_and_keeps_the_agents_variable(isolated_home: Path, tmp_path: Path):
    root = copy_examples(tmp_path / "root")
    notebook = nbformat.read(root / "explore.ipynb", as_version=nbformat.NO_CONVERT)
    with (
        ModelServer(program=f"{JOBS}:decide") as model,
        Lab(home=isolated_home, root=root, endpoint=model.url, mode="auto"),
    ):
        nbclient.NotebookClient(notebook, timeout=90, resources={"metadata": {"path": str(root)}}).execute()
    asked, last = notebook.cells[4], notebook.cells[-1]
    assert any("image/png" in output.get("data", {}) for output in asked.outputs)
    assert "November" in str(asked.outputs)
    assert last.outputs[0]["data"]["text/plain"].startswith("date\n1 ")
