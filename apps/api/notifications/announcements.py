"""The API's announcements."""

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.announcements.actions import dismiss_announcement, react, take_back
from apps.announcements.queries import announcements_for, current_announcement
from apps.api.authentication import viewer_of
from apps.api.entities.announcement import AnnouncementJson, announcement_json
from apps.api.openapi import EMPTY_OBJECT, Entity, problems
from apps.api.params import is_true
from apps.scopes import scopes


@scopes(GET="read:accounts")
@extend_schema(
    operation_id="announcements",
    tags=["instance"],
    summary="What the staff tell everybody",
    parameters=[
        OpenApiParameter("with_dismissed", bool, description="Those you have read, too."),
    ],
    responses={200: Entity(AnnouncementJson, many=True), **problems(401)},
)
@api_view(["GET"])
def announcements(request: Request) -> Response:
    """What holds now, the oldest first; at most 20."""
    with_read = is_true(request.query_params.get("with_dismissed"))
    visible = announcements_for(viewer_of(request), with_read=with_read)
    return Response([announcement_json(announcement) for announcement in visible])


@scopes(POST="write:accounts")
@extend_schema(
    operation_id="dismiss_announcement",
    tags=["instance"],
    summary="Note that you have read an announcement",
    request=None,
    responses={200: EMPTY_OBJECT, **problems(401, 404)},
)
@api_view(["POST"])
def dismiss(request: Request, announcement_id: int) -> Response:
    """It is not listed any more, unless it is asked for."""
    dismiss_announcement(viewer_of(request), current_announcement(announcement_id))
    return Response({})


@scopes(PUT="write:favourites", DELETE="write:favourites")
@extend_schema(
    methods=["PUT"],
    operation_id="react_to_announcement",
    tags=["instance"],
    summary="Answer an announcement with an emoji",
    request=None,
    responses={200: EMPTY_OBJECT, **problems(401, 404, 422)},
)
@extend_schema(
    methods=["DELETE"],
    operation_id="take_back_reaction",
    tags=["instance"],
    summary="Take an emoji back",
    responses={200: EMPTY_OBJECT, **problems(401, 404)},
)
@api_view(["PUT", "DELETE"])
def reaction(request: Request, announcement_id: int, emoji: str) -> Response:
    """At most eight different emoji below one announcement."""
    viewer, announcement = viewer_of(request), current_announcement(announcement_id)
    if request.method == "PUT":
        react(viewer, announcement, emoji)
    else:
        take_back(viewer, announcement, emoji)
    return Response({})
