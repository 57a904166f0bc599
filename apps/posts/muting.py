"""Muting of threads: whoever mutes one is not told any more of what is said there."""

from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.posts.cache import MUTED_THREADS
from apps.posts.content import PostContent
from apps.posts.models import ThreadMute
from apps.posts.queries import visible_posts
from apps.refusals import NotFound


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
