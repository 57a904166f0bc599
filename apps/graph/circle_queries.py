"""Reads of circles. Who belongs is looked up anew at every read and kept in no cache, so removal acts on the next one.

The owner belongs to a circle without a row. A deleted circle has nobody in it.
"""

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.errors import NotAllowed, NotFound
from apps.graph.models import Circle, CircleMember
from apps.paging import Cursor, Page, page_of_rows

MAX_LISTED = 200  # circles on one page or in one menu


@dataclass(frozen=True, slots=True)
class CircleChoice:
    """A circle that somebody may post to."""

    id: int
    name: str
    is_shared: bool
    is_own: bool


def circles_known(user_id: int | None, circle_ids: Collection[int]) -> dict[int, str]:
    """Those of the circles that a user belongs to now, with their names; one query, none when nothing is asked."""
    if user_id is None or not circle_ids:
        return {}
    rows = _belonging(user_id).filter(pk__in=set(circle_ids))
    return dict(rows.values_list("pk", "name"))


def owned_ids(user_id: int) -> QuerySet[Circle, int]:
    """The ids of a user's own circles, for use inside another query."""
    return Circle.objects.filter(owner=user_id, deleted_at=None).values_list("pk", flat=True)


def joined_ids(user_id: int) -> QuerySet[CircleMember, int]:
    """The ids of the circles that a user was put into, for use inside another query."""
    return CircleMember.objects.filter(member=user_id).values_list("circle_id", flat=True)


def require_may_post(user_id: int, circle_id: int) -> None:
    """NotFound to those outside, whether it exists or not; NotAllowed to members of a circle that is not shared."""
    circle = _belonging(user_id).filter(pk=circle_id).first()
    if circle is None:
        raise NotFound(_("There is no such circle."))
    if circle.owner_id != user_id and not circle.is_shared:
        raise NotAllowed(_("Only its owner posts to this circle."))


def circles_to_post_to(user: User) -> list[CircleChoice]:
    """The circles that a user may post to: own ones first, then shared ones, by name; at most 200.

    No query for those who never had to do with one.
    """
    if not user.counts.knows_circles:
        return []
    own = Circle.objects.filter(owner=user, deleted_at=None)
    shared = Circle.objects.filter(pk__in=joined_ids(user.pk), is_shared=True, deleted_at=None)
    shared = shared.filter(owner__suspended_at=None)
    columns = "id", "name", "is_shared", "owner_id"
    both = own.values_list(*columns).union(shared.values_list(*columns))
    found = [
        CircleChoice(circle_id, name, is_shared, owner_id == user.pk)
        for circle_id, name, is_shared, owner_id in both.order_by("name", "id")[:MAX_LISTED]
    ]
    return sorted(found, key=lambda circle: not circle.is_own)


def circle_audience(circle_id: int) -> set[int]:
    """Everybody in a circle, its owner among them; nobody when it is deleted. At most one more than it may have."""
    owner = Circle.objects.filter(pk=circle_id, deleted_at=None).values_list("owner_id", flat=True)
    members = CircleMember.objects.filter(circle=circle_id).values_list("member_id", flat=True)
    return {*owner, *members} if owner else set()


def circles_of(owner: User) -> list[Circle]:
    """A user's own circles by name, each with its `size`, the number of its members."""
    rows = Circle.objects.filter(owner=owner, deleted_at=None).annotate(size=Count("members"))
    return list(rows.order_by("name", "pk")[:MAX_LISTED])


def circles_with(member: User) -> list[Circle]:
    """The circles of others that somebody is in, with their owners, the newest membership first; at most 200."""
    rows = CircleMember.objects.filter(
        member=member, circle__deleted_at=None, circle__owner__suspended_at=None
    ).select_related("circle__owner")
    return [row.circle for row in rows.order_by("-pk")[:MAX_LISTED]]


def own_circle(owner: User, circle_id: int) -> Circle:
    """A user's own circle; NotFound for everybody else's, as for one that is not there."""
    circle = Circle.objects.filter(pk=circle_id, owner=owner, deleted_at=None).first()
    if circle is None:
        raise NotFound(_("There is no such circle."))
    return circle


def members_page(circle: Circle, cursor: Cursor) -> Page[User]:
    """Who was put into a circle, the newest first; the cursor is the membership's id."""
    page = page_of_rows(CircleMember.objects.filter(circle=circle), cursor)
    users = users_by_id([row.member_id for row in page.items])
    return page.mapped([users[row.member_id] for row in page.items if row.member_id in users])


def _belonging(user_id: int) -> QuerySet[Circle]:
    inside = CircleMember.objects.filter(circle=OuterRef("pk"), member=user_id)
    return Circle.objects.filter(Q(owner=user_id) | Exists(inside), deleted_at=None)
