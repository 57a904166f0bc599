"""An hour of ordinary use at twenty requests per second: which process grows, and what fills the disks."""

from importlib import import_module
from pathlib import Path

from runner.services.memcached import SITE
from tools.bench.report import Line

LAYERS = SITE  # of Memcached, as in `./run`
FORCED_TO_DISK = True
PARTS = ("hour",)
MINUTES = 60.0  # of load; `--minutes`
PREPARATION_SECONDS = 600
SECONDS = {"hour": float("inf")}  # `longest` is the limit
NOTE = """\
`./run bench soak` runs a web server, a streaming server, a worker with two processes and beat, with a Redis that may
evict, a Redis with an append-only file (counters, existence filters, broker) and all layers of Memcached, and sends the
requests of the last table by the clock. Memory is the proportional set size (PSS) in `/proc/PID/smaps_rollup`, read
every 30 seconds: pages that processes share are divided among them.

During the first third, caches fill and pools open their connections. After that, a process of the site grows if the
median of the last sixth is more than 3 % and 2 MB above the median of the time from the first third to the half.
Medians leave out single peaks, and an allocator's fragments stay below this margin. A kilobyte lost by every tenth
request does not: it is more than 2 MB in that time. Stores may grow up to their limits, because they hold data.

Disks are compared between the first third and the end, when the pages that were half empty at the start are full. Rows
per post include those of likes, follows and reading, in the proportions of the load."""


def longest() -> float:
    """The time limit in seconds."""
    return MINUTES * 60 + PREPARATION_SECONDS


def run(_part: str, directory: Path) -> list[Line]:
    """Measure. The module is imported here because it imports models, which need Django to be set up."""
    found: list[Line] = import_module("tools.bench.soak.hour").run(directory, MINUTES)
    return found
