"""Pages over HTTP, every system in turn on the same data, the same server and one process, round after round.

The load generator has the machine's other core. Requests a second are those of an otherwise idle machine; the processor
time of a page, of the web process and of the stores, hardly depends on the neighbours, and bars about cost are held
against that.
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
from tools.bench.measure import Spread
from tools.bench.progress import doing
from tools.bench.report import Line
from tools.bench.servers import store_pids
from tools.bench.site import stores
from tools.bench.site.clock import megabytes_of
from tools.bench.site.load import Ask
from tools.bench.site.rivals import bare
from tools.bench.site.systems import (
    DJANGO,
    HOME,
    RIVALS,
    WEB,
    System,
    naive_headers,
    naive_site,
    our_site,
)
from tools.bench.site.visitor import bearer
from tools.bench.site.web import Web, fetch, web
from tools.bench.site.world import Readers, World, world

ROUNDS, WARM_SECONDS, SLOW_SECONDS = 3, 2, 6
SHARE_OF_CONSTANT, BUSY_TIMES, QUIET_TIMES, SHARE_OF_API = 0.15, 3, 150, 0.5
COST_MOST, COST_OF_CONSTANT = (
    1.0,
    0.14,
)  # milliseconds, of a home page where the constant page costs that

OURS_API, OURS_HTML, PROFILE, THREAD = "home API", "home HTML", "profile HTML", "thread HTML"
QUIET_API, MANY_API = "home API, quiet followees", "home API, 2,000 followees"
NAIVE_BUSY, NAIVE_QUIET = "naive DRF pull", "naive DRF pull, quiet followees"
NAIVE_MANY = "naive DRF pull, 2,000 followees"
CONSTANT, BARE = "constant page, bare Django", "bare two-trip reader"
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
    busy, quiet, many = (_asks(readers) for readers in (here.busy, here.quiet, here.many))
    for ask in (*busy, *quiet, *many):
        fetch(ours.port, ask.path, ask.header)
    page = directory / "page.json"
    page.write_bytes(fetch(ours.port, busy[0].path, busy[0].header))
    naive = stack.enter_context(naive_site(directory))
    constant = stack.enter_context(
        web(
            "constant",
            DJANGO,
            directory,
            DJANGO_SETTINGS_MODULE=f"{RIVALS}.constant_settings",
            BENCH_PAGE=str(page),
        )
    )
    floor = stack.enter_context(_bare(here, directory))
    cookies = [("Cookie", f"sessionid={cookie}") for cookie in here.cookies]
    author = here.author
    found = [
        System(CONSTANT, constant, [Ask("/page")]),
        System(BARE, floor, busy),
        System(OURS_API, ours, busy),
        System(QUIET_API, ours, quiet),
        System(MANY_API, ours, many),
        System(OURS_HTML, ours, [Ask("/", one) for one in cookies]),
        System(PROFILE, ours, [Ask(author.url, one) for one in cookies]),
        System(THREAD, ours, [Ask(f"{author.url}/{here.post.pk}", one) for one in cookies]),
        System(NAIVE_BUSY, naive, _naive_asks(here.busy)),
        System(NAIVE_MANY, naive, _naive_asks(here.many)),
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
    """The same pages in the form that the bare reader wants."""
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
    api, constant = systems[OURS_API], systems[CONSTANT]
    return [
        _share(api, constant, SHARE_OF_CONSTANT),
        _times(api, systems[NAIVE_BUSY], BUSY_TIMES),
        _times(systems[QUIET_API], systems[NAIVE_QUIET], QUIET_TIMES),
        _times(systems[MANY_API], systems[NAIVE_MANY], BUSY_TIMES),
        _cost(api, constant, systems[BARE]),
        _share(systems[OURS_HTML], api, SHARE_OF_API),
    ]


def _tables(systems: Systems) -> list[Line]:
    """Each system's own figures. A system that answered with an error falls short, whatever its other figures are."""
    return [
        Line(
            name,
            "pages/s a core",
            one.per_core,
            figures=one.figures,
            bar="no errors" if one.errors else "",
            passed=False if one.errors else None,
            note=one.complaint,
        )
        for name, one in systems.items()
    ]


def _memory(systems: Systems) -> Line:
    processes = {name: megabytes_of(pids) for name, pids in store_pids().items()}
    kept = stores.sizes()
    said = ", ".join(
        f"{name} {size:,.0f} ({kept[name]:,.0f} kept)" for name, size in processes.items()
    )
    return Line(
        "memory of the web process after the load",
        "MB",
        Spread.exact(_megabytes(systems[OURS_API])),
        {name: Spread.exact(_megabytes(systems[name])) for name in (NAIVE_BUSY, CONSTANT, BARE)},
        note=f"stores, MB: {said}",
    )


def _megabytes(system: System) -> float:
    return round(megabytes_of([system.server.child.pid]))


def _cost(api: System, constant: System, floor: System) -> Line:
    maximum = COST_MOST / COST_OF_CONSTANT
    stages = ", ".join(f"{name} {api.stage(name):.2f}" for name in (WEB, *store_pids()))
    return Line(
        f"{api.name}, processor time a page",
        "ms",
        api.cost,
        {CONSTANT: constant.cost, BARE: floor.cost},
        f"at most {COST_MOST:g} ms where the constant page takes {COST_OF_CONSTANT} ms: {maximum:.1f} times it",
        api.cost.median <= maximum * constant.cost.median,
        f"{api.cost.median / constant.cost.median:.1f} times; {stages}",
        figures={
            "web ms": api.stage(WEB),
            "stores ms": api.cost.median - api.stage(WEB),
        },
    )


def _share(ours: System, other: System, minimum: float) -> Line:
    share = ours.rate.median / other.rate.median
    return Line(
        f"{ours.name} against {other.name}",
        "pages/s",
        ours.rate,
        {other.name: other.rate},
        f"at least {minimum:.0%}",
        share >= minimum,
        f"{share:.1%}",
    )


def _times(ours: System, other: System, minimum: float) -> Line:
    """Requests a second and core as a multiple of another's."""
    times = ours.per_core.median / other.per_core.median
    return Line(
        f"{ours.name} against {other.name}",
        "pages/s a core",
        ours.per_core,
        {other.name: other.per_core},
        f"at least {minimum:g} times",
        times >= minimum,
        f"{times:.1f} times",
    )
