"""The authors and readers of these benchmarks: created in bulk, once per run."""

from functools import cache
from typing import Any

from django.db import connection

from apps.accounts.management.bulk import make_accounts
from apps.accounts.models import User, UserCounts
from apps.accounts.queries import user_by_handle
from apps.timeline.sources.home_cache import HOME
from feedcache.connections import timelines
from feedcache.ids import compose

CROWD, SMALL, LIVE = 100_000, 10, 0.2
BEGIN, SECONDS_APART = 1_700_000_000, 37
PIPELINE = 1000

_FOLLOW = """
INSERT INTO {table} (owner_id, {other}_id, created_at)
SELECT {columns}, now() FROM accounts_user WHERE handle LIKE %s ORDER BY id
"""


@cache
def author(followers: int) -> User:
    """An author with `followers` followers, a fifth of whom have a full home window."""
    crowd = f"crowd{followers}x"
    make_accounts([f"author{followers}", *(f"{crowd}{number}" for number in range(followers))])
    found = user_by_handle(f"author{followers}")
    with connection.cursor() as sql:
        for table, other, columns in (
            ("graph_follower", "follower", "%s, id"),
            ("graph_followee", "followee", "id, %s"),
        ):
            statement = _FOLLOW.format(table=table, other=other, columns=columns)
            sql.execute(statement, [found.pk, f"{crowd}%"])
        sql.execute("ANALYZE graph_follower, graph_followee, accounts_user")
    UserCounts.objects.filter(pk=found.pk).update(followers=followers)
    ids = reader_ids(followers)
    come_online(ids[: max(1, int(len(ids) * LIVE))])
    return user_by_handle(found.handle)


def reader_ids(followers: int) -> list[int]:
    """The followers of that author; the first fifth are online."""
    crowd = User.objects.filter(handle__startswith=f"crowd{followers}x").order_by("pk")
    return list(crowd.values_list("pk", flat=True))


def come_online(readers: list[int]) -> None:
    """Give readers full home windows: one is filled, the others are copies of it."""
    client: Any = timelines()
    first = readers[0]
    posts = [compose(BEGIN + number * SECONDS_APART, 5, 0) for number in range(HOME.length)][::-1]
    HOME.swap(first, HOME.begin(first) or "", posts, complete=False)
    window = client.dump(HOME.key(first))
    for start in range(1, len(readers), PIPELINE):
        pipeline = client.pipeline(transaction=False)
        for reader in readers[start : start + PIPELINE]:
            pipeline.restore(HOME.key(reader), HOME.ttl_seconds * 1000, window, replace=True)
        pipeline.execute()
