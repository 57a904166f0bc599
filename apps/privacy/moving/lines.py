"""Applies and undoes one line of an imported CSV file, with the same actions that the site's pages call.

A line is a follow, a block, a mute, a member of a list or a bookmark (`ImportKind`).

`Act.do` returns the data for undoing, or None if nothing changed. A line that cannot be applied raises a `DomainError`.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from django.conf import settings
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.queries import user_ids_by_handle
from apps.addresses import without_own_host
from apps.engagement.actions import bookmark_post, unbookmark_post
from apps.engagement.models import Bookmark
from apps.errors import DomainError, Invalid, NotFound
from apps.graph.actions import (
    block_user,
    follow_user,
    mute_user,
    unblock_user,
    unfollow_user,
    unmute_user,
)
from apps.graph.groups.actions import add_members, create_group, delete_group, remove_members
from apps.graph.models import Block, Followee, FollowRequest, ListMember, Mute, UserList
from apps.privacy.models import ImportKind

Trace = dict[str, Any]
People = Mapping[str, User]
_POST_PATH = re.compile(r"/(?:@\w+|users/\w+/statuses)/([0-9]{1,19})/?")
_LANGUAGE = re.compile(r"\b(?<!-)[a-z]{2,8}\b")  # of zh-CN, only zh matches


class Act(NamedTuple):
    """The functions for one kind. `account` is the index of the cell that names an account; None if there is none."""

    do: Callable[..., Trace | None]
    undo: Callable[[User, Trace], None]
    account: int | None = 0


def people_of(kind: ImportKind, rows: Collection[Sequence[str]]) -> People:
    """The accounts of this site that are named in lines, by the name as written, in two queries."""
    cell = ACTS[kind].account
    if cell is None:
        return {}
    handles = {row[cell]: without_own_host(row[cell]).lower() for row in rows if len(row) > cell}
    ids = user_ids_by_handle(list(handles.values()))
    users = User.objects.select_related("counts").in_bulk(ids.values())
    return {
        written: users[ids[handle]]
        for written, handle in handles.items()
        if handle in ids and ids[handle] in users
    }


def do_line(kind: ImportKind, user: User, row: Sequence[str], people: People) -> Trace | None:
    """Apply a line. Raises DomainError if that is impossible; TooMany means that the line has to wait."""
    act = ACTS[kind]
    cells: list[Any] = list(row)
    if act.account is not None:
        if len(row) <= act.account:
            raise Invalid(_("A column is missing from this line."))
        cells[act.account] = _named(row[act.account], people)
    return act.do(user, *cells)


def undo_line(kind: ImportKind, user: User, trace: Trace) -> None:
    """Undo a line. Does nothing if the change has already been undone by hand."""
    with suppress(DomainError):
        ACTS[kind].undo(user, trace)


def _named(written: str, people: People) -> User:
    if written in people:
        return people[written]
    handle, _at, host = without_own_host(written).partition("@")
    if host:
        raise NotFound(_("Not on this site."))
    raise NotFound(_("There is no account @%(handle)s.") % {"handle": handle})


def _follow(
    user: User, other: User, reposts: str = "", notify: str = "", languages: str = ""
) -> Trace | None:
    """Follow an account; an existing follow or follow request keeps its options."""
    follows = Followee.objects.filter(owner=user, followee=other)
    requests = FollowRequest.objects.filter(requester=user, owner=other)
    if follows.exists() or requests.exists():
        return None
    follow_user(
        user,
        other,
        reposts=_choice(reposts),
        notify=_choice(notify),
        languages=_LANGUAGE.findall(languages.lower()),
        limit="import_follow",
    )
    return {"id": other.pk}


def _block(user: User, other: User) -> Trace | None:
    if Block.objects.filter(owner=user, blocked=other).exists():
        return None
    block_user(user, other)
    return {"id": other.pk}


def _mute(user: User, other: User, notifications: str = "") -> Trace | None:
    if Mute.objects.filter(owner=user, muted=other).exists():
        return None
    mute_user(user, other, notifications=_choice(notifications) is not False)
    return {"id": other.pk}


def _enlist(user: User, name: str, other: User) -> Trace | None:
    """Add an account to the user's oldest list of that name, which is created if missing."""
    group = UserList.of(user).filter(name=name).order_by("pk").first()
    trace = {"id": other.pk, "is_new": group is None}
    if group is None:
        group = create_group(UserList, user, name=name)
    elif ListMember.objects.filter(group=group, member=other).exists():
        return None
    add_members(UserList, user, group.pk, [other.pk])
    return {**trace, "list": group.pk}


def _delist(user: User, trace: Trace) -> None:
    remove_members(UserList, user, trace["list"], [trace["id"]])
    if trace["is_new"] and not ListMember.objects.filter(group=trace["list"]).exists():
        delete_group(UserList, user, trace["list"])


def _bookmark(user: User, address: str, *_since: str) -> Trace | None:
    site = f"{settings.SITE_URL}/"
    found = _POST_PATH.fullmatch(address.removeprefix(settings.SITE_URL).partition("?")[0])
    if not address.startswith(site):
        raise NotFound(_("Not on this site."))
    if found is None:
        raise NotFound(_("This is not the address of a post."))
    post_id = int(found[1])
    if Bookmark.objects.filter(user=user, post=post_id).exists():
        return None
    bookmark_post(user, post_id)
    return {"id": post_id}


def _choice(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())


def _with_account(undo: Callable[[User, User], None]) -> Callable[[User, Trace], None]:
    def undo_trace(user: User, trace: Trace) -> None:
        other = User.objects.filter(pk=trace["id"]).first()
        if other is not None:
            undo(user, other)

    return undo_trace


ACTS = {
    ImportKind.FOLLOWS: Act(_follow, _with_account(unfollow_user)),
    ImportKind.BLOCKS: Act(_block, _with_account(unblock_user)),
    ImportKind.MUTES: Act(_mute, _with_account(unmute_user)),
    ImportKind.LISTS: Act(_enlist, _delist, account=1),
    ImportKind.BOOKMARKS: Act(
        _bookmark, lambda user, trace: unbookmark_post(user, trace["id"]), account=None
    ),
}
