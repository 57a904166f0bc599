"""Queries that read lists and circles.

Membership in a circle is always read from PostgreSQL and never cached, so that a removal takes effect immediately. The
owner belongs to the circle without a row. A list leaves out accounts that its owner no longer follows.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import TypeVar

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Value
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.errors import NotAllowed, NotFound
from apps.graph.models import (
    Circle,
    CircleMember,
    Followee,
    FollowRequest,
    Group,
    ListMember,
    UserList,
)
from apps.graph.queries import exact_relations
from apps.pagination import Cursor, Page, page_of_rows

G = TypeVar("G", bound=Group)

MAX_LISTED = 200  # circles on one page or in one menu


@dataclass(frozen=True, slots=True)
class CircleChoice:
    """A circle that a user may post to."""

    id: int
    name: str
    is_shared: bool
    is_own: bool


def groups_of(kind: type[G], owner: User) -> list[G]:
    """All lists of an account, oldest first, or all its circles, by name. Each has a `size`, the number of members."""
    return list(kind.of(owner).annotate(size=Count("members")).order_by(*kind.ORDER))


def own_group(kind: type[G], owner: User, group_id: int) -> G:
    """A list or circle of an account. Raises NotFound if it does not exist or belongs to somebody else."""
    group = kind.of(owner).filter(pk=group_id).first()
    if group is None:
        raise not_found(kind)
    return group


def not_found(kind: type[Group]) -> NotFound:
    return NotFound(str(kind.error_messages["not_found"]))


def members_page(group: Group, cursor: Cursor) -> Page[User]:
    """The members, newest first, without the owner. The cursor is the id of the membership."""
    rows = group.members.all()
    if isinstance(group, UserList):
        members = rows.values("member")
        followed = Followee.objects.filter(owner=group.owner_id, followee__in=members)
        requested = FollowRequest.objects.filter(requester=group.owner_id, owner__in=members)
        is_followed = Q(member__in=followed.values("followee"))
        rows = rows.filter(is_followed | Q(member__in=requested.values("owner")))
    page = page_of_rows(rows, cursor)
    users = users_by_id([row.member_id for row in page.items])
    if isinstance(group, UserList):  # not needed for circles: a block ends memberships in them
        for user_id in exact_relations(group.owner_id, users).severed:
            users.pop(user_id, None)
    return page.with_items([users[row.member_id] for row in page.items if row.member_id in users])


def groups_with(kind: type[G], owner: User, member_id: int) -> list[G]:
    """The lists or circles of an account that contain a member, in the order of `groups_of`."""
    return list(kind.of(owner).filter(members__member=member_id).order_by(*kind.ORDER))


def exclusive_member_ids(owner: User, *, among: Collection[int] | None = None) -> frozenset[int]:
    """The members of an account's exclusive lists, whose posts its home page leaves out. No query if there are none.

    `among` limits the lookup to these accounts, such as a page's authors, because the lists can have 25,000 members.
    """
    if not owner.counts.exclusive_lists:
        return frozenset()
    rows = ListMember.objects.filter(group__owner=owner, group__is_exclusive=True)
    if among is not None:
        rows = rows.filter(member__in=among)
    return frozenset(rows.values_list("member_id", flat=True))


def circle_names(user_id: int | None, circle_ids: Collection[int]) -> dict[int, str]:
    """The names, by id, of the circles in `circle_ids` that a user is in now. No query for visitors or without ids."""
    if user_id is None or not circle_ids:
        return {}
    return dict(_circles_with(user_id).filter(pk__in=set(circle_ids)).values_list("pk", "name"))


def joined_circle_ids(user_id: int) -> QuerySet[CircleMember, int]:
    """The ids of other people's circles that a user is in, as a subquery. Deleted circles have no members."""
    return CircleMember.objects.filter(member=user_id).values_list("group_id", flat=True)


def joined_circles(member: User) -> list[Circle]:
    """Other people's circles that a user is in, newest membership first; at most 200. Not those of suspended owners."""
    rows = CircleMember.objects.filter(
        member=member, group__deleted_at=None, group__owner__suspended_at=None
    ).select_related("group__owner")
    return [row.group for row in rows.order_by("-pk")[:MAX_LISTED]]


def require_may_post(user_id: int, circle_id: int) -> None:
    """Raise NotFound unless the user is in the circle, and NotAllowed unless they own it or it is shared.

    Circles of suspended owners are not found either.
    """
    circle = _usable(user_id, circle_id).first()
    if circle is None:
        raise not_found(Circle)
    if circle.owner_id != user_id and not circle.is_shared:
        raise NotAllowed(_("Only the owner can post to this circle."))


def may_reply_in(user_id: int, circle_id: int) -> bool:
    """Whether a user is in a circle, shared or not, whose owner is not suspended."""
    return _usable(user_id, circle_id).exists()


def circles_to_post_to(user: User) -> list[CircleChoice]:
    """The circles that a user may post to, own circles first, then shared ones, each by name; at most 200.

    Runs no query for users who have never owned or joined a circle.
    """
    if not user.counts.knows_circles:
        return []
    shared = Circle.objects.filter(pk__in=joined_circle_ids(user.pk), is_shared=True)
    shared = shared.filter(deleted_at=None, owner__suspended_at=None)
    columns = "rank", "name", "id", "is_shared"
    own = Circle.of(user).annotate(rank=Value(0)).values_list(*columns)
    others = shared.exclude(owner=user).annotate(rank=Value(1)).values_list(*columns)
    rows = own.union(others, all=True).order_by(*columns[:3])
    return [
        CircleChoice(circle_id, name, is_shared, rank == 0)
        for rank, name, circle_id, is_shared in rows[:MAX_LISTED]
    ]


def circle_audience(circle_id: int) -> set[int]:
    """The ids of a circle's owner and members, at most `MAX_MEMBERS` + 1; empty if the circle is deleted."""
    owner = Circle.objects.filter(pk=circle_id, deleted_at=None).values_list("owner_id", flat=True)
    members = CircleMember.objects.filter(group=circle_id).values_list("member_id", flat=True)
    return {*owner, *members} if owner else set()


def _usable(user_id: int, circle_id: int) -> QuerySet[Circle]:
    return _circles_with(user_id).filter(pk=circle_id, owner__suspended_at=None)


def _circles_with(user_id: int) -> QuerySet[Circle]:
    memberships = CircleMember.objects.filter(group=OuterRef("pk"), member=user_id)
    return Circle.objects.filter(Q(owner=user_id) | Exists(memberships), deleted_at=None)
