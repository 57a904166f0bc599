"""Writes of the graph. Locks are taken in one order everywhere: the counts rows, lower user id first."""

from functools import partial

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from apps.accounts.counts import change_user_counts
from apps.accounts.limits import count_or_refuse
from apps.accounts.models import User, UserCounts
from apps.events.actions import record
from apps.graph.cache import (
    BLOCKED_BY,
    BLOCKING,
    FOLLOWED,
    FOLLOWING,
    MUTING,
    RELATIONS,
    Moved,
    bring_on,
    renew_standing,
)
from apps.graph.circle_actions import part_circles
from apps.graph.models import Block, Followee, Follower, Mute
from apps.refusals import Invalid, NotAllowed


@transaction.atomic
def follow_user(follower: User, followee: User) -> None:
    """Follow an account: both rows, both counts and the event in one transaction. Twice is once.

    NotAllowed across a block; TooMany when somebody follows in bulk.
    """
    _require_other(follower, followee)
    counts = _lock(follower, followee)
    if _blocked_between(follower, followee):
        raise NotAllowed(_("You can't follow this account."))
    if Followee.objects.filter(owner=follower, followee=followee).exists():
        return
    count_or_refuse("follow", str(follower.pk))
    edge = Followee.objects.create(owner=follower, followee=followee)
    mirror = Follower.objects.create(owner=followee, follower=follower)
    _count(follower, followee, +1)
    _move(
        counts,
        Moved(follower.pk, FOLLOWING, followee.pk, edge.pk),
        Moved(followee.pk, FOLLOWED, follower.pk, mirror.pk),
    )
    record("followed", follower_id=follower.pk, followee_id=followee.pk)


@transaction.atomic
def unfollow_user(follower: User, followee: User) -> None:
    """Stop following an account; nothing happens when it was not followed."""
    _require_other(follower, followee)
    counts = _lock(follower, followee)
    _move(counts, *_cut(follower, followee))


@transaction.atomic
def block_user(owner: User, other: User) -> None:
    """Block an account: both follow directions and memberships in each other's circles end, and neither sees the other's posts from the next read on."""
    _require_other(owner, other)
    counts = _lock(owner, other)
    if Block.objects.filter(owner=owner, blocked=other).exists():
        return
    block = Block.objects.create(owner=owner, blocked=other)
    _move(
        counts,
        Moved(owner.pk, BLOCKING, other.pk, block.pk),
        Moved(other.pk, BLOCKED_BY, owner.pk, block.pk),
        *_cut(owner, other),
        *_cut(other, owner),
    )
    part_circles(owner, other)
    record("blocked", owner_id=owner.pk, blocked_id=other.pk)


@transaction.atomic
def unblock_user(owner: User, other: User) -> None:
    """End a block; follows do not come back."""
    counts = _lock(owner, other)
    deleted, _by_model = Block.objects.filter(owner=owner, blocked=other).delete()
    if deleted:
        _move(
            counts,
            Moved(owner.pk, BLOCKING, other.pk),
            Moved(other.pk, BLOCKED_BY, owner.pk),
        )
        record("relations_moved", user_ids=[owner.pk, other.pk])


@transaction.atomic
def mute_user(owner: User, other: User) -> None:
    """Hide an account's posts from one's timelines and notifications."""
    _require_other(owner, other)
    counts = _lock(owner)
    mute, created = Mute.objects.get_or_create(owner=owner, muted=other)
    if created:
        _move(counts, Moved(owner.pk, MUTING, other.pk, mute.pk))
        record("relations_moved", user_ids=[owner.pk])


@transaction.atomic
def unmute_user(owner: User, other: User) -> None:
    """End a mute."""
    counts = _lock(owner)
    deleted, _by_model = Mute.objects.filter(owner=owner, muted=other).delete()
    if deleted:
        _move(counts, Moved(owner.pk, MUTING, other.pk))
        record("relations_moved", user_ids=[owner.pk])


def _require_other(one: User, other: User) -> None:
    if one.pk == other.pk:
        raise Invalid(_("This doesn't work with your own account."), code="self")


def _lock(*users: User) -> dict[int, UserCounts]:
    rows = UserCounts.objects.select_for_update().filter(pk__in=[user.pk for user in users])
    return {counts.pk: counts for counts in rows.order_by("pk")}


def _blocked_between(one: User, other: User) -> bool:
    pairs = [(one.pk, other.pk), (other.pk, one.pk)]
    return any(
        Block.objects.filter(owner=owner, blocked=blocked).exists() for owner, blocked in pairs
    )


def _cut(follower: User, followee: User) -> list[Moved]:
    deleted, _by_model = Followee.objects.filter(owner=follower, followee=followee).delete()
    if not deleted:
        return []
    Follower.objects.filter(owner=followee, follower=follower).delete()
    _count(follower, followee, -1)
    record("unfollowed", follower_id=follower.pk, followee_id=followee.pk)
    return [
        Moved(follower.pk, FOLLOWING, followee.pk),
        Moved(followee.pk, FOLLOWED, follower.pk),
    ]


def _move(counts: dict[int, UserCounts], *moved: Moved) -> None:
    """Raise the revisions of those whose relations moved, once each; Redis takes the change over after the commit."""
    standing = {each.owner_id for each in moved if each.name in RELATIONS.names}
    followed = {each.owner_id for each in moved if each.name == FOLLOWED}
    for column, owner_ids in (("graph_revision", standing), ("followers_revision", followed)):
        if owner_ids:
            UserCounts.objects.filter(pk__in=owner_ids).update(**{column: F(column) + 1})
    if moved:
        transaction.on_commit(partial(bring_on, counts, moved))
    if standing:
        revisions = {owner_id: counts[owner_id].graph_revision + 1 for owner_id in standing}
        transaction.on_commit(lambda: renew_standing(revisions), robust=True)


def _count(follower: User, followee: User, delta: int) -> None:
    change_user_counts(follower.pk, {"following": delta})
    change_user_counts(followee.pk, {"followers": delta})
