"""A server with our extension for the tests of this folder."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from .served import Served, served

Serve = Callable[..., AbstractAsyncContextManager[Served]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder.resolve()


@pytest.fixture
def serve(root: Path, tmp_path: Path) -> Serve:
    """Starts a server on one data folder; call it again for the next server on the same one."""

    def start(**options: Any) -> AbstractAsyncContextManager[Served]:
        return served(root, tmp_path / "data", **options)

    return start
