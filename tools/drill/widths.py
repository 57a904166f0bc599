"""`--with-widths`: adds a slot to Main and Backup and removes it, while people act and posts are deleted.

`manage cache` starts each change, as an operator would, and the site carries out the steps. In every step a post that
all caches contain is deleted; it is then requested from both web servers until the end of the load.
"""

import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import cycle
from typing import Any

from django.db import connection

from apps.operations.queries import topology_in_force
from feedcache import stats
from feedcache.connections import RedisError
from feedcache.servers import totals
from feedcache.stats import Counts
from feedcache.topology import Pool
from runner.checkout import ROOT
from runner.preparation import manage_command
from runner.terminal import LaunchError
from tools.drill.acts import bearer
from tools.drill.history import FAIL, OK, UNKNOWN, History, Operation
from tools.drill.verdict import Verdicts
from tools.drill.wire import Answer, NoAnswerError, Wire
from tools.drill.world import Person, World

LEAST_HIT_RATE = 0.9  # of all keys, in every step
FEWEST_READS = 200  # with fewer, a rate is meaningless
BEGIN_SECONDS = 5.0  # of the load, to fill the caches
MOST_SECONDS = 600.0  # for one change
TRIES, TRY_PAUSE_SECONDS = 5, 3.0  # while the new node is down
LOOK_SECONDS = 0.3
WARM_READS = 2
POSTS = 10  # for each client: more than are deleted
AFTER = "after"


@dataclass
class Step:
    """A step of a change, or the time before or after it."""

    pool: str
    slots: int
    phase: str
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    deleted: int = 0
    hits: int = 0
    reads: int = 0

    @property
    def hit_rate(self) -> float | None:
        return self.hits / self.reads if self.reads else None

    def __str__(self) -> str:
        rate = "-" if self.hit_rate is None else f"{self.hit_rate:.1%}"
        return (
            f"{self.pool} to {self.slots}, {self.phase}: {self.seconds:.1f} s, hit rate {rate} of {self.reads:,} reads,"
            f" {self.deleted} deleted"
        )


class Widths:
    """Runs in a separate thread. `steps` is for the report."""

    def __init__(
        self,
        spare: Mapping[Pool, str],
        environment: Mapping[str, str],
        addresses: Sequence[str],
        history: History,
    ) -> None:
        self.steps: list[Step] = []
        self.error = ""
        # requests for posts deleted here, and how often these were shown
        self.reads = self.seen = 0
        self._spare, self._environment = spare, environment
        self._addresses, self._history = addresses, history
        self._thread: threading.Thread | None = None
        self._gone: list[int] = []
        self._counts: Counts = Counts()

    @property
    def is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(self, world: World) -> None:
        self._thread = threading.Thread(target=self._run, args=(world,), name="widths", daemon=True)
        self._thread.start()

    def judge(self, verdicts: Verdicts, *, is_calm: bool) -> None:
        """Check the results; the hit rate only if nothing else was done to the caches."""
        verdict = verdicts["I33"]
        if self.error:
            verdict.violate(self.error)
        verdict.checked += self.reads
        if self.seen:
            verdict.violate(f"deleted posts were shown {self.seen} times", lost=0)
        for step in self.steps:
            verdict.checked += step.reads
            if step.phase != AFTER and not step.deleted:
                verdict.violate(f"nothing was deleted in a step: {step}")
            rate = step.hit_rate
            is_low = rate is not None and step.reads >= FEWEST_READS and rate < LEAST_HIT_RATE
            if is_calm and is_low:
                verdict.violate(f"the hit rate was too low: {step}")

    def told(self) -> list[str]:
        rates = [one.hit_rate for one in self.steps if one.hit_rate and one.reads >= FEWEST_READS]
        least = f"{min(rates):.1%}" if rates else "-"
        deleted = f"{len(self._gone)} posts deleted in the steps, asked for {self.reads:,} times"
        total = f"lowest hit rate of a step {least}; {deleted}, seen {self.seen} times"
        return [*map(str, self.steps), total]

    def _run(self, world: World) -> None:
        try:
            self._act(world)
        except LaunchError as error:
            self.error = str(error)
        finally:
            connection.close()

    def _act(self, world: World) -> None:
        time.sleep(BEGIN_SECONDS)
        people = self._people(world)
        topology = topology_in_force()
        for pool in (Pool.MAIN, Pool.BACKUP):
            width = len(topology.group(pool))
            grow = ("grow", pool.value, self._spare[pool], "--no-wait")
            self._change(pool, width + 1, grow, people)
            shrink = ("shrink", f"{pool.value}:{width}", "--no-wait")
            self._change(pool, width, shrink, people)
        self._note(Step("all", 0, AFTER), people, seconds=BEGIN_SECONDS)
        if not sum(step.reads for step in self.steps):
            raise LaunchError("the site counts nothing: its processes do not follow the topology")

    def _change(self, pool: Pool, slots: int, command: Sequence[str], people: "Clients") -> None:
        self._manage(*command)
        deadline, step = time.monotonic() + MOST_SECONDS, None
        for phase in self._phases(pool, deadline):
            if step is None or step.phase != phase:
                if step is not None:
                    self._end(step)
                step = Step(pool.value, slots, phase)
                self._begin(step, people)
            self._look(people)
        if step is not None:
            self._end(step)
        if time.monotonic() > deadline:
            raise LaunchError(f"{pool} did not get {slots} slots within {MOST_SECONDS:.0f} s")

    def _phases(self, pool: Pool, deadline: float) -> Iterator[str]:
        while time.monotonic() < deadline:
            resize = topology_in_force().resizes.get(pool)
            if resize is None:
                return
            yield resize.phase.value
            time.sleep(LOOK_SECONDS)

    def _begin(self, step: Step, people: "Clients") -> None:
        self._history.note(event="step", pool=step.pool, slots=step.slots, phase=step.phase)
        self._counts = self._read_counts()
        for _ in range(TRIES):
            if (post_id := next(people).delete()) is not None:
                self._gone.append(post_id)
                step.deleted += 1
                return

    def _note(self, step: Step, people: "Clients", *, seconds: float) -> None:
        self._counts = self._read_counts()
        while time.monotonic() < step.began + seconds:
            self._look(people)
            time.sleep(LOOK_SECONDS)
        self._end(step)

    def _end(self, step: Step) -> None:
        before, now = self._counts, self._read_counts()
        if sum(now.values()) < sum(before.values()):
            before = Counts()  # Redis was emptied
        changes = {
            outcome: sum(
                number - before[name, word]
                for (name, word), number in now.items()
                if word == outcome and ":" not in name
            )
            for outcome in (stats.HIT, stats.NEGATIVE, stats.MISS, stats.GARBAGE, stats.STALE)
        }
        step.seconds = time.monotonic() - step.began
        step.hits = changes[stats.HIT] + changes[stats.NEGATIVE]
        step.reads = sum(changes.values())
        self.steps.append(step)

    def _look(self, people: "Clients") -> None:
        """Request the deleted posts."""
        client = next(people)
        for post_id in self._gone:
            self.reads += 1
            self.seen += client.sees(post_id)

    def _read_counts(self) -> Counts:
        try:
            return totals.ever()
        except RedisError:
            return Counts()

    def _people(self, world: World) -> "Clients":
        """Clients that alternate between both web servers; each has posts that are in all caches."""
        # the people who write least themselves
        clients = [
            _Client(world.people[-1 - number], Wire(self._addresses, first=number), self._history)
            for number in range(len(self._addresses))
        ]
        for client in clients:
            for _ in range(POSTS):
                client.publish()
        for client in clients:
            for post_id in [one for other in clients for one in other.posts] * WARM_READS:
                client.sees(post_id)
        return cycle(clients)

    def _manage(self, *words: str) -> None:
        for left in reversed(range(TRIES)):
            done = subprocess.run(  # noqa: S603 -- our own command
                manage_command("cache", *words), cwd=ROOT, env=dict(self._environment),
                capture_output=True, text=True, timeout=MOST_SECONDS, check=False,
            )  # fmt: skip
            if not done.returncode:
                return
            if not left:
                raise LaunchError(f"manage cache {' '.join(words)}: {done.stderr.strip()[-300:]}")
            time.sleep(TRY_PAUSE_SECONDS)


class _Client:
    """Writes, deletes and reads, at one of the web servers unless it is down."""

    def __init__(self, person: Person, wire: Wire, history: History) -> None:
        self._person, self._wire, self._history = person, wire, history
        self.posts: list[int] = []

    def publish(self) -> None:
        operation = self._history.invoke(self._person.id, "publish", visibility="public")
        body = {"status": f"n{operation.number} to be deleted", "visibility": "public"}
        answer = self._write(operation, "POST", "/api/v1/statuses", body)
        post_id = int(answer.json()["id"]) if answer and answer.status == HTTPStatus.OK else None
        self._finish(operation, answer, found=post_id)
        if post_id is not None:
            self.posts.append(post_id)

    def delete(self) -> int | None:
        """Delete one of the posts. Returns its id, if the deletion was acknowledged."""
        post_id = self.posts.pop()
        operation = self._history.invoke(self._person.id, "delete", post=post_id)
        answer = self._write(operation, "DELETE", f"/api/v1/statuses/{post_id}")
        self._finish(operation, answer)
        return post_id if operation.outcome == OK else None

    def sees(self, post_id: int) -> bool:
        """Whether a post is shown."""
        operation = self._history.invoke(self._person.id, "show", post=post_id)
        try:
            answer = self._wire.read(f"/api/v1/statuses/{post_id}", bearer(self._person))
        except NoAnswerError:
            self._history.complete(operation, UNKNOWN)
            return False
        is_shown = answer.status == HTTPStatus.OK
        found = {"ids": [post_id] if is_shown else [], "degraded": False, "next": None}
        outcome = FAIL if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR else OK
        self._history.complete(operation, outcome, status=answer.status, found=found)
        return is_shown

    def _write(
        self, operation: Operation, method: str, path: str, body: dict[str, str] | None = None
    ) -> Answer | None:
        headers = {**bearer(self._person), "Idempotency-Key": f"drill-{operation.number}"}
        try:
            return self._wire.write(method, path, headers, body)
        except NoAnswerError:
            return None

    def _finish(self, operation: Operation, answer: Answer | None, *, found: Any = None) -> None:
        if answer is None or answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self._history.complete(operation, UNKNOWN, status=answer.status if answer else 0)
        else:
            outcome = OK if answer.status == HTTPStatus.OK else FAIL
            self._history.complete(operation, outcome, status=answer.status, found=found)


Clients = Iterator[_Client]
