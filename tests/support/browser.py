"""Chromium over a real JupyterLab, and what a person can see and do there."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Locator, Page, Request, expect, sync_playwright

from .lab import Lab

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ARTIFACTS = Path(__file__).parents[2] / "artifacts"
PATIENCE = 30_000
"""Milliseconds that an expectation waits on a loaded machine."""


@contextmanager
def chromium() -> Iterator[Browser]:
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    assert path is not None, "the browser tests need Chromium on PATH: make chromium"
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Screen:
    """One page of JupyterLab with our panel. ``errors``: uncaught exceptions and console errors; ``foreign``: requests elsewhere."""

    def __init__(self, browser: Browser, lab: Lab) -> None:
        self.lab = lab
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self._context = browser.new_context(viewport={"width": 1500, "height": 950})
        self.page: Page = self._context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self._context.on("request", self._note)

    def _note(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob", "about") and address.netloc != urlsplit(self.lab.url).netloc:
            self.foreign.append(request.url)

    def close(self) -> None:
        self._context.close()

    def open(self, path: str = "lab") -> None:
        """Load JupyterLab afresh and wait until it stands."""
        self.page.goto(f"{self.lab.url}{path}?token={self.lab.token}&reset")
        self._wait_up()

    def reload(self) -> None:
        self.page.reload()
        self._wait_up()

    def _wait_up(self) -> None:
        expect(self.page.locator("#jp-main-dock-panel")).to_be_visible()
        self.page.wait_for_function("() => window.jupyterapp !== undefined")
        self.page.evaluate("() => window.jupyterapp.restored")

    def command(self, name: str, **arguments: object) -> None:
        """Run a command as the palette does."""
        self.page.evaluate("([name, args]) => window.jupyterapp.commands.execute(name, args)", [name, arguments])

    def shot(self, name: str) -> None:
        ARTIFACTS.mkdir(exist_ok=True)
        self.page.screenshot(path=str(ARTIFACTS / f"{name}.png"))

    def within(self, css: str) -> Locator:
        return self.page.locator(css)


def exactly(text: str) -> re.Pattern[str]:
    """Matches an element whose whole text this is."""
    return re.compile(rf"^\s*{re.escape(text)}\s*$")
