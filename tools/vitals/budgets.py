"""The budgets of the pages and the measured values: one line per budget."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tools.bench.measure import Spread
from tools.vitals.look import Look
from tools.vitals.speed import Times

KILOBYTE = 1024
# Style sheets: the budget was 8 KB until docs/decisions/0160. Scripts: home has 28 KB, and the composer's page, which
# has the most, 30.2 KB (docs/decisions/0174).
SCRIPT_KB, STYLE_KB, HTML_KB = 30.5, 10.6, 60.0
REQUESTS = 12
ABOVE = {
    1280: 230.0,
    390: 170.0,
}  # for home, by the width of the window: the page should begin with posts, not with controls
SHIFT = "layout shift (CLS)"
COLD_MS, WARM_MS, FIRST_BYTE_MS, PRESS_MS = 1000.0, 300.0, 100.0, 50.0


@dataclass(frozen=True, slots=True)
class Line:
    """One budget. `limit` None: nothing is allowed. `worst`: where the figure was found, or what is wrong."""

    what: str
    unit: str
    found: float
    limit: float | None
    worst: str = ""

    @property
    def kept(self) -> bool:
        """Whether the figure is within the budget: below the limit, or zero without one."""
        return self.found < self.limit if self.limit is not None else self.found == 0

    @property
    def needs_quiet(self) -> bool:
        """Whether other load on the machine changes the figure: late scripts move parts that are already painted."""
        return self.unit == "ms" or self.what == SHIFT


def lines_of(looks: Sequence[Look]) -> list[Line]:
    return [
        _total("axe-core violations, all rules", looks, lambda look: list(map(str, look.violations))),
        _total("pages that scroll sideways, at 320 px too", looks, lambda look: look.wide),
        _total("messages in the console", looks, lambda look: look.complaints),
        _total("pages with an unexpected status", looks, _wrong_status),
        _total("pages that allow inline code", looks, _unsafe),
        _most(SHIFT, "", looks, lambda look: look.shift, None),
        _most("scripts per page", "KB gzip", looks, lambda look: look.script / KILOBYTE, SCRIPT_KB),
        _most("style sheets per page", "KB gzip", looks, lambda look: look.style / KILOBYTE, STYLE_KB),
        _most("HTML per page", "KB gzip", looks, lambda look: look.html / KILOBYTE, HTML_KB),
        _most("requests per page, without people's pictures", "", looks, _own_requests, REQUESTS),
        *_heights(looks),
    ]  # fmt: skip


def _heights(looks: Sequence[Look]) -> list[Line]:
    """The height above the first post of home, for each measured width."""
    found = []
    for width, limit in ABOVE.items():
        homes = [look for look in looks if look.page.name == "home" and look.width == width]
        if homes:
            what = f"height above the first post, {width} px wide"
            found.append(_most(what, "px", homes, lambda look: look.above, limit))
    return found


def lines_of_times(times: Mapping[str, Times]) -> list[Line]:
    """The budgets of speed: the slowest page's median, and the 95th percentile of all first bytes."""
    bytes_ = sorted(one for page in times.values() for one in page.first_bytes)
    slowest = max(times, key=lambda name: median(times[name].first_bytes))
    return [
        _slowest("largest paint (LCP), cold", {name: one.cold for name, one in times.items()}, COLD_MS),
        _slowest("largest paint (LCP), warm", {name: one.warm for name, one in times.items()}, WARM_MS),
        Line("first byte, 95th percentile", "ms", round(bytes_[int(len(bytes_) * 0.95)]), FIRST_BYTE_MS, slowest),
    ]  # fmt: skip


def line_of_presses(press: Spread) -> Line:
    """The budget of a press, as far as the browser reports it: in steps of 8 ms."""
    return Line("from a press of Like to the next paint", "ms", round(press.median), PRESS_MS)


def not_measured(what: str, reason: str) -> Line:
    """A part that did not finish: it falls short, and the others are still reported."""
    return Line(what, "not measured", 1, None, reason)


def line_of_warmth(missed: int, said: str) -> Line:
    """The result of the tests that count a warm home page's SQL statements (0) and round trips (3 at most)."""
    return Line("tests of a warm home: 0 SQL, 3 round trips at most", "failed", missed, None, said)


def _slowest(what: str, spreads: Mapping[str, Spread], limit: float) -> Line:
    page, spread = max(spreads.items(), key=lambda pair: pair[1].median)
    return Line(what, "ms", round(spread.median), limit, page)


def _total(what: str, looks: Sequence[Look], wrong: Callable[[Look], list[str]]) -> Line:
    found = [f"{look.where}: {one}" for look in looks for one in wrong(look)]
    return Line(what, "", len(found), None, found[0] if found else "")


def _most(
    what: str,
    unit: str,
    looks: Sequence[Look],
    figure: Callable[[Look], float],
    limit: float | None,
) -> Line:
    worst = max(looks, key=figure)
    return Line(what, unit, round(figure(worst), 4), limit, worst.where if figure(worst) else "")


def _wrong_status(look: Look) -> list[str]:
    return [] if look.status == look.page.status else [f"{look.status}"]


def _unsafe(look: Look) -> list[str]:
    safe = "script-src" in look.policy and "unsafe-inline" not in look.policy
    return [] if safe else [look.policy or "no policy at all"]


def _own_requests(look: Look) -> float:
    return look.requests - look.pictures
