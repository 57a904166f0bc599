"""Pages over HTTP: all systems in rotation, on the same data, with the same server and one process.

The load generator has the machine's other core. Requests per second are valid for an otherwise idle machine; the
processor time of a page, in the web process and in the stores, hardly depends on other load, so bars about cost use
that.
"""

from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import orjson
from django.conf import settings

from apps.api.entities.account import account_json
from apps.api.entities.status import status_json
from apps.pagination import Cursor
from apps.timeline.home import home_timeline
from feedcache.connections import memcached_at, timelines
from tools.bench import bars
from tools.bench.bars import Bar
from tools.bench.measure import Spread
from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.servers import store_pids
from tools.bench.site import stores
from tools.bench.site.clock import megabytes_of
from tools.bench.site.load import Ask
from tools.bench.site.rivals import bare
from tools.bench.site.systems import (
    CONSTANT_PAGE,
    HOME,
    RIVALS,
    WEB,
    System,
    constant_site,
    front_site,
    naive_headers,
    naive_site,
    our_site,
)
from tools.bench.site.visitor import bearer
from tools.bench.site.web import Web, fetch, web
from tools.bench.site.world import Readers, World, world

ROUNDS, WARM_SECONDS, SLOW_SECONDS = 3, 2, 6

OURS_API, OURS_HTML, PROFILE, THREAD = "home API", "home HTML", "profile HTML", "thread HTML"
QUIET_API = "home API, quiet followees"
NAIVE_BUSY, NAIVE_QUIET = "naive DRF pull", "naive DRF pull, quiet followees"
CONSTANT, BARE = "constant page, bare Django", "minimal two-trip reader"
FRONT = "constant page behind our middleware, token and REST framework"
Systems = dict[str, System]


def run(directory: Path) -> list[Line]:
    here = world()
    with ExitStack() as stack:
        systems = _systems(here, directory, stack)
        for system in systems.values():
            doing(f"warming {system.name}")
            system.warm(directory, WARM_SECONDS)
        for number in range(ROUNDS):
            for system in systems.values():
                doing(f"round {number + 1} of {ROUNDS}, {system.name}")
                system.measure(directory)
        return [*_bars(systems), *_tables(systems), _memory(systems)]


def _systems(here: World, directory: Path, stack: ExitStack) -> Systems:
    doing("starting the servers")
    ours = stack.enter_context(our_site(directory))
    busy, quiet = (_asks(readers) for readers in (here.busy, here.quiet))
    for ask in (*busy, *quiet):
        fetch(ours.port, ask.path, ask.header)
    naive = stack.enter_context(naive_site(directory))
    page = fetch(ours.port, busy[0].path, busy[0].header)
    constant = stack.enter_context(constant_site(directory, page))
    front = stack.enter_context(front_site(directory, page))
    floor = stack.enter_context(_bare(here, directory))
    cookies = [("Cookie", cookie) for cookie in here.cookies]
    author = here.author
    found = [
        System(CONSTANT, constant, [Ask(CONSTANT_PAGE)]),
        System(FRONT, front, busy),
        System(BARE, floor, busy),
        System(OURS_API, ours, busy),
        System(QUIET_API, ours, quiet),
        System(OURS_HTML, ours, [Ask("/", one) for one in cookies]),
        System(PROFILE, ours, [Ask(author.url, one) for one in cookies]),
        System(THREAD, ours, [Ask(f"{author.url}/{here.post.pk}", one) for one in cookies]),
        System(NAIVE_BUSY, naive, _naive_asks(here.busy)),
        System(NAIVE_QUIET, naive, _naive_asks(here.quiet), SLOW_SECONDS),
    ]
    return {system.name: system for system in found}


def _asks(readers: Readers) -> list[Ask]:
    return [Ask(HOME, bearer(token)) for token in readers.tokens]


def _naive_asks(readers: Readers) -> list[Ask]:
    return [Ask("/home", header) for header in naive_headers(readers.users)]


def _bare(here: World, directory: Path) -> AbstractContextManager[Web]:
    _fill_bare(here.busy)
    return web(
        "bare",
        f"{RIVALS}.bare:application",
        directory,
        BENCH_REDIS=_socket(settings.REDIS_URL),
        BENCH_MEMCACHED=_socket(settings.MEMCACHED_URLS[0]),
    )


def _socket(url: str) -> str:
    return url.removeprefix("unix://").removeprefix("unix:").partition("?")[0]


def _fill_bare(readers: Readers) -> None:
    """Store the same pages in the format of the bare reader."""
    redis, urls = timelines(), settings.MEMCACHED_URLS
    with memcached_at(urls[0]) as memcached:
        for token, reader in zip(readers.tokens, readers.users, strict=True):
            items = home_timeline(reader, Cursor()).items
            redis.set(bare.TOKEN + token.encode(), reader.pk)
            redis.delete(bare.IDS + b"%d" % reader.pk)
            redis.rpush(bare.IDS + b"%d" % reader.pk, *(item.id for item in items))
            for item in items:
                shape = {k: v for k, v in status_json(item).items() if k != "account"}
                memcached.set(bare.POST + b"%d" % item.id, orjson.dumps(shape))
                memcached.set(
                    bare.AUTHOR + b"%d" % item.author.pk, orjson.dumps(account_json(item.author))
                )
                redis.set(bare.COUNTS + b"%d" % item.id, b"[0,0,0]")


def _bars(systems: Systems) -> list[Line]:
    api = systems[OURS_API]
    return [
        _cost(bars.HOME_COST, api, systems[BARE]),
        _cost(bars.FRAME, systems[FRONT], systems[CONSTANT]),
        _times(bars.NAIVE_BUSY, api, systems[NAIVE_BUSY]),
        _times(bars.NAIVE_QUIET, systems[QUIET_API], systems[NAIVE_QUIET]),
        *(
            _share(bar, systems[name], api)
            for bar, name in (
                (bars.HTML, OURS_HTML),
                (bars.PROFILE, PROFILE),
                (bars.THREAD, THREAD),
            )
        ),
    ]


def _tables(systems: Systems) -> list[Line]:
    """The figures of each system."""
    return [
        Line(
            name,
            "pages/s per core",
            one.per_core,
            figures=one.figures,
            errors=one.errors,
            note=one.complaint,
        )
        for name, one in systems.items()
    ]


def _memory(systems: Systems) -> Line:
    processes = {name: megabytes_of(pids) for name, pids in store_pids().items()}
    kept = stores.sizes()
    said = ", ".join(
        f"{name} {size:,.0f} ({kept[name]:,.0f} stored)" for name, size in processes.items()
    )
    return Line(
        "memory of the web process after the load",
        "MB",
        Spread.exact(_megabytes(systems[OURS_API])),
        {name: Spread.exact(_megabytes(systems[name])) for name in (NAIVE_BUSY, CONSTANT, BARE)},
        note=f"stores, MB of memory: {said}",
    )


def _megabytes(system: System) -> float:
    return round(megabytes_of([system.server.child.pid]))


def _cost(bar: Bar, ours: System, floor: System) -> Line:
    """Processor time of a page, in all processes, as a multiple of another system's."""
    stages = ", ".join(f"{name} {ours.stage(name):.2f}" for name in (WEB, *store_pids()))
    return bar.line(
        "ms",
        ours.cost,
        ours.cost.median / floor.cost.median,
        others={floor.name: floor.cost},
        failed=ours.errors > 0,
        note=stages,
        figures={
            "web ms": ours.stage(WEB),
            "stores ms": ours.cost.median - ours.stage(WEB),
        },
    )


def _share(bar: Bar, ours: System, other: System) -> Line:
    """Pages per second as a percentage of another system's."""
    share = ours.rate.median / other.rate.median * 100
    others = {other.name: other.rate}
    return bar.line(
        "pages/s", ours.rate, share, others=others, failed=ours.errors > 0, note=ours.complaint
    )


def _times(bar: Bar, ours: System, other: System) -> Line:
    """Pages per second and core as a multiple of another system's."""
    times = ours.per_core.median / other.per_core.median
    others = {other.name: other.per_core}
    return bar.line(
        "pages/s per core", ours.per_core, times, others=others, failed=ours.errors > 0, note=ours.complaint
    )  # fmt: skip
