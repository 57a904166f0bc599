"""The cost of a home page as followees grow, and with paging depth.

It is measured for a reader among many writers, and for one whose few followees wrote long ago, over HTTP, with one
request at a time.
"""

import random
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

from apps.accounts.models import User
from apps.graph.models import Followee
from apps.posts.models import Post
from tools.bench import bars
from tools.bench.measure import Spread
from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.site.systems import HOME, naive_headers, naive_site, our_site
from tools.bench.site.visitor import Visitor, bearer, in_turn, percentile
from tools.bench.site.world import FOLLOWEES as FOLLOWED
from tools.bench.site.world import Readers, make_readers, people, world

FOLLOWEES = (50, 500, 2000, 5000)
DEPTHS = (1, 100, 1000, 10_000)
DEEP_PAGES, PAGE = 40, 20
NAIVE_PAGES = 5  # few, because each takes long
FEW, FAR = 10, 25_000  # followees who wrote long ago, and about how many posts down theirs are
WARM = 3
OURS, NAIVE = "feedsite", "naive DRF pull"
Ask = Callable[[], float]  # milliseconds
Curve = dict[int, list[float]]  # milliseconds at each size


def run(directory: Path) -> list[Line]:
    world()
    with visitors(directory) as (ours, naive):
        return [_by_followees(ours, naive), _by_depth(ours, naive), _far_apart(ours)]


@contextmanager
def visitors(directory: Path) -> Iterator[tuple[Visitor, Visitor]]:
    """Clients of our site and of the naive one. RuntimeError at the end if there were errors."""
    with ExitStack() as stack:
        ours = Visitor(stack.enter_context(our_site(directory)).port)
        naive = Visitor(stack.enter_context(naive_site(directory)).port)
        yield ours, naive
        if ours.errors or naive.errors:
            raise RuntimeError(f"our site: {ours.complaint}; naive site: {naive.complaint}")


def _by_followees(ours: Visitor, naive: Visitor) -> Line:
    authors = people().authors
    random.Random(1).shuffle(authors)
    ways: dict[str, Ask] = {}
    for maximum in FOLLOWEES:
        doing(f"a page of {maximum:,} followees")
        readers = make_readers(f"following{maximum}x", authors, maximum, 1)
        ways[f"{OURS} {maximum}"] = home(ours, readers)
        ways[f"{NAIVE} {maximum}"] = naive_home(naive, readers)
    taken = warmed(ways)
    curves = {
        name: {maximum: taken[f"{name} {maximum}"] for maximum in FOLLOWEES}
        for name in (OURS, NAIVE)
    }
    return line_of("warm home page, by number of followees", "followees", curves)


def _by_depth(ours: Visitor, naive: Visitor) -> Line:
    doing("pages deep down")
    reader = make_readers("deep", people().crowd, FOLLOWED, 1)
    ids = _timeline(reader.users[0])
    header, naive_header = bearer(reader.tokens[0]), naive_headers(reader.users)[0]
    first = home(ours, reader)
    for _warm in range(WARM):
        first()
    curves: dict[str, Curve] = {name: {depth: [] for depth in DEPTHS} for name in (OURS, NAIVE)}
    starts = list(range(DEEP_PAGES))
    random.Random(1).shuffle(starts)
    # in rotation, each deep page once: nobody has read it before
    for number, start in enumerate(starts):
        for depth in DEPTHS:
            max_id = ids[depth - 1 + start * PAGE] if depth > 1 else None
            curves[OURS][depth].append(ours.ask(_below(HOME, max_id, "max_id"), header))
            if number < NAIVE_PAGES:
                curves[NAIVE][depth].append(naive.ask(_naive_below(max_id), naive_header))
    p95 = {depth: percentile(taken, 95) for depth, taken in curves[OURS].items()}
    first_page, *below = p95.values()
    return bars.DEPTH.line(
        "ms",
        Spread.exact(max(below)),
        max(below) / first_page,
        others={f"{OURS}, page 1": Spread.exact(first_page)},
        errors=ours.errors,
        note=f"{', '.join(f'{one:.1f}' for one in p95.values())} ms",
        axis="posts down",
        growth=_growth(curves, partial(percentile, percent=95)),
    )


def _far_apart(ours: Visitor) -> Line:
    """Deep pages whose posts lie far apart: at that time few followees, but many other authors, wrote."""
    doing("pages deep down, far apart")
    here = people()
    few = random.Random(2).sample(here.crowd, FEW)
    others = random.Random(2).sample(here.busy, FOLLOWED - FEW)  # who wrote later
    reader = make_readers("far", few + others, FOLLOWED, 1)
    posts = Post.objects.filter(author__in=few).order_by("-pk")
    ids = list(posts.values_list("pk", flat=True)[: (DEEP_PAGES + 1) * PAGE])
    header, first = bearer(reader.tokens[0]), home(ours, reader)
    for _warm in range(WARM):
        first()
    starts = list(range(DEEP_PAGES))
    random.Random(1).shuffle(starts)
    taken: Curve = {1: [], FAR: []}
    for start in starts:
        taken[1].append(first())
        taken[FAR].append(ours.ask(_below(HOME, ids[start * PAGE], "max_id"), header))
    return line_of(
        f"old home page with posts by {FEW} of {FOLLOWED} followees, among those of {len(here.crowd):,} authors, p95",
        "posts down",
        {OURS: taken},
        value=partial(percentile, percent=95),
    )


def line_of(
    what: str,
    axis: str,
    curves: Mapping[str, Curve],
    value: Callable[[list[float]], float] = median,
) -> Line:
    """Our cost at the largest size, compared with ours at smaller sizes and with the others' at the largest."""
    ours = curves[OURS]
    sizes = list(ours)
    times = value(ours[sizes[-1]]) / value(ours[sizes[0]])
    others = {f"{OURS}, {size:,}": Spread.exact(value(ours[size])) for size in sizes[:-1]}
    others |= {
        f"{name}, {sizes[-1]:,}": Spread.exact(value(curve[sizes[-1]]))
        for name, curve in curves.items()
        if name != OURS
    }
    return Line(
        f"{what}: {sizes[-1]:,}",
        "ms",
        Spread.of(ours[sizes[-1]]) if value is median else Spread.exact(value(ours[sizes[-1]])),
        others,
        note=f"{times:.2f} times",
        axis=axis,
        growth=_growth(curves, value),
    )


def _growth(
    curves: Mapping[str, Curve], value: Callable[[list[float]], float]
) -> dict[str, list[tuple[float, float]]]:
    return {
        name: [(float(size), round(value(taken), 3)) for size, taken in curve.items()]
        for name, curve in curves.items()
    }


def warmed(ways: Mapping[str, Ask]) -> dict[str, list[float]]:
    """Milliseconds of all ways in rotation, after warm-up rounds that do not count."""
    in_turn(ways, rounds=WARM, seconds=0)
    return in_turn(ways)


def home(ours: Visitor, readers: Readers) -> Ask:
    return partial(ours.ask, HOME, bearer(readers.tokens[0]))


def naive_home(naive: Visitor, readers: Readers) -> Ask:
    return partial(naive.ask, "/home", naive_headers(readers.users)[0])


def _below(path: str, place: object, name: str) -> str:
    return path if place is None else f"{path}?{urlencode({name: place})}"


def _naive_below(max_id: int | None) -> str:
    """The path below an id, with a cursor of Django REST framework."""
    place = None if max_id is None else b64encode(urlencode({"p": max_id}).encode()).decode()
    return _below("/home", place, "cursor")


def _timeline(reader: User) -> list[int]:
    """The ids of a reader's timeline, as far down as pages are read."""
    followees = Followee.objects.filter(owner=reader).values_list("followee", flat=True)
    posts = Post.objects.filter(author__in=list(followees)).order_by("-pk")
    return list(posts.values_list("pk", flat=True)[: DEPTHS[-1] + (DEEP_PAGES + 1) * PAGE])
