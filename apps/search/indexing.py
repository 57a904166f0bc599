"""Keeps the search index up to date. Everything in this module may run twice, late, or in any order."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from django.db import connection, transaction
from django.db.models import Max, Q
from django.utils import timezone

from apps.accounts.models import User
from apps.posts.content.text import tag_names
from apps.posts.models import Kind, Post, Visibility
from apps.search.models import IndexWalk, PersonEntry, PostEntry
from apps.search.words import tsvector
from apps.tags.actions import add_tags
from feedcache.ids import authors_of

BATCH = 1_000
OVERLAP = 1_000  # the number of account ids that are checked again
VERSION = 2  # of the index entries; when it changes, all posts and people are indexed again

_ENTRIES = """unnest(
    %(ids)s::bigint[], %(authors)s::bigint[], %(are_public)s::boolean[], %(words)s::text[]
) AS t(id, author_id, is_public, words)"""
# Two statements instead of ON CONFLICT (post_id), because the key of a distributed table also contains the author.
# The INSERT is first: if two transactions insert the same entry, the second waits, and its UPDATE then finds the entry.
_PUT_POSTS = f"""
INSERT INTO search_postentry (post_id, author_id, is_public, words)
SELECT id, author_id, is_public, words::tsvector FROM {_ENTRIES} ON CONFLICT DO NOTHING;
UPDATE search_postentry e SET is_public = t.is_public, words = t.words::tsvector FROM {_ENTRIES}
WHERE e.post_id = t.id AND e.author_id = t.author_id
    AND (e.is_public <> t.is_public OR e.words <> t.words::tsvector)
"""  # noqa: S608 -- constants
_PUT_PEOPLE = """
INSERT INTO search_personentry (user_id, words)
SELECT id, words::tsvector FROM unnest(%s::bigint[], %s::text[]) AS t(id, words)
ON CONFLICT (user_id) DO UPDATE SET words = excluded.words
"""


def index_posts(post_ids: Collection[int]) -> None:
    """Index posts as they are now; delete the entries of deleted posts and of reposts."""
    rows = Post.objects.filter(pk__in=post_ids, deleted_at=None).exclude(kind=Kind.REPOST)
    found = list(rows.only("author_id", "visibility", "body", "content_warning"))
    deleted = set(post_ids) - {post.pk for post in found}
    if deleted:
        PostEntry.objects.filter(pk__in=deleted, author_id__in=authors_of(deleted)).delete()
    if not found:
        return
    columns: dict[str, Any] = {
        "ids": [post.pk for post in found],
        "authors": [post.author_id for post in found],
        "are_public": [post.visibility == Visibility.PUBLIC for post in found],
        "words": [tsvector(f"{post.content_warning} {post.body}") for post in found],
    }
    with connection.cursor() as sql:
        sql.execute(_PUT_POSTS, columns)


def index_people(users: Sequence[User]) -> None:
    """Index accounts by display name and handle."""
    columns = (
        [user.pk for user in users],
        [tsvector(f"{user.display_name} {user.handle.replace('_', ' ')}") for user in users],
    )
    with connection.cursor() as sql:
        sql.execute(_PUT_PEOPLE, columns)


def index_new_people() -> int:
    """Index the next batch of new accounts; returns their number, 0 if all are indexed.

    Transactions do not commit in the order of the accounts' ids, so the last `OVERLAP` ids are checked again.
    """
    last = PersonEntry.objects.aggregate(last=Max("user_id"))["last"] or 0
    indexed = PersonEntry.objects.filter(user_id__gt=last - OVERLAP).values("user_id")
    new = User.objects.filter(pk__gt=last - OVERLAP).exclude(pk__in=indexed)
    users = list(new.order_by("pk")[:BATCH])
    if users:
        index_people(users)
    return len(users)


def next_post_ids(after: int) -> list[int]:
    """The ids of the next posts after an id, for a scan of all posts."""
    rows = Post.objects.filter(pk__gt=after).order_by("pk")
    return list(rows.values_list("pk", flat=True)[:BATCH])


def next_user_ids(after: int) -> list[int]:
    """The ids of the next accounts after an id."""
    rows = User.objects.filter(pk__gt=after).order_by("pk")
    return list(rows.values_list("pk", flat=True)[:BATCH])


def tag_and_index(post_ids: Collection[int]) -> None:
    """Tag and index posts, which may have been written before the site had tags and a search index."""
    has_sign = Q(body__contains="#") | Q(body__contains="＃")
    rows = Post.objects.filter(has_sign, pk__in=post_ids, deleted_at=None)
    posts = rows.exclude(kind=Kind.REPOST).only("visibility", "hidden_at", "body")
    add_tags((post.pk, tag_names(post.body), post.has_public_tags) for post in posts)
    index_posts(post_ids)


def index_people_of(user_ids: Collection[int]) -> None:
    """Index accounts by their ids."""
    index_people(list(User.objects.filter(pk__in=user_ids)))


_SCANS: dict[str, tuple[Callable[[int], list[int]], Callable[[Collection[int]], None]]] = {
    IndexWalk.Kind.POSTS: (next_post_ids, tag_and_index),
    IndexWalk.Kind.PEOPLE: (next_user_ids, index_people_of),
}


@transaction.atomic
def index_older(kind: IndexWalk.Kind) -> int:
    """Index the next batch in a scan of all posts or all people; returns their number.

    Returns 0 once this version's scan is complete, or while another worker has locked the scan.
    """
    next_ids, index = _SCANS[kind]
    IndexWalk.objects.get_or_create(kind=kind)
    progress = IndexWalk.objects.select_for_update(skip_locked=True).filter(kind=kind).first()
    if progress is None or (progress.version == VERSION and progress.finished_at):
        return 0
    ids = next_ids(progress.after if progress.version == VERSION else 0)
    index(ids)
    progress.version, progress.after = VERSION, ids[-1] if ids else progress.after
    progress.finished_at = None if ids else timezone.now()
    progress.save()
    return len(ids)
