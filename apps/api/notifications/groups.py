"""The API's grouped notifications (v2)."""

from collections.abc import Collection

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.authentication import viewer_of
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.notification import GroupedNotificationsJson, UnreadCountJson, groups_json
from apps.api.notifications.notifications import CHOICE_PARAMETERS, actor_of, kinds_of
from apps.api.openapi import EMPTY_OBJECT, Entity, problems
from apps.api.pagination import CURSOR_PARAMETERS, paged
from apps.notifications.actions import dismiss_group
from apps.notifications.groups import GROUPED, group_of, groups_page, unread_groups
from apps.paging import Cursor
from apps.scopes import scopes

GROUPS_DEFAULT, MAX_GROUPS = 40, 80
UNREAD_DEFAULT, MAX_UNREAD = 100, 1000
EXPANSIONS = ("full", "partial_avatars")
MAX_PEOPLE = 80
GROUPED_PARAMETER = OpenApiParameter(
    "grouped_types[]", str, many=True, description="Group only these; all that can be, else."
)


@scopes(GET="read:notifications")
@extend_schema(
    operation_id="grouped_notifications",
    tags=["notifications"],
    summary="What happened to you, in groups",
    description="What many did alike within twelve hours is one group. A group that a page cuts goes on on the next one, under the same key.",
    parameters=[
        *CURSOR_PARAMETERS,
        *CHOICE_PARAMETERS,
        GROUPED_PARAMETER,
        OpenApiParameter("expand_accounts", str, enum=EXPANSIONS),
    ],
    responses={200: Entity(GroupedNotificationsJson), **problems(400, 401)},
)
@api_view(["GET"])
def groups(request: Request) -> Response:
    """The viewer's notifications in groups, the newest first. Reading them here does not mark them as read."""
    cursor = Cursor.from_query(request.query_params, default=GROUPS_DEFAULT, maximum=MAX_GROUPS)
    page = groups_page(
        viewer_of(request),
        cursor,
        kinds=kinds_of(request),
        actor_id=actor_of(request),
        grouped=_grouped(request),
    )
    partial = request.query_params.get("expand_accounts") == "partial_avatars"
    return paged(request, page, groups_json(page.items, partial=partial))


@scopes(GET="read:notifications")
@extend_schema(
    operation_id="notification_group",
    tags=["notifications"],
    summary="One group of notifications",
    responses={200: Entity(GroupedNotificationsJson), **problems(401, 404)},
)
@api_view(["GET"])
def group(request: Request, group_key: str) -> Response:
    """A group by its key, whole up to a thousand."""
    return Response(groups_json([group_of(viewer_of(request), group_key)]))


@scopes(GET="read:notifications")
@extend_schema(
    operation_id="notification_group_accounts",
    tags=["notifications"],
    summary="Who is in a group of notifications",
    responses={200: Entity(AccountJson, many=True), **problems(401, 404)},
)
@api_view(["GET"])
def group_accounts(request: Request, group_key: str) -> Response:
    """Those who did it, the last first; at most 80."""
    items = group_of(viewer_of(request), group_key).items
    people = {item.actor.pk: item.actor for item in items}
    return Response([account_json(person) for person in list(people.values())[:MAX_PEOPLE]])


@scopes(POST="write:notifications")
@extend_schema(
    operation_id="dismiss_notification_group",
    tags=["notifications"],
    summary="Forget a group of notifications",
    request=None,
    responses={200: EMPTY_OBJECT, **problems(401, 404)},
)
@api_view(["POST"])
def dismiss(request: Request, group_key: str) -> Response:
    """Forget what is behind a key; 404 when it is none."""
    dismiss_group(viewer_of(request), group_key)
    return Response({})


@scopes(GET="read:notifications")
@extend_schema(
    operation_id="unread_notification_groups",
    tags=["notifications"],
    summary="How many groups of notifications are unread",
    parameters=[
        *CHOICE_PARAMETERS,
        GROUPED_PARAMETER,
        OpenApiParameter("limit", int, description="At most 1,000."),
    ],
    responses={200: Entity(UnreadCountJson), **problems(400, 401)},
)
@api_view(["GET"])
def unread(request: Request) -> Response:
    """How many groups have something unread, among the newest thousand notifications."""
    maximum = Cursor.from_query(
        request.query_params, default=UNREAD_DEFAULT, maximum=MAX_UNREAD
    ).limit
    count = unread_groups(
        viewer_of(request),
        maximum=maximum,
        kinds=kinds_of(request),
        actor_id=actor_of(request),
        grouped=_grouped(request),
    )
    return Response(UnreadCountJson(count=count))


def _grouped(request: Request) -> Collection[str]:
    types = request.query_params.getlist("grouped_types[]")
    if not types:
        return frozenset(GROUPED)
    return {kind for kind, word in GROUPED.items() if word in types}
