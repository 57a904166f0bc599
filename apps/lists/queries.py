"""Reads of lists. Somebody else's list is not found; members who are not followed any more are left out at once."""

from django.db.models import Count, Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.errors import NotFound
from apps.graph.models import Followee, FollowRequest
from apps.graph.queries import exact_relations
from apps.lists.models import ListMember, UserList
from apps.paging import Cursor, Page, page_of_rows


def lists_of(owner: User) -> list[UserList]:
    """All lists of an account, oldest first, each with its `size`; there are at most `MAX_LISTS`."""
    rows = UserList.objects.filter(owner=owner).annotate(size=Count("members"))
    return list(rows.order_by("pk"))


def own_list(owner: User, list_id: int) -> UserList:
    """One of an account's own lists; NotFound."""
    found = UserList.objects.filter(pk=list_id, owner=owner).first()
    if found is None:
        raise NotFound(_("There is no such list."))
    return found


def lists_with(owner: User, member_id: int) -> list[UserList]:
    """Those of an account's lists that somebody is in, oldest first."""
    inside = ListMember.objects.filter(user_list=OuterRef("pk"), member=member_id)
    return list(UserList.objects.filter(Exists(inside), owner=owner).order_by("pk"))


def members_page(user_list: UserList, cursor: Cursor) -> Page[User]:
    """Who is in a list, the latest first; the cursor is the id of the membership."""
    page = page_of_rows(_members(user_list), cursor)
    ids = [row.member_id for row in page.items]
    users = users_by_id(ids)
    severed = exact_relations(user_list.owner_id, ids).severed
    return page.mapped([users[one] for one in ids if one in users and one not in severed])


def _members(user_list: UserList) -> QuerySet[ListMember]:
    followed = Followee.objects.filter(owner=user_list.owner_id, followee=OuterRef("member"))
    asked = FollowRequest.objects.filter(requester=user_list.owner_id, owner=OuterRef("member"))
    return ListMember.objects.filter(Exists(followed) | Exists(asked), user_list=user_list)


def kept_off_home(owner: User) -> frozenset[int]:
    """Who is in an exclusive list of an account: they are not on its home page. No query for those without one."""
    if not owner.counts.exclusive_lists:
        return frozenset()
    rows = ListMember.objects.filter(user_list__owner=owner, user_list__is_exclusive=True)
    return frozenset(rows.values_list("member_id", flat=True))
