"""Keeps what is searched up with posts and accounts. Everything here may run twice, late, and in any order."""

from collections.abc import Collection, Sequence

from django.db import connection, transaction
from django.db.models import Max
from django.utils import timezone

from apps.accounts.models import User
from apps.posts.content.text import tag_names
from apps.posts.models import Kind, Post, Visibility
from apps.search.models import IndexWalk, PersonEntry, PostEntry
from apps.search.words import vector
from apps.tags.actions import add_tags

BATCH = 1_000
OVERLAP = 1_000  # ids of accounts
VERSION = 1  # of what is written for a post: another one has all of them indexed anew

_PUT_POSTS = """
INSERT INTO search_postentry (post_id, author_id, is_public, words)
SELECT id, author_id, is_public, words::tsvector
FROM unnest(%s::bigint[], %s::bigint[], %s::boolean[], %s::text[]) AS t(id, author_id, is_public, words)
ON CONFLICT (post_id) DO UPDATE SET is_public = excluded.is_public, words = excluded.words
"""
_PUT_PEOPLE = """
INSERT INTO search_personentry (user_id, words)
SELECT id, words::tsvector FROM unnest(%s::bigint[], %s::text[]) AS t(id, words)
ON CONFLICT (user_id) DO UPDATE SET words = excluded.words
"""


def index_posts(post_ids: Collection[int]) -> None:
    """Write what is to be found of posts as they are now: nothing of those that are gone, and of reposts."""
    rows = Post.objects.filter(pk__in=post_ids, deleted_at=None).exclude(kind=Kind.REPOST)
    found = list(rows.only("author_id", "visibility", "body", "content_warning"))
    gone = set(post_ids) - {post.pk for post in found}
    if gone:
        PostEntry.objects.filter(pk__in=gone).delete()
    if not found:
        return
    columns = (
        [post.pk for post in found],
        [post.author_id for post in found],
        [post.visibility == Visibility.PUBLIC for post in found],
        [vector(f"{post.content_warning} {post.body}") for post in found],
    )
    with connection.cursor() as sql:
        sql.execute(_PUT_POSTS, columns)


def index_people(users: Sequence[User]) -> None:
    """Write what accounts are found by."""
    columns = (
        [user.pk for user in users],
        [vector(f"{user.display_name} {user.handle.replace('_', ' ')}") for user in users],
    )
    with connection.cursor() as sql:
        sql.execute(_PUT_PEOPLE, columns)


def index_new_people() -> int:
    """Go on behind the youngest account that is indexed; how many were new. Called until there are none.

    Ids are not given in the order of the commits: those shortly below it are looked at again.
    """
    last = PersonEntry.objects.aggregate(last=Max("user_id"))["last"] or 0
    indexed = PersonEntry.objects.filter(user_id__gt=last - OVERLAP).values("user_id")
    fresh = User.objects.filter(pk__gt=last - OVERLAP).exclude(pk__in=indexed)
    users = list(fresh.order_by("pk")[:BATCH])
    if users:
        index_people(users)
    return len(users)


def next_posts(after: int) -> list[int]:
    """The ids of the next posts above one, for a walk through all."""
    return list(
        Post.objects.filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)[:BATCH]
    )


def tag_and_index(post_ids: Collection[int]) -> None:
    """Write the tags and the words of posts that may be older than both."""
    rows = Post.objects.filter(pk__in=post_ids, deleted_at=None, body__contains="#")
    said = rows.exclude(kind=Kind.REPOST).only("visibility", "body")
    add_tags((post.pk, tag_names(post.body), post.visibility == Visibility.PUBLIC) for post in said)
    index_posts(post_ids)


@transaction.atomic
def index_older_posts() -> int:
    """Index the next posts of the walk through all; how many. None once it is done in this version, and beside another worker."""
    IndexWalk.objects.get_or_create(pk=1)
    walk = IndexWalk.objects.select_for_update(skip_locked=True).filter(pk=1).first()
    if walk is None or (walk.version == VERSION and walk.finished_at):
        return 0
    ids = next_posts(walk.after if walk.version == VERSION else 0)
    tag_and_index(ids)
    walk.version, walk.after = VERSION, ids[-1] if ids else walk.after
    walk.finished_at = None if ids else timezone.now()
    walk.save()
    return len(ids)
