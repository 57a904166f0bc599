"""Actions on the graph: follow, block, mute, note.

Counts rows are always locked in the same order, lower user id first. A follow, or edge, is two rows and two counts.
`_insert_edge`, `_update_edge` and `_delete_edge` return the changes, and the caller passes them all to a single call
of `_apply`, which increments each revision once.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple, Self

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.cache import USER_COUNTS, viewer_changed
from apps.accounts.models import User, UserCounts
from apps.errors import Invalid, NotAllowed, NotFound
from apps.events.actions import record
from apps.graph.cache import (
    BLOCKED_BY,
    BLOCKING,
    FOLLOWED,
    FOLLOWING,
    HIDING_REPOSTS,
    MUTING,
    RELATIONS,
    RelationChange,
    apply_changes,
    renew_graph_revisions,
)
from apps.graph.groups.actions import leave_circles_of_each_other
from apps.graph.models import (
    AccountNote,
    Block,
    Endorsement,
    Followee,
    Follower,
    FollowRequest,
    Mute,
    PastRelation,
    Relation,
)
from apps.sql import lock_each, purge
from apps.throttling import check_rate_limit

NOTE_MAX_CHARACTERS = 2000
MAX_MUTE = timedelta(days=366)


@transaction.atomic
def follow_user(
    follower: User,
    followee: User,
    *,
    reposts: bool | None = None,
    notify: bool | None = None,
    languages: Sequence[str] | None = None,
    limit: str = "follow",
) -> None:
    """Follow an account, or send a follow request if it is locked. Idempotent. Writes everything in one transaction.

    The options of the follow: `reposts` (default True) includes the account's reposts, `notify` (default False)
    notifies of each new post, and `languages` (default: all) limits its posts on the home page; None leaves an option
    unchanged. `limit` is the name of the rate limit; imports have their own. Raises NotAllowed if either account blocks
    the other, TooMany, and Invalid beyond MAX_FOLLOWEES or if both accounts are the same.
    """
    _require_other(follower, followee)
    chosen = None if languages is None else tuple(dict.fromkeys(languages))
    options = {"reposts": reposts, "notify": notify, "languages": chosen}
    changes: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    counts = _lock(follower, followee)
    if _is_blocked_between(follower, followee):
        raise NotAllowed(_("You can't follow this account."))
    edge = Followee.objects.filter(owner=follower, followee=followee).first()
    if edge is not None:
        _apply(counts, *_update_edge(edge, Options.of(edge)._replace(**changes)))
    elif counts[follower.pk].following >= settings.MAX_FOLLOWEES:
        maximum = {"count": settings.MAX_FOLLOWEES}
        text = _("You follow %(count)d accounts, which is the maximum. Unfollow somebody first.")
        raise Invalid(text % maximum, code="too_many_followees")
    elif User.objects.filter(pk=followee.pk, is_locked=True).exists():
        _request(follower, followee, changes, limit)
    else:
        check_rate_limit(limit, str(follower.pk))
        request = _delete_request(follower, followee)  # sent while the account was locked
        earlier = Options.of(request) if request else Options()
        _apply(counts, *_insert_edge(follower, followee, earlier._replace(**changes)))


@transaction.atomic
def unfollow_user(follower: User, followee: User) -> None:
    """Stop following an account, or withdraw the follow request. Does nothing if there is neither."""
    _require_other(follower, followee)
    counts = _lock(follower, followee)
    _delete_request(follower, followee)
    _apply(counts, *_delete_edge(follower, followee))


@transaction.atomic
def approve_request(owner: User, requester: User) -> None:
    """Turn a follow request into a follow, with both rows, both counts and the event.

    Raises NotFound if there is no request. If the requester already follows MAX_FOLLOWEES accounts, raises Invalid, and
    the request stays.
    """
    counts = _lock(owner, requester)
    if counts[requester.pk].following >= settings.MAX_FOLLOWEES:
        text = _("@%(handle)s already follows the maximum number of accounts.")
        raise Invalid(text % {"handle": requester.handle}, code="too_many_followees")
    request = _delete_request(requester, owner)
    if request is None:
        raise NotFound(_("There is no such follow request."))
    _apply(counts, *_insert_edge(requester, owner, Options.of(request)))


@transaction.atomic
def reject_request(owner: User, requester: User) -> None:
    """Delete a follow request; the requester is not notified and may ask again. Raises NotFound if there is none."""
    _lock(owner, requester)
    if _delete_request(requester, owner) is None:
        raise NotFound(_("There is no such follow request."))


def approve_waiting(owner: User, *, maximum: int) -> int:
    """Approve up to `maximum` requests to an account that was unlocked, oldest first. Return the number processed.

    Requests from accounts that already follow the maximum number of others are rejected; they can follow later, after
    unfollowing somebody. Approves none if the account is locked again.
    """
    if User.objects.filter(pk=owner.pk, is_locked=True).exists():
        return 0
    rows = FollowRequest.objects.filter(owner=owner).order_by("pk").select_related("requester")
    requests = list(rows[:maximum])
    for request in requests:
        with suppress(NotFound):  # withdrawn in the meantime
            try:
                approve_request(owner, request.requester)
            except Invalid:
                reject_request(owner, request.requester)
    return len(requests)


@transaction.atomic
def remove_follower(owner: User, follower: User) -> None:
    """Make the follower stop following the owner; the follower is not notified and may follow again."""
    _require_other(owner, follower)
    counts = _lock(owner, follower)
    _apply(counts, *_delete_edge(follower, owner))


@transaction.atomic
def block_user(owner: User, other: User) -> None:
    """Block an account. From the next read on, neither account sees the other's posts.

    Follows, follow requests and memberships in each other's circles end, in both directions.
    """
    _require_other(owner, other)
    counts = _lock(owner, other)
    if Block.objects.filter(owner=owner, blocked=other).exists():
        return
    block = Block.objects.create(owner=owner, blocked=other, created_at=Now())
    _delete_request(owner, other)
    _delete_request(other, owner)
    _apply(
        counts,
        RelationChange(owner.pk, BLOCKING, other.pk, block.pk),
        RelationChange(other.pk, BLOCKED_BY, owner.pk, block.pk),
        *_delete_edge(owner, other),
        *_delete_edge(other, owner),
    )
    leave_circles_of_each_other(owner, other)
    record("blocked", owner_id=owner.pk, blocked_id=other.pk)


@transaction.atomic
def unblock_user(owner: User, other: User) -> None:
    """End a block; follows that it ended are not restored."""
    counts = _lock(owner, other)
    block = Block.objects.filter(owner=owner, blocked=other).first()
    if block is not None:
        Block.objects.filter(owner=owner, pk=block.pk).delete()
        _remember(PastRelation.Kind.BLOCK, block, other.pk)
        _apply(
            counts,
            RelationChange(owner.pk, BLOCKING, other.pk),
            RelationChange(other.pk, BLOCKED_BY, owner.pk),
        )
        record("relations_moved", user_ids=[owner.pk, other.pk])


@transaction.atomic
def mute_user(
    owner: User, other: User, *, notifications: bool = True, seconds: int | None = None
) -> None:
    """Hide an account's posts, and optionally its `notifications`, from the owner. Muting again replaces these options.

    `seconds` is the duration, at most a year; with None or 0 the mute does not expire. Raises Invalid for any other
    duration, or if both accounts are the same.
    """
    _require_other(owner, other)
    terms = {"hides_notifications": notifications, "expires_at": _end_of_mute(seconds)}
    counts = _lock(owner)
    mute, created = Mute.objects.update_or_create(
        owner=owner, muted=other, defaults=terms, create_defaults={**terms, "created_at": Now()}
    )
    if created:
        _apply(counts, RelationChange(owner.pk, MUTING, other.pk, mute.pk))
        record("relations_moved", user_ids=[owner.pk])


@transaction.atomic
def unmute_user(owner: User, other: User) -> None:
    counts = _lock(owner)
    mute = Mute.objects.filter(owner=owner, muted=other).first()
    if mute is not None:
        Mute.objects.filter(owner=owner, pk=mute.pk).delete()
        _remember(PastRelation.Kind.MUTE, mute, other.pk)
        _apply(counts, RelationChange(owner.pk, MUTING, other.pk))
        record("relations_moved", user_ids=[owner.pk])


def end_due_mutes(*, limit: int) -> int:
    """End mutes that have expired, oldest first. Return the number processed."""
    due = Mute.objects.filter(expires_at__lte=timezone.now()).order_by("expires_at")
    rows = list(due.select_related("owner", "muted")[:limit])
    for row in rows:
        _end_if_due(row)
    return len(rows)


@transaction.atomic
def _end_if_due(row: Mute) -> None:
    _lock(row.owner)
    # the owner may have extended the mute in the meantime
    if Mute.objects.filter(pk=row.pk, expires_at__lte=timezone.now()).exists():
        unmute_user(row.owner, row.muted)


def purge_past_relations() -> None:
    """Delete relations that ended more than `HOME_HISTORY_DAYS` ago."""
    until = timezone.now() - timedelta(days=settings.HOME_HISTORY_DAYS)
    purge(PastRelation.objects.filter(ended_at__lt=until).order_by("ended_at"))


@transaction.atomic
def endorse_user(owner: User, other: User) -> None:
    """Recommend an account on the owner's profile. Idempotent. Raises Invalid unless the owner follows the account."""
    _lock(owner)  # so that a concurrent unfollow finds and deletes the endorsement
    if not Followee.objects.filter(owner=owner, followee=other).exists():
        raise Invalid(_("Follow this account first."), code="not_followed")
    Endorsement.objects.get_or_create(owner=owner, other=other)


@transaction.atomic
def unendorse_user(owner: User, other: User) -> None:
    Endorsement.objects.filter(owner=owner, other=other).delete()


@transaction.atomic
def note_about(owner: User, other: User, text: str) -> None:
    """Save a private note of at most 2,000 characters about an account; "" deletes the note. Raises Invalid."""
    _require_other(owner, other)
    text = text.strip()
    if len(text) > NOTE_MAX_CHARACTERS:
        message = _("At most %(count)d characters.") % {"count": NOTE_MAX_CHARACTERS}
        raise Invalid(message, errors={"comment": message})
    if text:
        AccountNote.objects.update_or_create(owner=owner, about=other, defaults={"text": text})
    else:
        AccountNote.objects.filter(owner=owner, about=other).delete()


def _request(follower: User, followee: User, changes: dict[str, Any], limit: str) -> None:
    request = FollowRequest.objects.filter(requester=follower, owner=followee).first()
    is_new = request is None
    if request is None:
        check_rate_limit(limit, str(follower.pk))
        request = FollowRequest(requester=follower, owner=followee)
        record("follow_requested", requester_id=follower.pk, owner_id=followee.pk)
    Options.of(request)._replace(**changes).put_into(request)
    if is_new:
        request.save()
    else:
        FollowRequest.objects.filter(owner=followee, pk=request.pk).update(
            shows_reposts=request.shows_reposts,
            notifies=request.notifies,
            languages=request.languages,
        )
    viewer_changed(follower.pk)


def _end_of_mute(seconds: int | None) -> datetime | None:
    if not seconds:
        return None
    if not 0 < seconds <= MAX_MUTE.total_seconds():
        message = _("Choose a duration of at most a year.")
        raise Invalid(message, errors={"duration": message})
    return timezone.now() + timedelta(seconds=seconds)


def _require_other(one: User, other: User) -> None:
    if one.pk == other.pk:
        raise Invalid(_("You can't do this to your own account."), code="self")


Counts = dict[int, UserCounts]


class Options(NamedTuple):
    """The options of a follow. Empty `languages` stand for all languages."""

    reposts: bool = True
    notify: bool = False
    languages: tuple[str, ...] = ()

    @classmethod
    def of(cls, row: Followee | FollowRequest) -> Self:
        return cls(row.shows_reposts, row.notifies, tuple(row.languages))

    def put_into(self, row: Followee | FollowRequest) -> None:
        """Copy the options to a row, which the caller saves."""
        row.shows_reposts, row.notifies, row.languages = *self[:2], list(self.languages)


def _lock(*users: User) -> Counts:
    """Lock the counts rows of accounts and return them as they are before the change."""
    return lock_each(UserCounts, [user.pk for user in users])


def _insert_edge(follower: User, followee: User, options: Options) -> list[RelationChange]:
    """Insert an edge that does not exist, and record the event.

    The edge is dated by PostgreSQL's clock, as fan-out jobs are, because `/explain` compares the date of a follow with
    the start of a delivery.
    """
    edge = Followee(owner=follower, followee=followee, created_at=Now())
    options.put_into(edge)
    edge.save()
    mirror = Follower.objects.create(
        owner=followee, follower=follower, notifies=options.notify, created_at=Now()
    )
    _count(follower, followee, +1)
    if options.languages:
        _count_choosy(follower.pk)
    record("followed", follower_id=follower.pk, followee_id=followee.pk)
    changes = [
        RelationChange(follower.pk, FOLLOWING, followee.pk, edge.pk),
        RelationChange(followee.pk, FOLLOWED, follower.pk, mirror.pk),
    ]
    if not options.reposts:
        changes.append(RelationChange(follower.pk, HIDING_REPOSTS, followee.pk, edge.pk))
    return changes


def _update_edge(edge: Followee, options: Options) -> list[RelationChange]:
    """Change the options of an existing follow."""
    before = Options.of(edge)
    if before == options:
        return []
    if before._replace(notify=options.notify) != options:  # the change affects the home page
        _remember_follow(edge)
    options.put_into(edge)
    _rows_of(edge).update(
        shows_reposts=edge.shows_reposts, notifies=edge.notifies, languages=edge.languages
    )
    Follower.objects.filter(owner=edge.followee_id, follower=edge.owner_id).update(
        notifies=options.notify
    )
    if before.languages != options.languages:
        _count_choosy(edge.owner_id)
    if before.reposts == options.reposts:
        return []
    record("relations_moved", user_ids=[edge.owner_id])
    row = 0 if options.reposts else edge.pk
    return [RelationChange(edge.owner_id, HIDING_REPOSTS, edge.followee_id, row)]


def _delete_edge(follower: User, followee: User) -> list[RelationChange]:
    """Delete an edge and record the event. Does nothing if there is no edge."""
    edge = Followee.objects.filter(owner=follower, followee=followee).first()
    if edge is None:
        return []
    _rows_of(edge).delete()
    Follower.objects.filter(owner=followee, follower=follower).delete()
    _remember_follow(edge)
    Endorsement.objects.filter(owner=follower, other=followee).delete()
    _count(follower, followee, -1)
    if edge.languages:
        _count_choosy(follower.pk)
    record("unfollowed", follower_id=follower.pk, followee_id=followee.pk)
    changes = [
        RelationChange(follower.pk, FOLLOWING, followee.pk),
        RelationChange(followee.pk, FOLLOWED, follower.pk),
    ]
    if not edge.shows_reposts:
        changes.append(RelationChange(follower.pk, HIDING_REPOSTS, followee.pk))
    return changes


def _rows_of(edge: Followee) -> QuerySet[Followee]:
    """The edge as a query set. It filters by owner too, because with the id alone Citus would query every shard."""
    return Followee.objects.filter(owner=edge.owner_id, pk=edge.pk)


def _remember(kind: PastRelation.Kind, row: Relation, other_id: int, **terms: Any) -> None:
    """Record a relation that has just ended, or a follow as it is before its options change."""
    PastRelation.objects.create(
        kind=kind,
        owner_id=row.owner_id,
        other_id=other_id,
        began_at=row.created_at,
        ended_at=Now(),
        **terms,
    )


def _remember_follow(edge: Followee) -> None:
    terms = {"shows_reposts": edge.shows_reposts, "languages": edge.languages}
    _remember(PastRelation.Kind.FOLLOW, edge, edge.followee_id, **terms)


def _delete_request(requester: User, owner: User) -> FollowRequest | None:
    """Delete a follow request, and return it, because a follow takes over its options; None if there is no request."""
    request = FollowRequest.objects.filter(requester=requester, owner=owner).first()
    if request is not None:
        FollowRequest.objects.filter(owner=owner, pk=request.pk).delete()
        record("follow_request_ended", requester_id=requester.pk, owner_id=owner.pk)
        viewer_changed(requester.pk)
    return request


def _is_blocked_between(one: User, other: User) -> bool:
    """Whether either account has blocked the other."""
    pair = Q(owner=one, blocked=other) | Q(owner=other, blocked=one)
    return Block.objects.filter(pair).exists()


def _apply(counts: Counts, *changes: RelationChange) -> None:
    """Increment the revisions of accounts whose relations changed, once each; update the caches after the commit."""
    changed = {each.owner_id for each in changes if each.name in RELATIONS.names}
    followed = {each.owner_id for each in changes if each.name == FOLLOWED}
    for column, owner_ids in (("graph_revision", changed), ("followers_revision", followed)):
        if owner_ids:
            UserCounts.objects.filter(pk__in=owner_ids).update(**{column: F(column) + 1})
    if changes:
        transaction.on_commit(partial(apply_changes, counts, changes))
    if changed:
        revisions = {owner_id: counts[owner_id].graph_revision + 1 for owner_id in changed}
        transaction.on_commit(lambda: renew_graph_revisions(revisions), robust=True)


def _count(follower: User, followee: User, delta: int) -> None:
    USER_COUNTS.change(follower.pk, {"following": delta})
    USER_COUNTS.change(followee.pk, {"followers": delta})


def _count_choosy(owner_id: int) -> None:
    """Store in the counts row how many of the account's follows are limited to some languages.

    If it is 0, a page of this reader needs no query for them.
    """
    number = Followee.objects.filter(owner=owner_id).exclude(languages=[]).count()
    UserCounts.objects.filter(pk=owner_id).update(choosy_follows=number)
    viewer_changed(owner_id)
