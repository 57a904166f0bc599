"""Writes of engagement: the row and its count in one transaction; all are idempotent.

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
    """Like a post, or the source of a repost. NotFound."""
    _add(Like, "likes", user, post_id)


def unlike_post(user: User, post_id: int) -> None:
    """Works on posts that are not visible any more, too."""
    _remove(Like, "likes", user, post_id)


def bookmark_post(user: User, post_id: int) -> None:
    """Bookmark a post, or the source of a repost. NotFound."""
    _add(Bookmark, "bookmarks", user, post_id)


def unbookmark_post(user: User, post_id: int) -> None:
    """Works on posts that are not visible any more, too."""
    _remove(Bookmark, "bookmarks", user, post_id)


def read_post(user: User, post_id: int) -> None:
    """Mark a post as read by a user; the first read counts, except the author's own.

    Does nothing while Redis is down.
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
        # the counts row is the lock: the second of two equal requests finds the row of the first
        list(PostCounts.objects.select_for_update().filter(pk=target))
        if model.objects.filter(user=user, post=target).exists():
            return
        model.objects.create(user=user, post_id=target)
        _mark(LIKES if model is Like else BOOKMARKS, user.pk, target)
        change_post_counts(target, {column: +1})
        if model is Like:
            record("post_liked", user_id=user.pk, post_id=target)


def _remove(model: type[Like] | type[Bookmark], column: str, user: User, post_id: int) -> None:
    source = Post.objects.filter(pk=post_id, kind=Kind.REPOST).values_list("source_id", flat=True)
    target = source.first() or post_id
    with transaction.atomic():
        list(PostCounts.objects.select_for_update().filter(pk=target))
        deleted, _by_model = model.objects.filter(user=user, post=target).delete()
        if deleted:
            change_post_counts(target, {column: -1})


def _mark(marks: Marks, user_id: int, post_id: int) -> None:
    """Call it after the insertion: a rebuild of the filter waits for earlier transactions."""
    try:
        mark_many(marks, [(user_id, post_id)])
    except RedisError:
        record("mark_missed", kind=marks.kind, user_id=user_id, post_id=post_id)


def _target(user: User, post_id: int) -> int:
    post = visible_posts(user.pk, [post_id]).posts.get(post_id)
    if post is None:
        raise NotFound(_("This post isn't here."))
    return post.source_id if post.is_repost and post.source_id is not None else post.id
