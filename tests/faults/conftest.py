"""A model server that keeps what it is sent, and a stage on it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from faults.stage import Stage
from support.model_server import ModelServer


@pytest.fixture(scope="module")
def keeping_server() -> Iterator[ModelServer]:
    with ModelServer(program="builtin:echo", keep_bodies=True) as server:
        yield server


@pytest.fixture
def stage_of(keeping_server: ModelServer, tmp_path: Path) -> Callable[..., Stage]:
    def make(**options: Any) -> Stage:
        return Stage(server=keeping_server, root=tmp_path, **options)

    return make


@pytest.fixture
def stage(stage_of: Callable[..., Stage]) -> Stage:
    """A session in mode auto."""
    return stage_of()
