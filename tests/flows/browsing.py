"""Real browsers on a real web server, for tests of pages with scripts. `conftest` takes the fixtures from here."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest
from django.db import connections
from playwright.sync_api import ConsoleMessage, Page, sync_playwright

from tests.support.factories import PASSWORD, make_user
from tests.support.processes import start_web, stop

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PROGRAM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
NO_STREAM = "ERR_NAME_NOT_RESOLVED"  # pages of members listen after two seconds, and here is nobody to listen to

needs_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(PROGRAM is None, reason=f"no Chromium: none of {', '.join(NAMES)} on PATH"),
]


@pytest.fixture
def author(transactional_db):
    return make_user("author", display_name="The Author")


@pytest.fixture
def reader(transactional_db):
    return make_user("reader")


@pytest.fixture(scope="module")
def site(django_db_setup, tmp_path_factory, static_files):
    """The address of a web server of its own, on the tests' database; stopped by its own pid."""
    # the pages name another address for streams: nobody listens
    process, address = start_web(
        tmp_path_factory.mktemp("web"), SITE_URL=os.environ["SITE_URL"], **static_files
    )
    yield address
    stop(process)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    """The address of a Chromium, for all tests of a module: whoever connects shares no cookies with others."""
    options = {"executablePath": PROGRAM, "args": ARGUMENTS}
    with serve_browser("chromium", tmp_path_factory.mktemp("chromium"), options) as address:
        yield address


@contextmanager
def serve_browser(name, directory, options, **environment):
    """The address of a browser that others connect to; stopped by its own pid."""
    file = directory / "options.json"
    file.write_text(json.dumps(options))
    command = [sys.executable, "-m", "playwright", "launch-server", "--browser", name]
    process = subprocess.Popen(
        [*command, "--config", str(file)],
        stdout=subprocess.PIPE, text=True, start_new_session=True, env={**os.environ, **environment},
    )  # fmt: skip
    with process:
        assert process.stdout
        yield process.stdout.readline().strip()
        stop(process)


@pytest.fixture
def visit(site, chromium, transactional_db, monkeypatch):
    """`with visit(...) as page`: a browser of its own; afterwards it must have had nothing to complain about."""
    return visits(site, "chromium", chromium, monkeypatch, listen, [NO_STREAM])


def visits(site, name, server, monkeypatch, listening, noise):
    """What the fixture `visit` is, with any browser of `serve_browser`; what has `noise` in it is no complaint."""
    # Playwright keeps an event loop running in this thread, and the tests still use the ORM in it
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")

    @contextmanager
    def open_page(*, scripts=True, width=1280, tolerated="nothing", address=site, zone="UTC"):
        with sync_playwright() as playwright:
            browser = getattr(playwright, name).connect(server)
            context = browser.new_context(
                base_url=address,
                java_script_enabled=scripts,
                viewport={"width": width, "height": 800},
                locale="en",
                timezone_id=zone,
            )
            page = context.new_page()
            complaints = listening(page)
            page.set_default_timeout(10_000)
            yield page
            browser.close()
            connections.close_all()  # those of the event loop's own context
        known = (tolerated, *noise)
        left = [text for text in complaints if not any(part in text for part in known)]
        assert left == [], left

    return open_page


def listen(page: Page) -> list[str]:
    """What the page complains of from now on, and where: errors, warnings, refusals of the CSP."""
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            complaints.append(f"{message.text} ({message.location.get('url')})")

    page.on("console", note)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return complaints


def log_in(page, handle):
    page.goto("/login")
    page.get_by_label("Handle or e-mail").fill(handle)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.locator("form.form").get_by_role("button", name="Log in").click()
    page.wait_for_url("**/")
