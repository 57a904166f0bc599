"""The newest posts of hot authors, inside every process: what a crowd asks for is one read a second or two (source 004).

An author is hot by followers, or when this process is asked for them often. An entry goes when its author changes
something: the change is announced on a channel to which every process listens. It lives for HOT_AUTHOR_TTL_SECONDS at
most, so a lost message does little harm, and a reader who knows a newer revision never takes it.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from django.conf import settings

from apps.accounts.models import User
from apps.posts.cache.entries import RECENT
from apps.posts.content.post import PostContent
from feedcache.local_cache import HotKeys, LocalCache
from feedcache.memcached.topology_listener import current, listener

POSTS_KEPT = 60  # of an author: some pages


@dataclass(frozen=True, slots=True)
class Head:
    """An author's newest open posts, newest first, as of a revision.

    Nothing is missing down to the id `complete_to`; more of what is known was cut off when it is not `whole`.
    """

    posts: tuple[PostContent, ...]
    complete_to: int
    revision: int
    whole: bool


class HotAuthors:
    """The heads kept in this process."""

    def __init__(self) -> None:
        self._heads: LocalCache[int, Head] = LocalCache(
            maximum=settings.HOT_AUTHORS_KEPT, ttl_seconds=settings.HOT_AUTHOR_TTL_SECONDS
        )
        self._reads: HotKeys[int] = HotKeys(threshold=settings.HOT_AUTHOR_READS_PER_SECOND)

    def counts_as_hot(self, author: User) -> bool:
        """Count a read of an author; whether the author is hot."""
        often = self._reads.count(author.pk)
        return often or author.counts.followers >= settings.HOT_AUTHOR_FOLLOWERS

    def head(self, author: User, load: Callable[[], Head | None]) -> Head | None:
        """The head of a hot author, no older than the revision that is known; loaded when it is not here."""
        current()  # from here on this process listens
        known = author.counts.outbox_revision
        return self._heads.get(author.pk, load, accept=lambda head: head.revision >= known)

    def forget(self, author_id: int) -> None:
        """An author changed something."""
        self._heads.forget(author_id)

    def heard(self, message: bytes | None) -> None:
        """What the channel says: an author's id. None: messages may have been missed."""
        if message is not None and message.isdigit():
            self.forget(int(message))
        else:
            self._heads.clear()


@cache
def hot_authors() -> HotAuthors:
    """Those of this process. A forked child begins anew: a lock may be held there by a thread it does not have."""
    listener().subscribe_channel(RECENT.channel, _heard)
    return HotAuthors()


def _heard(message: bytes | None) -> None:
    hot_authors().heard(message)  # whichever is in use now


os.register_at_fork(after_in_child=hot_authors.cache_clear)
