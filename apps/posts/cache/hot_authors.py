"""The newest posts of hot authors, cached in every process: a crowd costs one read every second or
two (source 004).

An author is hot by followers, or when this process reads them often. An entry is dropped when its
author changes something: a channel that every process subscribes to announces the change. It lives
for HOT_AUTHOR_TTL_SECONDS at most, so a lost message does little harm, and readers who know a newer
revision never use it.
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

MAX_POSTS = 60  # per author: some pages


@dataclass(frozen=True, slots=True)
class HotAuthorEntry:
    """An author's newest open posts, newest first, as of a revision of the outbox.

    No post with an id of `complete_to` or more is missing. `is_whole` unless older posts of the two
    weeks were cut off.
    """

    posts: tuple[PostContent, ...]
    complete_to: int
    revision: int
    is_whole: bool


class HotAuthors:
    def __init__(self) -> None:
        self._entries: LocalCache[int, HotAuthorEntry] = LocalCache(
            maximum=settings.HOT_AUTHORS_KEPT, ttl_seconds=settings.HOT_AUTHOR_TTL_SECONDS
        )
        self._reads: HotKeys[int] = HotKeys(threshold=settings.HOT_AUTHOR_READS_PER_SECOND)

    def record_read(self, author: User) -> bool:
        """Record a read of an author; returns whether the author is hot."""
        often = self._reads.count(author.pk)
        return often or author.counts.followers >= settings.HOT_AUTHOR_FOLLOWERS

    def get(self, author: User, load: Callable[[], HotAuthorEntry | None]) -> HotAuthorEntry | None:
        """The entry of a hot author, at least of the counts' revision; loaded when missing."""
        current()  # subscribes this process
        revision = author.counts.outbox_revision
        return self._entries.get(author.pk, load, accept=lambda entry: entry.revision >= revision)

    def forget(self, author_id: int) -> None:
        self._entries.forget(author_id)

    def on_message(self, message: bytes | None) -> None:
        """A message of the channel: an author's id. None: messages may have been lost."""
        if message is not None and message.isdigit():
            self.forget(int(message))
        else:
            self._entries.clear()


@cache
def hot_authors() -> HotAuthors:
    """One per process. A forked child makes its own: a lost thread may hold the lock."""
    listener().subscribe_channel(RECENT.channel, _on_message)
    return HotAuthors()


def _on_message(message: bytes | None) -> None:
    hot_authors().on_message(message)  # looked up again: a fork may have replaced it


os.register_at_fork(after_in_child=hot_authors.cache_clear)
