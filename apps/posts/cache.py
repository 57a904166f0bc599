"""Caches open posts, both singly and grouped by author and week, and the counts of all posts.

The content of a restricted post never enters a cache.

The entry of a single post is as current as its row in PostgreSQL (decision 0019), because every change of a post
updates its entry after the commit and before the response: publishing adds an entry, an edit replaces an older entry,
and a deletion leaves a tombstone. A reader that loads a missing entry overwrites none of these. If a writer dies
between the commit and the update, no response has been sent yet, and the event of the change repairs the entry
(`repair_edited` and similar functions). An author's recent posts (`recent`) are checked by a revision instead.
"""

import logging
import os
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import starmap
from typing import NamedTuple

from django.conf import settings
from django.db import transaction

from apps.accounts.cache import forget_cards
from apps.accounts.counts_store import CountsTable, TableCounts
from apps.accounts.models import User, UserCounts
from apps.posts.content.post import (
    VERSION,
    CachedPost,
    Picture,
    PostContent,
    State,
    decode_cached_post,
    encode,
    encode_cached_post,
)
from apps.posts.models import OPEN, Attachment, Counts, Kind, Poll, Post, PostCounts
from apps.posts.visibility import is_open
from apps.sql import Columns, rows_of, rows_of_each
from feedcache.connections import RedisError
from feedcache.ids import author_of, authors_of, possible_ids, second_of
from feedcache.local_cache import CachedDecoder, HotKeys, LocalCache
from feedcache.memcached_tiers import tiers
from feedcache.read_through import Batch, QueueWrites, ReadThrough, write_together
from feedcache.servers.topology_listener import current, epoch_suffix, listener
from feedcache.structures.counters.buckets import TimeBuckets
from feedcache.structures.counters.records import Field, Schema
from feedcache.structures.counters.store import CounterStore
from feedcache.structures.newest_ids import NewestIds, pack_newest_ids, unpack_newest_ids
from feedcache.structures.week_bucket import Change, Week, WeekBuckets

logger = logging.getLogger(__name__)

MAX_REPOSTED = 500  # per viewer: 4 KB at most, read with every page
MAX_HOT_POSTS = 60  # per author: a few pages
GONE, RESTRICTED = CachedPost(State.GONE), CachedPost(State.RESTRICTED)
MAX_DECODED = 1024  # entries of about 9 KB each, with everything derived from them; up to twice as many are held

_decode_post = CachedDecoder(decode_cached_post, maximum=MAX_DECODED)

# The state of a post, with its content if it is open.
CACHED_POSTS: ReadThrough[int, CachedPost] = ReadThrough(
    name="post",
    version=VERSION,
    ttl_seconds=7 * 24 * 3600,
    key_of=str,
    encode=encode_cached_post,
    decode=_decode_post,
    decode_many=_decode_post.many,
    family="content",
    # no negative entries: a missing id may soon be a post, and ids can be guessed
    negative_ttl_seconds=0,
)


def _newest_ids(name: str) -> ReadThrough[int, NewestIds]:
    """Caches viewers' newest reposted posts or muted threads. Every change calls `forget` before it is acknowledged."""
    return ReadThrough(
        name=name,
        version=1,
        ttl_seconds=24 * 3600,
        key_of=str,
        encode=pack_newest_ids,
        decode=unpack_newest_ids,
        family="content",
        negative_ttl_seconds=0,
        is_personal=True,
    )


REPOSTED, MUTED_THREADS = _newest_ids("reposted"), _newest_ids("mutedthreads")

# An author's open posts of this week and the last, with contents (`recent`). Every change publishes the author's id.
RECENT = WeekBuckets(prefix=f"week:{VERSION}", channel="recent-posts", epoch=epoch_suffix)

_FIELDS = tuple(Field(name, counted=name == "reads") for name in Counts._fields)
POST_COUNTS_TABLE = CountsTable(
    PostCounts,
    Counts._fields,
    rebuild="apps.posts.tasks.maintain_counts",
)
POST_COUNTS = TableCounts(
    CounterStore(
        Schema("posts", _FIELDS, rules=2),
        TimeBuckets(settings.COUNTERS_BUCKET_SECONDS, settings.COUNTERS_BUCKET_SPLIT),
        cold_ttl_seconds=settings.COUNTERS_LOAD_SECONDS,
    ),
    POST_COUNTS_TABLE,
    hot_seconds=settings.COUNTERS_HOT_DAYS * 24 * 3600,
)


def count_reads(post_ids: Collection[int]) -> None:
    """Count a reader's first read of each of up to 1,000 posts; in PostgreSQL if Redis is down."""
    POST_COUNTS.count("reads", dict.fromkeys(post_ids, 1))


def load_cached_posts(post_ids: Collection[int]) -> dict[int, CachedPost]:
    """The entries of posts, including deleted ones, from PostgreSQL."""
    posts = _read_posts(post_ids)
    sources = _read_sources([post for post, _content in posts])
    return {
        post.pk: _entry_of(post, content, sources.get(post.source_id or 0))
        for post, content in posts
    }


def _entry_of(post: Post, content: PostContent, source: "_Source | None") -> CachedPost:
    if post.deleted_at is not None:
        return GONE
    if not content.is_open:
        return RESTRICTED
    return _cached_post_of(content, source if source and source.visibility in OPEN else None)


def _cached_post_of(content: PostContent, source: "_Source | PostContent | None") -> CachedPost:
    """The entry of an open post, with the ids of the posts that its `source` (if given) quotes and replies to."""
    if source is None:
        return CachedPost(State.OPEN, content)
    return CachedPost(State.OPEN, content, source.source_id, source.reply_to_id)


def load_contents(post_ids: Collection[int]) -> dict[int, PostContent]:
    """The contents of existing posts, including restricted ones, from PostgreSQL."""
    return _contents_where(_EXISTS, post_ids)


def load_open(post_ids: Collection[int]) -> dict[int, PostContent]:
    """The contents of open posts from PostgreSQL; the cache of posts is neither read nor filled."""
    return _contents_where(_IS_OPEN, post_ids)


def _contents_where(condition: str, post_ids: Collection[int]) -> dict[int, PostContent]:
    return {post.pk: content for post, content in _read_posts(post_ids, condition)}


_POST, _ATTACHMENT = Columns(Post), Columns(Attachment)
_EXISTS = "AND deleted_at IS NULL"
_IS_OPEN = f"{_EXISTS} AND {is_open()} AND hidden_at IS NULL"
# The three statements are sent together. The posts are read first, so during an edit, the old version may get the new
# pictures or mentions; the edit then replaces the entry.
_READ_POSTS = f"""
SELECT {_POST.of("posts_post")} FROM posts_post
    WHERE id = ANY(%(ids)s) AND author_id = ANY(%(authors)s) {{condition}};
SELECT {_ATTACHMENT.of("posts_attachment")} FROM posts_attachment
    WHERE post_id = ANY(%(ids)s) AND author_id = ANY(%(authors)s)
    ORDER BY post_id, position;
SELECT post_id, handle, user_id FROM posts_mention JOIN accounts_user ON accounts_user.id = user_id
    WHERE post_id = ANY(%(ids)s) AND author_id = ANY(%(authors)s) ORDER BY posts_mention.id
"""  # noqa: S608 -- constants
_READ_SOURCES = """
SELECT id, visibility, source_id, reply_to_id FROM posts_post
WHERE id = ANY(%(ids)s) AND author_id = ANY(%(authors)s)
"""


class _Source(NamedTuple):
    """The columns that are read about a post that another post reposts or quotes."""

    id: int
    visibility: str
    source_id: int | None
    reply_to_id: int | None


def _read_posts(post_ids: Collection[int], condition: str = "") -> list[tuple[Post, PostContent]]:
    """Posts with their contents, in one round trip, or two if there are polls."""
    ids = possible_ids(post_ids)
    if not ids:
        return []
    rows, attached, named = rows_of_each(
        _READ_POSTS.format(condition=condition), {"ids": ids, "authors": list(authors_of(ids))}
    )
    posts = [_POST.instance(row) for row in rows]
    pictures: dict[int, list[Picture]] = defaultdict(list)
    for attachment in map(_ATTACHMENT.instance, attached):
        pictures[attachment.post_id or 0].append(Picture.of(attachment))
    mentions: dict[int, dict[str, int]] = defaultdict(dict)
    for post_id, handle, user_id in named:
        mentions[post_id][handle] = user_id
    with_poll = [post.pk for post in posts if post.has_poll]
    polls = Poll.objects.in_bulk(with_poll) if with_poll else {}

    def content_of(post: Post) -> PostContent:
        mentioned, poll = mentions[post.pk], polls.get(post.pk)
        return PostContent.of(post, pictures=pictures[post.pk], mentions=mentioned, poll=poll)

    return [(post, content_of(post)) for post in posts]


def _read_sources(posts: Iterable[Post]) -> dict[int, _Source]:
    """The sources of posts (the posts that they repost or quote), by id."""
    ids = {post.source_id for post in posts if post.source_id is not None}
    if not ids:
        return {}
    rows = rows_of(_READ_SOURCES, {"ids": list(ids), "authors": list(authors_of(ids))})
    return {source.id: source for source in starmap(_Source, rows)}


def open_contents(versions: Mapping[int, int]) -> dict[int, PostContent]:
    """The contents of open posts, at the versions that the caller has just read or at newer ones."""
    entries = CACHED_POSTS.get_many(
        versions,
        load_cached_posts,
        accept=lambda post_id, entry: entry.version >= versions[post_id],
    )
    return {post_id: entry.content for post_id, entry in entries.items() if entry.content}


def load_reposted(user_ids: Collection[int]) -> dict[int, NewestIds]:
    """The newest posts that users have reposted, from PostgreSQL; one index-only query for each user."""
    return {user_id: _reposted(user_id) for user_id in user_ids}


def _reposted(user_id: int) -> NewestIds:
    rows = Post.objects.filter(author=user_id, kind=Kind.REPOST, deleted_at=None)
    ids = [
        source_id
        for source_id in rows.order_by("-source").values_list("source", flat=True)[:MAX_REPOSTED]
        if source_id is not None
    ]
    return NewestIds(frozenset(ids), ids[-1] if len(ids) == MAX_REPOSTED else 0)


@dataclass(frozen=True, slots=True)
class HotAuthorEntry:
    """An author's newest open posts, newest first, as of a revision of the outbox.

    No post with an id of `complete_to` or more is missing. `is_whole` is False if the week buckets contain more posts
    than this entry, which has at most `MAX_HOT_POSTS`.
    """

    posts: tuple[PostContent, ...]
    complete_to: int
    revision: int
    is_whole: bool


class HotAuthors:
    """The newest posts of hot authors, cached in every process (source 004).

    A process reads a hot author's posts from Redis about once per HOT_AUTHOR_TTL_SECONDS, however many readers there
    are. Authors are hot if they have many followers, or if this process reads their posts often. Each change to an open
    post is announced on a channel that every process subscribes to, and drops its author's entry. Entries expire, so a
    lost message does little harm, and readers with a newer revision ignore old entries.
    """

    def __init__(self) -> None:
        self._entries: LocalCache[int, HotAuthorEntry] = LocalCache(
            maximum=settings.HOT_AUTHORS_KEPT, ttl_seconds=settings.HOT_AUTHOR_TTL_SECONDS
        )
        self._reads: HotKeys[int] = HotKeys(threshold=settings.HOT_AUTHOR_READS_PER_SECOND)

    def record_read(self, author: User) -> bool:
        """Record a read of an author's posts; returns whether the author is hot."""
        often = self._reads.count(author.pk)
        return often or author.counts.followers >= settings.HOT_AUTHOR_FOLLOWERS

    def get(self, author: User, load: Callable[[], HotAuthorEntry | None]) -> HotAuthorEntry | None:
        """The entry of a hot author, as of the revision of the author's counts or a later one; loaded if missing."""
        current()  # starts the listener, which subscribes this process
        revision = author.counts.outbox_revision
        return self._entries.get(author.pk, load, accept=lambda entry: entry.revision >= revision)

    def forget(self, author_id: int) -> None:
        self._entries.forget(author_id)

    def on_message(self, message: bytes | None) -> None:
        """Handle a message of the channel: an author's id, or None if messages may have been lost."""
        if message is not None and message.isdigit():
            self.forget(int(message))
        else:
            self._entries.clear()


@cache
def hot_authors() -> HotAuthors:
    """The hot authors of this process. A forked child makes a new object, because the parent's lock may be held."""
    listener().subscribe_channel(RECENT.channel, _on_message)
    return HotAuthors()


def _on_message(message: bytes | None) -> None:
    hot_authors().on_message(message)  # looked up each time: a fork may have replaced it


os.register_at_fork(after_in_child=hot_authors.cache_clear)


def week_of(last_post_id: int) -> Week:
    """The current week, by this process's clock or by an author's last post id, whichever is later."""
    return Week.of_second(max(int(time.time()), second_of(last_post_id)))


# -- after a change ------------------------------------------------------------------------------
# Each public function is called in the transaction of the change, with the author's counts as they were when locked, so
# `outbox_revision` is the one before the change. Nothing is written before the commit. A failed write to the week
# buckets is only logged, because readers, who have the newer revision, ignore the old buckets. For restricted posts,
# only deletion, and hiding by staff, are cached.


def cache_published(
    counts: UserCounts,
    content: PostContent,
    source: PostContent | None,
    writes: Iterable[QueueWrites],
) -> None:
    """Cache a new post; `source` is what it reposts or quotes. `writes` share a round trip with its week bucket."""
    together = list(writes)
    if content.is_open:
        if _is_first_of_day(counts, content.id):
            transaction.on_commit(lambda: forget_cards([counts.pk]), robust=True)
        add_entry = CACHED_POSTS.prepare(content.id)
        entry = _cached_post_of(content, source if source and source.is_open else None)
        transaction.on_commit(lambda: add_entry(entry), robust=True)
        together.append(_week_writes(counts, content.id, content))
    if content.is_repost:
        transaction.on_commit(lambda: _forget_reposted(counts.pk), robust=True)
    transaction.on_commit(lambda: write_together(together), robust=True)


def cache_edited(counts: UserCounts, content: PostContent) -> None:
    if content.is_open:
        transaction.on_commit(lambda: _replace_entry(content), robust=True)
        _after_commit(counts, content.id, content)


def cache_deleted(counts: UserCounts, post: Post) -> None:
    transaction.on_commit(lambda: _store_tombstone(post.pk), robust=True)
    if post.visibility in OPEN:
        _after_commit(counts, post.pk, None)
    if post.kind == Kind.REPOST:
        transaction.on_commit(lambda: _forget_reposted(post.author_id), robust=True)


def cache_hidden(counts: UserCounts, content: PostContent) -> None:
    """Update the caches when staff hide a post or show it again. While it is hidden, PostgreSQL decides who sees it."""
    transaction.on_commit(
        lambda: _store_hidden(content.id, is_hidden=content.is_hidden), robust=True
    )
    if content.visibility in OPEN:
        _after_commit(counts, content.id, None if content.is_hidden else content)


def _store_hidden(post_id: int, *, is_hidden: bool) -> None:
    if is_hidden:
        CACHED_POSTS.set_many({post_id: RESTRICTED})
        _warn_unless(tiers().announce_missed(), post_id)
    else:  # the next reader loads the entry
        _warn_unless(CACHED_POSTS.forget([post_id]), post_id)


def _forget_reposted(user_id: int) -> None:
    REPOSTED.forget([user_id])


def _after_commit(counts: UserCounts, post_id: int, content: PostContent | None) -> None:
    writes = _week_writes(counts, post_id, content)

    def update() -> None:  # a function, because Django logs the name of a callback that fails
        write_together([writes])

    transaction.on_commit(update, robust=True)


def _week_writes(counts: UserCounts, post_id: int, content: PostContent | None) -> QueueWrites:
    author_id, revision = counts.pk, counts.outbox_revision
    newest = max(counts.last_post_id, post_id)

    def queue(batch: Batch) -> Callable[[], None]:
        value = encode(content) if content else b""
        this = week_of(newest)
        # includes the next week, for processes whose clocks are ahead
        weeks = [this.before(-1), this, this.before()]
        change = Change(revision, revision + 1, post_id, value)
        queued = RECENT.queue_change(batch, author_id, weeks, change)

        def check() -> None:
            try:
                queued.raise_error()
            except RedisError as error:
                logger.warning("recent posts of %s are out of date: %s", author_id, error)
            # in this process; the other processes do so when they get the channel's message
            hot_authors().forget(author_id)

        return check

    return queue


def _is_first_of_day(counts: UserCounts, post_id: int) -> bool:
    """Whether this is the author's first open post of the day. Cached accounts need only the day of the last one."""
    return second_of(counts.last_open_post_id) // 86_400 != second_of(post_id) // 86_400


def _replace_entry(content: PostContent) -> None:
    """Replace the entry after the commit of an edit. A quote's entry is dropped; the next reader loads it again."""
    if content.source_id:
        _warn_unless(CACHED_POSTS.forget([content.id]), content.id)
        return
    entry = CachedPost(State.OPEN, content)
    is_updated = CACHED_POSTS.renew(
        content.id, entry, is_older=lambda entry: entry.version < content.version
    )
    _warn_unless(is_updated, content.id)


def _store_tombstone(post_id: int) -> None:
    """Store a tombstone after the commit of a deletion; nothing replaces it."""
    CACHED_POSTS.set_many({post_id: GONE})
    _warn_unless(tiers().announce_missed(), post_id)


# -- called by events, for writers that may have died before they updated the caches -------------


def repair_published(post_id: int) -> None:
    """If the post is a repost, drop its author's cached reposts. A missing entry is loaded by the next reader."""
    if Post.objects.filter(pk=post_id, kind=Kind.REPOST).exists():
        REPOSTED.forget([author_of(post_id)])


def repair_edited(post_id: int) -> None:
    """Replace every entry that is not newer than the row, in every layer."""
    entry = load_cached_posts([post_id]).get(post_id)
    if entry is not None:
        is_updated = CACHED_POSTS.renew(
            post_id, entry, is_older=lambda cached: cached.version <= entry.version
        )
        _warn_unless(is_updated, post_id)


def repair_hidden(post_id: int) -> None:
    entry = load_cached_posts([post_id]).get(post_id, GONE)
    if entry.state is not State.GONE:
        _store_hidden(post_id, is_hidden=entry.state is State.RESTRICTED)


def repair_deleted(post_id: int) -> None:
    _store_tombstone(post_id)
    repair_published(post_id)


def _warn_unless(is_updated: bool, post_id: int) -> None:  # noqa: FBT001 -- the condition that the name refers to
    if not is_updated:
        logger.warning("an old version of post %s may be shown until its event is handled", post_id)
