"""Writes of lists. The owner's counts row is locked first, as in every write of the graph."""

from collections.abc import Collection

from django.db import transaction
from django.utils.translation import gettext as _

from apps.accounts.models import User, UserCounts
from apps.accounts.profile import single_line
from apps.errors import Invalid, NotFound
from apps.graph.models import Followee, FollowRequest
from apps.lists.models import TITLE_MAX_CHARACTERS, ListMember, RepliesPolicy, UserList
from apps.lists.queries import own_list

MAX_LISTS = 50  # of one owner
MAX_MEMBERS = 500  # of one list: its timeline is one bounded scan for each
MAX_ADDED = 100  # at once


@transaction.atomic
def create_list(
    owner: User,
    *,
    title: str,
    replies_policy: str = RepliesPolicy.LIST,
    is_exclusive: bool = False,
) -> UserList:
    """Make an empty list. Invalid for an empty or long title, an unknown policy, and beyond 50 lists."""
    _lock(owner)
    if UserList.objects.filter(owner=owner).count() >= MAX_LISTS:
        raise _invalid("title", _("At most %(count)d lists.") % {"count": MAX_LISTS})
    made = UserList(owner=owner, is_exclusive=is_exclusive)
    made.title, made.replies_policy = _clean_title(title), _clean_policy(replies_policy)
    made.save()
    _count_exclusive(owner)
    return made


@transaction.atomic
def change_list(
    owner: User,
    list_id: int,
    *,
    title: str | None = None,
    replies_policy: str | None = None,
    is_exclusive: bool | None = None,
) -> UserList:
    """Change what is named; None leaves a thing as it is. NotFound, Invalid."""
    _lock(owner)
    found = own_list(owner, list_id)
    found.title = found.title if title is None else _clean_title(title)
    if replies_policy is not None:
        found.replies_policy = _clean_policy(replies_policy)
    found.is_exclusive = found.is_exclusive if is_exclusive is None else is_exclusive
    found.save()
    _count_exclusive(owner)
    return found


@transaction.atomic
def delete_list(owner: User, list_id: int) -> None:
    """Delete a list and who is in it. NotFound."""
    _lock(owner)
    own_list(owner, list_id).delete()
    _count_exclusive(owner)


@transaction.atomic
def add_to_list(owner: User, list_id: int, people: Collection[int]) -> None:
    """Put accounts that are followed, or asked to be, into a list, by id, all of them or none; twice is once.

    NotFound for a list or an account that is not there, and for one that is not followed: the same answer. Invalid
    beyond 100 at once or 500 in all.
    """
    wanted = set(people)
    if len(wanted) > MAX_ADDED:
        raise _invalid("account_ids", _("At most %(count)d at once.") % {"count": MAX_ADDED})
    _lock(owner)
    found = own_list(owner, list_id)
    followed = Followee.objects.filter(owner=owner, followee__in=wanted)
    asked = FollowRequest.objects.filter(requester=owner, owner__in=wanted)
    known = {
        *followed.values_list("followee_id", flat=True),
        *asked.values_list("owner_id", flat=True),
    }
    if known != wanted:
        raise NotFound(_("Only people you follow can be in a list."))
    inside = set(ListMember.objects.filter(user_list=found).values_list("member_id", flat=True))
    if len(inside | wanted) > MAX_MEMBERS:
        message = _("At most %(count)d people in a list.") % {"count": MAX_MEMBERS}
        raise _invalid("account_ids", message)
    ListMember.objects.bulk_create(
        ListMember(user_list=found, member_id=one) for one in sorted(wanted - inside)
    )


@transaction.atomic
def remove_from_list(owner: User, list_id: int, people: Collection[int]) -> None:
    """Take accounts out of a list; those who are not in it are passed over. NotFound."""
    found = own_list(owner, list_id)
    ListMember.objects.filter(user_list=found, member__in=set(people)).delete()


@transaction.atomic
def tidy_lists(owner_id: int, member_id: int) -> None:
    """Take somebody out of all lists of an account that neither follows them nor asks to any more; reads pass over them already."""
    UserCounts.objects.select_for_update().filter(pk=owner_id).first()
    follows = Followee.objects.filter(owner=owner_id, followee=member_id)
    asks = FollowRequest.objects.filter(requester=owner_id, owner=member_id)
    if not follows.exists() and not asks.exists():
        ListMember.objects.filter(user_list__owner=owner_id, member=member_id).delete()


def _lock(owner: User) -> None:
    owner.counts = UserCounts.objects.select_for_update().get(pk=owner.pk)


def _count_exclusive(owner: User) -> None:
    number = UserList.objects.filter(owner=owner, is_exclusive=True).count()
    UserCounts.objects.filter(pk=owner.pk).update(exclusive_lists=number)
    owner.counts.exclusive_lists = number


def _clean_title(text: str) -> str:
    title = single_line(text)
    if not title:
        raise _invalid("title", _("Give the list a title."))
    if len(title) > TITLE_MAX_CHARACTERS:
        message = _("At most %(count)d characters.") % {"count": TITLE_MAX_CHARACTERS}
        raise _invalid("title", message)
    return title


def _clean_policy(policy: str) -> str:
    if policy not in RepliesPolicy.values:
        raise _invalid("replies_policy", _("Choose one of the list."))
    return policy


def _invalid(name: str, message: str) -> Invalid:
    return Invalid(message, errors={name: message})
