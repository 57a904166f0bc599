"""Writes of circles. Locks are taken in the order of the graph: counts rows, lower user id first; then the circle.

The counts rows keep a block or an unfollow from passing a member who is just being added.
"""

from collections import defaultdict
from collections.abc import Collection

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User, UserCounts
from apps.accounts.profile import single_line
from apps.errors import Invalid, NotAllowed, NotFound
from apps.events.actions import record
from apps.graph.circle_queries import own_circle
from apps.graph.models import Circle, CircleMember, Follower

MAX_CIRCLES = 100  # of one owner
MAX_MEMBERS = 1000  # of one circle; their inboxes are one script's work
MAX_ADDED = 50  # at once: their counts rows are locked together
NAME_MAX_CHARACTERS = 60


@transaction.atomic
def create_circle(owner: User, *, name: str, is_shared: bool = False) -> Circle:
    """Make an empty circle. Invalid when the name is empty, too long or taken, or when there are 100 already."""
    _lock([owner])
    clean = _clean_name(owner, name)
    if Circle.objects.filter(owner=owner, deleted_at=None).count() >= MAX_CIRCLES:
        raise _invalid("name", _("At most %(count)d circles.") % {"count": MAX_CIRCLES})
    _note_circles([owner.pk])
    return Circle.objects.create(owner=owner, name=clean, is_shared=is_shared)


@transaction.atomic
def change_circle(owner: User, circle_id: int, *, name: str, is_shared: bool) -> Circle:
    """Rename a circle, and say whether its members may post to it. NotFound, Invalid."""
    _lock([owner])
    circle = own_circle(owner, circle_id)
    circle.name, circle.is_shared = _clean_name(owner, name, but=circle_id), is_shared
    circle.save(update_fields=["name", "is_shared"])
    return circle


@transaction.atomic
def delete_circle(owner: User, circle_id: int) -> None:
    """Delete a circle and who is in it; its posts stay, each visible to its author only. NotFound."""
    circle = _locked(owner, circle_id)
    circle.deleted_at = timezone.now()
    circle.save(update_fields=["deleted_at"])
    members = list(CircleMember.objects.filter(circle=circle).values_list("member_id", flat=True))
    CircleMember.objects.filter(circle=circle).delete()
    _tell(circle_id, [owner.pk, *members])


@transaction.atomic
def add_to_circle(owner: User, circle_id: int, people: Collection[User]) -> None:
    """Put followers of the owner into a circle, all of them or none; twice is once.

    NotFound; NotAllowed when one of them does not follow the owner; Invalid beyond 50 at once or 1,000 in all.
    """
    if len(people) > MAX_ADDED:
        raise _invalid("handles", _("At most %(count)d at once.") % {"count": MAX_ADDED})
    _lock([owner, *people])
    circle = _locked(owner, circle_id)
    _require_followers(owner, people)
    inside = set(CircleMember.objects.filter(circle=circle).values_list("member_id", flat=True))
    fresh = [person.pk for person in people if person.pk not in inside]
    if len(inside) + len(fresh) > MAX_MEMBERS:
        raise _invalid("handles", _("At most %(count)d members.") % {"count": MAX_MEMBERS})
    CircleMember.objects.bulk_create(CircleMember(circle=circle, member_id=pk) for pk in fresh)
    _note_circles(fresh)
    _tell(circle_id, fresh)


@transaction.atomic
def remove_from_circle(owner: User, circle_id: int, member_id: int) -> None:
    """Take somebody out of one's circle; nothing happens when they are not in it. NotFound."""
    circle = own_circle(owner, circle_id)
    _take_out(CircleMember.objects.filter(circle=circle, member=member_id))


@transaction.atomic
def leave_circle(member: User, circle_id: int) -> None:
    """Leave somebody else's circle. NotFound to those who are not in it."""
    if not _take_out(CircleMember.objects.filter(circle=circle_id, member=member)):
        raise NotFound(_("There is no such circle."))


def part_circles(one: User, other: User) -> None:
    """Take two people out of each other's circles: part of a block, in its transaction and under its locks."""
    _take_out(
        CircleMember.objects.filter(
            Q(circle__owner=one, member=other) | Q(circle__owner=other, member=one)
        )
    )


def _take_out(rows: QuerySet[CircleMember]) -> int:
    """Delete memberships and tell of them; how many there were."""
    gone = list(rows.select_for_update(of=("self",)).order_by("pk"))
    CircleMember.objects.filter(pk__in=[row.pk for row in gone]).delete()
    found: dict[int, list[int]] = defaultdict(list)
    for row in gone:
        found[row.circle_id].append(row.member_id)
    for circle_id, member_ids in found.items():
        _tell(circle_id, member_ids)
    return len(gone)


def _tell(circle_id: int, user_ids: list[int]) -> None:
    if user_ids:
        record("circle_changed", circle_id=circle_id, user_ids=user_ids)


def _lock(people: Collection[User]) -> None:
    ids = {person.pk for person in people}
    list(UserCounts.objects.select_for_update().filter(pk__in=ids).order_by("pk"))


def _note_circles(user_ids: Collection[int]) -> None:
    """From now on there may be circles to look up for these, whose counts rows are locked."""
    UserCounts.objects.filter(pk__in=user_ids, knows_circles=False).update(knows_circles=True)


def _locked(owner: User, circle_id: int) -> Circle:
    # no_key: a post that is being published to the circle holds its key
    list(Circle.objects.select_for_update(no_key=True).filter(pk=circle_id, owner=owner))
    return own_circle(owner, circle_id)


def _require_followers(owner: User, people: Collection[User]) -> None:
    ids = [person.pk for person in people]
    following = set(
        Follower.objects.filter(owner=owner, follower__in=ids).values_list("follower_id", flat=True)
    )
    for person in people:
        if person.pk not in following:
            message = _("@%(handle)s doesn't follow you.") % {"handle": person.handle}
            raise NotAllowed(message, errors={"handles": message})


def _clean_name(owner: User, text: str, *, but: int = 0) -> str:
    name = single_line(text)
    if not name:
        raise _invalid("name", _("Give the circle a name."))
    if len(name) > NAME_MAX_CHARACTERS:
        raise _invalid("name", _("At most %(count)d characters.") % {"count": NAME_MAX_CHARACTERS})
    if Circle.objects.filter(owner=owner, name=name, deleted_at=None).exclude(pk=but).exists():
        raise _invalid("name", _("You have a circle of this name."))
    return name


def _invalid(name: str, message: str) -> Invalid:
    return Invalid(message, errors={name: message})
