"""People and posts for benchmarks, created in bulk by PostgreSQL itself: a million posts in half a minute."""

import random
from collections.abc import Sequence
from typing import Any

from django.db import connection

from apps.accounts.management.bulk import make_accounts
from apps.accounts.models import User, UserCounts
from apps.accounts.queries import user_by_handle
from apps.events import actions as events
from apps.events.leases import State
from apps.events.models import Event
from apps.timeline.fanout import dispatch
from apps.timeline.models import FanoutChunk, FanoutJob
from feedcache.ids import EPOCH
from feedsite.celery import app
from runner.programs import QUEUES

ROWS = 100_000  # per statement

# In the order of time, as on a site in use.
_POSTS = """
INSERT INTO posts_post
    (id, author_id, kind, body, content_warning, language, visibility, thread_id, version, created_at)
SELECT id, author_id, 'text', 'A post of some words, as people write them, number ' || n, '', 'en', 'public', id, 1,
    to_timestamp(second)
FROM (
    SELECT ((second - %(epoch)s) << 28 | author_id) << 4 AS id, *
    FROM (
        SELECT author_id, n, %(begin)s + n * %(apart)s + author_id %% %(apart)s AS second
        FROM unnest(%(authors)s::bigint[]) AS author_id, generate_series(%(first)s, %(last)s) AS n
    ) AS written
) AS numbered
ORDER BY id
"""
_COUNT = """
UPDATE accounts_usercounts c
SET posts = c.posts + %(each)s, revision = c.revision + 1, outbox_revision = c.outbox_revision + 1,
    last_post_id = newest.id, last_open_post_id = newest.id
FROM (SELECT author_id, max(id) AS id FROM posts_post WHERE author_id = ANY(%(authors)s) GROUP BY 1) AS newest
WHERE user_id = newest.author_id
"""
_FOLLOW = """
INSERT INTO graph_followee (owner_id, followee_id, created_at) SELECT %(reader)s, unnest(%(authors)s::bigint[]), now();
INSERT INTO graph_follower (owner_id, follower_id, created_at) SELECT unnest(%(authors)s::bigint[]), %(reader)s, now();
UPDATE accounts_usercounts
SET followers = followers + 1, followers_revision = followers_revision + 1, revision = revision + 1
WHERE user_id = ANY(%(authors)s)
"""


def deliver_owed() -> None:
    """Do all pending work of the workers."""
    while events.run_due(limit=100) or dispatch.run_due(limit=100):
        pass


def forget_owed() -> None:
    """Drop pending work and its messages, so that the next measurement does not start with a backlog."""
    for rows in (FanoutChunk, FanoutJob, Event):
        rows.objects.exclude(state=State.DONE).delete()
    with app.connection_for_write() as broker:
        channel: Any = broker.default_channel
        for queue in QUEUES.split(","):
            channel.queue_purge(queue)


def add_posts(authors: Sequence[int], numbers: range, *, begin: int, apart: int) -> None:
    """Add posts: each account writes one for every number in `numbers`, at about `begin` + number * `apart`."""
    step = max(ROWS // len(authors), 1)
    with connection.cursor() as sql:
        for first in range(numbers.start, numbers.stop, step):
            last = min(first + step, numbers.stop) - 1
            values = {"epoch": EPOCH, "begin": begin, "apart": apart, "first": first, "last": last}
            sql.execute(_POSTS, {**values, "authors": list(authors)})
        sql.execute(_COUNT, {"each": len(numbers), "authors": list(authors)})


def write_posts(handles: str, authors: int, each: int, *, begin: int, apart: int) -> None:
    """Add accounts with a common handle prefix, each with `each` posts, one every `apart` seconds from `begin` on."""
    make_accounts([f"{handles}{number}" for number in range(authors)])
    add_posts(_ids(handles), range(1, each + 1), begin=begin, apart=apart)


def make_reader(handle: str, followees: str) -> User:
    """A new account that follows all accounts with a handle prefix."""
    return make_follower(handle, _ids(followees))


def make_follower(handle: str, authors: Sequence[int], maximum: int | None = None) -> User:
    """A new account that follows some accounts: all, or `maximum` of them, different ones for each account."""
    make_accounts([handle])
    reader = user_by_handle(handle)
    followed = (
        list(authors) if maximum is None else random.Random(handle).sample(list(authors), maximum)
    )
    with connection.cursor() as sql:
        for statement in _FOLLOW.split(";"):
            sql.execute(statement, {"reader": reader.pk, "authors": followed})
    UserCounts.objects.filter(pk=reader.pk).update(following=len(followed), graph_revision=1)
    return user_by_handle(handle)


def _ids(handles: str) -> list[int]:
    found = User.objects.filter(handle__startswith=handles).order_by("pk")
    return list(found.values_list("pk", flat=True))
