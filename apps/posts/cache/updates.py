"""Keeps the caches of an author's open posts current, after the commit and never before (source
004).

Each function is called inside the transaction of the change, with the author's counts row as it was
locked, before `outbox_revision` grew by one. A failed write of the weeks is only logged, because
readers know the newer revision; entries of single posts have no revision, see `cache.posts`. For
restricted posts only the deletion is cached.
"""

import logging
import time

from django.db import transaction

from apps.accounts.cache import forget_cards
from apps.accounts.models import UserCounts
from apps.posts.cache import posts
from apps.posts.cache.entries import RECENT, REPOSTED
from apps.posts.cache.hot_authors import hot_authors
from apps.posts.content.codec import encode
from apps.posts.content.post import PostContent
from apps.posts.models import OPEN, Kind, Post
from feedcache.ids import second_of
from feedcache.redis_servers.connections import RedisError
from feedcache.structures.week_bucket import Change, Week

logger = logging.getLogger(__name__)


def published(counts: UserCounts, content: PostContent, source: PostContent | None) -> None:
    """`source` is the post that it reposts or quotes, if any."""
    if content.is_open:
        if posts.is_first_of_day(counts, content.id):
            transaction.on_commit(lambda: forget_cards([counts.pk]), robust=True)
        add_entry = posts.prepare_entry(content.id)
        entry = posts.cached_post_of(content, source if source and source.is_open else None)
        transaction.on_commit(lambda: add_entry(entry), robust=True)
        _after_commit(counts, content.id, content)
    if content.is_repost:
        transaction.on_commit(lambda: _forget_reposted(counts.pk), robust=True)


def edited(counts: UserCounts, content: PostContent) -> None:
    """`content` is the new content."""
    if content.is_open:
        transaction.on_commit(lambda: posts.edited(content), robust=True)
        _after_commit(counts, content.id, content)


def deleted(counts: UserCounts, post: Post) -> None:
    transaction.on_commit(lambda: posts.deleted(post.pk), robust=True)
    if post.visibility in OPEN:
        _after_commit(counts, post.pk, None)
    if post.kind == Kind.REPOST:
        transaction.on_commit(lambda: _forget_reposted(post.author_id), robust=True)


def _forget_reposted(user_id: int) -> None:
    REPOSTED.forget([user_id])


def _after_commit(counts: UserCounts, post_id: int, content: PostContent | None) -> None:
    author_id, revision = counts.pk, counts.outbox_revision
    newest = max(counts.last_post_id, post_id)

    def update() -> None:  # not a partial: Django logs the name of a callback that fails
        value = encode(content) if content else b""
        _update_weeks(author_id, Change(revision, revision + 1, post_id, value), newest)

    transaction.on_commit(update, robust=True)


def _update_weeks(author_id: int, change: Change, newest: int) -> None:
    this = Week.of_second(max(int(time.time()), second_of(newest)))
    # the next week too, for readers whose clocks are ahead of ours
    weeks = [this.before(-1), this, this.before()]
    try:
        RECENT.change(author_id, weeks, change)
    except RedisError as error:
        logger.warning("recent posts of %s are behind: %s", author_id, error)
    hot_authors().forget(author_id)  # at once here, in other processes when the message arrives
