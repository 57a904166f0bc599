"""The candidates of a home timeline.

They are the reader's home window (open posts) and inbox (restricted posts) in Redis, rebuilt if missing, merged with
the outboxes of *pulled* authors, whose posts home windows may lack (`policy`). Each window reaches down to its oldest
id. Below the higher of these two ids, and while Redis does not respond, candidates come from the second
level or from PostgreSQL (`older`). Posts with a followed tag are always read from PostgreSQL. While one server of a
distributed site is unreachable, open posts of the authors on the other servers replace the ids of `older`, and the page
shows that some posts are missing.
"""

import logging
from dataclasses import dataclass, replace

from django.db import DatabaseError

from apps.accounts.models import User
from apps.deadline import note_missing
from apps.graph.queries import followee_ids
from apps.pagination import Cursor
from apps.posts.cache import load_open
from apps.sql import is_worker_away, reachable
from apps.timeline import policy
from apps.timeline.sources import merge, older, pulled_authors, sql
from apps.timeline.sources.found import Candidates, Found, Via
from apps.timeline.sources.home_cache import HOME, INBOX, rebuild_home, rebuild_inbox
from feedcache.read_through import Batch, Future
from feedcache.structures.home_window import (
    WindowRange,
    WindowReads,
    WindowsQuery,
    merge_down,
    merge_up,
    queue_windows,
    read_windows,
    read_windows_up,
)

logger = logging.getLogger(__name__)

MAX_POLICY_RELOADS = 2
SERVER = "server"  # noted as the missing source if a server of a distributed site is unreachable


@dataclass(frozen=True, slots=True)
class QueuedRanges:
    """The first read of the home cache for a page, queued in the batch that reads the viewer's context."""

    cursor: Cursor
    count: int
    policies: policy.PoliciesInForce
    reads: Future[WindowReads]


def queue_ranges(batch: Batch, reader_id: int, cursor: Cursor) -> QueuedRanges | None:
    """Queue the first read of the home cache. None for ascending pages, which are rare."""
    if cursor.ascending:
        return None
    policies, count = policy.cached(), cursor.wanted
    query = _query_under(policies, reader_id, cursor, count)
    return QueuedRanges(cursor, count, policies, queue_windows(batch, query))


def _query_under(
    policies: policy.PoliciesInForce, reader_id: int, cursor: Cursor, count: int
) -> WindowsQuery:
    kinds = HOME.of(policies.generation), INBOX
    return WindowsQuery(
        kinds, reader_id, cursor.max_id, cursor.floor, count, version_key=policy.VERSION_KEY
    )


def candidates(
    viewer: User, *, queued: QueuedRanges | None = None, pulls_all: bool = False
) -> Candidates:
    """Posts of the viewer's followees, circles, followed tags and virtual followees, and the viewer's own posts.

    With `pulls_all`, open posts are read from the outboxes of their authors, as if the site's policy were pull.
    """

    def found(cursor: Cursor, count: int) -> Found:
        followed = _of_followees(viewer, cursor, count, queued, pulls_all=pulls_all)
        if not viewer.counts.followed_tags:
            return followed
        tagged = sql.followed_tag_ids(viewer.pk, cursor, count)
        ids = merge.first_ids([followed.ids, tagged], count, ascending=cursor.ascending)
        return Found(ids, followed.contents, (*followed.origins, (Via.TAG, tagged)))

    return found


def _of_followees(
    viewer: User, cursor: Cursor, count: int, queued: QueuedRanges | None, *, pulls_all: bool
) -> Found:
    ranges, policies = cached_ranges(viewer.pk, cursor, count, queued, pulls_all=pulls_all)
    if None in ranges and _rebuild_missing(viewer.pk, ranges):
        ranges, policies = cached_ranges(viewer.pk, cursor, count, pulls_all=pulls_all)
    present = [part for part in ranges if part is not None]
    if len(present) < len(ranges):
        return _older(viewer.pk, cursor, count)
    origins = [(Via.CACHE, part.ids) for part in present]
    if policies.pulls_all or policies.pulled:
        pulled = pulled_authors.ids_within_deadline(
            viewer.pk, policies, cursor, count, revision=viewer.counts.graph_revision
        )
        present.append(WindowRange(pulled, complete=True))
        origins.append((Via.PULLED, pulled))
    merged = (
        merge_up(present, count=count)
        if cursor.ascending
        else merge_down(present, newest=cursor.max_id, count=count)
    )
    if merged is None:  # a window does not reach down to the start of an ascending page
        return _older(viewer.pk, cursor, count)
    if not merged.end:
        return Found(merged.ids, origins=origins)
    rest = _older(viewer.pk, cursor.beyond(merged.end), count - len(merged.ids))
    return Found([*merged.ids, *rest.ids], rest.contents, [*origins, *rest.origins])


def _older(reader_id: int, cursor: Cursor, count: int) -> Found:
    """The ids of `older`. Below a cursor, contents bypass the post cache: old posts would displace popular ones."""
    try:
        ids = older.home_ids(reader_id, cursor, count)
    except DatabaseError as error:
        ids = _of_reachable(error, reader_id, cursor, count)
    is_below = cursor.max_id is not None and not cursor.ascending
    contents = load_open(ids) if ids and is_below else {}
    return Found(ids, contents, [(Via.STORAGE, ids)])


def _of_reachable(error: DatabaseError, reader_id: int, cursor: Cursor, count: int) -> list[int]:
    """Open posts of the reader and followees on reachable servers. Raises `error` unless a server is unreachable."""
    if not is_worker_away(error):
        raise error
    logger.warning("home of %s without the authors of a server: %s", reader_id, error)
    note_missing(SERVER)
    authors = reachable({reader_id, *followee_ids(reader_id)})
    return sql.open_ids_of_servers(authors, cursor, count)


def cached_ranges(
    reader_id: int,
    cursor: Cursor,
    count: int,
    queued: QueuedRanges | None = None,
    *,
    pulls_all: bool = False,
) -> tuple[list[WindowRange | None], policy.PoliciesInForce]:
    """The cursor's range in the home window and in the inbox (None if it is missing or Redis does not answer), and
    the policies at that time.

    While all authors are pulled, the range in the home window is empty, because windows miss pushes. `pulls_all` has
    the same effect.
    """
    read = read_windows_up if cursor.ascending else read_windows
    if queued and (queued.cursor, queued.count) == (cursor, count):
        policies, windows = queued.policies, queued.reads()
    else:
        policies = policy.cached()
        windows = read(_query_under(policies, reader_id, cursor, count))
    for _reload in range(MAX_POLICY_RELOADS):
        if not windows.answered or policies.is_current(windows.version):
            break
        policies = policy.load()  # so that the windows are at least as new as the policies
        windows = read(_query_under(policies, reader_id, cursor, count))
    if pulls_all:
        policies = replace(policies, pulls_all=True)
    if windows.answered and policies.pulls_all:
        return [WindowRange([], complete=True), *windows.parts[1:]], policies
    return windows.parts, policies


def _rebuild_missing(reader_id: int, ranges: list[WindowRange | None]) -> bool:
    home, inbox = ranges
    try:
        return (home is not None or rebuild_home(reader_id)) and (
            inbox is not None or rebuild_inbox(reader_id)
        )
    except DatabaseError as error:
        if is_worker_away(error):
            return False
        raise
