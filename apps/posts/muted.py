"""Which threads a viewer muted."""

from collections.abc import Collection

from apps.posts.content import NewestIds
from apps.posts.models import ThreadMute

KEPT = 500  # of a viewer: 4 KB at most, read with every page


def load_muted_threads(user_ids: Collection[int]) -> dict[int, NewestIds]:
    """The threads that users muted, of the newest, from PostgreSQL; one query each, of an index alone."""
    return {user_id: _newest(user_id) for user_id in user_ids}


def _newest(user_id: int) -> NewestIds:
    rows = ThreadMute.objects.filter(user=user_id).order_by("-thread_id")
    ids = list(rows.values_list("thread_id", flat=True)[:KEPT])
    return NewestIds(frozenset(ids), ids[-1] if len(ids) == KEPT else 0)


def muted_threads(viewer_id: int | None, thread_ids: Collection[int]) -> set[int]:
    """Those of the threads that a viewer muted, by PostgreSQL."""
    if viewer_id is None or not thread_ids:
        return set()
    rows = ThreadMute.objects.filter(user=viewer_id, thread_id__in=thread_ids)
    return set(rows.values_list("thread_id", flat=True))


def who_muted(thread_id: int, user_ids: Collection[int]) -> set[int]:
    """Those of the users who muted a thread."""
    rows = ThreadMute.objects.filter(user__in=user_ids, thread_id=thread_id)
    return set(rows.values_list("user", flat=True))
