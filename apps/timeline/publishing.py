"""The one entry to publish, edit, delete and repost.

The rows, their counts and the event are one transaction (`apps.posts`). What is done here after it shows authors what
they did on their very next page; the event does it once more, so that a process that dies in between loses nothing.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import override

from apps.accounts.models import User
from apps.errors import NotFound, TooMany
from apps.events import leases
from apps.posts.actions import edit as editing
from apps.posts.actions import publish as actions
from apps.posts.actions import schedule
from apps.posts.actions.drafts import Draft
from apps.posts.models import Attachment, Post, ScheduledPost
from apps.timeline.fanout import dispatch
from apps.timeline.sources import outbox


def publish(
    author: User, draft: Draft, *, idempotency_key: str = "", content_digest: Sequence[str] = ()
) -> Post:
    """Publish a draft. The same key of the same author gives the post that was made first (`posts.repeats`).

    Invalid, NotFound, NotAllowed, TooMany.
    """
    post = actions.publish_post(
        author, draft, idempotency_key=idempotency_key, content_digest=content_digest
    )
    _show_to_author(post)
    return post


def repost(author: User, post_id: int) -> Post:
    """Repost a public post; twice is once. NotFound, NotAllowed, TooMany."""
    post = actions.repost(author, post_id)
    _show_to_author(post)
    return post


def undo_repost(author: User, post_id: int) -> None:
    """Take back a repost, named by the post it shares; nothing happens when there is none."""
    made = actions.repost_of(author, post_id)
    if made is not None:
        delete(made.pk, by=author)


def edit(author: User, post_id: int, *, body: str, **changes: Any) -> Post:
    """Change a post of one's own; `posts.editing.edit_post` says what can change. Invalid, NotFound."""
    post = editing.edit_post(author, post_id, body=body, **changes)
    outbox.advance(post)
    return post


def set_quote_policy(author: User, post_id: int, policy: str) -> Post:
    """Choose who may quote a post of one's own; quotes that are there stay. NotFound."""
    post = editing.set_quote_policy(author, post_id, policy)
    outbox.advance(post)
    return post


def delete(post_id: int, *, by: User, keep_pictures: bool = False) -> Post:
    """Delete a post, as its author or as staff who may; the post as it was. NotFound, NotAllowed."""
    post = actions.delete_post(post_id, by=by, keep_pictures=keep_pictures)
    outbox.remove(post)
    return post


def publish_instead(
    author: User,
    number: int,
    draft: Draft,
    *,
    at: datetime | None = None,
    idempotency_key: str = "",
    content_digest: Sequence[str] = (),
) -> Post | ScheduledPost:
    """Publish what became of a post that could not be published, or keep it until its time; the old one is forgotten.

    All of it or nothing: what is refused leaves the old one as it was. NotFound, and whatever publishing refuses.
    """
    once: dict[str, Any] = {"idempotency_key": idempotency_key, "content_digest": content_digest}
    with transaction.atomic():
        schedule.release_failed(author, number)
        if at is not None:
            return schedule.schedule_post(author, draft, at, **once)
        return publish(author, draft, **once)


def publish_due(*, limit: int) -> int:
    """Publish scheduled posts whose time has come; how many were claimed."""
    return leases.work_off(ScheduledPost, _publish_scheduled, limit=limit)


def _publish_scheduled(row: ScheduledPost) -> None:
    try:
        with override(None), transaction.atomic():  # a refusal is translated when it is read
            author = User.objects.filter(
                pk=row.author_id, is_active=True, suspended_at=None
            ).first()
            if author is None:
                raise NotFound(_("This account is suspended."))
            Attachment.objects.filter(scheduled=row).update(scheduled=None)
            key = f"scheduled:{row.pk}"  # a worker that dies after this publishes nothing twice
            post = publish(author, Draft.restored(row.draft), idempotency_key=key)
    except TooMany as error:  # the author is busy: the limit is not the row's fault
        raise leases.Later(error.message) from error
    ScheduledPost.objects.filter(pk=row.pk).update(post=post)


def _show_to_author(post: Post) -> None:
    outbox.add(post)
    transaction.on_commit(partial(dispatch.push_to_author, post))
