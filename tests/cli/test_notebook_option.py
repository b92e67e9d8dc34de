"""``jupyter pernix run --notebook``: the code runs in the kernel of that notebook."""

import argparse
import json
from pathlib import Path

import pytest

from jupyter_pernix.cli import run
from jupyter_pernix.cli.connection import UsageError

from .fake_api import FakeApi, fake_api


def options(**given: object) -> argparse.Namespace:
    base = {"title": "", "mode": None, "kernel": "", "space": None, "notebook": None}
    return argparse.Namespace(**(base | given))


def created(api: FakeApi, given: argparse.Namespace, space_root: str) -> dict[str, object]:
    run._created(api.client(), given, None, space_root)
    return api.seen[-1][2]


def test_the_notebook_is_named_as_the_server_knows_it(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    with fake_api() as api:
        api.routes["POST /sessions"] = (201, {"session_id": "ses_1"})
        given = options(space=tmp_path, notebook=tmp_path / "sub" / "a.ipynb")
        assert created(api, given, "space")["notebook"] == "space/sub/a.ipynb"
        assert created(api, given, "")["notebook"] == "sub/a.ipynb"
        assert "notebook" not in created(api, options(space=tmp_path), "")


def test_a_notebook_outside_of_the_space_is_bad_usage(tmp_path: Path) -> None:
    (tmp_path / "space").mkdir()
    with pytest.raises(UsageError, match="is not in"):
        run._notebook(options(space=tmp_path / "space", notebook=tmp_path / "a.ipynb"), "")


def test_a_session_that_exists_takes_no_notebook(tmp_path: Path) -> None:
    with fake_api() as api, pytest.raises(UsageError, match="are for new sessions"):
        run._continued(api.client(), options(notebook=tmp_path / "a.ipynb", session="ses_1"), None)
    assert json.dumps(api.seen) == "[]"
