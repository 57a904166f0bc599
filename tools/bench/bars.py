"""The bars of `./run bench`: the values that results must reach. In the order of its table.

Nearly all bars are ratios within one run, because absolute times depend on the machine.
"""

from dataclasses import dataclass
from typing import Any

from tools.bench.measure import Spread
from tools.bench.report import Line


@dataclass(frozen=True, slots=True)
class Bar:
    """A line of the table: what is measured, and its bar; `beyond` is the long-term target."""

    what: str
    limit: float
    unit: str
    beyond: float | None = None
    at_least: bool = False

    @property
    def text(self) -> str:
        said = f"{'at least' if self.at_least else 'at most'} {self.limit:,g}{self.unit}"
        return (
            said
            if self.beyond is None
            else f"{said}; long-term target: {self.beyond:,g}{self.unit}"
        )

    def line(
        self,
        unit: str,
        ours: Spread,
        measured: float,
        *,
        note: str = "",
        failed: bool = False,
        **more: Any,
    ) -> Line:
        """A line of the table.

        After errors it falls short whatever was measured: after its own (`errors` in `more`), or after those that
        another line counts (`failed`).
        """
        said = f"{measured:,.3g}" if measured < 1000 else f"{measured:,.0f}"
        right = not failed and not more.get("errors", 0)
        passed = right and self._reaches(measured, self.limit)
        return Line(
            self.what,
            unit,
            ours,
            bar=self.text,
            passed=passed,
            beyond=passed and self.beyond is not None and self._reaches(measured, self.beyond),
            note=f"{said}{self.unit}" + (f"; {note}" if note else ""),
            **more,
        )

    def not_measured(self, reason: str) -> Line:
        """The line if nothing could be measured: it neither passes nor falls short."""
        return Line(self.what, "", None, bar=self.text, note=f"not measured: {reason}")

    def _reaches(self, measured: float, value: float) -> bool:
        return measured >= value if self.at_least else measured <= value


TIMES, PERCENT, MS, CORE = " times", " %", " ms", " % of a core"

HOME_COST = Bar(
    "home API, processor time per page, relative to the minimal two-trip reader", 6, TIMES, 4.5
)
FRAME = Bar("frame of an API request, processor time relative to the constant page", 6, TIMES, 4)
NAIVE_BUSY = Bar("home API compared with naive DRF, 500 busy followees", 7, TIMES, 9, at_least=True)
NAIVE_QUIET = Bar(
    "home API compared with naive DRF, 500 quiet followees", 110, TIMES, 150, at_least=True
)
TAKAHE = Bar("home API compared with Takahē's, processor time", 20, TIMES, 30, at_least=True)
HTML = Bar("home HTML compared with the home API", 60, PERCENT, 70, at_least=True)
PROFILE = Bar("profile HTML compared with the home API", 65, PERCENT, 70, at_least=True)
THREAD = Bar("thread HTML compared with the home API", 65, PERCENT, 70, at_least=True)
MIX = Bar(
    "home API at 100 requests/s with publications, p95 relative to the constant page", 4, TIMES, 3
)
PUBLISH = Bar(
    "publish request, p95, 10 to 250,000 followers, relative to a bare INSERT", 5, TIMES, 4
)
FANOUT = Bar(
    "delivery of one post, 20 % online, 2 worker processes",
    400_000, " followers/s", 800_000, at_least=True,
)  # fmt: skip
FAIRNESS = Bar(
    "p99 of a small author's delivery during a large one, compared with quiet times",
    1.5,
    TIMES,
    1.2,
)
DEPTH = Bar("home page after 100 to 10,000 newer posts, p95 relative to page 1", 2, TIMES)
PUBLISH_COST = Bar("publishing a post, processor time of the web process", 5, MS, 3.5)
POSTGRES_TRIPS = Bar("publishing a post, round trips to PostgreSQL", 4, "")
REDIS_TRIPS = Bar("publishing a post, round trips to Redis", 2, "")
MEMCACHED_TRIPS = Bar("publishing a post, round trips to Memcached", 2, "")
OVERLOAD = Bar("posts undelivered 30 s after a minute of 500 publish requests/s", 0, "")
MEMORY = Bar("memory of ./run at rest, small demo", 450, " MB")
IDLE = Bar("processor time of ./run at rest, small demo", 5, CORE)
COMMANDS = Bar("Redis commands for a warm home page", 20, "")
ERRORS = Bar("errors in any part", 0, "")

ORDER = (
    HOME_COST, FRAME, NAIVE_BUSY, NAIVE_QUIET, TAKAHE, HTML, PROFILE, THREAD, MIX, PUBLISH, FANOUT, FAIRNESS, DEPTH,
    PUBLISH_COST, POSTGRES_TRIPS, REDIS_TRIPS, MEMCACHED_TRIPS, OVERLOAD, MEMORY, IDLE, COMMANDS, ERRORS,
)  # fmt: skip
