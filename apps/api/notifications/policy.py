"""The API's policy of notifications, and what it holds back."""

from collections.abc import Callable

from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.models import User
from apps.accounts.queries import user_by_id, users_by_id
from apps.api.authentication import viewer_of
from apps.api.entities.notification import (
    NotificationPolicyJson,
    NotificationRequestJson,
    RequestsMergedJson,
    held_back_json,
    policy_json,
)
from apps.api.inputs.notification import AccountIdsInput, PolicyInput
from apps.api.openapi import EMPTY_OBJECT, Entity, problems
from apps.api.pagination import MAX_PEOPLE, PEOPLE_DEFAULT
from apps.api.params import validated
from apps.errors import NotFound
from apps.notifications.actions import accept_from, change_policy, dismiss_from
from apps.notifications.queries import held_back, policy_of
from apps.paging import Cursor
from apps.scopes import scopes

Endpoint = Callable[..., Response]
Act = Callable[[User, list[int]], None]


@scopes(GET="read:notifications", PATCH="write:notifications")
@extend_schema(
    methods=["GET"],
    operation_id="notification_policy",
    tags=["notifications"],
    summary="Which notifications are held back or hidden",
    responses={200: Entity(NotificationPolicyJson), **problems(401)},
)
@extend_schema(
    methods=["PATCH"],
    operation_id="change_notification_policy",
    tags=["notifications"],
    summary="Hold back or hide notifications",
    description="It acts at the next read, also on what came before; what was held back shows again when you change your mind.",
    request=PolicyInput,
    responses={200: Entity(NotificationPolicyJson), **problems(400, 401, 422)},
)
@api_view(["GET", "PATCH"])
def policy(request: Request) -> Response:
    """The viewer's policy, with how much it holds back."""
    viewer = viewer_of(request)
    if request.method == "PATCH":
        fields = validated(PolicyInput(data=request.data))
        change_policy(viewer, **fields)
    return Response(policy_json(policy_of(viewer), held_back(viewer)))


@scopes(GET="read:notifications")
@extend_schema(
    operation_id="notification_requests",
    tags=["notifications"],
    summary="Whose notifications are held back",
    description="Of the newest thousand notifications that are. One entry for each account; its id is the account's.",
    responses={200: Entity(NotificationRequestJson, many=True), **problems(400, 401)},
)
@api_view(["GET"])
def requests(request: Request) -> Response:
    """What is held back, by account, the newest first; `limit` of them."""
    limit = Cursor.from_query(
        request.query_params, default=PEOPLE_DEFAULT, maximum=MAX_PEOPLE
    ).limit
    return Response([held_back_json(entry) for entry in held_back(viewer_of(request))[:limit]])


@scopes(GET="read:notifications")
@extend_schema(
    operation_id="notification_request",
    tags=["notifications"],
    summary="What is held back of an account",
    responses={200: Entity(NotificationRequestJson), **problems(401, 404)},
)
@api_view(["GET"])
def one(request: Request, account_id: int) -> Response:
    """What is held back of one account."""
    for held in held_back(viewer_of(request), actor_id=account_id):
        return Response(held_back_json(held))
    raise NotFound(_("Nothing of this account is held back."))


@scopes(GET="read:notifications")
@extend_schema(
    operation_id="notification_requests_merged",
    tags=["notifications"],
    summary="Whether what was accepted is in the list already",
    responses={200: Entity(RequestsMergedJson), **problems(401)},
)
@api_view(["GET"])
def merged(request: Request) -> Response:
    """Always: the list is decided when it is read."""
    viewer_of(request)
    return Response(RequestsMergedJson(merged=True))


def _for_one(name: str, summary: str, act: Act) -> Endpoint:
    @scopes(POST="write:notifications")
    @extend_schema(
        operation_id=f"{name}_notification_request",
        tags=["notifications"],
        summary=summary,
        request=None,
        responses={200: EMPTY_OBJECT, **problems(401, 404)},
    )
    @api_view(["POST"])
    def endpoint(request: Request, account_id: int) -> Response:
        act(viewer_of(request), [user_by_id(account_id).pk])
        return Response({})

    return endpoint


def _for_several(name: str, summary: str, act: Act) -> Endpoint:
    @scopes(POST="write:notifications")
    @extend_schema(
        operation_id=f"{name}_notification_requests",
        tags=["notifications"],
        summary=summary,
        request=AccountIdsInput,
        responses={200: EMPTY_OBJECT, **problems(400, 401, 422)},
    )
    @api_view(["POST"])
    def endpoint(request: Request) -> Response:
        fields = validated(AccountIdsInput(data=request.data))
        accounts = users_by_id([int(account_id) for account_id in fields["id"]])
        act(viewer_of(request), list(accounts))
        return Response({})

    return endpoint


accept = _for_one("accept", "Be told what an account does from now on, and did", accept_from)
dismiss = _for_one("dismiss", "Forget what is held back of an account", dismiss_from)
accept_several = _for_several("accept", "Be told what accounts do from now on", accept_from)
dismiss_several = _for_several("dismiss", "Forget what is held back of accounts", dismiss_from)
