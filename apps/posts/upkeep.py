"""Keeps the caches of an author's open posts up with PostgreSQL, after the commit and never before (source 004).

Each function is called inside the transaction of the change, with the author's counts row as it was locked, which is
before `outbox_revision` grew by one. A write that fails is logged and forgotten: readers know the newer revision.
Nothing happens for restricted posts, which are in no cache.
"""

import logging
import time

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

logger = logging.getLogger(__name__)


def written(counts: UserCounts, content: PostContent) -> None:
    """A post was published or edited: this is its content from now on."""
    if content.is_open:
        _after_commit(counts, content.id, content)


def deleted(counts: UserCounts, post: Post) -> None:
    """A post is gone."""
    if post.visibility in OPEN:
        _after_commit(counts, post.pk, None)


def _after_commit(counts: UserCounts, post_id: int, content: PostContent | None) -> None:
    author_id, revision = counts.pk, counts.outbox_revision
    newest = max(counts.last_post_id, post_id)

    def tell() -> None:  # no partial: Django looks for the name of what failed
        value = encode(content) if content else b""
        if content:
            CONTENT.set_many({(content.id, content.version): content})
        _tell(author_id, Change(revision, revision + 1, post_id, value), newest)

    transaction.on_commit(tell, robust=True)


def _tell(author_id: int, change: Change, newest: int) -> None:
    this = Week.of_second(max(int(time.time()), second_of(newest)))
    # a reader whose clock is ahead of ours may have begun the next week
    weeks = [this.before(-1), this, this.before()]
    try:
        RECENT.change(author_id, weeks, change)
    except RedisError as error:
        logger.warning("recent posts of %s are behind: %s", author_id, error)
    hot_authors().forget(author_id)  # here at once, elsewhere when the message arrives
