"""Windows of readers who are online, compared with the tables: what was kept equals what a rebuild would make (I21)."""

import time

from apps.audit.oracle import OPEN, Oracle
from apps.audit.reads import unexcused
from apps.timeline import policy
from apps.timeline.cache import HOME, INBOX
from feedcache.connections import timelines
from feedcache.ids import author_of
from feedcache.structures.home_window import WindowRange

KEY = "audit:scan"  # how far the walk through all windows has come
KEYS_LOOKED_AT = 500


def some_readers(maximum: int) -> list[int]:
    """The next few readers with a home window, so that everybody's turn comes; none in a cluster."""
    after = int(timelines().get(KEY) or 0)
    go_on, readers = HOME.some_owners(after, KEYS_LOOKED_AT)
    timelines().set(KEY, go_on, ex=3600)
    return readers[:maximum]


def lacking(reader_id: int) -> tuple[list[int], int]:
    """Posts that the windows of a reader lack although they reach down to them; and how many are only late."""
    now, missing, known = time.time(), set(), policy.refresh()
    for windows in (INBOX,) if known.pulls_all else (HOME, INBOX):
        window = windows.whole(reader_id)
        if window is not None:
            missing |= _lacking(reader_id, window, is_open=windows is HOME)
    # who is merged at reading owes nothing to home windows
    missing = {one for one in missing if author_of(one) not in known.merged}
    found = unexcused(reader_id, now, missing, in_window=True)
    return [one.post_id for one in found if not one.late], sum(one.late for one in found)


def _lacking(reader_id: int, window: WindowRange, *, is_open: bool) -> set[int]:
    above = 0 if window.complete or not window.ids else window.ids[-1] - 1
    oracle = Oracle.of_viewer(reader_id, above=above)
    return {
        post_id
        for post_id in oracle.home(reader_id, tags=False)  # those are pulled at reading
        if (oracle.posts[post_id]["visibility"] in OPEN) == is_open
    } - set(window.ids)
