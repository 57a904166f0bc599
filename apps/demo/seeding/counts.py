"""Adds the numbers of inserted rows to the stored counts, which other transactions may change at the same time."""

from operator import itemgetter

from django.db import connection

from apps.accounts.cache import USER_COUNTS
from apps.accounts.counts_store import rebuild_after_commit
from apps.demo.seeding.world import World, batches
from apps.posts.cache import POST_COUNTS
from apps.posts.models import Counts
from feedcache.ids import author_of

# One statement for each row, because rows may be on several servers; in the order of their keys, so that two writers of
# many counts never deadlock.
_USERS = """
UPDATE accounts_usercounts
SET followers = followers + %(followers)s, following = following + %(following)s, posts = posts + %(posts)s,
    last_post_id = greatest(last_post_id, %(last_post_id)s),
    last_open_post_id = greatest(last_open_post_id, %(last_open_post_id)s),
    wrote_restricted = true, revision = revision + 1,
    outbox_revision = outbox_revision + %(posts)s,
    graph_revision = graph_revision + (%(following)s > 0)::int,
    followers_revision = followers_revision + (%(followers)s > 0)::int
WHERE user_id = %(key)s
"""
_POSTS = f"""
UPDATE posts_postcounts
SET {", ".join(f"{name} = {name} + %({name})s" for name in Counts._fields)}, revision = revision + 1
WHERE post_id = %(key)s AND author_id = %(author)s
"""  # noqa: S608 -- only our own table and column names
_OF_USER = ("followers", "following", "posts", "last_post_id", "last_open_post_id")


def add_counts(world: World) -> None:
    users = [
        {"key": one.pk, **{name: getattr(one, name) for name in _OF_USER}}
        for one in world.members
        if one.followers or one.following or one.last_post_id
    ]
    posts = [
        {"key": one.pk, "author": author_of(one.pk)}
        | {name: one.counts[name] for name in Counts._fields}
        for one in world.entries
        if one.counts
    ]
    with connection.cursor() as cursor:
        for sql, rows in ((_USERS, users), (_POSTS, posts)):
            for batch in batches(sorted(rows, key=itemgetter("key"))):
                cursor.executemany(sql, batch)
    for service in (USER_COUNTS, POST_COUNTS):
        rebuild_after_commit(service)
