"""Text of models, tools and files stays text: it runs nothing, fetches nothing from elsewhere and covers nothing."""

from playwright.sync_api import expect
from support.browser import Screen
from support.jobs import HOSTILE_END, HOSTILE_REQUEST
from support.lab import Lab
from support.watch import wait_finished

LIVE = """panel => [...panel.querySelectorAll('*')].flatMap(node => [...node.attributes]
  .filter(({name, value}) => name.startsWith('on') || name === 'data-commandlinker-command' ||
    ((name === 'href' || name === 'src' || name === 'xlink:href') && /^\\s*(javascript|vbscript|data:text)/i.test(value)))
  .map(({name, value}) => `${node.tagName} ${name}=${value}`))"""

TEMPTING = """panel => { for (const node of panel.querySelectorAll('.xss-click, .xss-hover, a:not([href^=http]), summary')) {
  for (const kind of ['mouseover', 'focus', 'click']) node.dispatchEvent(new MouseEvent(kind, {bubbles: true, cancelable: true}));
} }"""


def test_hostile_text_in_answers_results_and_names_stays_text(screen: Screen, lab: Lab):
    client = lab.client()
    title = "<img src=x onerror=__xss(901)>"
    session_id = str(client.create_session(title=title, space_root="prices", mode="auto")["session_id"])
    turn_id = str(client.submit(session_id, HOSTILE_REQUEST, origin="api", can_ask=False)["turn_id"])
    screen.open_session(session_id)
    wait_finished(client, session_id, turn_id)
    screen.wait_turn(0, "answered")
    expect(screen.panel.get_by_label("Answer").last).to_contain_text(HOSTILE_END)
    expect(screen.panel).to_contain_text("onerror=__xss(901)")
    expect(screen.calls("run_code")).to_contain_text("RuntimeError")
    for card in screen.calls().all():
        head = card.locator(".jp-Pernix-callHead").first
        if head.get_attribute("aria-expanded") == "false":
            head.click()
    screen.panel.evaluate(TEMPTING)
    screen.settle()
    assert screen.panel.evaluate(LIVE) == []
    assert (screen.ran, screen.foreign) == ([], [])
    assert screen.panel.locator("script, style, iframe, object, embed, form, base, meta, link").count() == 0
    expect(screen.page.locator("#jp-main-dock-panel").first).to_be_visible()


def test_hostile_text_stays_text_in_the_run_notebook(screen: Screen, lab: Lab):
    client = lab.client()
    session = client.sessions()[0]
    screen.command("docmanager:open", path=session["record_path"])
    notebook = screen.page.locator(".jp-NotebookPanel")
    expect(notebook).to_contain_text(HOSTILE_END)
    screen.settle()
    assert notebook.first.evaluate(LIVE) == []


def test_what_would_run_or_fetch_is_noticed(screen: Screen):
    bait = "<img src=x onerror=__xss(7)><img src='http://canary.invalid/i'>"
    screen.page.evaluate("html => document.body.insertAdjacentHTML('beforeend', html)", bait)
    screen.settle()
    assert (screen.ran, screen.foreign) == ([7], ["http://canary.invalid/i"])
    screen.ran.clear()
    screen.foreign.clear()
