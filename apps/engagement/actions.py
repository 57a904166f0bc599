"""Writes of engagement: the row and its count in one transaction. Twice is once.

The existence filter is marked before the commit, so it never lacks a row that can be read.
"""

from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.engagement.cache import BOOKMARKS, LIKES, READS
from apps.engagement.models import Bookmark, Like
from apps.errors import NotFound
from apps.events.actions import record
from apps.posts.cache.entries import change_post_counts, count_reads
from apps.posts.models import Kind, Post, PostCounts
from apps.posts.queries import visible_posts
from feedcache.ids import author_of
from feedcache.redis_servers.connections import RedisError
from feedcache.structures.bloom.existence import mark_many
from feedcache.structures.bloom.segments import Marks


def like_post(user: User, post_id: int) -> None:
    """Like a post; liking a repost likes what it shares."""
    _add(Like, "likes", user, post_id)


def unlike_post(user: User, post_id: int) -> None:
    """Take back a like, named as it was given; works on posts that are not visible any more."""
    _remove(Like, "likes", user, post_id)


def bookmark_post(user: User, post_id: int) -> None:
    """Keep a post for later."""
    _add(Bookmark, "bookmarks", user, post_id)


def unbookmark_post(user: User, post_id: int) -> None:
    """Drop a bookmark, named as it was made; works on posts that are not visible any more."""
    _remove(Bookmark, "bookmarks", user, post_id)


def read_post(user: User, post_id: int) -> None:
    """Remember that a user opened a post; the first time counts as a read, unless it is the author's.

    Nothing is remembered while Redis does not answer.
    """
    if author_of(post_id) == user.pk:
        return
    try:
        new = mark_many(READS, [(user.pk, post_id)])
    except RedisError:
        return
    if new:
        count_reads([post_id])


def _add(model: type[Like] | type[Bookmark], column: str, user: User, post_id: int) -> None:
    target = _target(user, post_id)
    with transaction.atomic():
        # the counts row is the lock: of two equal requests the second one finds the first one's row
        list(PostCounts.objects.select_for_update().filter(pk=target))
        if model.objects.filter(user=user, post=target).exists():
            return
        model.objects.create(user=user, post_id=target)
        _mark(LIKES if model is Like else BOOKMARKS, user.pk, target)
        change_post_counts(target, {column: +1})
        if model is Like:
            record("post_liked", user_id=user.pk, post_id=target)


def _remove(model: type[Like] | type[Bookmark], column: str, user: User, post_id: int) -> None:
    shared = Post.objects.filter(pk=post_id, kind=Kind.REPOST).values_list("source_id", flat=True)
    target = shared.first() or post_id
    with transaction.atomic():
        list(PostCounts.objects.select_for_update().filter(pk=target))
        deleted, _by_model = model.objects.filter(user=user, post=target).delete()
        if deleted:
            change_post_counts(target, {column: -1})


def _mark(marks: Marks, user_id: int, post_id: int) -> None:
    """After the insertion: a rebuild of the filter waits for the transactions that wrote before it began."""
    try:
        mark_many(marks, [(user_id, post_id)])
    except RedisError:
        record("mark_missed", kind=marks.kind, user_id=user_id, post_id=post_id)


def _target(user: User, post_id: int) -> int:
    post = visible_posts(user.pk, [post_id]).posts.get(post_id)
    if post is None:
        raise NotFound(_("This post isn't here."))
    return post.source_id if post.is_repost and post.source_id is not None else post.id
