"""The outbox of an author: the ids of the public and unlisted posts, newest first (source 002: short and long).

Two vectors in the Memcached tiers, both contiguous heads of the truth: the newest 200 ids and the newest 2,000. A read
takes the short ones, then the long ones of the authors whose short one ends too early, then PostgreSQL. When those of
many authors are gone together, the replicas on the reader's shard answer in their place.

The fence is `UserCounts.outbox_revision`: it grows by one in the transaction of every publication and deletion that
changes the outbox, and a vector of another revision is a miss. So nothing here is needed for a right answer: whatever
writers do, in whatever order, can only cost a query. Restricted posts never enter.
"""

import random
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from django.db import connection, transaction

from apps.paging import Cursor
from apps.posts.models import Post
from apps.timeline.sources import merge, replica
from apps.timeline.sources import sql as pull
from apps.timeline.sources.home_cache import LONG_OUTBOXES, SHORT_OUTBOXES, Outboxes
from apps.timeline.sources.parallel import in_parallel
from feedcache.ids import answers_another
from feedcache.structures.id_vector import IdVector, entry

GROUP = 500  # authors read together: one call of each node, one statement; 0.8 MB of short vectors
EN_MASSE, SAMPLE = 1_000, 20  # authors; fewer are loaded within a twentieth of a second
MAX_AT_A_TIME = 8  # groups, one of them by whoever asks

Revisions = Mapping[int, int]  # author id -> outbox revision

_REVISIONS = (
    "SELECT user_id, outbox_revision FROM accounts_usercounts WHERE user_id = ANY(%(authors)s)"
)

# By an array: to join two thousand authors the planner reads the counts of everybody.
_FOLLOWEES = """
SELECT user_id, outbox_revision FROM accounts_usercounts
WHERE user_id = ANY(ARRAY(SELECT followee_id FROM graph_followee WHERE owner_id = %(reader)s) || %(reader)s::bigint)
"""

# One statement, one snapshot: the ids are those of the revision. They come packed, big-endian and with the reply bit,
# so that no id becomes a Python object.
_LOAD = f"""
SELECT c.user_id, c.outbox_revision, newest.entries
FROM accounts_usercounts c
CROSS JOIN LATERAL (
    SELECT string_agg(int8send(CASE WHEN {pull.ANSWERS_ANOTHER} THEN id | %(reply)s ELSE id END), ''::bytea ORDER BY id DESC)
        AS entries
    FROM (
        SELECT id, author_id, reply_to_id FROM posts_post
        WHERE author_id = c.user_id AND deleted_at IS NULL AND visibility IN ('public', 'unlisted')
        ORDER BY id DESC LIMIT %(count)s
    ) post
) newest
WHERE c.user_id = ANY(%(authors)s)
"""  # noqa: S608 -- constants
_REPLY = -(1 << 63)  # bit 63 as PostgreSQL writes it


def page_of(author_ids: Collection[int], cursor: Cursor, count: int) -> list[int]:
    """Up to `count` public ids of some authors inside the cursor's bounds, in reading order."""
    return _pulled(revisions_of(author_ids), cursor, count)


def page_of_followees(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """Up to `count` public ids of a reader's followees and of the reader inside the cursor's bounds, in reading order."""
    ids, _vectors = _read(_revisions(_FOLLOWEES, reader=reader_id), cursor, count)
    return ids


def newest_of_followees(reader_id: int, count: int) -> list[int]:
    """The newest `count` public ids of a reader's followees and of the reader; all of them when fewer exist."""
    return of_followees(reader_id, Cursor(), count)


def of_followees(reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """Up to `count` of those ids inside the cursor's bounds, in reading order."""
    revisions = _revisions(_FOLLOWEES, reader=reader_id)
    if _are_gone(revisions) and not cursor.ascending:
        ids = replica.newest(reader_id, revisions, cursor, count)
        if ids is not None:
            return ids
    return _pulled(revisions, cursor, count)


def _are_gone(revisions: Revisions) -> bool:
    """Whether most vectors of a large pull are missing, as after a restart of Memcached; by a sample of them."""
    if len(revisions) < EN_MASSE or connection.in_atomic_block:
        return False
    sample = random.sample(list(revisions), SAMPLE)
    found = SHORT_OUTBOXES.peek_many(sample).items()
    return sum(vector.revision == revisions[author] for author, vector in found) < SAMPLE / 2


def of_author(
    author_id: int, revision: int, cursor: Cursor, count: int, *, replies: bool = True
) -> tuple[list[int], int | None]:
    """Up to `count` public ids of one author, in reading order, and how many there are in all, where that is known."""
    ids, vectors = _read({author_id: revision}, cursor, count, replies=replies)
    vector = vectors.get(author_id)
    known = vector is not None and vector.complete and vector.revision == revision
    return ids, len(vector) if known and vector is not None else None


def revisions_of(author_ids: Collection[int]) -> dict[int, int]:
    """The outbox revisions of authors, in one query."""
    return _revisions(_REVISIONS, authors=list(author_ids)) if author_ids else {}


def enter(post: Post) -> None:
    """Put a post that was just published at the head of its author's vectors, where there are any."""
    new = entry(post.pk, is_reply=answers_another(post.reply_to_id, post.author_id))
    _step(post, partial(IdVector.prepend, new=new))


def leave(post: Post) -> None:
    """Take a post that was just deleted out of its author's vectors."""
    _step(post, partial(IdVector.remove, post_id=post.pk))


def stay(post: Post) -> None:
    """Keep the ids of an author who edited a post, where that moved the revision too."""
    _step(post, IdVector.at)


def keep_up(author_id: int) -> None:
    """Bring an author's vectors to the present, whatever was missed; the long one only when somebody reads it."""
    revisions = revisions_of([author_id])
    _fitting(SHORT_OUTBOXES, revisions)
    if LONG_OUTBOXES.peek_many([author_id]):
        _fitting(LONG_OUTBOXES, revisions)


def _step(post: Post, change: Callable[..., IdVector]) -> None:
    if post.outbox_revision is not None:
        transaction.on_commit(partial(_step_both, post.author_id, change, post.outbox_revision))


def _step_both(author_id: int, change: Callable[..., IdVector], revision: int) -> None:
    """The long one only where the short one does not hold all there is: else nobody asks for it."""
    made: list[IdVector | None] = []

    def step(length: int, vector: IdVector) -> IdVector | None:
        made.append(_stepped(change, revision, length, vector))
        return made[-1]

    for outboxes in (SHORT_OUTBOXES, LONG_OUTBOXES):
        outboxes.change(author_id, partial(step, outboxes.length))
        if made and made[-1] is not None and made[-1].complete:
            return


def _stepped(
    change: Callable[..., IdVector], revision: int, length: int, vector: IdVector
) -> IdVector | None:
    # A vector that is not exactly one step behind stays as it is: it knows the change already, or it lacks an
    # earlier one too and is a miss.
    if vector.revision != revision - 1:
        return None
    return change(vector, revision=revision).trim(length)


def _pulled(revisions: Revisions, cursor: Cursor, count: int) -> list[int]:
    """Each group's own first ids, several groups at a time, and then the first of those (source 004)."""
    together = 1 if connection.in_atomic_block else MAX_AT_A_TIME  # threads see what is committed
    parts = in_parallel(
        lambda group: _read(group, cursor, count)[0], list(_groups(revisions)), maximum=together
    )
    return parts[0] if len(parts) == 1 else merge.page(parts, count, ascending=cursor.ascending)


def _groups(revisions: Revisions) -> Iterator[Revisions]:
    authors = list(revisions.items())
    for start in range(0, len(authors), GROUP):
        yield dict(authors[start : start + GROUP])


def _read(
    revisions: Revisions, cursor: Cursor, count: int, *, replies: bool = True
) -> tuple[list[int], dict[int, IdVector]]:
    first = partial(_first, cursor=cursor, count=count, replies=replies)
    vectors = _fitting(SHORT_OUTBOXES, revisions)
    ids, lacking = first(vectors)
    if lacking:
        vectors |= _fitting(LONG_OUTBOXES, {author: revisions[author] for author in lacking})
        ids, lacking = first(vectors)
    if lacking:
        below = pull.open_ids(lacking, cursor, count, replies=replies)
        ids = merge.page([ids, below], count, ascending=cursor.ascending)
    return ids, vectors


def _first(
    vectors: Mapping[int, IdVector], *, cursor: Cursor, count: int, replies: bool
) -> tuple[list[int], list[int]]:
    """The first ids inside the bounds, and the authors whose vectors end before these ids do."""
    floor, newest = cursor.floor, cursor.max_id
    lists = [
        vector.between(oldest=floor, newest=newest, replies=replies) for vector in vectors.values()
    ]
    ids = merge.first(lists, count, ascending=cursor.ascending)
    is_full = len(ids) == count and not cursor.ascending
    needed = ids[-1] if is_full else floor
    return ids, [author for author, vector in vectors.items() if not vector.reaches(needed)]


def _fitting(outboxes: Outboxes, revisions: Revisions) -> dict[int, IdVector]:
    """The vectors of authors at these revisions, from the cache or else from PostgreSQL."""
    load = partial(_load, outboxes.length)
    if connection.in_atomic_block:  # what is not committed must not be seen by others
        return load(list(revisions))
    return outboxes.get_many(
        revisions, load, accept=lambda author, vector: vector.revision == revisions[author]
    )


def _load(length: int, author_ids: list[int]) -> dict[int, IdVector]:
    values = {"authors": author_ids, "count": length + 1, "reply": _REPLY}
    return {
        author: _unpacked(entries or b"", revision).trim(length)
        for author, revision, entries in _rows(_LOAD, values)
    }


def _unpacked(entries: bytes, revision: int) -> IdVector:
    return IdVector(np.frombuffer(entries, dtype=">u8").astype("<u8"), revision, complete=True)


def _revisions(query: str, **values: Any) -> dict[int, int]:
    return dict(_rows(query, values))


def _rows(query: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as sql:
        sql.execute(query, values)
        rows: list[tuple[Any, ...]] = sql.fetchall()
        return rows
