"""Actions on lists and circles.

Counts rows are locked in the same order as in `graph.actions`: lower user id first. All actions except `remove_members`
and `leave_circle` lock the owner's row, so that limits hold and a concurrent block or unfollow cannot miss a member who
is being added.
"""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.cache import viewer_changed
from apps.accounts.models import User, UserCounts
from apps.accounts.profile import single_line
from apps.accounts.queries import handles_of, user_by_id
from apps.errors import NotAllowed, NotFound, invalid
from apps.events.actions import record
from apps.graph.groups.queries import G, not_found, own_group
from apps.graph.models import (
    Circle,
    CircleMember,
    Followee,
    Follower,
    FollowRequest,
    Group,
    ListMember,
    RepliesPolicy,
    UserList,
)
from apps.sql import lock_each


@transaction.atomic
def create_group(kind: type[G], owner: User, **fields: Any) -> G:
    """Create an empty list or circle. Raises Invalid for bad `fields`, or if the owner may have no more groups."""
    _lock(owner.pk)
    if kind.of(owner).count() >= kind.MAX_GROUPS:
        message = kind.error_messages["max_groups"] % {"count": kind.MAX_GROUPS}
        raise invalid(kind.NAME_PARAMETER, message)
    group = kind(owner=owner, **_clean(kind, owner, fields))
    group.save()
    _update_counts(owner, group)
    return group


@transaction.atomic
def change_group(kind: type[G], owner: User, group_id: int, **fields: Any) -> G:
    """Change the given fields of a list or circle. Raises NotFound or Invalid."""
    _lock(owner.pk)
    group = own_group(kind, owner, group_id)
    clean = _clean(kind, owner, fields, group_id)
    for field, value in clean.items():
        setattr(group, field, value)
    group.save(update_fields=clean)
    _update_counts(owner, group)
    return group


@transaction.atomic
def delete_group(kind: type[Group], owner: User, group_id: int) -> None:
    """Delete a list or circle. Posts to a circle stay, but are visible only to their authors. Raises NotFound."""
    _lock(owner.pk)
    group = own_group(kind, owner, group_id)
    if isinstance(group, Circle):
        members = list(group.members.values_list("member_id", flat=True))
        group.members.all().delete()
        group.deleted_at = timezone.now()
        group.save(update_fields=["deleted_at"])
        _record_change(group_id, [owner.pk, *members])
    else:
        group.delete()
        _update_counts(owner, group)


@transaction.atomic
def add_members(kind: type[Group], owner: User, group_id: int, member_ids: Collection[int]) -> None:
    """Add all of these accounts, or none. Idempotent.

    A list accepts accounts that its owner follows or has asked to follow (NotFound for others). A circle accepts
    followers of its owner (NotAllowed for others). Also raises NotFound for unknown ids or an unknown group, and
    Invalid for more than `MAX_ADDED` accounts in one call or more than `MAX_MEMBERS` in total.
    """
    ids = set(member_ids)
    if len(ids) > kind.MAX_ADDED:
        message = _("At most %(count)d at once.") % {"count": kind.MAX_ADDED}
        raise invalid(kind.MEMBERS_PARAMETER, message)
    _lock(owner.pk, *(ids if kind is Circle else ()))  # `_know_circles` writes the members' rows
    group = own_group(kind, owner, group_id)
    if kind is Circle:
        _require_followers(owner, member_ids)
    else:
        _require_followed(owner, ids)
    present = set(group.members.values_list("member_id", flat=True))
    if len(present | ids) > kind.MAX_MEMBERS:
        message = kind.error_messages["max_members"] % {"count": kind.MAX_MEMBERS}
        raise invalid(kind.MEMBERS_PARAMETER, message)
    added = sorted(ids - present)
    membership = group.members.model
    membership.objects.bulk_create(membership(group=group, member_id=pk) for pk in added)
    if kind is Circle:
        _know_circles(added)
        _record_change(group_id, added)


@transaction.atomic
def remove_members(
    kind: type[Group], owner: User, group_id: int, member_ids: Collection[int]
) -> None:
    """Remove accounts. Accounts that are not in the list or circle are ignored. Raises NotFound."""
    group = own_group(kind, owner, group_id)
    rows = group.members.filter(member__in=set(member_ids))
    if kind is Circle:
        _end_memberships(rows)
    else:
        rows.delete()


@transaction.atomic
def remove_from_lists(owner_id: int, member_id: int) -> None:
    """Remove an account from an owner's lists, unless the owner follows it or has asked to.

    The pages of a list check this too, so they leave the account out even before its membership is deleted.
    """
    _lock(owner_id)
    follows = Followee.objects.filter(owner=owner_id, followee=member_id)
    requests = FollowRequest.objects.filter(requester=owner_id, owner=member_id)
    if not follows.exists() and not requests.exists():
        ListMember.objects.filter(group__owner=owner_id, member=member_id).delete()


@transaction.atomic
def leave_circle(member: User, circle_id: int) -> None:
    """Leave somebody else's circle. Raises NotFound if the user is not in it."""
    if not _end_memberships(CircleMember.objects.filter(group=circle_id, member=member)):
        raise not_found(Circle)


def leave_circles_of_each_other(one: User, other: User) -> None:
    """Remove two users from each other's circles. Call it in the transaction of a block, while its locks are held."""
    pair = Q(group__owner=one, member=other) | Q(group__owner=other, member=one)
    _end_memberships(CircleMember.objects.filter(pair))


def _end_memberships(rows: QuerySet[CircleMember]) -> int:
    """Delete memberships of circles and record an event for each circle. Return the number of memberships."""
    ended = list(rows.select_for_update(of=("self",)).order_by("pk"))
    CircleMember.objects.filter(pk__in=[row.pk for row in ended]).delete()
    members: dict[int, list[int]] = defaultdict(list)
    for row in ended:
        members[row.group_id].append(row.member_id)
    for circle_id, member_ids in members.items():
        _record_change(circle_id, member_ids)
    return len(ended)


def _record_change(circle_id: int, user_ids: list[int]) -> None:
    if user_ids:
        record("circle_changed", circle_id=circle_id, user_ids=user_ids)


def _lock(*user_ids: int) -> None:
    lock_each(UserCounts, user_ids)


def _update_counts(owner: User, group: Group) -> None:
    """Update the owner's counts row, so that readers without exclusive lists or circles need no query."""
    if isinstance(group, UserList):
        number = UserList.of(owner).filter(is_exclusive=True).count()
        UserCounts.objects.filter(pk=owner.pk).update(exclusive_lists=number)
        viewer_changed(owner.pk)
        owner.counts.exclusive_lists = number
    else:
        _know_circles([owner.pk])


def _know_circles(user_ids: Collection[int]) -> None:
    UserCounts.objects.filter(pk__in=user_ids, knows_circles=False).update(knows_circles=True)
    viewer_changed(*user_ids)


def _require_followed(owner: User, ids: set[int]) -> None:
    followed = Followee.objects.filter(owner=owner, followee__in=ids)
    requested = FollowRequest.objects.filter(requester=owner, owner__in=ids)
    allowed = {
        *followed.values_list("followee_id", flat=True),
        *requested.values_list("owner_id", flat=True),
    }
    if refused := ids - allowed:
        names = ", ".join(f"@{handle}" for handle in sorted(handles_of(refused).values()))
        if not names:
            raise NotFound(_("Only people you follow can be in a list."))
        text = _("You do not follow %(names)s. Only people you follow can be in a list.")
        raise NotFound(text % {"names": names})


def _require_followers(owner: User, ids: Collection[int]) -> None:
    rows = Follower.objects.filter(owner=owner, follower__in=ids)
    followers = set(rows.values_list("follower_id", flat=True))
    for user_id in ids:
        if user_id not in followers:
            handle = user_by_id(user_id).handle
            message = _("@%(handle)s doesn't follow you.") % {"handle": handle}
            raise NotAllowed(message, errors={Circle.MEMBERS_PARAMETER: message})


def _clean(
    kind: type[Group], owner: User, fields: dict[str, Any], group_id: int = 0
) -> dict[str, Any]:
    clean = dict(fields)
    if "name" in fields:
        clean["name"] = _clean_name(kind, owner, fields["name"], group_id)
    if fields.get("replies_policy", RepliesPolicy.LIST) not in RepliesPolicy.values:
        raise invalid("replies_policy", _("Choose one of the options."))
    return clean


def _clean_name(kind: type[Group], owner: User, text: str, group_id: int) -> str:
    name = single_line(text)
    if not name:
        raise invalid(kind.NAME_PARAMETER, str(kind.error_messages["no_name"]))
    if len(name) > kind.NAME_MAX_CHARACTERS:
        message = _("At most %(count)d characters.") % {"count": kind.NAME_MAX_CHARACTERS}
        raise invalid(kind.NAME_PARAMETER, message)
    if kind is Circle and kind.of(owner).filter(name=name).exclude(pk=group_id).exists():
        raise invalid(kind.NAME_PARAMETER, _("You already have a circle with this name."))
    return name
