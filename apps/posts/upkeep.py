"""Keeps the caches of an author's open posts up with PostgreSQL, after the commit and never before (source 004).

Each function is called inside the transaction of the change, with the author's counts row as it was locked, which is
before `outbox_revision` grew by one. A write that fails is logged and forgotten: readers know the newer revision.
Nothing happens for restricted posts, which are in no cache.
"""

import logging
import time
from collections.abc import Callable
from functools import partial

from django.db import transaction

from apps.accounts.models import UserCounts
from apps.caches.servers import RedisError
from apps.caches.weekbucket import Change, Week
from apps.ids import second_of
from apps.posts.cache import CONTENT, RECENT
from apps.posts.codec import encode
from apps.posts.content import PostContent
from apps.posts.hot import hot_authors
from apps.posts.models import OPEN, Post
from apps.posts.queries import load_contents

logger = logging.getLogger(__name__)

Content = Callable[[], PostContent | None]


def published(counts: UserCounts, content: PostContent) -> None:
    """A post was published."""
    if content.is_open:
        _after_commit(counts, content.id, lambda: content)


def edited(counts: UserCounts, post: Post) -> None:
    """A post has a new version, which is read after the commit."""
    if post.visibility in OPEN:
        _after_commit(counts, post.pk, partial(_loaded, post.pk, post.version))


def deleted(counts: UserCounts, post: Post) -> None:
    """A post is gone."""
    if post.visibility in OPEN:
        _after_commit(counts, post.pk, lambda: None)


def _after_commit(counts: UserCounts, post_id: int, content: Content) -> None:
    author_id, revision = counts.pk, counts.outbox_revision
    newest = max(counts.last_post_id, post_id)

    def tell() -> None:  # no partial: Django looks for the name of what failed
        _tell(author_id, revision, newest, post_id, content)

    transaction.on_commit(tell, robust=True)


def _tell(author_id: int, revision: int, newest: int, post_id: int, content: Content) -> None:
    found = content()
    if found is not None:
        CONTENT.set_many({(found.id, found.version): found})
    change = Change(revision, revision + 1, post_id, encode(found) if found else b"")
    this = Week.of_second(max(int(time.time()), second_of(newest)))
    # a reader whose clock is ahead of ours may have begun the next week
    weeks = [this.before(-1), this, this.before()]
    try:
        RECENT.change(author_id, weeks, change)
    except RedisError as error:
        logger.warning("recent posts of %s are behind: %s", author_id, error)
    hot_authors().forget(author_id)  # here at once, elsewhere when the message arrives


def _loaded(post_id: int, version: int) -> PostContent | None:
    return next(iter(load_contents([(post_id, version)]).values()), None)
