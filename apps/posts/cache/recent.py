"""What an author has published lately: the open posts of this ISO week and the last, with their contents (source 004).

They lie in Redis, a hash a week, read in one round trip and without SQL. `UserCounts.outbox_revision` is the fence: it
grows in the transaction of every change to an open post, each bucket names the one it was made from, and a bucket that
is behind what the reader's `author.counts` says is a miss. So a write to Redis that failed costs a rebuild and no page.

Restricted posts never enter: a page that shows them takes their ids from elsewhere. Nothing here authorizes anything.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from apps.accounts.models import User, UserCounts
from apps.paging import Cursor
from apps.posts.cache.entries import RECENT
from apps.posts.cache.hot_authors import POSTS_KEPT, Head, hot_authors
from apps.posts.cache.posts import load_contents, open_contents
from apps.posts.content.codec import decode, encode
from apps.posts.content.post import PostContent
from apps.posts.models import OPEN, Post
from feedcache.ids import MAX_ID, answers_another, second_of
from feedcache.redis_servers.connections import RedisError
from feedcache.structures.week_bucket import Bucket, Week

logger = logging.getLogger(__name__)

WAIT_SECONDS = 0.3  # for another builder; then the page comes from below
POLL_SECONDS = 0.02
LOAD_BATCH_SIZE = 200


@dataclass(frozen=True, slots=True)
class Recent:
    """Posts in reading order, and how far they answer: no open post of the author with an id of `complete_to` or more
    that the cursor admits is missing, unless `count` was reached before. None: nothing is known."""

    posts: tuple[PostContent, ...] = ()
    complete_to: int | None = None

    def rest(self, cursor: Cursor, count: int) -> Cursor | None:
        """Where the next level has to go on for the same cursor and count; None when nothing is left to ask."""
        if len(self.posts) >= count:
            return None
        if self.complete_to is None:
            return cursor
        if cursor.ascending or self.complete_to <= cursor.floor + 1:
            return None
        return replace(cursor, max_id=min(cursor.max_id or MAX_ID, self.complete_to))


NO_RECENT = Recent()


@dataclass(frozen=True, slots=True)
class _ReadRate:
    """The bytes of both weeks."""

    values: Mapping[int, bytes]
    complete_to: int
    revision: int


def recent_posts(author: User, cursor: Cursor, count: int, *, replies: bool = True) -> Recent:
    """Up to `count` open (public or quiet public) posts and reposts of an author inside a cursor, in reading order.

    `author` comes with its counts, as from `user_by_handle` or `users_by_id`: the answer is never older than their
    `outbox_revision`. Warm, it costs one round trip to Redis and no SQL, also for an author who was silent for two weeks;
    hot authors mostly cost nothing. Cold, one reader builds the buckets (3 to 9 queries), others wait for 0.3 s at most.

    `rest(cursor, count)` of the answer says what is left to the next level (the outbox, then SQL): all of it when
    Redis does not answer, the page lies below last week, a week is too large to be kept, or the walk is an ascending one that
    begins below last week. Suspensions, blocks and what a repost shares are checked by the gate, as for every page.
    """
    weeks = weeks_read(author.counts)
    if cursor.max_id is not None and cursor.max_id <= weeks[-1].first_id:
        return NO_RECENT
    hot = hot_authors()
    if hot.counts_as_hot(author):
        head = hot.head(author, partial(_head, author, weeks))
        answer = _of_head(head, cursor, count, replies=replies)
        if answer is not None:
            return answer
    lately = _lately(author, weeks)
    if lately is None:
        return NO_RECENT
    try:
        read = partial(_decoded, author.pk, lately.values)
        return _select(lately.values, read, lately.complete_to, cursor, count, replies=replies)
    except ValueError as error:
        return _spoiled(author, weeks, error)


def weeks_read(counts: UserCounts) -> tuple[Week, Week]:
    """This week and the last. The author's own clock counts too: ids may be ahead of ours."""
    this = Week.of_second(max(int(time.time()), second_of(counts.last_post_id)))
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
        return NO_RECENT  # the next one above the floor may be older than what is known
    inside = sorted(filter(cursor.admits, ids), reverse=not cursor.ascending)
    posts = (read(post_id) for post_id in inside)
    wanted = (
        post for post in posts if replies or not answers_another(post.reply_to_id, post.author_id)
    )
    found = tuple(islice(wanted, count))
    if found and len(found) == count and not cursor.ascending:
        return Recent(found, complete_to=found[-1].id)
    return Recent(found, complete_to)


def _decoded(author_id: int, values: Mapping[int, bytes], post_id: int) -> PostContent:
    content = decode(values[post_id])
    if content.id != post_id or content.author_id != author_id or not content.is_open:
        raise ValueError(f"the value of {post_id} is another post")
    return content


def _spoiled(author: User, weeks: Sequence[Week], error: ValueError) -> Recent:
    logger.warning("recent posts of %s dropped: %s", author.pk, error)
    try:
        RECENT.drop(author.pk, weeks)
    except RedisError as failure:
        logger.warning("and could not be: %s", failure)
    return NO_RECENT


def _head(author: User, weeks: tuple[Week, Week]) -> Head | None:
    lately = _lately(author, weeks)
    if lately is None:
        return None
    newest = sorted(lately.values, reverse=True)
    try:
        posts = tuple(_decoded(author.pk, lately.values, one) for one in newest[:POSTS_KEPT])
    except ValueError as error:
        _spoiled(author, weeks, error)
        return None
    whole = len(newest) <= POSTS_KEPT
    end = lately.complete_to if whole else posts[-1].id
    return Head(posts, end, lately.revision, whole=whole)


def _of_head(head: Head | None, cursor: Cursor, count: int, *, replies: bool) -> Recent | None:
    """The answer from a head; None when both weeks have to be read."""
    if head is None:
        return NO_RECENT
    posts = {post.id: post for post in head.posts}
    found = _select(posts, posts.__getitem__, head.complete_to, cursor, count, replies=replies)
    return found if head.whole or found.rest(cursor, count) is None else None


def _lately(author: User, weeks: tuple[Week, Week]) -> _ReadRate | None:
    """Both weeks, from Redis or built; None when they cannot be had in time."""
    try:
        found = _fresh(author, weeks)
        buckets = found if all(found) else _build(author, weeks, found)
    except RedisError as error:
        logger.warning("no recent posts of %s: %s", author.pk, error)
        return None
    return _joined(weeks, buckets)


def _fresh(author: User, weeks: Sequence[Week]) -> list[Bucket | None]:
    """What Redis holds and is not behind what is known of the author."""
    known = author.counts.outbox_revision
    return [
        bucket if bucket and (bucket.revision >= known or not bucket.is_cached) else None
        for bucket in RECENT.read(author.pk, weeks)
    ]


def _joined(weeks: tuple[Week, Week], buckets: Sequence[Bucket | None]) -> _ReadRate | None:
    this, last = buckets
    if this is None or last is None or not this.is_cached:
        return None
    if not last.is_cached:
        return _ReadRate(this.values, weeks[0].first_id, this.revision)
    revision = min(this.revision, last.revision)
    return _ReadRate({**last.values, **this.values}, weeks[1].first_id, revision)


def _build(
    author: User, weeks: tuple[Week, Week], found: list[Bucket | None]
) -> list[Bucket | None]:
    token = RECENT.begin(author.pk)
    if token is None:
        return _wait(author, weeks)
    try:
        revision = UserCounts.objects.values_list("outbox_revision", flat=True).get(pk=author.pk)
        missing = [week for week, bucket in zip(weeks, found, strict=True) if bucket is None]
        built = {week: _load(author.pk, week, revision) for week in missing}
        for week, bucket in built.items():
            RECENT.store(author.pk, token, week, bucket)
    finally:
        RECENT.end(author.pk, token)
    return [built.get(week, bucket) for week, bucket in zip(weeks, found, strict=True)]


def _wait(author: User, weeks: Sequence[Week]) -> list[Bucket | None]:
    deadline = time.monotonic() + WAIT_SECONDS
    found: list[Bucket | None] = [None for _week in weeks]
    while not all(found) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        found = _fresh(author, weeks)
    return found


def _load(author_id: int, week: Week, revision: int) -> Bucket:
    """A week from PostgreSQL, as of `revision` or later: that was read before."""
    rows = Post.objects.filter(author=author_id, deleted_at=None, visibility__in=OPEN)
    rows = rows.filter(pk__gte=week.first_id, pk__lt=week.before(-1).first_id).order_by("-pk")
    versions = list(rows.values_list("pk", "version")[: RECENT.max_values + 1])
    if len(versions) > RECENT.max_values:
        return Bucket(revision, is_cached=False)
    values: dict[int, bytes] = {}
    for start in range(0, len(versions), LOAD_BATCH_SIZE):
        batch = versions[start : start + LOAD_BATCH_SIZE]
        found = open_contents(dict(batch))
        lacking = [post_id for post_id, _version in batch if post_id not in found]
        if lacking:  # edited or deleted meanwhile; nothing but PostgreSQL may say so
            found |= load_contents(lacking)
        values |= {content.id: encode(content) for content in found.values()}
    return Bucket(revision, values)
