"""Muting of threads: whoever mutes one is not told any more of what is said there."""

from collections.abc import Collection

from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound
from apps.posts.cache.entries import MUTED_THREADS
from apps.posts.content.post import NewestIds, PostContent
from apps.posts.models import ThreadMute
from apps.posts.queries import visible_posts


def mute_thread(user: User, post_id: int) -> None:
    """Mute the thread of a post that the user may see; twice is once. NotFound."""
    thread_id = _thread_of(user, post_id)
    with transaction.atomic():
        ThreadMute.objects.bulk_create(
            [ThreadMute(user=user, thread_id=thread_id)], ignore_conflicts=True
        )
        _forget_after_commit(user)


def unmute_thread(user: User, post_id: int) -> None:
    """Take that back. NotFound."""
    thread_id = _thread_of(user, post_id)
    with transaction.atomic():
        ThreadMute.objects.filter(user=user, thread_id=thread_id).delete()
        _forget_after_commit(user)


def _thread_of(user: User, post_id: int) -> int:
    found = visible_posts(user.pk, [post_id])
    post: PostContent | None = found.posts.get(post_id)
    if post is not None and post.is_repost:
        post = found.posts.get(post.source_id or 0)
    if post is None:
        raise NotFound(_("This post isn't here."))
    return post.thread_id


def _forget_after_commit(user: User) -> None:
    transaction.on_commit(lambda: MUTED_THREADS.forget([user.pk]), robust=True)


MAX_MUTED_THREADS = 500  # of a viewer: 4 KB at most, read with every page


def load_muted_threads(user_ids: Collection[int]) -> dict[int, NewestIds]:
    """The threads that users muted, of the newest, from PostgreSQL; one query each, of an index alone."""
    return {user_id: _newest(user_id) for user_id in user_ids}


def _newest(user_id: int) -> NewestIds:
    rows = ThreadMute.objects.filter(user=user_id).order_by("-thread_id")
    ids = list(rows.values_list("thread_id", flat=True)[:MAX_MUTED_THREADS])
    return NewestIds(frozenset(ids), ids[-1] if len(ids) == MAX_MUTED_THREADS else 0)


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
