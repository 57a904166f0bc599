"""An installed Chromium, and the windows of people who use it."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PROGRAM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
MISSING = f"Chromium was not found: none of {', '.join(NAMES)} is on PATH, and CHROMIUM is not set"
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
    # With every new window Chromium loads the list below its address bar: a page of 350 modules, during our
    # measurement. This switch replaces Playwright's, so it also names features from there, those that would use the
    # network or delay paints.
    "--disable-features=WebUIOmniboxPopup,PaintHolding,HttpsUpgrades,MediaRouter,OptimizationHints,NetworkTimeServiceQuerying",
]  # fmt: skip
WAIT_MS = 15_000

# Logged in a context that blocks service workers.
BLOCKED = "Service Worker registration blocked by Playwright"


def version() -> str:
    """The browser's name and version; empty if there is none."""
    if PROGRAM is None:
        return ""
    told = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 -- found above
    return told.stdout.strip()


@contextmanager
def chromium() -> Iterator[Browser]:
    """A started browser; each thread needs its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def window(
    browser: Browser,
    site: str,
    *,
    width: int = 1280,
    language: str = "en",
    scripts: bool = True,
) -> BrowserContext:
    """A window with its own cookies, in which pages are requested in a language. `width` in CSS pixels."""
    context = browser.new_context(
        base_url=site,
        viewport={"width": width, "height": 900 if width > 600 else 844},
        locale="en",
        java_script_enabled=scripts,
        color_scheme="light",
        reduced_motion="reduce",
        service_workers="block",  # files that a service worker caches for later do not count for the open page
    )
    context.add_cookies([{"name": "lang", "value": language, "url": site}])
    context.set_default_timeout(WAIT_MS)
    return context


def log_in(page: Page, handle: str, password: str) -> None:
    page.goto("/login")
    page.locator("#id_username").fill(handle)
    page.locator("#id_password").fill(password)
    page.locator("main form button.btn").first.click()
    page.wait_for_url("**/")
