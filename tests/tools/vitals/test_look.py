"""A look sees what is wrong with a page, and nothing on one that is fine."""

import gzip
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tools.vitals.browser import MISSING, PROGRAM, chromium, window
from tools.vitals.look import look_at, tab_in
from tools.vitals.pages import Page
from tools.vitals.report import findings

HEAD = '<!doctype html><html lang="en"><head><title>A page</title><meta name="viewport" content="width=device-width">'
HEAD += '<link rel="icon" href="data:,">'
FINE = f'{HEAD}<link rel="stylesheet" href="/style"></head><body><main><h1>Fine</h1><p>Words.</p></main></body></html>'
WRONG = f"""{HEAD}<style>@media (prefers-color-scheme: dark) {{ p {{ color: #777; background: #888 }} }}
.broad {{ width: 600px }}</style></head>
<body><main><h1>Wrong</h1><img src="/nowhere"><p>Hard to read in the dark.</p><div class="broad">Words.</div></main>
<script>setTimeout(() => document.querySelector("h1").style.marginTop = "200px", 50);
missing()</script></body></html>"""
OPENED = f"""{HEAD}</head><body><main><h1>Opened</h1><button>Open</button></main>
<script>document.querySelector("button").onclick =
() => document.querySelector("main").append(new Image())</script></body></html>"""
FEED = f"""{HEAD}<link rel="stylesheet" href="/high"></head><body><main><h1>Feed</h1>
<div id="feed"><p class="post">A post.</p></div></main></body></html>"""
HIGH = "body, h1, p { margin: 0 } h1 { height: 120px }"
STYLE = "p { color: #111 }" + "/* */" * 100
PLACES = {
    "/fine": FINE,
    "/wrong": WRONG,
    "/opened": OPENED,
    "/feed": FEED,
    "/style": STYLE,
    "/high": HIGH,
}

pytestmark = [pytest.mark.browser, pytest.mark.skipif(PROGRAM is None, reason=MISSING)]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        text = PLACES.get(self.path)
        self.send_response(200 if text else 404)
        self.send_header(
            "Content-Type", "text/css" if self.path in {"/style", "/high"} else "text/html"
        )
        self.end_headers()
        self.wfile.write((text or "Not here.").encode())

    def log_message(self, *_values):
        """Nobody reads it."""


@pytest.fixture(scope="module")
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def looked(server):
    """A look at a page of the server."""
    with chromium() as browser:
        tab = tab_in(window(browser, server, width=390))

        def look(place, **more):
            page = Page(place, "", place, **more)
            return look_at(tab, page, f"{server}/{place}", language="en", sizes={})

        yield look


def test_nothing_is_found_on_a_page_that_is_fine(looked):
    for _again in range(2):
        look = looked("fine")
        assert findings(look) == []
        assert (look.status, look.requests, look.pictures, look.script) == (200, 2, 0, 0)
        assert look.html == len(gzip.compress(FINE.encode(), 9))
        assert look.style == len(gzip.compress(STYLE.encode(), 9))
        assert look.above == 0


def test_how_far_down_the_first_post_begins_is_seen(looked):
    assert looked("feed").above == 120


def test_what_is_wrong_is_seen(looked):
    look = looked("wrong")
    rules = {(one.rule, one.theme) for one in look.violations}
    assert {("image-alt", "light"), ("image-alt", "dark"), ("color-contrast", "dark")} <= rules
    assert ("color-contrast", "light") not in rules
    assert [one.split(":")[0] for one in look.wide] == ["390", "320"]
    assert "div.broad" in look.wide[0]
    assert look.shift > 0
    assert any("missing is not defined" in one for one in look.complaints)


def test_what_appears_after_a_press_is_seen_too(looked):
    assert findings(looked("opened")) == []
    assert {one.rule for one in looked("opened", press="button").violations} == {"image-alt"}


def test_another_status_is_seen(looked):
    assert "answers 404" in findings(looked("nowhere"))


def test_what_cannot_be_looked_at_is_a_finding_and_the_next_look_goes_on(looked, monkeypatch):
    monkeypatch.setattr("tools.vitals.look.PRESS_MS", 200)
    [complaint] = findings(looked("fine", press="#nowhere"))
    assert complaint.startswith("could not be looked at: ")
    assert findings(looked("fine")) == []
