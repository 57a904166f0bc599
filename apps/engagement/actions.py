"""Likes, bookmarks, reactions, reads and votes. A row and its count change in one transaction; reads have no row.

All actions except `vote` are idempotent. The existence filter is updated before the commit, so it lacks a committed
row only if Redis did not answer; then the event `mark_missed` adds the mark.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.engagement.cache import READS, RECOMMENDED
from apps.engagement.marks import BOOKMARK, LIKE, ROW_MARKS, RowMark
from apps.engagement.models import Vote
from apps.errors import NotFound, invalid
from apps.events.actions import record
from apps.posts.cache import POST_COUNTS, POST_COUNTS_TABLE, count_reads
from apps.posts.models import Kind, Poll, Post
from apps.posts.queries import visible_posts, visible_source
from feedcache.connections import RedisError
from feedcache.ids import author_of
from feedcache.structures.bloom import Marks, mark_many


def like_post(user: User, post_id: int) -> None:
    """Like a post, or the source of a repost. Raises NotFound if the user may not see it."""
    add_mark(LIKE, user, post_id)


def unlike_post(user: User, post_id: int) -> None:
    """Remove a like, even if the post is no longer visible."""
    remove_mark(LIKE, user, post_id)


def bookmark_post(user: User, post_id: int) -> None:
    """Bookmark a post, or the source of a repost. Raises NotFound if the user may not see it."""
    add_mark(BOOKMARK, user, post_id)


def unbookmark_post(user: User, post_id: int) -> None:
    """Remove a bookmark, even if the post is no longer visible."""
    remove_mark(BOOKMARK, user, post_id)


def add_mark(mark: RowMark, user: User, post_id: int, choice: str = "") -> None:
    """Mark a post, or the source of a repost; `choice` replaces an earlier choice. Raises NotFound or Invalid."""
    if mark.choice and choice not in mark.counts:
        raise invalid("name", _("There is no such option."), "unknown")
    chosen = {mark.choice: choice} if mark.choice else {}
    target = visible_source(user.pk, post_id).id
    rows = mark.model._default_manager.filter(user=user, post=target)
    with transaction.atomic():
        # the counts row serves as the lock, so the second of two equal requests finds the row of the first
        POST_COUNTS_TABLE.locked(target)
        earlier = rows.first()
        if earlier is None:
            mark.model._default_manager.create(user=user, post_id=target, **chosen)
            _note(mark.exists, user.pk, target)
            POST_COUNTS.change(target, dict.fromkeys(_counted(mark, choice), +1))
            if mark.notifies_author:
                record("post_marked", kind=mark.kind, user_id=user.pk, post_id=target)
        elif chosen and (before := getattr(earlier, mark.choice)) != choice:
            rows.update(**chosen)
            POST_COUNTS.change(target, {before: -1, choice: +1})


def remove_mark(mark: RowMark, user: User, post_id: int) -> None:
    """Remove a mark, even if the post is no longer visible."""
    source = Post.objects.filter(pk=post_id, kind=Kind.REPOST).values_list("source_id", flat=True)
    target = source.first() or post_id
    with transaction.atomic():
        POST_COUNTS_TABLE.locked(target)
        row = mark.model._default_manager.filter(user=user, post=target).first()
        if row is None:
            return
        row.delete()
        choice = getattr(row, mark.choice) if mark.choice else ""
        POST_COUNTS.change(target, dict.fromkeys(_counted(mark, choice), -1))
        if mark.notifies_author:
            record("post_unmarked", kind=mark.kind, user_id=user.pk, post_id=target)


def _counted(mark: RowMark, choice: str) -> Collection[str]:
    return [choice] if choice else mark.counts


# The action for each verb with which pages set or remove a mark.
MARK_VERBS: dict[str, Callable[[User, int], None]] = {
    **{
        verb: partial(add_mark, mark, choice=choice)
        for mark in ROW_MARKS
        for verb, choice in mark.verbs.items()
    },
    **{f"un{mark.kind}": partial(remove_mark, mark) for mark in ROW_MARKS},
}


def mark_post_read(user: User, post_id: int) -> bool:
    """Mark a post as read by a user. Returns whether the read was counted.

    Not counted are repeated reads, the author's own reads, and reads of posts older than EXISTENCE_READ_HORIZON_DAYS.
    Does nothing while Redis is down. The Bloom filter mistakes about 1 % of first reads for repeated ones.
    """
    if author_of(post_id) == user.pk:
        return False
    try:
        is_first = bool(mark_many(READS, [(user.pk, post_id)]))
    except RedisError:
        return False
    if is_first:
        count_reads([post_id])
    return is_first


def mark_recommended(user_id: int, post_ids: Collection[int]) -> None:
    """Record that posts were recommended to a user, to recommend each only once. Does nothing while Redis is down."""
    with suppress(RedisError):
        mark_many(RECOMMENDED, [(user_id, post_id) for post_id in post_ids])


def vote(user: User, post_id: int, choices: Collection[int]) -> None:
    """Vote in a post's poll; `choices` are option numbers from 0 on. A vote is final. Raises Invalid or NotFound."""
    post = visible_posts(user.pk, [post_id]).posts.get(post_id)
    if post is None or post.poll is None:
        raise NotFound(_("There is no such poll."))
    if post.author_id == user.pk:
        raise invalid("choices", _("You cannot vote in your own poll."), "own_poll")
    chosen = sorted(set(choices))
    with transaction.atomic():
        # the poll's row serves as the lock, so the second of two equal requests finds the votes of the first
        poll = Poll.objects.select_for_update().filter(pk=post_id).first()
        if poll is None:  # an edit has just replaced it
            raise NotFound(_("There is no such poll."))
        _check_choices(poll, chosen)
        if Vote.objects.filter(poll=poll, user=user).exists():
            raise invalid("choices", _("You have voted already."), "voted_already")
        Vote.objects.bulk_create(Vote(poll=poll, user=user, choice=choice) for choice in chosen)
        poll.votes = [count + (option in chosen) for option, count in enumerate(poll.votes)]
        poll.voters += 1
        poll.save(update_fields=["votes", "voters"])


@transaction.atomic
def withdraw_vote(user: User, post_id: int) -> None:
    """Delete the vote of a user whose account is being deleted: its rows, and its share of the counts. Idempotent."""
    poll = Poll.objects.select_for_update().filter(pk=post_id).first()
    votes = Vote.objects.filter(poll=post_id, user=user)
    chosen = set(votes.values_list("choice", flat=True))
    if poll is None or not chosen:
        return
    votes.delete()
    poll.votes = [max(count - (option in chosen), 0) for option, count in enumerate(poll.votes)]
    poll.voters = max(poll.voters - 1, 0)
    poll.save(update_fields=["votes", "voters"])


def _note(marks: Marks, user_id: int, post_id: int) -> None:
    """Set a mark in the existence filter. Call this in the row's transaction, after inserting the row.

    A rebuild of the filter waits for such transactions.
    """
    try:
        mark_many(marks, [(user_id, post_id)])
    except RedisError:
        record("mark_missed", kind=marks.kind, user_id=user_id, post_id=post_id)


def _check_choices(poll: Poll, chosen: list[int]) -> None:
    if poll.expires_at <= timezone.now():
        raise invalid("choices", _("This poll is over."), "poll_ended")
    if not chosen:
        raise invalid("choices", _("Choose an option."), "blank")
    if chosen[0] < 0 or chosen[-1] >= len(poll.options):
        raise invalid("choices", _("There is no such option."), "unknown")
    if len(chosen) > 1 and not poll.multiple:
        raise invalid("choices", _("Choose only one option."), "too_many")
