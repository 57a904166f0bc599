"""Lists and their members; circles."""

from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.queries import user_by_id
from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.list import (
    CircleJson,
    ListChange,
    ListInput,
    ListJson,
    PeopleInput,
    circle_json,
    list_json,
)
from apps.api.openapi import EMPTY_OBJECT
from apps.api.pagination import CURSOR_PARAMETERS, MAX_PEOPLE, PEOPLE_DEFAULT, paged
from apps.api.params import validated
from apps.errors import BadRequest
from apps.graph.groups.actions import (
    add_members,
    change_group,
    create_group,
    delete_group,
    remove_members,
)
from apps.graph.groups.queries import (
    circles_to_post_to,
    groups_of,
    groups_with,
    members_page,
    own_group,
)
from apps.graph.models import UserList
from apps.pagination import Cursor
from feedcache.ids import parse_id


@operation("Your lists", list[ListJson], method="GET", errors=[401])
@operation(
    "Make a list",
    ListJson,
    method="POST",
    name="create_list",
    request=ListInput,
    errors=[400, 401, 422],
)
@endpoint(GET="read:lists", POST="write:lists")
def lists(request: Request) -> Response:
    """GET: the viewer's lists, at most 50. POST: create a list."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return Response([list_json(user_list) for user_list in groups_of(UserList, viewer)])
    fields = validated(ListInput(data=request.data))
    return Response(list_json(create_group(UserList, viewer, **fields)))


@operation("One of your lists", ListJson, method="GET", name="show_list")
@operation("Change a list", ListJson, method="PUT", name="change_list", request=ListChange)
@operation("Delete a list", EMPTY_OBJECT, method="DELETE", name="delete_list")
@endpoint(GET="read:lists", PUT="write:lists", DELETE="write:lists")
def user_list(request: Request, list_id: int) -> Response:
    """Show, change or delete a list."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return Response(list_json(own_group(UserList, viewer, list_id)))
    if request.method == "DELETE":
        delete_group(UserList, viewer, list_id)
        return Response({})
    fields = validated(ListChange(data=request.data))
    return Response(list_json(change_group(UserList, viewer, list_id, **fields)))


@operation(
    "The members of a list",
    list[AccountJson],
    method="GET",
    name="list_accounts",
    errors=[400, 401, 404],
    description="`limit=0` returns all of them, at most 500.",
    parameters=CURSOR_PARAMETERS,
)
@operation(
    "Add people you follow to a list",
    EMPTY_OBJECT,
    method="POST",
    name="add_to_list",
    request=PeopleInput,
)
@operation(
    "Remove people from a list",
    EMPTY_OBJECT,
    method="DELETE",
    name="remove_from_list",
    request=PeopleInput,
)
@endpoint(GET="read:lists", POST="write:lists", DELETE="write:lists")
def members(request: Request, list_id: int) -> Response:
    """List, add or remove members of a list."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return _members(request, list_id)
    change = add_members if request.method == "POST" else remove_members
    change(UserList, viewer, list_id, _account_ids(request))
    return Response({})


def _members(request: Request, list_id: int) -> Response:
    user_list, query = own_group(UserList, viewer_of(request), list_id), request.query_params
    cursor = Cursor.from_query(query, default=PEOPLE_DEFAULT, maximum=MAX_PEOPLE)
    wants_all = query.get("limit") == "0"  # Mastodon's way to request all members
    if wants_all:
        cursor = replace(cursor, limit=UserList.MAX_MEMBERS)
    page = members_page(user_list, cursor)
    people = [account_json(user) for user in page.items]
    return Response(people) if wants_all else paged(request, page, people)


@operation("Your lists that contain an account", list[ListJson])
@endpoint(GET="read:lists")
def lists_with_account(request: Request, account_id: int) -> Response:
    """The viewer's lists that contain this account."""
    viewer, other = viewer_of(request), user_by_id(account_id)
    return Response([list_json(user_list) for user_list in groups_with(UserList, viewer, other.pk)])


def _account_ids(request: Request) -> list[int]:
    """The ids in the body, or else in the query, where some clients send them with a DELETE."""
    texts = _texts(request.data) or _texts(request.query_params)
    validated(PeopleInput(data={"account_ids": texts}))
    try:
        return [parse_id(text) for text in texts]
    except ValueError:
        raise BadRequest(_("An account id must be a number.")) from None


def _texts(fields: Any) -> list[str]:
    texts: list[Any] = []
    for name in ("account_ids[]", "account_ids"):
        value = fields.getlist(name) if hasattr(fields, "getlist") else fields.get(name)
        texts += value if isinstance(value, list) else [] if value is None else [value]
    return [str(text) for text in texts]


@operation("The circles you may post to", list[CircleJson], tags=["circles"], errors=[401])
@endpoint(GET="read:lists")
def circles(request: Request) -> Response:
    """Own circles, and shared ones that the viewer has joined, at most 200. They are edited on the settings pages."""
    return Response([circle_json(circle) for circle in circles_to_post_to(viewer_of(request))])
