"""Finishes changes of posts that were interrupted while their rows were written to other servers (`store`).

A crash between the commits leaves a post without its event, counts and tags, or an edit that no cache has heard of. The
auditor finishes the changes that are still in the journal (`apps.audit.repairs`).
"""

from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone

from apps.accounts.models import UserCounts
from apps.events.actions import record
from apps.posts.actions.attachments import detach, pictures_of
from apps.posts.actions.drafts import kind_of
from apps.posts.actions.polls import clear_poll, poll_of
from apps.posts.cache import cache_deleted, cache_edited, repair_published
from apps.posts.content.post import PostContent
from apps.posts.models import Kind, PendingPost, Poll, Post, Revision
from apps.posts.queries import mentions_of
from apps.tags.actions import delete_tags

EDIT_BEGINS = timedelta(seconds=10)  # before its row: it reads its post, perhaps on another server


@transaction.atomic
def finish_post(pending: PendingPost) -> bool:
    """Finish a change of a post that was interrupted, by its row of the journal; returns whether there was work left.

    An interrupted publication was never acknowledged, and its rows on this server are lost, so the post is deleted. A
    repost has no such rows, and a repetition would find it, so it is completed. For an edit or a deletion, the caches
    are updated and the event is recorded. Counts are left to the reconciliation.
    """
    counts = UserCounts.objects.select_for_update().filter(pk=pending.author_id).first()
    if counts is None or not PendingPost.objects.filter(pk=pending.pk).exists():
        return False  # the change itself has finished meanwhile
    pending.delete()
    post = Post.objects.filter(pk=pending.post_id).first()
    if post is None:
        return False
    is_whole = not pending.is_new or post.kind == Kind.REPOST
    if not is_whole and post.deleted_at is None:
        post.deleted_at = timezone.now()
        tombstone = {"body": "", "content_warning": "", "version": F("version") + 1}
        Post.objects.filter(pk=post.pk).update(deleted_at=post.deleted_at, **tombstone)
    UserCounts.objects.filter(pk=counts.pk).update(
        outbox_revision=F("outbox_revision") + 1,
        last_post_id=Greatest(F("last_post_id"), post.pk),
    )
    if post.deleted_at is not None:
        _finish_deletion(counts, post)
    elif pending.is_new:
        record("post_published", post_id=post.pk)
        transaction.on_commit(lambda: repair_published(post.pk), robust=True)
    else:
        _finish_edit(counts, post)
    return pending.is_new or post.deleted_at is not None or _was_edited(post, pending)


def _finish_deletion(counts: UserCounts, post: Post) -> None:
    Revision.objects.filter(post=post).delete()
    cache_deleted(counts, post)
    detach(post, keep=False)
    clear_poll(post)
    delete_tags(post.pk)
    record("post_deleted", post_id=post.pk)


def _finish_edit(counts: UserCounts, post: Post) -> None:
    """Make the post's row agree with its pictures and its poll, which are on this server."""
    pictures = pictures_of(post)
    post.has_poll = post.has_poll and Poll.objects.filter(post=post).exists()
    if post.kind not in {Kind.QUOTE, Kind.REPOST}:
        post.kind = kind_of([picture.medium for picture in pictures])
    post.save(update_fields=["has_poll", "kind"])
    mentions = mentions_of(post)
    content = PostContent.of(post, pictures=pictures, mentions=mentions, poll=poll_of(post))
    cache_edited(counts, content)
    # the mentions of the version before are not known here; a notification that exists is not repeated
    record("post_edited", post_id=post.pk, mentioned=sorted(mentions.values()))


def _was_edited(post: Post, pending: PendingPost) -> bool:
    """Whether the interrupted edit was written. It has the time of its lock, which is before its row of the journal."""
    begun = pending.created_at - EDIT_BEGINS
    return post.edited_at is not None and post.edited_at >= begun
