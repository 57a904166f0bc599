"""Flame graphs of the processor time of one home request and of one publication, function by function.

This process is sampled: a signal arrives after every few milliseconds of its processor time, whatever else runs on the
machine, and no function is slowed down by instrumentation. Waiting takes no processor time, so it is not included.
"""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

from runner.checkout import ROOT
from tools.bench.flamegraph import draw
from tools.bench.measure import Spread
from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.site import FLAMES
from tools.bench.site.profile import (
    asks_for_home,
    asks_to_publish,
    handler_without_limits,
    warm,
)
from tools.bench.site.world import world
from tools.figures import stamped

HOME, PUBLICATION = "home", "publish"
INTERVAL, SECONDS = 0.001, 8
SHARE = 0.08  # of the time: each function above it gets a line, and the largest one always
SITE_PACKAGES = "site-packages/"
Stack = tuple[str, ...]
Stacks = Counter[Stack]


def run(directory: Path) -> list[Line]:
    """Write the graphs to a folder. Returns a line for each function with a large share of the time."""
    here, handler = world(), handler_without_limits()
    place = Path(os.environ.get(FLAMES, directory))
    place.mkdir(parents=True, exist_ok=True)
    lines = []
    for name, what, asks in (
        (HOME, "home API request", asks_for_home(handler, here)),
        (PUBLICATION, "publish request", asks_to_publish(handler, here)),
    ):
        doing(f"one {what}")
        warm(asks)
        stacks, requests, spent = recorded(asks, SECONDS)
        title = f"one {what}: {spent / requests * 1000:.1f} ms of processor time, {stacks.total():,} samples"
        (place / f"{name}-flame.svg").write_text(stamped(draw(stacks, title)))
        lines += _largest(what, stacks)
    return lines


def recorded(asks: Sequence[Callable[[], None]], seconds: float) -> tuple[Stacks, int, float]:
    """The stacks below the callables, the number of their requests, and their seconds of processor time."""
    end, requests = time.monotonic() + seconds, 0
    begin = time.process_time()
    with samples() as stacks:
        while time.monotonic() < end:
            asks[requests % len(asks)]()
            requests += 1
    return _below_bench(stacks), requests, time.process_time() - begin


@contextmanager
def samples() -> Iterator[Stacks]:
    """The stacks of the main thread during the block."""
    found: Stacks = Counter()

    def note(_number: int, frame: FrameType | None) -> None:
        stack = []
        while frame is not None:
            stack.append(_name(frame.f_code))
            frame = frame.f_back
        found[tuple(reversed(stack))] += 1

    before = signal.signal(signal.SIGPROF, note)
    signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)
    try:
        yield found
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def own_time(stacks: Stacks) -> Counter[str]:
    """Samples in each function itself, without its callees."""
    found: Counter[str] = Counter()
    for stack, count in stacks.items():
        found[stack[-1]] += count
    return found


def _largest(what: str, stacks: Stacks) -> list[Line]:
    total = stacks.total()
    ordered = own_time(stacks).most_common()
    above = [one for one in ordered if one[1] > SHARE * total] or ordered[:1]
    return [
        Line(
            f"time in {name} itself",
            f"% of a {what}",
            Spread.exact(round(count / total * 100, 1)),
            note="" if count > SHARE * total else f"the largest; none exceeds {SHARE:.0%}",
        )
        for name, count in above
    ]


def _below_bench(stacks: Stacks) -> Stacks:
    """The stacks without the frames of the benchmark, and without its own work."""
    found: Stacks = Counter()
    for stack, count in stacks.items():
        last = max((at for at, name in enumerate(stack) if "tools/bench/" in name), default=-1)
        if below := stack[last + 1 :]:
            found[below] += count
    return found


@cache
def _name(code: CodeType) -> str:
    """The function and its file, as briefly as possible."""
    path = code.co_filename.removeprefix(f"{ROOT}/")
    if SITE_PACKAGES in path:
        path = path.partition(SITE_PACKAGES)[2]
    elif path.startswith("/"):
        path = "/".join(Path(path).parts[-2:])
    return f"{code.co_qualname} ({path})"
