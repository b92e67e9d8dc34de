"""Chromium over a real JupyterLab, and what a person can see and do there."""

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
    """One page of JupyterLab with our panel.

    ``errors``: uncaught exceptions of the page. ``foreign``: requests to anywhere but the server. ``ran``: hostile texts that came alive.
    """

    def __init__(self, browser: Browser, lab: Lab) -> None:
        self.lab = lab
        self.errors: list[str] = []
        self.foreign: list[str] = []
        self.ran: list[int] = []
        self._context = browser.new_context(viewport={"width": 1500, "height": 950})
        self._context.expose_binding("__xss", lambda source, number: self.ran.append(number))
        self._context.on("request", self._note)
        self.page: Page = self._context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.panel = self.page.get_by_role("region", name="Pernix", exact=True)

    def _note(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob", "about") and address.netloc != urlsplit(self.lab.url).netloc:
            self.foreign.append(request.url)

    def close(self) -> None:
        self._context.close()

    # ---- JupyterLab

    def open(self) -> None:
        """Load JupyterLab afresh, with its default layout, and wait until it stands."""
        self.page.goto(f"{self.lab.url}lab?token={self.lab.token}&reset")
        self._wait_up()

    def reload(self) -> None:
        self.page.reload()
        self._wait_up()

    def _wait_up(self) -> None:
        self.page.wait_for_function("() => window.jupyterapp !== undefined")
        self.page.evaluate("() => window.jupyterapp.restored.then(() => true)")
        expect(self.page.locator("#jp-main-dock-panel")).to_be_visible()

    def command(self, name: str, **arguments: object) -> None:
        """Run a command as the palette does, once it is there."""
        self.page.wait_for_function("name => window.jupyterapp.commands.hasCommand(name)", arg=name)
        call = "([name, args]) => window.jupyterapp.commands.execute(name, args).then(() => true)"
        self.page.evaluate(call, [name, arguments])

    def theme(self, name: str) -> None:
        """Change JupyterLab's theme. Its splash is away before: JupyterLab throws if one is asked for while another fades."""
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")
        self.command("apputils:change-theme", theme=name)
        self.page.wait_for_selector("#jupyterlab-splash", state="detached")

    def settle(self) -> None:
        """Give what is drawn the time to load and run something. What must not happen has no event to wait for."""
        self.page.evaluate(
            "() => new Promise(done => requestIdleCallback(() => setTimeout(done, 1000), {timeout: 5000}))"
        )

    def shot(self, name: str) -> None:
        ARTIFACTS.mkdir(exist_ok=True)
        self.page.screenshot(path=str(ARTIFACTS / f"{name}.png"))

    # ---- our panel

    def new_session(self, folder: str) -> None:
        """A session that works in ``folder``, as somebody who has it open in the file browser starts one."""
        self.command("filebrowser:open-path", path=folder)
        self.command("jupyter-pernix:new-session")
        expect(self.panel.get_by_role("textbox", name="Message", exact=True)).to_be_visible()

    def open_session(self, session_id: str) -> None:
        self.command("jupyter-pernix:open-session", sessionId=session_id)
        expect(self.panel.get_by_role("textbox", name="Message", exact=True)).to_be_visible()

    def send(self, text: str) -> None:
        field = self.panel.get_by_role("textbox", name="Message", exact=True)
        field.fill(text)
        field.press("Enter")
        expect(field).to_have_value("")

    def choose_mode(self, mode: str) -> None:
        self.panel.get_by_label("Mode", exact=True).select_option(mode)

    @property
    def turns(self) -> Locator:
        return self.panel.get_by_role("article", name="Turn")

    def calls(self, tool: str = "") -> Locator:
        return self.panel.locator(f'.jp-Pernix-call[data-tool="{tool}"]' if tool else ".jp-Pernix-call[data-tool]")

    def wait_turn(self, number: int, code: str) -> None:
        """Turn ``number``, from 0, has ended with this code."""
        expect(self.turns.nth(number)).to_have_attribute("data-code", code, timeout=90_000)

    def wait_ready(self) -> None:
        expect(self.panel.locator('.jp-Pernix-state[data-state="idle_ready"]')).to_be_visible()
