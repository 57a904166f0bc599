"""Writes of the graph. Locks are taken in one order everywhere: the counts rows, lower user id first."""

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from apps.accounts.limits import count_or_refuse
from apps.accounts.models import User, UserCounts
from apps.events.actions import record
from apps.graph.circle_actions import part_circles
from apps.graph.models import Block, Followee, Follower, Mute
from apps.refusals import Invalid, NotAllowed


@transaction.atomic
def follow_user(follower: User, followee: User) -> None:
    """Follow an account: both rows, both counts and the event in one transaction. Twice is once.

    NotAllowed across a block; TooMany when somebody follows in bulk.
    """
    _require_other(follower, followee)
    _lock(follower, followee)
    if _blocked_between(follower, followee):
        raise NotAllowed(_("You can't follow this account."))
    if Followee.objects.filter(owner=follower, followee=followee).exists():
        return
    count_or_refuse("follow", str(follower.pk))
    Followee.objects.create(owner=follower, followee=followee)
    Follower.objects.create(owner=followee, follower=follower)
    _count(follower, followee, +1)
    record("followed", follower_id=follower.pk, followee_id=followee.pk)


@transaction.atomic
def unfollow_user(follower: User, followee: User) -> None:
    """Stop following an account; nothing happens when it was not followed."""
    _require_other(follower, followee)
    _lock(follower, followee)
    _cut(follower, followee)


@transaction.atomic
def block_user(owner: User, other: User) -> None:
    """Block an account: both follow directions and memberships in each other's circles end, and neither sees the other's posts from the next read on."""
    _require_other(owner, other)
    _lock(owner, other)
    if Block.objects.filter(owner=owner, blocked=other).exists():
        return
    Block.objects.create(owner=owner, blocked=other)
    _cut(owner, other)
    _cut(other, owner)
    part_circles(owner, other)
    record("blocked", owner_id=owner.pk, blocked_id=other.pk)


def unblock_user(owner: User, other: User) -> None:
    """End a block; follows do not come back."""
    Block.objects.filter(owner=owner, blocked=other).delete()


def mute_user(owner: User, other: User) -> None:
    """Hide an account's posts from one's timelines and notifications."""
    _require_other(owner, other)
    Mute.objects.bulk_create([Mute(owner=owner, muted=other)], ignore_conflicts=True)


def unmute_user(owner: User, other: User) -> None:
    """End a mute."""
    Mute.objects.filter(owner=owner, muted=other).delete()


def _require_other(one: User, other: User) -> None:
    if one.pk == other.pk:
        raise Invalid(_("This doesn't work with your own account."), code="self")


def _lock(one: User, other: User) -> None:
    list(UserCounts.objects.select_for_update().filter(pk__in=[one.pk, other.pk]).order_by("pk"))


def _blocked_between(one: User, other: User) -> bool:
    pairs = [(one.pk, other.pk), (other.pk, one.pk)]
    return any(
        Block.objects.filter(owner=owner, blocked=blocked).exists() for owner, blocked in pairs
    )


def _cut(follower: User, followee: User) -> None:
    deleted, _by_model = Followee.objects.filter(owner=follower, followee=followee).delete()
    if not deleted:
        return
    Follower.objects.filter(owner=followee, follower=follower).delete()
    _count(follower, followee, -1)
    record("unfollowed", follower_id=follower.pk, followee_id=followee.pk)


def _count(follower: User, followee: User, delta: int) -> None:
    UserCounts.objects.filter(pk=follower.pk).update(following=F("following") + delta)
    UserCounts.objects.filter(pk=followee.pk).update(followers=F("followers") + delta)
