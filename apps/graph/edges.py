"""The steps that changes of the graph are made of, each inside the caller's transaction.

Locks are taken in one order everywhere: the counts rows, lower user id first. An edge is two rows and two counts; whoever
makes or cuts one gets back what moved, and hands all of it to `move` once, which raises each revision by one.
"""

from functools import partial
from typing import NamedTuple, Self

from django.db import transaction
from django.db.models import F, Q

from apps.accounts.cache import change_user_counts
from apps.accounts.models import User, UserCounts
from apps.events.actions import record
from apps.graph.cache import (
    FOLLOWED,
    FOLLOWING,
    HIDING_REPOSTS,
    RELATIONS,
    Moved,
    bring_on,
    renew_graph_revisions,
)
from apps.graph.models import Block, Endorsement, Followee, Follower, FollowRequest

Locked = dict[int, UserCounts]


class Options(NamedTuple):
    """How somebody follows: with reposts, with a notification of every new post, in which languages (all of them)."""

    reposts: bool = True
    notify: bool = False
    languages: tuple[str, ...] = ()

    @classmethod
    def of(cls, row: Followee | FollowRequest) -> Self:
        """As a row has them."""
        return cls(row.shows_reposts, row.notifies, tuple(row.languages))

    def put_into(self, row: Followee | FollowRequest) -> None:
        """Give them to a row, which the caller writes."""
        row.shows_reposts, row.notifies, row.languages = *self[:2], list(self.languages)


def lock(*users: User) -> Locked:
    """Lock the counts rows of accounts; as they were before what follows."""
    rows = UserCounts.objects.select_for_update().filter(pk__in=[user.pk for user in users])
    return {counts.pk: counts for counts in rows.order_by("pk")}


def connect(follower: User, followee: User, options: Options) -> list[Moved]:
    """Make an edge that is not there, and tell of it."""
    edge = Followee(owner=follower, followee=followee)
    options.put_into(edge)
    edge.save()
    mirror = Follower.objects.create(owner=followee, follower=follower, notifies=options.notify)
    _count(follower, followee, +1)
    if options.languages:
        _count_choosy(follower.pk)
    record("followed", follower_id=follower.pk, followee_id=followee.pk)
    moved = [
        Moved(follower.pk, FOLLOWING, followee.pk, edge.pk),
        Moved(followee.pk, FOLLOWED, follower.pk, mirror.pk),
    ]
    if not options.reposts:
        moved.append(Moved(follower.pk, HIDING_REPOSTS, followee.pk, edge.pk))
    return moved


def change_options(edge: Followee, options: Options) -> list[Moved]:
    """Follow in another way from now on."""
    before = Options.of(edge)
    if before == options:
        return []
    options.put_into(edge)
    edge.save(update_fields=["shows_reposts", "notifies", "languages"])
    if before.languages != options.languages:
        _count_choosy(edge.owner_id)
    Follower.objects.filter(owner=edge.followee_id, follower=edge.owner_id).update(
        notifies=options.notify
    )
    if before.reposts == options.reposts:
        return []
    record("relations_moved", user_ids=[edge.owner_id])
    row = 0 if options.reposts else edge.pk
    return [Moved(edge.owner_id, HIDING_REPOSTS, edge.followee_id, row)]


def cut(follower: User, followee: User) -> list[Moved]:
    """End an edge and tell of it; nothing when there is none."""
    edge = Followee.objects.filter(owner=follower, followee=followee).first()
    if edge is None:
        return []
    edge.delete()
    Follower.objects.filter(owner=followee, follower=follower).delete()
    Endorsement.objects.filter(owner=follower, other=followee).delete()
    _count(follower, followee, -1)
    if edge.languages:
        _count_choosy(follower.pk)
    record("unfollowed", follower_id=follower.pk, followee_id=followee.pk)
    moved = [
        Moved(follower.pk, FOLLOWING, followee.pk),
        Moved(followee.pk, FOLLOWED, follower.pk),
    ]
    if not edge.shows_reposts:
        moved.append(Moved(follower.pk, HIDING_REPOSTS, followee.pk))
    return moved


def drop_request(requester: User, owner: User) -> FollowRequest | None:
    """Take a request to follow away, however it was answered; what it asked for."""
    request = FollowRequest.objects.filter(requester=requester, owner=owner).first()
    if request is not None:
        FollowRequest.objects.filter(pk=request.pk).delete()
        record("follow_request_ended", requester_id=requester.pk, owner_id=owner.pk)
    return request


def blocked_between(one: User, other: User) -> bool:
    """Whether either has blocked the other."""
    pair = Q(owner=one, blocked=other) | Q(owner=other, blocked=one)
    return Block.objects.filter(pair).exists()


def move(counts: Locked, *moved: Moved) -> None:
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
        transaction.on_commit(lambda: renew_graph_revisions(revisions), robust=True)


def _count(follower: User, followee: User, delta: int) -> None:
    change_user_counts(follower.pk, {"following": delta})
    change_user_counts(followee.pk, {"followers": delta})


def _count_choosy(owner_id: int) -> None:
    """Whether a reader chose languages anywhere is read with the reader."""
    number = Followee.objects.filter(owner=owner_id).exclude(languages=[]).count()
    UserCounts.objects.filter(pk=owner_id).update(choosy_follows=number)
