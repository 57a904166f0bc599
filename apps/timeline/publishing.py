"""The only module through which people publish, edit, delete and repost posts.

The rows, their counts and the event are written in one transaction (`apps.posts`). After the commit, the author's
outbox, and for a new post the author's home cache, are updated here, so that authors see the change on their next page.
If the process dies before that, the handlers of the event update them.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import override

from apps.accounts.models import User
from apps.errors import NotFound, TooMany, Unavailable
from apps.events import leases
from apps.posts.actions import edit as editing
from apps.posts.actions import idempotency, quotes, schedule
from apps.posts.actions import publish as actions
from apps.posts.actions.drafts import Draft
from apps.posts.models import Attachment, Post, ScheduledPost
from apps.posts.store import Changed
from apps.timeline.fanout import dispatch, lag
from apps.timeline.sources import outbox
from feedcache.read_through import QueueWrites, write_together
from feedcache.structures.rate_limit import RateLimitResult


def publish(
    author: User,
    draft: Draft,
    *,
    idempotency_key: str = "",
    content_digest: Sequence[str] = (),
    counted: RateLimitResult | None = None,
) -> Changed:
    """Publish a draft. If the author repeats an idempotency key, return the post that was published with it.

    `counted` is the result of the limit "publish", if the caller has already counted this post. Raises Invalid,
    NotFound, NotAllowed, Conflict or TooMany, and Unavailable while too many posts are waiting for delivery.
    """
    lag.require_room()
    published = actions.publish_post(
        author,
        draft,
        idempotency_key=idempotency_key,
        content_digest=content_digest,
        counted=counted,
        more_writes=_own_timelines,
    )
    # a repeated key: the process that published the post may have died before it updated these caches
    if published.content is None:
        write_together([dispatch.own_timeline_writes(published.post)])
        outbox.repair(author.pk)
    return published


def _own_timelines(new: Changed) -> list[QueueWrites]:
    """Writes that add a post to the author's home cache or inbox, the square and the outbox, before the response."""
    return [dispatch.own_timeline_writes(new.post), *outbox.additions(new)]


def repost(author: User, post_id: int, *, counted: RateLimitResult | None = None) -> Post:
    """Repost an open post; idempotent. Raises NotFound, NotAllowed, TooMany or Unavailable. See `publish`."""
    lag.require_room()
    return actions.repost(author, post_id, counted=counted, more_writes=_own_timelines).post


def undo_repost(author: User, post_id: int) -> None:
    """Delete the author's repost of a post, if there is one."""
    existing = actions.repost_of(author, post_id)
    if existing is not None:
        delete(existing.pk, by=author)


def edit(author: User, post_id: int, *, body: str, **changes: Any) -> Post:
    """Edit the author's own post; `changes` are the options of `posts.actions.edit.edit_post`.

    Raises Invalid, NotFound or TooMany.
    """
    changed = editing.edit_post(author, post_id, body=body, **changes)
    outbox.advance(changed)
    return changed.post


def set_quote_policy(author: User, post_id: int, policy: str) -> Post:
    """Choose who may quote the author's own post; existing quotes stay. Raises Invalid or NotFound."""
    changed = editing.set_quote_policy(author, post_id, policy)
    outbox.advance(changed)
    return changed.post


def revoke_quote(owner: User, post_id: int, quote_id: int) -> Post:
    """Remove the owner's post from a quote. Raises NotFound."""
    changed = quotes.revoke_quote(owner, post_id, quote_id)
    outbox.advance(changed)
    return changed.post


def hide(author: User, post_id: int, *, is_hidden: bool) -> Post:
    """Hide a post from everybody except its author, or show it again (`posts.actions.edit.hide`). Raises NotFound."""
    changed = editing.hide(author, post_id, is_hidden=is_hidden)
    outbox.advance(changed)
    return changed.post


def mark_sensitive(author: User, post_id: int, *, is_marked: bool) -> Post:
    """Put a post's pictures behind a button, or undo this (`posts.actions.edit.mark_sensitive`). Raises NotFound."""
    changed = editing.mark_sensitive(author, post_id, is_marked=is_marked)
    outbox.advance(changed)
    return changed.post


def delete(post_id: int, *, by: User, keep_pictures: bool = False) -> Post:
    """Delete a post for its author, or for permitted staff, and return it. Raises NotFound or NotAllowed."""
    changed = actions.delete_post(post_id, by=by, keep_pictures=keep_pictures)
    outbox.remove(changed)
    return changed.post


def publish_instead(
    author: User,
    number: int,
    draft: Draft,
    *,
    at: datetime | None = None,
    idempotency_key: str = "",
    content_digest: Sequence[str] = (),
) -> Post | ScheduledPost:
    """Publish the corrected draft of a failed scheduled post, or schedule it again for `at`; delete the failed post.

    Both happen in one transaction. Raises NotFound, and the errors of `publish`.
    """
    keys: dict[str, Any] = {"idempotency_key": idempotency_key, "content_digest": content_digest}
    request = idempotency.Request(author, idempotency_key, draft, at, content_digest)
    with transaction.atomic():
        # before the failed post is looked up, because an equal request that just finished has deleted it
        earlier = idempotency.claim(request)
        if earlier is not None and (result := earlier.post or earlier.scheduled) is not None:
            return result
        schedule.release_failed(author, number)
        if at is not None:
            return schedule.schedule_post(author, draft, at, **keys)
        return publish(author, draft, **keys).post


def publish_due(*, limit: int) -> int:
    """Publish scheduled posts that are due. Return the number of claimed posts."""
    return leases.run_due(ScheduledPost, _publish_scheduled, limit=limit)


def _publish_scheduled(row: ScheduledPost) -> None:
    try:
        # error messages are stored untranslated, and translated when they are read
        with override(None), transaction.atomic():
            author = User.objects.filter(
                pk=row.author_id, is_active=True, suspended_at=None
            ).first()
            if author is None:
                raise NotFound(_("This account is suspended."))
            Attachment.objects.filter(scheduled=row).update(scheduled=None)
            key = f"scheduled:{row.pk}"  # so that a retry after a crash does not publish twice
            post = publish(author, Draft.restored(row.draft), idempotency_key=key).post
    except (TooMany, Unavailable) as error:  # a limit or overload, not an error of this post
        raise leases.RetryLater(error.message) from error
    ScheduledPost.objects.filter(pk=row.pk).update(post=post)
