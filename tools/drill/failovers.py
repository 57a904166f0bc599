"""Outages that servers resolve by themselves: the death of a Redis primary, a restart of RabbitMQ, and a Citus worker
that is drained of its shards.

Each is a generator that proceeds in small steps, so that the other faults of the plan can start and end meanwhile.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from runner.terminal import LaunchError
from tools.drill.faults import Fault, Kind
from tools.scale.citus import Node
from tools.scale.redis_servers import RedisBehindSentinels, RedisCluster
from tools.scale.servers import RabbitMQ

LONGEST_SECONDS = 60.0  # a longer outage does not count as a successful drill
LONGEST_MOVE_SECONDS = 600.0  # of all shards of a worker, while they are written to


@dataclass
class Outage:
    """An outage, for the report."""

    name: str
    target: str
    began: float  # since the epoch, as in the history
    took_over_s: float | None = None  # seconds until requests were served again
    healed_s: float | None = None  # seconds until all servers were back

    @property
    def served_at(self) -> float:
        """When requests were served again, in seconds since the epoch; now if they are not yet."""
        return time.time() if self.took_over_s is None else self.began + self.took_over_s

    def took_over(self) -> None:
        self.took_over_s = round(time.time() - self.began, 2)

    def __str__(self) -> str:
        first, last = (
            "-" if seconds is None else f"{seconds:.3f} s"
            for seconds in (self.took_over_s, self.healed_s)
        )
        if self.name == Kind.DRAIN:
            return f"{self.name} of {self.target}: without shards after {first}, with its share again after {last}"
        return f"{self.name} of {self.target}: served again after {first}, all servers there after {last}"

    def steps(self, fault: Fault, service: object) -> Iterator[None]:
        """Carry the outage out in short steps, between which the caller pauses. Raises LaunchError."""
        longest = LONGEST_MOVE_SECONDS if fault.kind is Kind.DRAIN else LONGEST_SECONDS
        yield from _bounded(self.name, OUTAGES[fault.kind](self, fault, service), longest)
        self.healed_s = round(time.time() - self.began, 2)


def _sentinel(outage: Outage, _fault: Fault, redis: RedisBehindSentinels) -> Iterator[None]:
    """The Sentinels promote the replica; the old primary returns empty, and they make it a replica."""
    while (old := redis.primary()) is None:
        yield
    old.kill()
    # if it returned before all Sentinels know the new primary, clients would be sent to the old one, which is empty
    while redis.primary() in (None, old):
        yield
    outage.took_over()
    old.start()
    while not old.is_linked_replica():
        yield


def _cluster(outage: Outage, _fault: Fault, redis: RedisCluster) -> Iterator[None]:
    """The replica takes over the slots; the old primary returns empty, and its cluster file makes it a replica."""
    old = redis.writable()[0]
    old.kill()
    while not redis.is_whole():
        yield
    outage.took_over()
    old.start()
    while not (old.is_linked_replica() and redis.is_whole()):
        yield


def _rabbitmq(outage: Outage, fault: Fault, broker: RabbitMQ) -> Iterator[None]:
    """RabbitMQ is stopped as for an upgrade, and starts again with its stored data after the fault's duration."""
    broker.ask_to_stop()
    while broker.child is not None and broker.child.running():
        yield
    broker.stop()
    away_until = time.monotonic() + fault.seconds
    while time.monotonic() < away_until:
        yield
    broker.launch()
    while not broker.is_ready():
        yield
    outage.took_over()


def _drain(outage: Outage, _fault: Fault, worker: Node) -> Iterator[None]:
    """All shards of a worker move to the others, and then its share moves back, while the site writes to them."""
    cluster = worker.cluster
    cluster.drain(worker)
    while cluster.is_moving():
        yield
    outage.took_over()
    cluster.rebalance(worker)
    while cluster.is_moving():
        yield


OUTAGES: dict[Kind, Callable[..., Iterator[None]]] = {
    Kind.SENTINEL_FAILOVER: _sentinel,
    Kind.CLUSTER_FAILOVER: _cluster,
    Kind.RESTART: _rabbitmq,
    Kind.DRAIN: _drain,
}


def _bounded(name: str, steps: Iterator[None], longest: float) -> Iterator[None]:
    deadline = time.monotonic() + longest
    for _ in steps:
        if time.monotonic() > deadline:
            raise LaunchError(f"the {name} did not end within {longest:.0f} s")
        yield
