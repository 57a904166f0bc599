"""Lists and their members."""

from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.queries import user_by_id
from apps.api.authentication import viewer_of
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.list import ListJson, list_json
from apps.api.inputs.list import ListChange, ListInput, PeopleInput
from apps.api.openapi import EMPTY_OBJECT, Entity, problems
from apps.api.pagination import CURSOR_PARAMETERS, MAX_PEOPLE, PEOPLE_DEFAULT, paged
from apps.api.params import validated
from apps.errors import BadRequest
from apps.lists import actions
from apps.lists.queries import lists_of, lists_with, members_page, own_list
from apps.paging import Cursor
from apps.scopes import scopes
from feedcache.ids import parse_id


@scopes(GET="read:lists", POST="write:lists")
@extend_schema(
    methods=["GET"],
    operation_id="lists",
    tags=["lists"],
    summary="Your lists",
    responses={200: Entity(ListJson, many=True), **problems(401)},
)
@extend_schema(
    methods=["POST"],
    operation_id="create_list",
    tags=["lists"],
    summary="Make a list",
    request=ListInput,
    responses={200: Entity(ListJson), **problems(400, 401, 422)},
)
@api_view(["GET", "POST"])
def lists(request: Request) -> Response:
    """One's lists, at most 50; or a new one."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return Response([list_json(user_list) for user_list in lists_of(viewer)])
    fields = validated(ListInput(data=request.data))
    return Response(list_json(actions.create_list(viewer, **_action_params(fields))))


@scopes(GET="read:lists", PUT="write:lists", DELETE="write:lists")
@extend_schema(
    methods=["GET"],
    operation_id="show_list",
    tags=["lists"],
    summary="One of your lists",
    responses={200: Entity(ListJson), **problems(401, 404)},
)
@extend_schema(
    methods=["PUT"],
    operation_id="change_list",
    tags=["lists"],
    summary="Change a list",
    request=ListChange,
    responses={200: Entity(ListJson), **problems(400, 401, 404, 422)},
)
@extend_schema(
    methods=["DELETE"],
    operation_id="delete_list",
    tags=["lists"],
    summary="Delete a list",
    responses={200: EMPTY_OBJECT, **problems(401, 404)},
)
@api_view(["GET", "PUT", "DELETE"])
def one(request: Request, list_id: int) -> Response:
    """Show, change or delete a list."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return Response(list_json(own_list(viewer, list_id)))
    if request.method == "DELETE":
        actions.delete_list(viewer, list_id)
        return Response({})
    fields = validated(ListChange(data=request.data))
    return Response(list_json(actions.change_list(viewer, list_id, **_action_params(fields))))


@scopes(GET="read:lists", POST="write:lists", DELETE="write:lists")
@extend_schema(
    methods=["GET"],
    operation_id="list_accounts",
    tags=["lists"],
    summary="Who is in a list",
    description="`limit=0`: all of them, at most 500.",
    parameters=CURSOR_PARAMETERS,
    responses={200: Entity(AccountJson, many=True), **problems(400, 401, 404)},
)
@extend_schema(
    methods=["POST"],
    operation_id="add_to_list",
    tags=["lists"],
    summary="Put people you follow into a list",
    request=PeopleInput,
    responses={200: EMPTY_OBJECT, **problems(400, 401, 404, 422)},
)
@extend_schema(
    methods=["DELETE"],
    operation_id="remove_from_list",
    tags=["lists"],
    summary="Take people out of a list",
    request=PeopleInput,
    responses={200: EMPTY_OBJECT, **problems(400, 401, 404, 422)},
)
@api_view(["GET", "POST", "DELETE"])
def members(request: Request, list_id: int) -> Response:
    """Who is in a list, and who comes or goes."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return _people(request, list_id)
    change = actions.add_to_list if request.method == "POST" else actions.remove_from_list
    change(viewer, list_id, _account_ids(request))
    return Response({})


def _people(request: Request, list_id: int) -> Response:
    user_list, query = own_list(viewer_of(request), list_id), request.query_params
    cursor = Cursor.from_query(query, default=PEOPLE_DEFAULT, maximum=MAX_PEOPLE)
    if query.get("limit") == "0":  # Mastodon's way to ask for everybody
        cursor = replace(cursor, limit=actions.MAX_MEMBERS)
    page = members_page(user_list, cursor)
    return paged(request, page, [account_json(user) for user in page.items])


@scopes(GET="read:lists")
@extend_schema(
    operation_id="lists_with_account",
    tags=["lists"],
    summary="Which of your lists an account is in",
    responses={200: Entity(ListJson, many=True), **problems(401, 404)},
)
@api_view(["GET"])
def with_account(request: Request, account_id: int) -> Response:
    """Those of one's lists that somebody is in."""
    viewer, other = viewer_of(request), user_by_id(account_id)
    return Response([list_json(user_list) for user_list in lists_with(viewer, other.pk)])


def _account_ids(request: Request) -> list[int]:
    """From the body or the query: clients differ in where a DELETE names accounts."""
    texts = _texts(request.data) or _texts(request.query_params)
    validated(PeopleInput(data={"account_ids": texts}))
    try:
        return [parse_id(text) for text in texts]
    except ValueError:
        raise BadRequest(_("An account id is a number.")) from None


def _texts(fields: Any) -> list[str]:
    texts: list[Any] = []
    for name in ("account_ids[]", "account_ids"):
        value = fields.getlist(name) if hasattr(fields, "getlist") else fields.get(name)
        texts += value if isinstance(value, list) else [] if value is None else [value]
    return [str(text) for text in texts]


def _action_params(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields under the parameter names of the actions."""
    return {
        "is_exclusive" if name == "exclusive" else name: value for name, value in fields.items()
    }
