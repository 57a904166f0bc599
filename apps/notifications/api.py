"""The API's notifications."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.api import viewer_of
from apps.accounts.schema import ProblemSchema
from apps.graph.api import CURSOR_PARAMETERS, paged
from apps.notifications.queries import notifications_page, unread_count
from apps.notifications.schema import TYPES, NotificationSchema, UnreadSchema
from apps.notifications.serializers import notification_json
from apps.paging import Cursor


@extend_schema(
    operation_id="notifications",
    tags=["notifications"],
    summary="What happened to you",
    parameters=[
        *CURSOR_PARAMETERS,
        OpenApiParameter("types[]", str, many=True),
        OpenApiParameter("exclude_types[]", str, many=True),
    ],
    responses={200: NotificationSchema(many=True), 400: ProblemSchema, 401: ProblemSchema},
)
@api_view(["GET"])
def notifications(request: Request) -> Response:
    """The viewer's notifications, newest first. Reading them here does not mark them as read."""
    cursor = Cursor.from_query(request.query_params)
    page = notifications_page(viewer_of(request), cursor, kinds=_kinds(request))
    return paged(request, page, [notification_json(notification) for notification in page.items])


@extend_schema(
    operation_id="unread_notifications",
    tags=["notifications"],
    summary="How many notifications are unread",
    responses={200: UnreadSchema, 401: ProblemSchema},
)
@api_view(["GET"])
def unread(request: Request) -> Response:
    """How many notifications are unread, at most 100."""
    return Response({"count": unread_count(viewer_of(request))})


def _kinds(request: Request) -> list[str] | None:
    wanted = set(request.query_params.getlist("types[]")) or set(TYPES.values())
    wanted -= set(request.query_params.getlist("exclude_types[]"))
    if wanted >= set(TYPES.values()):
        return None
    return [kind for kind, name in TYPES.items() if name in wanted]
