"""One look at one page: the findings of axe-core in light and dark, its width, layout shifts, and loaded files."""

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import BrowserContext, ConsoleMessage, Error, Response
from playwright.sync_api import Page as Tab

from tools.vitals.browser import BLOCKED
from tools.vitals.pages import Page

NARROW = 320  # CSS pixels: WCAG 2.2, 1.4.10 Reflow
SETTLE_MS = 150  # so that late shifts still count
PRESS_MS = 5_000  # until the element can be clicked
# Collected before the page's own scripts run. A paint is recorded again when something larger is painted.
OBSERVE = """
window.__shift = 0; window.__moved = []; window.__paint = 0; window.__press = 0;
new PerformanceObserver(list => { for (const one of list.getEntries()) if (!one.hadRecentInput) {
  window.__shift += one.value;
  for (const {node, previousRect: from, currentRect: to} of one.sources) window.__moved.push(
    `${node?.parentElement?.className} ${node?.nodeName}.${node?.className} ` +
    `${from.x},${from.y} ${from.width}x${from.height} to ${to.x},${to.y} ${to.width}x${to.height}`);
} }).observe({type: "layout-shift", buffered: true});
new PerformanceObserver(list => { for (const one of list.getEntries()) window.__paint = one.startTime; })
  .observe({type: "largest-contentful-paint", buffered: true});
new PerformanceObserver(list => { for (const one of list.getEntries())
  window.__press = Math.max(window.__press, one.duration); })
  .observe({type: "event", durationThreshold: 16, buffered: true});
"""
ABOVE = 'document.querySelector("#feed .post")?.getBoundingClientRect().top ?? 0'
OVERFLOW = """width => [...document.querySelectorAll("body *")]
  .filter(one => one.getBoundingClientRect().right > width + 1 || one.getBoundingClientRect().left < -1)
  .filter(one => !one.closest(".sr, .skip, [popover], .tabs, table"))
  .slice(0, 3).map(one => one.tagName.toLowerCase() + "." + one.getAttribute("class"))"""
# All rules, including those that axe-core disables by default (target-size) or calls experimental, except deprecated
# ones and level AAA, which the site does not promise. axe-core ignores the top layer when it determines which element
# is on top: it reports that the bar beneath an open menu hides the menu's buttons.
AXE = """() => {
  const left = ["deprecated", "wcag2aaa", "wcag21aaa", "wcag22aaa"];
  const raised = document.querySelector(":popover-open, :modal");
  const rules = axe.getRules().filter(rule => !rule.tags.some(tag => left.includes(tag))).map(rule => rule.ruleId)
    .filter(rule => rule !== "target-size" || !raised);
  return axe.run(document, {runOnly: {type: "rule", values: rules}, resultTypes: ["violations"]})
    .then(found => found.violations.map(one => [one.id, one.nodes.map(node => node.target.join(" "))]));
}"""
KINDS = {"script": "script", "stylesheet": "style", "document": "html"}
BLANK = "about:blank"


class MissingError(RuntimeError):
    """The element to press is missing from the page."""


Sizes = dict[str, int]  # address of a script or style sheet -> bytes after gzip


@dataclass(frozen=True, slots=True)
class Violation:
    rule: str
    theme: str
    targets: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.rule} ({self.theme}): {', '.join(self.targets[:3])}"


@dataclass(slots=True)
class Look:
    """The results. Sizes are bytes after gzip.

    `shift` is the CLS; `moved` has the elements that moved, from where to where; `wide` the page widths that scroll
    sideways; `above` the pixels above the first post, 0 without posts.
    """

    page: Page
    language: str
    width: int
    status: int = 0
    violations: list[Violation] = field(default_factory=list)
    shift: float = 0.0
    moved: list[str] = field(default_factory=list)
    wide: list[str] = field(default_factory=list)
    above: float = 0.0
    requests: int = 0
    pictures: int = 0  # requests for pictures that people uploaded
    script: int = 0
    style: int = 0
    html: int = 0
    complaints: list[str] = field(default_factory=list)
    policy: str = ""

    @property
    def where(self) -> str:
        return f"{self.page.name} {self.language} {self.width}"


def tab_in(context: BrowserContext) -> Tab:
    """A tab in which pages are opened one after another."""
    tab = context.new_page()
    tab.add_init_script(OBSERVE)
    return tab


def look_at(tab: Tab, page: Page, address: str, *, language: str, sizes: Sizes) -> Look:
    """Open a page once, and check it in both themes. `sizes` is shared between calls.

    Failures of the browser count as complaints about the page, not as errors of the run.
    """
    width = tab.viewport_size["width"] if tab.viewport_size else 0
    look = Look(page, language, width)
    loaded: list[Response] = []

    def hear(message: ConsoleMessage) -> None:
        expected = str(page.status) in message.text or message.text == BLOCKED
        if message.type in {"error", "warning"} and not expected:
            look.complaints.append(f"{message.text} ({message.location['url']})")

    heard: dict[str, Callable[[Any], None]] = {
        "response": lambda response: loaded.append(response),
        "console": hear,
        "pageerror": lambda error: look.complaints.append(str(error)),
    }
    for event, listener in heard.items():
        tab.on(event, listener)  # type: ignore[call-overload]  # the overloads need literal names
    try:
        _look(tab, look, address, loaded, sizes)
    except (Error, MissingError) as error:
        look.complaints.append(f"could not be looked at: {str(error).splitlines()[0]}")
    finally:
        for event, listener in heard.items():
            tab.remove_listener(event, listener)
        tab.goto(BLANK)  # pending requests end here, so they do not affect the next page
    return look


def _look(tab: Tab, look: Look, address: str, loaded: list[Response], sizes: Sizes) -> None:
    tab.emulate_media(color_scheme="light")
    answer = tab.goto(address, wait_until="load")
    tab.wait_for_timeout(SETTLE_MS)
    look.status = answer.status if answer else 0
    look.policy = (answer.headers.get("content-security-policy") or "") if answer else ""
    look.shift = round(float(tab.evaluate("window.__shift")), 3)  # rounded as is usual
    look.moved = tab.evaluate("window.__moved")
    look.above = tab.evaluate(ABOVE)
    _weigh(loaded, look, sizes)
    _press(tab, look.page)
    _measure(tab, look, look.width)
    tab.evaluate(AXE_SCRIPT)
    for theme in ("light", "dark"):
        tab.emulate_media(color_scheme=theme)
        look.violations += _violations(tab, theme)
    if look.width > NARROW and tab.viewport_size:
        wide = tab.viewport_size
        tab.set_viewport_size({"width": NARROW, "height": wide["height"]})
        _measure(tab, look, NARROW)
        tab.set_viewport_size(wide)


def _weigh(loaded: list[Response], look: Look, sizes: Sizes) -> None:
    look.requests = len(loaded)
    for response in loaded:
        look.pictures += "/media/" in response.url
        kind = KINDS.get(response.request.resource_type)
        if kind and response.request.redirected_to is None:  # which has no body
            setattr(look, kind, getattr(look, kind) + _size(response, kind, sizes))


def _size(response: Response, kind: str, sizes: Sizes) -> int:
    """Bytes after gzip. A script's address contains a hash of its content, so each is measured once."""
    if kind == "html" or response.url not in sizes:
        sizes[response.url] = len(gzip.compress(response.body(), 9))
    return sizes[response.url]


def press(tab: Tab, selector: str) -> None:
    """Click the first match on a loaded page. MissingError, at once, if there is none."""
    found = tab.locator(selector)
    if not found.count():
        raise MissingError(f"{tab.url} has nothing that matches {selector!r}")
    found.first.click(timeout=PRESS_MS)


def _press(tab: Tab, page: Page) -> None:
    if page.press:
        press(tab, page.press)
    if page.keys:
        tab.keyboard.press(page.keys)
    if page.press or page.keys:
        tab.wait_for_timeout(SETTLE_MS)
        tab.wait_for_load_state("networkidle")  # a page that a form leads to, or a dialog's content


def _measure(tab: Tab, look: Look, width: int) -> None:
    """Record whether the page scrolls sideways, and which elements cause it."""
    found = tab.evaluate("document.documentElement.scrollWidth")
    if found > width:
        look.wide.append(f"{width}: {found} px, {', '.join(tab.evaluate(OVERFLOW, width))}")


def _violations(tab: Tab, theme: str) -> list[Violation]:
    return [Violation(rule, theme, tuple(targets)) for rule, targets in tab.evaluate(AXE)]
