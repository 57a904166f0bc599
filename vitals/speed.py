"""How soon the largest part of a page is painted (LCP): with an empty cache of the browser, and on the way back."""

from collections.abc import Sequence

from playwright.sync_api import Browser, BrowserContext

from bench.measure import Spread
from vitals.browser import chromium, window
from vitals.look import OBSERVE
from vitals.pages import Page
from vitals.stage import Scene

ROUNDS = 7
SETTLE_MS = 300  # a later, larger paint would still count


def paints(
    scene: Scene, pages: Sequence[Page], *, rounds: int = ROUNDS
) -> dict[str, tuple[Spread, Spread]]:
    """Milliseconds, cold and warm, of each page. The server is warm: each page was asked for once before."""
    with chromium() as browser, scene.windows(browser) as people:
        return {
            page.name: _paints(browser, people[page.who], scene, page, rounds) for page in pages
        }


def _paints(
    browser: Browser, known: BrowserContext, scene: Scene, page: Page, rounds: int
) -> tuple[Spread, Spread]:
    address = scene.address(page)
    _paint(known, address)
    warm = [_paint(known, address) for _round in range(rounds)]
    cookies = known.storage_state()["cookies"]
    cold = []
    for _round in range(rounds):
        fresh = window(browser, scene.site)
        fresh.add_cookies(cookies)  # type: ignore[arg-type]  # what was read may be written
        cold.append(_paint(fresh, address))
        fresh.close()
    return Spread.of(cold), Spread.of(warm)


def _paint(context: BrowserContext, address: str) -> float:
    tab = context.new_page()
    tab.add_init_script(OBSERVE)
    tab.goto(address, wait_until="load")
    tab.wait_for_timeout(SETTLE_MS)
    painted = float(tab.evaluate("window.__paint"))
    tab.close()
    return painted
