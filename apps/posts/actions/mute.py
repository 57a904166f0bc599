"""Muted threads: their new posts notify the user no more."""

from collections.abc import Collection

from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound
from apps.posts.cache.entries import MUTED_THREADS
from apps.posts.content.post import NewestIds, PostContent
from apps.posts.models import ThreadMute
from apps.posts.queries import visible_posts

MAX_MUTED_THREADS = 500  # per viewer: 4 KB at most, read with every page


def mute_thread(user: User, post_id: int) -> None:
    """Mute the thread of a visible post; idempotent. NotFound."""
    thread_id = _thread_of(user, post_id)
    with transaction.atomic():
        ThreadMute.objects.bulk_create(
            [ThreadMute(user=user, thread_id=thread_id)], ignore_conflicts=True
        )
        _forget_after_commit(user)


def unmute_thread(user: User, post_id: int) -> None:
    """Idempotent. NotFound."""
    thread_id = _thread_of(user, post_id)
    with transaction.atomic():
        ThreadMute.objects.filter(user=user, thread_id=thread_id).delete()
        _forget_after_commit(user)


def _thread_of(user: User, post_id: int) -> int:
    visible = visible_posts(user.pk, [post_id])
    post: PostContent | None = visible.posts.get(post_id)
    if post is not None and post.is_repost:
        post = visible.posts.get(post.source_id or 0)
    if post is None:
        raise NotFound(_("This post isn't here."))
    return post.thread_id


def _forget_after_commit(user: User) -> None:
    transaction.on_commit(lambda: MUTED_THREADS.forget([user.pk]), robust=True)


def load_muted_threads(user_ids: Collection[int]) -> dict[int, NewestIds]:
    """The newest threads that users muted, from PostgreSQL; one index-only query for each user."""
    return {user_id: _newest(user_id) for user_id in user_ids}


def _newest(user_id: int) -> NewestIds:
    rows = ThreadMute.objects.filter(user=user_id).order_by("-thread_id")
    ids = list(rows.values_list("thread_id", flat=True)[:MAX_MUTED_THREADS])
    return NewestIds(frozenset(ids), ids[-1] if len(ids) == MAX_MUTED_THREADS else 0)


def muted_threads(viewer_id: int | None, thread_ids: Collection[int]) -> set[int]:
    """The threads among these that a viewer muted, from PostgreSQL."""
    if viewer_id is None or not thread_ids:
        return set()
    rows = ThreadMute.objects.filter(user=viewer_id, thread_id__in=thread_ids)
    return set(rows.values_list("thread_id", flat=True))


def who_muted(thread_id: int, user_ids: Collection[int]) -> set[int]:
    """The users among these who muted a thread."""
    rows = ThreadMute.objects.filter(user__in=user_ids, thread_id=thread_id)
    return set(rows.values_list("user", flat=True))
