"""The API's notifications."""

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.authentication import viewer_of
from apps.api.entities.notification import (
    TYPES,
    MarkersJson,
    NotificationJson,
    UnreadCountJson,
    marker_json,
    notification_json,
)
from apps.api.inputs.notification import MarksInput
from apps.api.openapi import EMPTY_OBJECT, Entity, problems
from apps.api.pagination import CURSOR_PARAMETERS, paged
from apps.api.params import id_in_body, is_true, validated
from apps.errors import BadRequest
from apps.notifications.actions import clear, dismiss, mark_read
from apps.notifications.models import ReadMarker
from apps.notifications.queries import (
    MAX_UNREAD,
    markers_of,
    notifications_page,
    one_notification,
    unread_count,
)
from apps.paging import Cursor
from apps.scopes import scopes
from feedcache.ids import parse_id

CHOICE_PARAMETERS = [
    OpenApiParameter("types[]", str, many=True, description="Only these."),
    OpenApiParameter("exclude_types[]", str, many=True, description="All but these."),
    OpenApiParameter("account_id", str, description="Only what this account did."),
]


@scopes(GET="read:notifications")
@extend_schema(
    operation_id="notifications",
    tags=["notifications"],
    summary="What happened to you",
    parameters=[
        *CURSOR_PARAMETERS,
        *CHOICE_PARAMETERS,
        OpenApiParameter("include_filtered", bool, description="Those held back too."),
    ],
    responses={200: Entity(NotificationJson, many=True), **problems(400, 401)},
)
@api_view(["GET"])
def notifications(request: Request) -> Response:
    """The viewer's notifications, newest first. Reading them here does not mark them as read."""
    cursor = Cursor.from_query(request.query_params)
    page = notifications_page(
        viewer_of(request),
        cursor,
        kinds=kinds_of(request),
        actor_id=actor_of(request),
        held=is_true(request.query_params.get("include_filtered")),
    )
    return paged(request, page, [notification_json(notification) for notification in page.items])


@scopes(GET="read:notifications")
@extend_schema(
    operation_id="unread_notifications",
    tags=["notifications"],
    summary="How many notifications are unread",
    parameters=[*CHOICE_PARAMETERS, OpenApiParameter("limit", int, description="At most 100.")],
    responses={200: Entity(UnreadCountJson), **problems(400, 401)},
)
@api_view(["GET"])
def unread(request: Request) -> Response:
    """How many notifications are unread, at most 100."""
    maximum = Cursor.from_query(request.query_params, default=MAX_UNREAD, maximum=MAX_UNREAD).limit
    kinds, actor_id = kinds_of(request), actor_of(request)
    count = unread_count(viewer_of(request), kinds=kinds, actor_id=actor_id)
    return Response(UnreadCountJson(count=min(maximum, count)))


@scopes(GET="read:notifications")
@extend_schema(
    operation_id="notification",
    tags=["notifications"],
    summary="One notification",
    responses={200: Entity(NotificationJson), **problems(401, 404)},
)
@api_view(["GET"])
def one(request: Request, notification_id: int) -> Response:
    """One of the viewer's notifications."""
    return Response(notification_json(one_notification(viewer_of(request), notification_id)))


@scopes(POST="write:notifications")
@extend_schema(
    operation_id="dismiss_notification",
    tags=["notifications"],
    summary="Forget one notification",
    request=None,
    responses={200: EMPTY_OBJECT, **problems(401, 404)},
)
@api_view(["POST"])
def dismiss_one(request: Request, notification_id: int) -> Response:
    """Forget one of the viewer's notifications."""
    dismiss(viewer_of(request), notification_id)
    return Response({})


@scopes(POST="write:notifications")
@extend_schema(
    operation_id="clear_notifications",
    tags=["notifications"],
    summary="Forget all notifications",
    request=None,
    responses={200: EMPTY_OBJECT, **problems(401)},
)
@api_view(["POST"])
def clear_all(request: Request) -> Response:
    """Forget all of the viewer's notifications."""
    clear(viewer_of(request))
    return Response({})


@scopes(GET="read:statuses", POST="write:statuses")
@extend_schema(
    methods=["GET"],
    operation_id="markers",
    tags=["timelines"],
    summary="How far you have read",
    parameters=[OpenApiParameter("timeline[]", str, many=True, enum=ReadMarker.Timeline.values)],
    responses={200: Entity(MarkersJson), **problems(401)},
)
@extend_schema(
    methods=["POST"],
    operation_id="mark_read",
    tags=["timelines"],
    summary="Say how far you have read",
    description="A marker never goes back.",
    request=MarksInput,
    responses={200: Entity(MarkersJson), **problems(401, 422)},
)
@api_view(["GET", "POST"])
def markers(request: Request) -> Response:
    """The viewer's read markers, of home and of the notifications."""
    viewer = viewer_of(request)
    timelines = request.query_params.getlist("timeline[]") or ReadMarker.Timeline.values
    if request.method == "POST":
        fields = validated(MarksInput(data=request.data))
        timelines = list(fields)
        for timeline, marker in fields.items():
            last_read_id = id_in_body(marker["last_read_id"], "last_read_id")
            mark_read(viewer, last_read_id, timeline=ReadMarker.Timeline(timeline))
    markers_by_timeline = markers_of(viewer)
    return Response(
        {
            name: marker_json(markers_by_timeline[name])
            for name in timelines
            if name in markers_by_timeline
        }
    )


def kinds_of(request: Request) -> list[str] | None:
    """The requested kinds, None for all; unknown types are ignored."""
    types = set(request.query_params.getlist("types[]")) or set(TYPES.values())
    types -= set(request.query_params.getlist("exclude_types[]"))
    if types >= set(TYPES.values()):
        return None
    return [kind for kind, name in TYPES.items() if name in types]


def actor_of(request: Request) -> int | None:
    """The requested `account_id`; BadRequest."""
    text = request.query_params.get("account_id")
    if not text:
        return None
    try:
        return parse_id(text)
    except ValueError:
        raise BadRequest(_("An account id is a number.")) from None
