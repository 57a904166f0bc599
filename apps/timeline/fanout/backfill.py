"""Backfill: add or remove posts in home caches and inboxes after a change of a follow (real or virtual) or of a circle.

Events may arrive late and out of order, so the follow is read from PostgreSQL, and read again after posts were removed.
"""

from collections.abc import Collection, Sequence

from apps.graph.groups.queries import circle_names
from apps.graph.queries import exact_relations
from apps.posts.models import OPEN, RESTRICTED, Post
from apps.posts.visibility import Audience, delivered_to
from apps.timeline import policy
from apps.timeline.sources import sql, virtual_follows
from apps.timeline.sources.home_cache import HOME, INBOX
from feedcache.ids import MAX_ID, author_of
from feedcache.structures.home_window import HomeWindows

_FOR_FRIENDS = delivered_to(Audience.FRIENDS)
POSTS_PER_CALL = 100  # of virtual followees: a script pushes this many to one reader, so it blocks Redis only briefly


def follow_changed(reader_id: int, author_id: int) -> None:
    """Add an author's posts to a reader's home cache and inbox if the reader follows now; otherwise remove them."""
    policy.refresh()
    for windows, visibilities in ((HOME, OPEN), (INBOX, RESTRICTED)):
        if not windows.accepts_pushes(reader_id):
            continue
        if not _belongs(windows, reader_id, author_id):
            _withdraw(windows, reader_id, author_id)
        if _belongs(windows, reader_id, author_id):
            _backfill(windows, reader_id, author_id, visibilities)


def friendship_changed(reader_id: int, author_id: int) -> None:
    """Add an author's posts for friends to a reader's inbox if the two are friends now; otherwise remove them."""
    if not INBOX.accepts_pushes(reader_id):
        return
    if author_id not in exact_relations(reader_id, [author_id]).friends:
        ids = [post_id for post_id in INBOX.ids(reader_id) if author_of(post_id) == author_id]
        former = Post.objects.filter(pk__in=ids, visibility__in=_FOR_FRIENDS)
        INBOX.remove(reader_id, former.values_list("pk", flat=True))
    if author_id in exact_relations(reader_id, [author_id]).friends:
        _backfill(INBOX, reader_id, author_id, _FOR_FRIENDS)


def virtual_follow_changed(account_id: int, reader_ids: Sequence[int]) -> None:
    """Add an account's open posts to its virtual followers' home caches; remove them from those of non-followers."""
    policy.refresh()
    for reader_id in set(reader_ids) - _readers_of(account_id, reader_ids):
        if HOME.accepts_pushes(reader_id):
            _withdraw(HOME, reader_id, account_id)
    readers = sorted(virtual_follows.followers_among(account_id, reader_ids))
    ids = sql.open_between(account_id, 0, MAX_ID, HOME.length) if readers else []
    for start in range(0, len(ids), POSTS_PER_CALL):
        HOME.push(readers, ids[start : start + POSTS_PER_CALL], news=False)


def _readers_of(account_id: int, reader_ids: Collection[int]) -> set[int]:
    """The readers in `reader_ids` who follow an account, virtually or not."""
    follows = exact_relations(account_id, reader_ids).followed_by
    return follows | virtual_follows.followers_among(account_id, reader_ids)


def _belongs(windows: HomeWindows, reader_id: int, author_id: int) -> bool:
    """Whether an author's posts belong in a reader's windows. Virtual follows cover only open posts."""
    if author_id in exact_relations(reader_id, [author_id]).following:
        return True
    return windows is HOME and bool(virtual_follows.followers_among(author_id, [reader_id]))


def _backfill(
    windows: HomeWindows, reader_id: int, author_id: int, visibilities: Sequence[str]
) -> None:
    # As many as fit into a window: if the author has more, the window becomes too long, and is trimmed together with
    # its NoMore marker, which would say that nothing older exists.
    ids = sql.newest_of_author(
        author_id, reader_id, visibilities=visibilities, count=windows.length
    )
    windows.push([reader_id], ids, news=False)


def _withdraw(windows: HomeWindows, reader_id: int, author_id: int) -> None:
    # ids contain their author; posts to circles stay, because they do not depend on follows
    ids = [post_id for post_id in windows.ids(reader_id) if author_of(post_id) == author_id]
    circled = Post.objects.filter(pk__in=ids, visibility__in=delivered_to(Audience.CIRCLE))
    windows.remove(reader_id, set(ids) - set(circled.values_list("pk", flat=True)))


def circle_changed(reader_id: int, circle_id: int) -> None:
    """Add a circle's posts to a reader's inbox if the reader is a member now; otherwise remove those by others."""
    if not INBOX.accepts_pushes(reader_id):
        return
    if not circle_names(reader_id, [circle_id]):
        former = Post.objects.filter(pk__in=INBOX.ids(reader_id), circle=circle_id)
        others = former.exclude(author=reader_id)
        INBOX.remove(reader_id, others.values_list("pk", flat=True))
    if circle_names(reader_id, [circle_id]):
        INBOX.push([reader_id], sql.newest_of_circle(circle_id, INBOX.length), news=False)
