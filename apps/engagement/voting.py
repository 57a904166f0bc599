"""Votes: the rows and their counts in one transaction. A vote is final."""

from collections.abc import Collection

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.engagement.models import Vote
from apps.errors import Invalid, NotFound
from apps.posts.models import Poll
from apps.posts.queries import visible_posts


def vote(user: User, post_id: int, choices: Collection[int]) -> None:
    """Vote in the poll of a post, by the numbers of options from 0. Invalid, NotFound."""
    post = visible_posts(user.pk, [post_id]).posts.get(post_id)
    if post is None or post.poll is None:
        raise NotFound(_("There is no such poll."))
    if post.author_id == user.pk:
        raise _invalid(_("You cannot vote in your own poll."), "own_poll")
    chosen = sorted(set(choices))
    with transaction.atomic():
        # the poll's row is the lock: the second of two equal requests finds the votes of the first
        poll = Poll.objects.select_for_update().get(pk=post_id)
        _check(poll, chosen)
        if Vote.objects.filter(poll=poll, user=user).exists():
            raise _invalid(_("You have voted already."), "voted_already")
        Vote.objects.bulk_create(Vote(poll=poll, user=user, choice=choice) for choice in chosen)
        poll.votes = [count + (option in chosen) for option, count in enumerate(poll.votes)]
        poll.voters += 1
        poll.save(update_fields=["votes", "voters"])


@transaction.atomic
def withdraw_vote(user: User, post_id: int) -> None:
    """Delete the vote of a user whose account is deleted, rows and counts; idempotent."""
    poll = Poll.objects.select_for_update().filter(pk=post_id).first()
    votes = Vote.objects.filter(poll=post_id, user=user)
    chosen = set(votes.values_list("choice", flat=True))
    if poll is None or not chosen:
        return
    votes.delete()
    poll.votes = [max(count - (option in chosen), 0) for option, count in enumerate(poll.votes)]
    poll.voters = max(poll.voters - 1, 0)
    poll.save(update_fields=["votes", "voters"])


def _check(poll: Poll, chosen: list[int]) -> None:
    if poll.expires_at <= timezone.now():
        raise _invalid(_("This poll is over."), "poll_ended")
    if not chosen:
        raise _invalid(_("Choose an option."), "blank")
    if chosen[0] < 0 or chosen[-1] >= len(poll.options):
        raise _invalid(_("There is no such option."), "unknown")
    if len(chosen) > 1 and not poll.multiple:
        raise _invalid(_("Choose one option."), "too_many")


def _invalid(message: str, code: str) -> Invalid:
    return Invalid(message, code=code, errors={"choices": message})
