"""A lab in which nothing is asked, and a model that does what a test tells it to."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from support.browser import Screen
from support.lab import Lab
from support.model_server import ModelServer


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("work") / "root"
    root.mkdir()
    return root


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(program="builtin:echo") as server:
        yield server


@pytest.fixture(scope="module")
def endpoint(model: ModelServer) -> str:
    return model.url


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, root: Path, endpoint: str) -> Iterator[Lab]:
    home = tmp_path_factory.mktemp("home")
    arguments = ["--LabApp.expose_app_in_browser=True"]
    lab = Lab(home=home, root=root, endpoint=endpoint, mode="auto", app="jupyterlab", arguments=arguments)
    _draw_only_what_is_in_sight(Path(lab.environ["JUPYTER_CONFIG_DIR"]))
    with lab:
        yield lab


def _draw_only_what_is_in_sight(config: Path) -> None:
    """The mode of JupyterLab in which most cells of a long notebook have no elements."""
    settings = config / "lab/user-settings/@jupyterlab/notebook-extension/tracker.jupyterlab-settings"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps({"windowingMode": "full"}), encoding="utf-8")


@pytest.fixture
def second_screen(browser: Browser, lab: Lab) -> Iterator[Screen]:
    """Another browser with a page of its own."""
    screen = Screen(browser, lab)
    try:
        screen.open()
        yield screen
        assert screen.errors == []
    finally:
        screen.close()
