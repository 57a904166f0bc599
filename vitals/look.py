"""One look at one page: what axe-core finds in light and dark, how wide it is, what moved, what was loaded."""

import gzip
from dataclasses import dataclass, field

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import BrowserContext, ConsoleMessage, Response
from playwright.sync_api import Page as Tab

from vitals.pages import Page

NARROW = 320  # CSS pixels: WCAG 2.2, 1.4.10 Reflow
SETTLE_MS = 150  # what moves late still counts
# Collected before the page's own scripts begin.
OBSERVE = """
window.__shift = 0; window.__paint = 0;
new PerformanceObserver(list => { for (const one of list.getEntries()) if (!one.hadRecentInput) window.__shift += one.value; })
  .observe({type: "layout-shift", buffered: true});
new PerformanceObserver(list => { for (const one of list.getEntries()) window.__paint = one.startTime; })
  .observe({type: "largest-contentful-paint", buffered: true});
"""
OVERFLOW = """width => [...document.querySelectorAll("body *")]
  .filter(one => one.getBoundingClientRect().right > width + 1 || one.getBoundingClientRect().left < -1)
  .filter(one => !one.closest(".sr, .skip, [popover], .tabs, table"))
  .slice(0, 3).map(one => one.tagName.toLowerCase() + "." + one.getAttribute("class"))"""
# Every rule that axe-core has switched on by itself: WCAG 2.0 to 2.2 and best practices.
AXE = """() => axe.run(document, {resultTypes: ["violations"]}).then(found => found.violations.map(
  one => [one.id, one.nodes.map(node => node.target.join(" "))]))"""
KINDS = {"script": "script", "stylesheet": "style", "document": "html"}


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule of axe-core that some elements break."""

    rule: str
    theme: str
    targets: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.rule} ({self.theme}): {', '.join(self.targets[:3])}"


@dataclass(slots=True)
class Look:
    """What was seen. Sizes are bytes after gzip; `shift` is the CLS; `wide` the pages' widths that scroll sideways."""

    page: Page
    language: str
    width: int
    status: int = 0
    violations: list[Violation] = field(default_factory=list)
    shift: float = 0.0
    wide: list[str] = field(default_factory=list)
    requests: int = 0
    pictures: int = 0  # of the requests, those that people uploaded
    script: int = 0
    style: int = 0
    html: int = 0
    complaints: list[str] = field(default_factory=list)
    policy: str = ""

    @property
    def where(self) -> str:
        """The page and how it was looked at."""
        return f"{self.page.name} {self.language} {self.width}"


def look_at(
    context: BrowserContext, page: Page, address: str, *, width: int, language: str
) -> Look:
    """Open a page once, and look at it in both themes."""
    look = Look(page, language, width)
    tab = context.new_page()
    try:
        tab.add_init_script(OBSERVE)
        loaded = _listen(tab, look)
        answer = tab.goto(address, wait_until="load")
        tab.wait_for_timeout(SETTLE_MS)
        look.status = answer.status if answer else 0
        look.policy = (answer.headers.get("content-security-policy") or "") if answer else ""
        look.shift = round(float(tab.evaluate("window.__shift")), 3)  # as it is reported everywhere
        _weigh(loaded, look)
        _measure(tab, look, width)
        tab.evaluate(AXE_SCRIPT)
        for theme in ("light", "dark"):
            tab.emulate_media(color_scheme=theme)
            look.violations += _violations(tab, theme)
        if width > NARROW:
            tab.set_viewport_size({"width": NARROW, "height": 800})
            _measure(tab, look, NARROW)
    finally:
        tab.close()
    return look


def _listen(tab: Tab, look: Look) -> list[Response]:
    loaded: list[Response] = []
    tab.on(
        "response", lambda response: loaded.append(response)
    )  # Playwright marks what it is given

    def note(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and str(look.page.status) not in message.text:
            look.complaints.append(message.text)

    tab.on("console", note)
    tab.on("pageerror", lambda error: look.complaints.append(str(error)))
    return loaded


def _weigh(loaded: list[Response], look: Look) -> None:
    look.requests = len(loaded)
    for response in loaded:
        look.pictures += "/media/" in response.url
        kind = KINDS.get(response.request.resource_type)
        if kind and response.status != 304:
            size = len(gzip.compress(response.body(), 9))
            setattr(look, kind, getattr(look, kind) + size)


def _measure(tab: Tab, look: Look, width: int) -> None:
    """Whether the page scrolls sideways, and what is to blame."""
    found = tab.evaluate("document.documentElement.scrollWidth")
    if found > width:
        look.wide.append(f"{width}: {found} px, {', '.join(tab.evaluate(OVERFLOW, width))}")


def _violations(tab: Tab, theme: str) -> list[Violation]:
    return [Violation(rule, theme, tuple(targets)) for rule, targets in tab.evaluate(AXE)]
