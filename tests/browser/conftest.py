"""A browser, and a JupyterLab with the scripted model, for each file of tests.

Playwright's event loop runs as long as its browser is open; closed with each file, it is in nobody's way.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from support.browser import Screen, chromium
from support.lab import Lab, copy_examples
from support.model_server import ModelServer

JOBS = Path(__file__).parents[1] / "support" / "jobs.py"
IN_BROWSER = "--LabApp.expose_app_in_browser=True"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(240))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_examples(tmp_path_factory.mktemp("work") / "root")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """Address of the scripted model; "" where a test file wants none."""
    with ModelServer(program=f"{JOBS}:decide?answer_rate=8") as model:
        yield model.url


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, root: Path, endpoint: str) -> Iterator[Lab]:
    home = tmp_path_factory.mktemp("home")
    with Lab(home=home, root=root, endpoint=endpoint, app="jupyterlab", arguments=[IN_BROWSER]) as lab:
        yield lab


@pytest.fixture
def screen(browser: Browser, lab: Lab, request: pytest.FixtureRequest) -> Iterator[Screen]:
    """JupyterLab, loaded; afterwards the page must have asked nobody else for anything and thrown no error."""
    screen = Screen(browser, lab)
    try:
        screen.open()
        yield screen
        screen.shot(request.node.name)
        assert (screen.errors, screen.foreign, screen.ran) == ([], [], [])
    finally:
        screen.close()
