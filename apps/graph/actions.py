"""Writes of the graph: follow, block, mute, note. Locks are taken as `edges` says."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import Invalid, NotAllowed
from apps.events.actions import record
from apps.graph import edges
from apps.graph.cache import BLOCKED_BY, BLOCKING, MUTING, Moved
from apps.graph.circle_actions import part_circles
from apps.graph.edges import Options
from apps.graph.models import AccountNote, Block, Endorsement, Followee, FollowRequest, Mute
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
) -> None:
    """Follow an account, or ask to when it is locked: rows, counts and the event in one transaction. Twice is once.

    `reposts` (else yes) says whether its reposts come along, `notify` (else no) whether every new post is told, `languages`
    (else all) in which its posts are read on the home page; None leaves them as they are. NotAllowed across a block; TooMany when somebody follows in bulk.
    """
    _require_other(follower, followee)
    chosen = None if languages is None else tuple(dict.fromkeys(languages))
    said = {"reposts": reposts, "notify": notify, "languages": chosen}
    wanted: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
    counts = edges.lock(follower, followee)
    if edges.blocked_between(follower, followee):
        raise NotAllowed(_("You can't follow this account."))
    edge = Followee.objects.filter(owner=follower, followee=followee).first()
    if edge is not None:
        options = Options.of(edge)._replace(**wanted)
        edges.move(counts, *edges.change_options(edge, options))
    elif User.objects.filter(pk=followee.pk, is_locked=True).exists():
        _ask(follower, followee, wanted)
    else:
        check_rate_limit("follow", str(follower.pk))
        asked = edges.drop_request(follower, followee)  # of the time when the account was locked
        known = Options.of(asked) if asked else Options()
        edges.move(counts, *edges.connect(follower, followee, known._replace(**wanted)))


@transaction.atomic
def unfollow_user(follower: User, followee: User) -> None:
    """Stop following an account, or asking to; nothing happens when it was neither followed nor asked."""
    _require_other(follower, followee)
    counts = edges.lock(follower, followee)
    edges.drop_request(follower, followee)
    edges.move(counts, *edges.cut(follower, followee))


@transaction.atomic
def remove_follower(owner: User, follower: User) -> None:
    """End somebody's following of oneself; they are not told, and may follow again."""
    _require_other(owner, follower)
    counts = edges.lock(owner, follower)
    edges.move(counts, *edges.cut(follower, owner))


@transaction.atomic
def block_user(owner: User, other: User) -> None:
    """Block an account: both follow directions, requests and memberships in each other's circles end, and neither sees the other's posts from the next read on."""
    _require_other(owner, other)
    counts = edges.lock(owner, other)
    if Block.objects.filter(owner=owner, blocked=other).exists():
        return
    block = Block.objects.create(owner=owner, blocked=other)
    edges.drop_request(owner, other)
    edges.drop_request(other, owner)
    edges.move(
        counts,
        Moved(owner.pk, BLOCKING, other.pk, block.pk),
        Moved(other.pk, BLOCKED_BY, owner.pk, block.pk),
        *edges.cut(owner, other),
        *edges.cut(other, owner),
    )
    part_circles(owner, other)
    record("blocked", owner_id=owner.pk, blocked_id=other.pk)


@transaction.atomic
def unblock_user(owner: User, other: User) -> None:
    """End a block; follows do not come back."""
    counts = edges.lock(owner, other)
    deleted, _by_model = Block.objects.filter(owner=owner, blocked=other).delete()
    if deleted:
        edges.move(
            counts,
            Moved(owner.pk, BLOCKING, other.pk),
            Moved(other.pk, BLOCKED_BY, owner.pk),
        )
        record("relations_moved", user_ids=[owner.pk, other.pk])


@transaction.atomic
def mute_user(
    owner: User, other: User, *, notifications: bool = True, seconds: int | None = None
) -> None:
    """Hide an account's posts from one's timelines, and its `notifications`. Again changes the terms.

    For so many `seconds`, at most a year; None and 0 for good. Invalid.
    """
    _require_other(owner, other)
    terms = {"hides_notifications": notifications, "expires_at": _end_of_mute(seconds)}
    counts = edges.lock(owner)
    mute, created = Mute.objects.update_or_create(owner=owner, muted=other, defaults=terms)
    if created:
        edges.move(counts, Moved(owner.pk, MUTING, other.pk, mute.pk))
        record("relations_moved", user_ids=[owner.pk])


@transaction.atomic
def unmute_user(owner: User, other: User) -> None:
    """End a mute."""
    _unmute(owner, other)


def end_due_mutes(*, limit: int) -> int:
    """End mutes whose time is over, the oldest first; how many were due."""
    due = Mute.objects.filter(expires_at__lte=timezone.now()).order_by("expires_at")
    rows = list(due.select_related("owner", "muted")[:limit])
    for row in rows:
        _end_if_due(row)
    return len(rows)


@transaction.atomic
def _end_if_due(row: Mute) -> None:
    edges.lock(row.owner)
    # somebody may have made it longer meanwhile
    if Mute.objects.filter(pk=row.pk, expires_at__lte=timezone.now()).exists():
        _unmute(row.owner, row.muted)


@transaction.atomic
def endorse_user(owner: User, other: User) -> None:
    """Recommend an account on one's profile; twice is once. Invalid for one that is not followed."""
    edges.lock(owner)  # an unfollow at the same time finds the row
    if not Followee.objects.filter(owner=owner, followee=other).exists():
        raise Invalid(_("Follow this account first."), code="not_followed")
    Endorsement.objects.get_or_create(owner=owner, other=other)


@transaction.atomic
def unendorse_user(owner: User, other: User) -> None:
    """Recommend an account no more."""
    Endorsement.objects.filter(owner=owner, other=other).delete()


@transaction.atomic
def note_about(owner: User, other: User, text: str) -> None:
    """Note something about an account for oneself, at most 2,000 characters; an empty text takes the note away. Invalid."""
    _require_other(owner, other)
    text = text.strip()
    if len(text) > NOTE_MAX_CHARACTERS:
        message = _("At most %(count)d characters.") % {"count": NOTE_MAX_CHARACTERS}
        raise Invalid(message, errors={"comment": message})
    if text:
        AccountNote.objects.update_or_create(owner=owner, about=other, defaults={"text": text})
    else:
        AccountNote.objects.filter(owner=owner, about=other).delete()


def _ask(follower: User, followee: User, wanted: dict[str, Any]) -> None:
    request = FollowRequest.objects.filter(requester=follower, owner=followee).first()
    if request is None:
        check_rate_limit("follow", str(follower.pk))
        request = FollowRequest(requester=follower, owner=followee)
        record("follow_requested", requester_id=follower.pk, owner_id=followee.pk)
    Options.of(request)._replace(**wanted).put_into(request)
    request.save()


def _unmute(owner: User, other: User) -> None:
    counts = edges.lock(owner)
    deleted, _by_model = Mute.objects.filter(owner=owner, muted=other).delete()
    if deleted:
        edges.move(counts, Moved(owner.pk, MUTING, other.pk))
        record("relations_moved", user_ids=[owner.pk])


def _end_of_mute(seconds: int | None) -> datetime | None:
    if not seconds:
        return None
    if not 0 < seconds <= MAX_MUTE.total_seconds():
        message = _("Choose a time of at most a year.")
        raise Invalid(message, errors={"duration": message})
    return timezone.now() + timedelta(seconds=seconds)


def _require_other(one: User, other: User) -> None:
    if one.pk == other.pk:
        raise Invalid(_("This doesn't work with your own account."), code="self")
