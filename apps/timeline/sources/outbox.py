"""The outbox of an author: the ids of the public and unlisted posts, newest first (source 002: short and long).

Two vectors in the Memcached tiers contain the newest 200 and 2,000 ids of each author. A read uses the short vectors,
then the long vectors of authors whose short vectors do not reach far enough, then PostgreSQL. If most vectors of a
large rebuild are missing, as after a restart of Memcached, the replicas on the reader's shard are read (if any).

Every change of an author's open posts increments `UserCounts.outbox_revision` in the same transaction.
Profiles and rebuilds of home caches read that row, and reject vectors of any other revision.

Pages with pulled authors do not read that row (decision 0172). Like the content of a post (`apps.posts.cache`), a short
vector is as current as the row: between the commit and the response, each change is appended to every copy. If there is
no copy, a vector whose ids are unknown is started, so that no reader can store ids loaded before the change. If a
writer dies in between, its event repairs the vectors (`repair`). Long vectors are read at the revision of the short
vector. Restricted posts are never in an outbox.
"""

import logging
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from django.db import connection, transaction

from apps.graph.queries import cached_followees
from apps.pagination import Cursor
from apps.posts.store import Changed
from apps.posts.visibility import is_open
from apps.sql import Row, rows_of
from apps.timeline.sources import merge, replica, sql, virtual_follows
from feedcache.ids import answers_another
from feedcache.read_through import Batch, Future, QueueWrites, ReadThrough, write_together
from feedcache.structures import id_vector
from feedcache.structures.id_vector import IdVector

logger = logging.getLogger(__name__)

GROUP_SIZE = 500  # authors per read, which makes one call to each node and one statement; 0.8 MB of short vectors
MIN_AUTHORS, SAMPLE = 1_000, 20  # loading fewer authors takes less than 50 ms

Revisions = Mapping[int, int]  # author id -> outbox revision
Vectors = dict[int, IdVector]  # by author id


@dataclass(frozen=True)
class Outboxes(ReadThrough[int, IdVector]):
    """One vector per author: the ids of the newest `length` open posts, valid at the revision stored in the vector."""

    length: int = 0


def _outboxes(name: str, length: int) -> Outboxes:
    return Outboxes(
        name=name,
        version=4,  # the format to which changes can be appended in any order
        ttl_seconds=7 * 24 * 3600,
        key_of=str,
        encode=IdVector.encode,
        decode=id_vector.decode,
        decode_many=id_vector.decode_many,
        family="outbox",
        negative_ttl_seconds=0,  # an author without posts has an empty vector
        length=length,
    )


# Source 002 splits outboxes by length. First pages and rebuilds read the short ones, deep pages the long ones.
SHORT_OUTBOXES = _outboxes("outbox-short", 200)
LONG_OUTBOXES = _outboxes("outbox-long", 2000)

_REVISIONS = (
    "SELECT user_id, outbox_revision FROM accounts_usercounts WHERE user_id = ANY(%(authors)s)"
)

# Includes virtual followees. Builds an array, because for a join with 2,000 authors the planner would read all counts.
_FOLLOWEES = """
SELECT user_id, outbox_revision, graph_revision FROM accounts_usercounts
WHERE user_id = ANY({followees} || %(reader)s::bigint
    || ARRAY(SELECT account_id FROM {virtual} edge WHERE user_id = %(reader)s))
"""
_IN_GRAPH = "ARRAY(SELECT followee_id FROM graph_followee WHERE owner_id = %(reader)s)"
_CACHED = "%(followees)s::bigint[]"

# One statement and so one snapshot, in which the ids match the revision. They are packed, big-endian and with the reply
# bit, so that no id becomes a Python object.
_LOAD = f"""
SELECT c.user_id, c.outbox_revision, newest.entries
FROM accounts_usercounts c
CROSS JOIN LATERAL (
    SELECT string_agg(
            int8send(CASE WHEN {sql.ANSWERS_ANOTHER} THEN id | %(reply)s ELSE id END), ''::bytea ORDER BY id DESC
        ) AS entries
    FROM (
        SELECT id, author_id, reply_to_id FROM posts_post
        WHERE author_id = c.user_id AND deleted_at IS NULL AND {is_open()}
        ORDER BY id DESC LIMIT %(count)s
    ) post
) newest
WHERE c.user_id = ANY(%(authors)s)
"""  # noqa: S608 -- constants
# With a single author, Citus queries only the author's server if both tables are compared with the id.
_LOAD_ONE = _LOAD.replace("c.user_id AND", "%(author)s AND").replace(
    "ANY(%(authors)s)", "%(author)s"
)
_REPLY = -(1 << 63)  # bit 63 as PostgreSQL writes it


def ids_of_authors(author_ids: Iterable[int], cursor: Cursor, count: int) -> list[int]:
    """Up to `count` ids of these authors' open posts inside the cursor's bounds and in its order; no SQL if cached.

    All Memcached nodes are queried in parallel for each group of authors, and the results of the groups are merged
    (source 004).
    """
    return _first_of_groups(map(_current_vectors, _groups(author_ids)), cursor, count)


def newest_ids_of_followees(reader_id: int, count: int) -> list[int]:
    """The ids of the newest `count` open posts by a reader's followees and the reader, or all if there are fewer."""
    return ids_of_followees(reader_id, Cursor(), count)


def ids_of_followees(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """Up to `count` ids of open posts by a reader's followees and the reader, within the cursor and in its order."""
    revisions = _followee_revisions(reader_id)
    if replica.is_used() and not cursor.ascending and _are_mostly_missing(revisions):
        ids = replica.newest(reader_id, revisions, cursor, count)
        if ids is not None:
            return ids
    vectors = (
        _vectors(SHORT_OUTBOXES, {author: revisions[author] for author in group})
        for group in _groups(revisions)
    )
    return _first_of_groups(vectors, cursor, count)


def _are_mostly_missing(revisions: Revisions) -> bool:
    """Whether most vectors of a large read are missing, estimated from a random sample."""
    if len(revisions) < MIN_AUTHORS or connection.in_atomic_block:
        return False
    sample = random.sample(list(revisions), SAMPLE)
    accept, cached = _accepting(revisions), SHORT_OUTBOXES.peek_many(sample)
    return sum(accept(author, vector) for author, vector in cached.items()) < SAMPLE / 2


def ask_short(batch: Batch, author_id: int, revision: int) -> Future[Vectors]:
    """Queue the read of an author's short vector, for `ids_of_author`, in the same round trip as other reads."""
    revisions = {author_id: revision}
    if connection.in_atomic_block:  # uncommitted rows must not enter the cache
        return partial(_vectors, SHORT_OUTBOXES, revisions)
    return batch.get_many(
        SHORT_OUTBOXES,
        revisions,
        partial(load, SHORT_OUTBOXES.length),
        accept=_accepting(revisions),
    )


def ids_of_author(
    author_id: int,
    revision: int,
    cursor: Cursor,
    count: int,
    *,
    replies: bool = True,
    short: Future[Vectors] | None = None,
) -> tuple[list[int], int | None]:
    """Up to `count` ids of an author's open posts in the cursor's order, and the number of all open posts, if known."""
    vectors = short() if short else _vectors(SHORT_OUTBOXES, {author_id: revision})
    ids, vectors = _read(vectors, cursor, count, replies=replies)
    vector = vectors.get(author_id)
    if vector is None or not vector.complete or vector.revision != revision:
        return ids, None
    return ids, len(vector)


def revisions_of(author_ids: Collection[int]) -> dict[int, int]:
    """The outbox revisions of authors, in one query."""
    return dict(rows_of(_REVISIONS, {"authors": list(author_ids)})) if author_ids else {}


def _followee_revisions(reader_id: int) -> dict[int, int]:
    """The outbox revisions of a reader's followees (virtual ones included) and of the reader.

    One query uses the list of followees in Redis, and reads the reader's `graph_revision`. If the list has another
    revision, or Redis has no list, a query uses the follows in PostgreSQL instead.
    """
    cached = cached_followees(reader_id)
    if cached is not None:
        # sent as one text: quoting a list of thousands takes longer than the query
        followees = "{" + ",".join(map(str, cached.ids)) + "}"
        rows = _read_followees(_CACHED, reader=reader_id, followees=followees)
        revision = next((own for user_id, _outbox, own in rows if user_id == reader_id), 0)
        if cached.is_at(revision):
            return _by_author(rows)
    return _by_author(_read_followees(_IN_GRAPH, reader=reader_id))


def _read_followees(source: str, **values: Any) -> list[Row]:
    return rows_of(_FOLLOWEES.format(followees=source, virtual=virtual_follows.table()), values)


def _by_author(rows: Iterable[Row]) -> dict[int, int]:
    return {user_id: outbox_revision for user_id, outbox_revision, _graph_revision in rows}


def additions(new: Changed) -> list[QueueWrites]:
    """Writes to be sent after the commit, which add a new post to the head of its author's vectors."""
    post = new.post
    entry = id_vector.entry(post.pk, is_reply=answers_another(post.reply_to_id, post.author_id))
    return _writes(new, partial(id_vector.added, entry))


def remove(deleted: Changed) -> None:
    """After the commit, remove a deleted post from its author's vectors."""
    _send_after_commit(_writes(deleted, partial(id_vector.removed, deleted.post.pk)))


def advance(edited: Changed) -> None:
    """After the commit of an edit, bring the vectors to its revision; an edit does not change ids."""
    _send_after_commit(_writes(edited, id_vector.unchanged))


def _writes(changed: Changed, change: Callable[..., bytes]) -> list[QueueWrites]:
    """The writes for a change; none if the outbox stays the same."""
    if changed.revision is None:
        return []
    return [_appending(changed.post.author_id, change(revision=changed.revision))]


def _appending(author_id: int, data: bytes) -> QueueWrites:
    """Append to both vectors; if there is no short vector, start one with unknown ids."""

    def queue(batch: Batch) -> Callable[[], None]:
        batch.append(SHORT_OUTBOXES, author_id, data, start=id_vector.UNKNOWN)
        batch.append(LONG_OUTBOXES, author_id, data)

        def check() -> None:
            if not batch.has_appended:
                logger.warning("the outbox of %s may be old until the event is handled", author_id)

        return check

    return queue


def _send_after_commit(writes: list[QueueWrites]) -> None:
    if writes:
        transaction.on_commit(partial(write_together, writes))


def repair(author_id: int) -> None:
    """Reload an author's vectors that may have missed an update; the long vector only if it is cached."""
    revisions = revisions_of([author_id])
    for revision in revisions.values():
        _send_after_commit([_appending(author_id, id_vector.reached(revision=revision))])
    _vectors(SHORT_OUTBOXES, revisions)
    if LONG_OUTBOXES.peek_many([author_id]):
        _vectors(LONG_OUTBOXES, revisions)


def forget(author_id: int) -> None:
    """Make every cached vector of an author a miss."""
    _send_after_commit([_appending(author_id, id_vector.forgotten())])


def _groups(author_ids: Iterable[int]) -> Iterator[list[int]]:
    authors = list(author_ids)
    for start in range(0, len(authors), GROUP_SIZE):
        yield authors[start : start + GROUP_SIZE]


def _first_of_groups(groups: Iterable[Vectors], cursor: Cursor, count: int) -> list[int]:
    lists = [_read(vectors, cursor, count)[0] for vectors in groups]
    if len(lists) == 1:
        return lists[0]
    return merge.first_ids(lists, count, ascending=cursor.ascending)


def _read(
    vectors: Vectors, cursor: Cursor, count: int, *, replies: bool = True
) -> tuple[list[int], Vectors]:
    """The first ids inside the bounds, from short vectors, long vectors or PostgreSQL; and the last vectors read."""
    first_ids = partial(_first_ids, cursor=cursor, count=count, replies=replies)
    ids, too_short = first_ids(vectors)
    if too_short:
        revisions = {author: vectors[author].revision for author in too_short}
        vectors = vectors | _vectors(LONG_OUTBOXES, revisions)
        ids, too_short = first_ids(vectors)
    if too_short:
        below = sql.open_ids(too_short, cursor, count, replies=replies)
        ids = merge.first_ids([ids, below], count, ascending=cursor.ascending)
    return ids, vectors


def _first_ids(
    vectors: Mapping[int, IdVector], *, cursor: Cursor, count: int, replies: bool
) -> tuple[list[int], list[int]]:
    """The first ids inside the bounds, and the authors whose vectors are too short to be sure of these ids."""
    floor, newest = cursor.floor, cursor.max_id
    lists = [
        vector.between(oldest=floor, newest=newest, replies=replies) for vector in vectors.values()
    ]
    ids = merge.first_of_vectors(lists, count, ascending=cursor.ascending)
    is_full = len(ids) == count and not cursor.ascending
    needed = ids[-1] if is_full else floor
    return ids, [author for author, vector in vectors.items() if not vector.reaches(needed)]


def _current_vectors(author_ids: list[int]) -> Vectors:
    """The current short vectors of authors, without SQL for those that are known to be current in Memcached."""
    load_short = partial(load, SHORT_OUTBOXES.length)
    if connection.in_atomic_block:  # uncommitted rows must not enter the cache
        return load_short(author_ids)
    batch = Batch()
    found = batch.get_many(
        SHORT_OUTBOXES,
        author_ids,
        lambda authors: load_short(authors) if batch.is_current else {},
        accept=_accepting(),
    )
    batch.execute(check_revisions=True)
    return found() if batch.is_current else _vectors(SHORT_OUTBOXES, revisions_of(author_ids))


def _vectors(outboxes: Outboxes, revisions: Revisions) -> Vectors:
    """The vectors of authors at these revisions, from the cache or otherwise from PostgreSQL."""
    load_newest = partial(load, outboxes.length)
    if connection.in_atomic_block:  # uncommitted rows must not enter the cache
        return load_newest(list(revisions))
    return outboxes.get_many(revisions, load_newest, accept=_accepting(revisions))


def _accepting(revisions: Revisions | None = None) -> Callable[[int, IdVector], bool]:
    """A function, for a single read, that accepts vectors with known ids and, if given, at these revisions.

    It rejects a vector from a cache tier if an upper tier had a newer one, because the last change is missing there.
    """
    newest: dict[int, int] = {}

    def accept(author: int, vector: IdVector) -> bool:
        newest[author] = max(vector.revision, newest.get(author, 0))
        wanted = newest[author] if revisions is None else revisions[author]
        return vector.revision == newest[author] == wanted and not vector.is_unknown

    return accept


def load(length: int, author_ids: list[int]) -> Vectors:
    """The newest `length` open posts of authors, at the revisions of the same snapshot, from PostgreSQL."""
    values: dict[str, Any] = {"authors": author_ids, "count": length + 1, "reply": _REPLY}
    load = _LOAD
    if len(author_ids) == 1:
        load, values["author"] = _LOAD_ONE, author_ids[0]
    return {
        author: _unpack(entries or b"", revision).trim(length)
        for author, revision, entries in rows_of(load, values)
    }


def _unpack(entries: bytes, revision: int) -> IdVector:
    return IdVector(np.frombuffer(entries, dtype=">u8").astype("<u8"), revision, complete=True)
