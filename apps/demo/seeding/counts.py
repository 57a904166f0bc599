"""Adds the numbers of inserted rows to the rows of counts, which others may change meanwhile."""

from collections.abc import Sequence

from django.db import connection

from apps.accounts.cache import USER_COUNTS
from apps.accounts.counts_store import rebuild_after_commit
from apps.demo.seeding.world import World, batches
from apps.posts.cache import POST_COUNTS
from apps.posts.models import Counts

# locked in order, so that two writers of many counts never deadlock
_USERS = """
WITH added AS (
    SELECT * FROM unnest(%s::bigint[], %s::int[], %s::int[], %s::int[], %s::bigint[], %s::bigint[])
        AS a(user_id, followers, following, posts, last_post_id, last_open_post_id)
), locked AS (
    SELECT c.user_id FROM accounts_usercounts c JOIN added USING (user_id) ORDER BY c.user_id FOR UPDATE OF c
)
UPDATE accounts_usercounts c
SET followers = c.followers + a.followers, following = c.following + a.following, posts = c.posts + a.posts,
    last_post_id = greatest(c.last_post_id, a.last_post_id),
    last_open_post_id = greatest(c.last_open_post_id, a.last_open_post_id),
    wrote_restricted = true, revision = c.revision + 1,
    outbox_revision = c.outbox_revision + a.posts,
    graph_revision = c.graph_revision + (a.following > 0)::int,
    followers_revision = c.followers_revision + (a.followers > 0)::int
FROM added a JOIN locked USING (user_id)
WHERE c.user_id = a.user_id
"""

_POSTS = f"""
WITH added AS (
    SELECT * FROM unnest(%s::bigint[]{", %s::int[]" * len(Counts._fields)}) AS a(post_id, {", ".join(Counts._fields)})
), locked AS (
    SELECT c.post_id FROM posts_postcounts c JOIN added USING (post_id) ORDER BY c.post_id FOR UPDATE OF c
)
UPDATE posts_postcounts c
SET {", ".join(f"{name} = c.{name} + a.{name}" for name in Counts._fields)}, revision = c.revision + 1
FROM added a JOIN locked USING (post_id)
WHERE c.post_id = a.post_id
"""  # noqa: S608 -- names of ours


def add_counts(world: World) -> None:
    users = [
        (one.pk, one.followers, one.following, one.posts, one.last_post_id, one.last_open_post_id)
        for one in world.members
        if one.followers or one.following or one.last_post_id
    ]
    posts = [
        (one.pk, *(one.counts[name] for name in Counts._fields))
        for one in world.entries
        if one.counts
    ]
    for sql, rows in ((_USERS, sorted(users)), (_POSTS, sorted(posts))):
        for batch in batches(rows):
            _run(sql, batch)
    for service in (USER_COUNTS, POST_COUNTS):
        rebuild_after_commit(service)


def _run(sql: str, rows: Sequence[Sequence[int]]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, [list(column) for column in zip(*rows, strict=True)])
