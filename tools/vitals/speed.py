"""Measures the time to the largest paint (LCP), to the first byte, and from a press to the next paint."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from playwright.sync_api import Browser, BrowserContext
from playwright.sync_api import Page as Tab

from tools.bench.measure import Spread
from tools.vitals.browser import chromium, window
from tools.vitals.look import press, tab_in
from tools.vitals.pages import Page
from tools.vitals.stage import Scene

ROUNDS = 7
SETTLE_MS = 250  # a later, larger paint would still count
FINEST_MS = 16  # browsers do not report shorter ones
FIRST_BYTE = 'performance.getEntriesByType("navigation")[0].responseStart'
TOGGLE = "#feed button[formaction$='/like'], #feed button[formaction$='/unlike']"
BEFORE = "/about"  # the previous page in the same tab


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds after a page was requested.

    `cold`: in a browser without a cache, in an empty tab; `warm`: in one that has opened the page before, from another
    page of the site; `first_bytes`: of all requests.
    """

    cold: Spread
    warm: Spread
    first_bytes: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Load:
    painted: float
    first_byte: float


def times(
    scene: Scene,
    pages: Sequence[Page],
    *,
    rounds: int = ROUNDS,
    done: Callable[[], None] = lambda: None,
) -> dict[str, Times]:
    """The times of each page, by name. The server is warm: each page was requested once before.

    RuntimeError if nothing was painted.
    """
    found: dict[str, Times] = {}
    with chromium() as browser, scene.windows(browser, {page.who for page in pages}) as people:
        for page in pages:
            found[page.name] = _times(browser, people[page.who], scene, page, rounds)
            done()
    return found


def presses(scene: Scene, page: Page, *, rounds: int = ROUNDS) -> Spread:
    """Milliseconds from the press of a like to the next paint, as reported by the browser (Event Timing).

    MissingError if there is nothing to like.
    """
    with chromium() as browser, scene.windows(browser, [page.who]) as people:
        tab = tab_in(people[page.who])
        tab.goto(scene.address(page), wait_until="load")
        return Spread.of([_press(tab) for _round in range(2 * rounds)])  # each like is then undone


def _press(tab: Tab) -> float:
    tab.evaluate("window.__press = 0")
    with tab.expect_response("**/posts/*/*like"):
        press(tab, TOGGLE)
    tab.wait_for_timeout(SETTLE_MS)
    return max(float(tab.evaluate("window.__press")), FINEST_MS)


def _times(browser: Browser, known: BrowserContext, scene: Scene, page: Page, rounds: int) -> Times:
    address = scene.address(page)
    tab = tab_in(known)
    warm = []
    for _round in range(rounds + 1):
        tab.goto(scene.site + BEFORE, wait_until="networkidle")
        warm.append(_load(tab, address))
    tab.close()
    cookies = known.storage_state()["cookies"]
    cold = []
    for _round in range(rounds):
        fresh = window(browser, scene.site)
        fresh.add_cookies(cookies)  # type: ignore[arg-type]  # cookies as read are accepted
        cold.append(_load(tab_in(fresh), address))
        fresh.close()
    return Times(
        Spread.of([load.painted for load in cold]),
        Spread.of([load.painted for load in warm[1:]]),
        tuple(load.first_byte for load in (*cold, *warm[1:])),
    )


def _load(tab: Tab, address: str) -> _Load:
    tab.goto(address, wait_until="load")
    tab.wait_for_timeout(SETTLE_MS)
    load = _Load(float(tab.evaluate("window.__paint")), float(tab.evaluate(FIRST_BYTE)))
    if not load.painted:
        raise RuntimeError(f"{address}: the browser reported no largest paint")
    return load
