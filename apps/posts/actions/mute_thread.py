"""Muted threads, whose new posts no longer notify the user."""

from django.db import transaction

from apps.accounts.models import User
from apps.posts.cache import MUTED_THREADS
from apps.posts.models import ThreadMute
from apps.posts.queries import visible_source


def mute_thread(user: User, post_id: int) -> None:
    """Mute the thread of a visible post; idempotent. Raises NotFound."""
    thread_id = visible_source(user.pk, post_id).thread_id
    with transaction.atomic():
        ThreadMute.objects.bulk_create(
            [ThreadMute(user=user, thread_id=thread_id)], ignore_conflicts=True
        )
        _forget_after_commit(user)


def unmute_thread(user: User, post_id: int) -> None:
    """Unmute the thread of a visible post; idempotent. Raises NotFound."""
    thread_id = visible_source(user.pk, post_id).thread_id
    with transaction.atomic():
        ThreadMute.objects.filter(user=user, thread_id=thread_id).delete()
        _forget_after_commit(user)


def _forget_after_commit(user: User) -> None:
    transaction.on_commit(lambda: MUTED_THREADS.forget([user.pk]), robust=True)
