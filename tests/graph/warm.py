"""What tests of the cached graph need: a warm cache, and what a piece of work costs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import redis
from django.db import connection

from apps.accounts.models import UserCounts
from apps.graph.queries import Relations, exact_relations, relations
from feedcache.connections import graph
from tests.feedcache.servers_of_both_kinds import calls


@dataclass
class Cost:
    """Statements, round trips to Redis, and the commands Redis ran."""

    statements: list[str] = field(default_factory=list)
    trips: int = 0
    commands: dict[str, int] = field(default_factory=dict)


@contextmanager
def measured(monkeypatch) -> Iterator[Cost]:
    """What happens inside costs so much."""
    cost = Cost()
    send = redis.connection.AbstractConnection.send_packed_command

    def counting(self, command, *args, **kwargs):
        cost.trips += 1
        return send(self, command, *args, **kwargs)

    def noting(execute, sql, params, many, context):
        cost.statements.append(sql)
        return execute(sql, params, many, context)

    graph().config_resetstat()
    with monkeypatch.context() as patch, connection.execute_wrapper(noting):
        patch.setattr(redis.connection.AbstractConnection, "send_packed_command", counting)
        yield cost
    cost.commands = calls(graph())


def revision_of(user) -> int:
    """The fence of whom somebody follows, blocks and mutes, as it is now."""
    return UserCounts.objects.get(pk=user.pk).graph_revision


def cached(viewer, others) -> Relations:
    """As the gate asks: with the viewer's revision of this moment."""
    ids = [other.pk for other in others]
    return _plain(relations(viewer.pk, ids, revision=revision_of(viewer)))


def from_truth(viewer, others) -> Relations:
    """What PostgreSQL says."""
    return _plain(exact_relations(viewer.pk, [other.pk for other in others]))


def _plain(found: Relations) -> Relations:
    """Without what PostgreSQL may add; for comparisons."""
    return Relations(
        found.following, found.blocking, found.blocked_by, found.muting, found.hiding_reposts
    )
