"""The run itself, once the servers are up and Django is set up: people, load and faults, healing, checks."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from django.db import OperationalError, connection
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from apps.audit.oracle import Oracle
from runner.processes import error_line
from runner.terminal import LaunchError
from tools.drill import citus, clocks, disks, faults, follows, homes, replica, report, work
from tools.drill.acts import bearer
from tools.drill.facts import Facts
from tools.drill.history import History
from tools.drill.injector import Injector
from tools.drill.load import Load
from tools.drill.older import OlderCode
from tools.drill.options import Options
from tools.drill.pages import Pages
from tools.drill.processes import Processes
from tools.drill.reader import Reader
from tools.drill.rows import DAY_SECONDS, Rows
from tools.drill.servers import Servers
from tools.drill.tasks import Tasks
from tools.drill.upgrade import Upgrade
from tools.drill.verdict import Verdicts
from tools.drill.widths import Widths
from tools.drill.wire import Wire, is_alive
from tools.drill.world import World, make_world, world_of

READY_SECONDS = 180.0
STEP_SECONDS = 0.02
MOST_PEOPLE, PEOPLE_A_MINUTE = 150, 60
CROWD_LOOKED_AT = 20
MOST_OWED = 10_000  # rows of work, seven per post; above this, clients wait for the workers
LOOK_SECONDS = 1.0


def _owed() -> int:
    """The pending work; 0 while PostgreSQL is down."""
    try:
        return work.pending()
    except OperationalError:
        connection.close()  # the next use connects again
        return 0


class Drill:
    def __init__(
        self,
        options: Options,
        console: Console,
        servers: Servers,
        processes: Processes,
        history: History,
        older: OlderCode | None = None,
    ) -> None:
        self._options = options
        self._console = console
        self._servers = servers
        self._processes = processes
        self._history = history
        self._replica = replica.ReplicaFaults(servers.replica) if servers.replica else None
        self._told: list[str] = []  # about the replica, changes of slots, and Citus
        self._injector = Injector(servers, processes, history, self._replica)
        kills, cluster = self._injector.kills[citus.KILLED], servers.cluster
        self._deaths = citus.Deaths(cluster, kills) if cluster is not None else None
        self._addresses = [link.address for link in processes.links]
        self._verdicts = Verdicts()
        self._clocks = servers.clocks
        self._widths = None
        if options.with_widths and servers.memcached:
            self._widths = Widths(
                servers.spare_addresses(), processes.environment, self._addresses, history
            )
        self._watch: clocks.Watch | None = None
        self._disk_watch: disks.Watch | None = None
        self._tasks = self._tasks_to_kill() if options.with_tasks else None
        self._older = older
        self._upgrade: Upgrade | None = None
        if older is not None:
            self._upgrade = Upgrade(
                older,
                processes,
                environment=servers.environment(),
                log=servers.data.log / "migrate.log",
                seconds=options.minutes * 60,
                goes_back=options.back,
            )
        self._rows: Rows | None = None  # to be removed before the checks
        self._answered: Counter[int] = Counter()

    def _tasks_to_kill(self) -> Tasks:
        shaken = partial(self._injector.expect_lost_child, faults.WORKER)
        return Tasks(self._servers.victims, self._options.seed, self._history, shaken)

    def run(self) -> bool:
        """Put load on the site, heal it, check it, and report. Returns whether an invariant was violated."""
        world = self._make_world()
        self._fill(world)
        if self._deaths is not None:
            self._deaths.observe()
        self._processes.start()
        self._wait_for_web()
        with self._progress() as progress:
            self._play(world, progress)
            self._check(world, progress)
        self._report()
        return self._verdicts.violations > 0

    def _make_world(self) -> World:
        seed, number = self._options.seed, round(self._options.minutes * PEOPLE_A_MINUTE)
        people = max(self._options.fewest_people, min(MOST_PEOPLE, number))
        if self._older is None:
            return make_world(seed, people=people, crowd=self._options.crowd)
        made = self._older.make_world(
            seed, people=people, crowd=self._options.crowd, environment=self._servers.environment()
        )
        return world_of(made)

    def _fill(self, world: World) -> None:
        if self._options.rows:
            url, until = self._servers.environment()["DATABASE_URL"], time.time() - DAY_SECONDS
            self._rows = Rows(url, self._options.rows, world.crowd, until)
            self._rows.fill(partial(self._console.print, highlight=False, soft_wrap=True))

    def _wait_for_web(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        waiting = list(self._addresses)
        while waiting:
            waiting = [one for one in waiting if not is_alive(one)]
            if time.monotonic() > deadline:
                log = self._servers.data.log / "web0.log"
                raise LaunchError(f"the web servers are not responding: {error_line(log)}")

    def _play(self, world: World, progress: Progress) -> None:
        options, seconds = self._options, self._options.minutes * 60
        plan = self._plan()
        self._watch_clocks()
        bar = progress.add_task(f"Load and {len(plan)} faults", total=seconds)
        load = Load(
            world,
            self._addresses,
            self._history,
            seed=options.seed,
            per_second=options.per_second,
            with_follows=self._replica is not None,
            with_uploads=self._servers.disks is not None,
        )
        start = time.monotonic()
        self._injector.load(plan, start=start)
        self._start(load, world)
        look_at = start
        while time.monotonic() - start < seconds or self._is_changing():
            self._injector.step()
            if self._upgrade is not None:
                self._upgrade.step()
            if time.monotonic() > look_at:
                look_at = time.monotonic() + LOOK_SECONDS
                load.ease(is_behind=_owed() > MOST_OWED)
            progress.update(bar, completed=time.monotonic() - start)
            time.sleep(STEP_SECONDS)
        self._injector.heal_all()
        load.stop()
        self._injector.step()
        self._answered = load.answered()
        if load.errors:
            raise LaunchError("; ".join(load.errors))

    def _watch_clocks(self) -> None:
        if self._clocks is not None:
            self._watch = clocks.Watch(self._addresses, self._clocks, self._history)
            self._watch.start()
        if self._servers.disks is not None:
            self._disk_watch = disks.Watch(self._addresses)
            self._disk_watch.start()

    def _start(self, load: Load, world: World) -> None:
        load.start()
        if self._widths is not None:
            self._widths.start(world)
        if self._tasks is not None:
            self._tasks.start()

    def _is_changing(self) -> bool:
        is_changing_slots = self._widths is not None and self._widths.is_running
        is_killing = self._tasks is not None and self._tasks.is_running
        return (
            is_changing_slots
            or is_killing
            or (self._upgrade is not None and not self._upgrade.is_over)
        )

    def _plan(self) -> list[faults.Fault]:
        options, seconds = self._options, self._options.minutes * 60
        plan = (
            []
            if options.without_faults
            else faults.plan(
                options.seed,
                seconds=seconds,
                choices=faults.possible(
                    memcached=self._servers.memcached,
                    web=self._processes.web,
                    with_postgres=options.with_postgres,
                    redis=options.redis,
                    broker=options.broker,
                    only=options.only,
                ),
            )
        )
        plan += faults.in_the_middle(seconds=seconds, redis=options.redis, broker=options.broker)
        if self._clocks is not None:
            plan += clocks.plan(self._processes.web[0], seconds=seconds)
        if self._servers.disks is not None:
            plan += disks.plan(seconds=seconds)
        if self._replica is not None:
            plan += replica.plan(seconds=seconds)
        if self._deaths is not None:
            plan += citus.plan(seconds=seconds)
        return plan

    def _check(self, world: World, progress: Progress) -> None:
        verdicts, history = self._verdicts, self._history
        for name in self._injector.deaths:
            verdicts["I20"].violate(f"{name} ended although nobody killed it")
        reader = Reader(Wire(self._addresses))
        readers = [one.id for one in world.people] + world.crowd[:CROWD_LOOKED_AT]
        self._step(progress, "Draining", self._drain)
        self._step(progress, "Canary", lambda: work.canary(verdicts, world, reader, history))
        if self._rows is not None:
            self._step(progress, "Removing the rows", self._rows.remove)
        facts = Facts(history.operations, world)
        true = self._clocks.true if self._clocks is not None else float
        delivered, oracle = work.settled(true), Oracle()
        for name, check in (
            ("Dead letters", lambda: work.dead_letters(verdicts)),
            ("Ledger", lambda: work.ledger(verdicts, facts, delivered)),
            ("Times", lambda: self._check_times(world, facts)),
            ("Published once", lambda: work.published_once(verdicts)),
            ("Disks", self._check_disks),
            ("Tasks", self._check_tasks),
            ("Slots", self._check_widths),
            ("Citus", self._check_citus),
            ("Upgrade", self._check_upgrade),
            ("Follows", lambda: self._check_follows(world, facts, reader)),
            (
                "Pages",
                lambda: Pages(
                    facts,
                    oracle.posts,
                    delivered,
                    verdicts,
                    away=self._injector.away,
                    lacked_rows=self._lacked_rows,
                ).judge(history.operations),
            ),
            ("Homes", lambda: homes.homes(verdicts, world, oracle, reader)),
            (
                "Explanations",
                lambda: homes.explanations(verdicts, self._options.pairs, seed=self._options.seed),
            ),
            ("Work done twice", lambda: work.twice(verdicts, readers)),
            ("Rebuilt timelines", lambda: homes.rebuilt(verdicts, readers, oracle)),
            ("Counts", lambda: homes.counts(verdicts, world, oracle, reader)),
        ):
            self._step(progress, name, check)

    def _lacked_rows(self, begin: float, end: float) -> bool:
        """Whether PostgreSQL, or a worker of Citus, was away between two moments."""
        return self._injector.was_without_postgres(begin, end) or (
            self._deaths is not None and self._deaths.overlap(begin, end)
        )

    def _check_times(self, world: World, facts: Facts) -> None:
        if self._watch is None:
            return
        self._watch.stop()
        self._watch.look()
        people = {one.id: bearer(one) for one in world.people}
        authors = {
            post: one.actor for post, one in facts.published.items() if one.name == "publish"
        }
        self._watch.receipts(people, authors)
        self._watch.tell(self._verdicts)

    def _check_widths(self) -> None:
        if self._widths is not None:
            self._widths.judge(self._verdicts, is_calm=self._options.without_faults)
            self._told += self._widths.told()

    def _check_disks(self) -> None:
        if self._disk_watch is not None and self._servers.disks is not None:
            self._disk_watch.stop()
            operations = self._history.operations
            disks.judge(self._verdicts, self._servers.disks, self._disk_watch.looks, operations)
            disks.pictures(self._verdicts, operations, self._addresses)
            self._told += disks.told(self._servers.disks, operations)

    def _check_tasks(self) -> None:
        if self._tasks is not None:
            self._tasks.judge(self._verdicts)
            self._told.append(self._tasks.told())

    def _check_citus(self) -> None:
        if self._deaths is not None:
            self._deaths.observe()
            citus.judge(self._verdicts, self._deaths, self._history.operations)
            self._told += citus.told(self._deaths, self._history.operations)

    def _check_upgrade(self) -> None:
        if self._upgrade is not None:
            self._upgrade.judge(self._verdicts, self._answered, self._history.operations)
            self._told += self._upgrade.told(self._answered, self._history.operations)

    def _check_follows(self, world: World, facts: Facts, reader: Reader) -> None:
        verdicts, history = self._verdicts, self._history
        follows.follows(verdicts, facts, world, time.time())
        follows.lists_read(verdicts, facts, world.follows, history.operations)
        follows.lists_shown(verdicts, world, reader)
        if self._replica is not None:
            self._told.append(self._replica.told(follows.replica(verdicts, self._replica)))

    def _drain(self) -> None:
        work.drain(self._verdicts, self._injector.last_heal, self._history)

    def _step(self, progress: Progress, name: str, check: Callable[[], None]) -> None:
        task = progress.add_task(name, total=1)
        check()
        progress.update(task, completed=1)

    def _report(self) -> None:
        counts: Counter[tuple[str, str]] = self._injector.counts
        run = report.figures(
            self._history.operations,
            counts,
            seed=self._options.seed,
            minutes=self._options.minutes,
            deaths=self._injector.deaths,
            given_up=self._injector.given_up,
            outages=self._injector.outages,
        )
        run = replace(run, told=tuple(self._told))
        report.show(self._console, run, self._verdicts, counts)
        if self._options.json:
            report.write(self._options.json, run, self._verdicts, counts)

    def _progress(self) -> Progress:
        return Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeRemainingColumn(),
            console=self._console,
        )
