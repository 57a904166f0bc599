"""A stock Firefox on the site, driven by Playwright over WebDriver BiDi, which Firefox speaks itself.

This is Playwright's channel `moz-firefox`, which it does not document. It cannot switch scripts off.
"""

import os
import shutil
from pathlib import Path

import pytest

from tests.flows.browsing import listen, serve_browser, visits

NAMES = ("firefox-esr", "firefox")
PROGRAM = os.environ.get("FIREFOX") or next(filter(None, map(shutil.which, NAMES)), None)
PRELOADED = Path(__file__).with_name("firefox.cjs")
# 2: a fine pointer, 4: that can hover. There is no mouse where there is no screen
MOUSE = {"ui.primaryPointerCapabilities": 6, "ui.allPointerCapabilities": 6}
NOISE = (
    "/api/v1/streaming/",  # as NO_STREAM
    "error loading dynamically imported module",  # a page was left before; a 404 is heard
)
SAY_REFUSALS = """addEventListener("securitypolicyviolation", (refused) =>
    console.error(`CSP: ${refused.violatedDirective} ${refused.blockedURI}`))"""

needs_firefox = [
    pytest.mark.browser,
    pytest.mark.skipif(PROGRAM is None, reason=f"no Firefox: none of {', '.join(NAMES)} on PATH"),
]


@pytest.fixture(scope="module")
def firefox(tmp_path_factory):
    """The address of a Firefox with a profile of its own, for all tests of a module."""
    directory = tmp_path_factory.mktemp("firefox")
    options = {"channel": "moz-firefox", "executablePath": PROGRAM, "firefoxUserPrefs": MOUSE}
    settings = {"NODE_OPTIONS": f'--require "{PRELOADED}"', "TMPDIR": str(directory)}
    with serve_browser("firefox", directory, options, **settings) as address:
        yield address


@pytest.fixture
def visit_firefox(site, firefox, transactional_db, monkeypatch):
    """The `visit` of `browsing`, in Firefox and with scripts."""
    return visits(site, "firefox", firefox, monkeypatch, listen_closely, NOISE)


def listen_closely(page):
    """Also to answers with errors and to refusals of the CSP, which are no messages of Firefox's console."""
    complaints = listen(page)

    def note(response):
        if response.status >= 400:
            complaints.append(f"{response.status} {response.url}")

    page.on("response", note)
    page.add_init_script(SAY_REFUSALS)
    return complaints
