"""An author's recent posts: the open posts of this ISO week and of last week, with their contents (source 004).

Redis has one hash per week (a bucket). Both weeks are read together, without SQL. `UserCounts.outbox_revision`
validates the buckets: it grows in the transaction of every change to an open post, each bucket stores the revision up
to which it has all changes, and a bucket is a miss if the caller has read a newer revision (`author.counts`). So a
failed write to Redis costs a rebuild, but never a wrong page.

Restricted posts are never stored: pages get their ids from other sources. This module does not decide who may see
a post.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from django.db.models import QuerySet

from apps.accounts.models import User, UserCounts
from apps.pagination import Cursor
from apps.posts.cache import (
    MAX_HOT_POSTS,
    RECENT,
    HotAuthorEntry,
    hot_authors,
    load_open,
    open_contents,
    week_of,
)
from apps.posts.content.post import PostContent, decode, encode
from apps.posts.models import OPEN, Post
from feedcache.connections import RedisError
from feedcache.ids import MAX_ID, answers_another
from feedcache.structures.week_bucket import Bucket, Week

logger = logging.getLogger(__name__)

WAIT_SECONDS = 0.3  # the wait for another builder; after that, the outbox is read instead
POLL_SECONDS = 0.02
LOAD_BATCH_SIZE = 200


@dataclass(frozen=True, slots=True)
class Recent:
    """Posts in the order of the cursor, and the id down to which they are complete.

    `posts` contains all requested posts that the cursor admits and whose ids are at least `complete_to`, or the first
    `count` of them. `complete_to` is None if nothing was read.
    """

    posts: tuple[PostContent, ...] = ()
    complete_to: int | None = None

    def rest(self, cursor: Cursor, count: int) -> Cursor | None:
        """The cursor from which the next level (the outbox) continues; None if nothing is missing."""
        if len(self.posts) >= count:
            return None
        if self.complete_to is None:
            return cursor
        if cursor.ascending or self.complete_to <= cursor.floor + 1:
            return None
        return replace(cursor, max_id=min(cursor.max_id or MAX_ID, self.complete_to))


NO_RECENT = Recent()


@dataclass(frozen=True, slots=True)
class _Weeks:
    """The encoded posts of both weeks, or only of this week if last week is too large to be cached."""

    values: Mapping[int, bytes]
    complete_to: int
    revision: int


def recent_posts(author: User, cursor: Cursor, count: int, *, replies: bool = True) -> Recent:
    """Up to `count` open posts and reposts of an author inside the cursor's bounds and in its order.

    `author` must be loaded with its counts, as by `user_by_handle` or `users_by_id`: the posts are never older than the
    `outbox_revision` of these counts. Cached posts take one round trip to Redis (more if a week has over a hundred
    posts) and no SQL, even for an author who has not posted for two weeks; those of hot authors usually take no round
    trip. If they are not cached, one reader builds the buckets (a query for the revision, one for each missing week,
    and more for contents that Memcached does not have), and others wait for at most 0.3 s.

    `rest(cursor, count)` of the result is the part that the next level (the outbox, then SQL) must read. It is the
    whole page if Redis is down, another builder is too slow, a cached post is damaged, this week is too large to be
    cached, the page is older than last week, or an ascending scan begins before the cached weeks. The visibility check
    of the page handles suspensions, blocks and reposts.
    """
    weeks = weeks_read(author.counts)
    if cursor.max_id is not None and cursor.max_id <= weeks[-1].first_id:
        return NO_RECENT
    cache = hot_authors()
    if cache.record_read(author):
        entry = cache.get(author, partial(_build_entry, author, weeks))
        recent = _from_entry(entry, cursor, count, replies=replies)
        if recent is not None:
            return recent
    buckets = _both_weeks(author, weeks)
    if buckets is None:
        return NO_RECENT
    try:
        read = partial(_decoded, author.pk, buckets.values)
        return _select(buckets.values, read, buckets.complete_to, cursor, count, replies=replies)
    except ValueError as error:
        return _drop(author, weeks, error)


def weeks_read(counts: UserCounts) -> tuple[Week, Week]:
    """This week and last week, by this process's clock or by the author's last post id, whichever is later."""
    this = week_of(counts.last_post_id)
    return this, this.before()


def _select(
    ids: Iterable[int],
    read: Callable[[int], PostContent],
    complete_to: int,
    cursor: Cursor,
    count: int,
    *,
    replies: bool,
) -> Recent:
    if cursor.ascending and cursor.floor + 1 < complete_to:
        return NO_RECENT  # the next post above the floor may be below `complete_to`
    admitted = sorted(filter(cursor.admits, ids), reverse=not cursor.ascending)
    posts = (read(post_id) for post_id in admitted)
    matching = (
        post for post in posts if replies or not answers_another(post.reply_to_id, post.author_id)
    )
    page = tuple(islice(matching, count))
    if page and len(page) == count and not cursor.ascending:
        return Recent(page, complete_to=page[-1].id)
    return Recent(page, complete_to)


def _decoded(author_id: int, values: Mapping[int, bytes], post_id: int) -> PostContent:
    content = decode(values[post_id])
    if content.id != post_id or content.author_id != author_id:
        raise ValueError(f"the value of {post_id} is another post")
    return content


def _drop(author: User, weeks: Sequence[Week], error: ValueError) -> Recent:
    logger.warning("recent posts of %s are damaged, dropping them: %s", author.pk, error)
    try:
        RECENT.drop(author.pk, weeks)
    except RedisError as failure:
        logger.warning("they could not be dropped: %s", failure)
    return NO_RECENT


def _build_entry(author: User, weeks: tuple[Week, Week]) -> HotAuthorEntry | None:
    buckets = _both_weeks(author, weeks)
    if buckets is None:
        return None
    newest = sorted(buckets.values, reverse=True)
    try:
        posts = tuple(
            _decoded(author.pk, buckets.values, post_id) for post_id in newest[:MAX_HOT_POSTS]
        )
    except ValueError as error:
        _drop(author, weeks, error)
        return None
    is_whole = len(newest) <= MAX_HOT_POSTS
    end = buckets.complete_to if is_whole else posts[-1].id
    return HotAuthorEntry(posts, end, buckets.revision, is_whole=is_whole)


def _from_entry(
    entry: HotAuthorEntry | None, cursor: Cursor, count: int, *, replies: bool
) -> Recent | None:
    """The posts of an entry, `NO_RECENT` if there is no entry; None if both weeks must be read."""
    if entry is None:
        return NO_RECENT
    posts = {post.id: post for post in entry.posts}
    recent = _select(posts, posts.__getitem__, entry.complete_to, cursor, count, replies=replies)
    return recent if entry.is_whole or recent.rest(cursor, count) is None else None


def _both_weeks(author: User, weeks: tuple[Week, Week]) -> _Weeks | None:
    """Both weeks, from Redis or rebuilt; None if that fails or takes too long, or if this week is too large."""
    try:
        cached = _fresh(author, weeks)
        buckets = cached if all(cached) else _build(author, weeks, cached)
    except RedisError as error:
        logger.warning("recent posts of %s cannot be read: %s", author.pk, error)
        return None
    return _joined(weeks, buckets)


def _fresh(author: User, weeks: Sequence[Week]) -> list[Bucket | None]:
    """The weeks' buckets in Redis; None for each that is missing or older than the author's revision."""
    return RECENT.read(author.pk, weeks, revision=author.counts.outbox_revision)


def _joined(weeks: tuple[Week, Week], buckets: Sequence[Bucket | None]) -> _Weeks | None:
    this, last = buckets
    if this is None or last is None or not this.is_cached:
        return None
    if not last.is_cached:
        return _Weeks(this.values, weeks[0].first_id, this.revision)
    revision = min(this.revision, last.revision)
    return _Weeks({**last.values, **this.values}, weeks[1].first_id, revision)


def _build(
    author: User, weeks: tuple[Week, Week], cached: list[Bucket | None]
) -> list[Bucket | None]:
    token = RECENT.begin(author.pk)
    if token is None:
        return _wait(author, weeks)
    try:
        cached = _fresh(author, weeks)  # another builder may have finished meanwhile
        revision = UserCounts.objects.values_list("outbox_revision", flat=True).get(pk=author.pk)
        missing = [week for week, bucket in zip(weeks, cached, strict=True) if bucket is None]
        built = {week: _load(author.pk, week, revision) for week in missing}
        for week, bucket in built.items():
            RECENT.store(author.pk, token, week, bucket)
    finally:
        RECENT.end(author.pk, token)
    return [built.get(week, bucket) for week, bucket in zip(weeks, cached, strict=True)]


def _wait(author: User, weeks: Sequence[Week]) -> list[Bucket | None]:
    deadline = time.monotonic() + WAIT_SECONDS
    cached: list[Bucket | None] = [None for _week in weeks]
    while not all(cached) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        cached = _fresh(author, weeks)
    return cached


def open_posts_in(author_id: int, week: Week) -> QuerySet[Post]:
    """The posts of a bucket, as a QuerySet."""
    rows = Post.objects.filter(
        author=author_id, deleted_at=None, visibility__in=OPEN, hidden_at=None
    )
    return rows.filter(pk__gte=week.first_id, pk__lt=week.before(-1).first_id)


def _load(author_id: int, week: Week, revision: int) -> Bucket:
    """A week from PostgreSQL, as of `revision` or later, because the caller read the revision first."""
    rows = open_posts_in(author_id, week).order_by("-pk")
    versions = list(rows.values_list("pk", "version")[: RECENT.max_values + 1])
    if len(versions) > RECENT.max_values:
        return Bucket(revision, is_cached=False)
    values: dict[int, bytes] = {}
    for start in range(0, len(versions), LOAD_BATCH_SIZE):
        batch = versions[start : start + LOAD_BATCH_SIZE]
        contents = open_contents(dict(batch))
        missing = [post_id for post_id, _version in batch if post_id not in contents]
        if missing:  # deleted or hidden meanwhile: only PostgreSQL has the current state
            contents |= load_open(missing)
        values |= {content.id: encode(content) for content in contents.values()}
    return Bucket(revision, values)
