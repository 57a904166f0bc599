"""Scheduled statuses."""

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.authentication import viewer_of
from apps.api.entities.status import ScheduledStatusJson, scheduled_json
from apps.api.inputs.status import ScheduleInput
from apps.api.openapi import EMPTY_OBJECT, Entity, problems
from apps.api.pagination import CURSOR_PARAMETERS, paged
from apps.api.params import validated
from apps.paging import Cursor
from apps.posts.actions.schedule import cancel, reschedule, scheduled_post, scheduled_posts
from apps.scopes import scopes


@scopes(GET="read:statuses")
@extend_schema(
    operation_id="scheduled_statuses",
    tags=["statuses"],
    summary="Your posts that wait for their time",
    parameters=CURSOR_PARAMETERS,
    responses={200: Entity(ScheduledStatusJson, many=True), **problems(400, 401)},
)
@api_view(["GET"])
def waiting(request: Request) -> Response:
    """What waits, the last made first; the cursor is its number."""
    page = scheduled_posts(viewer_of(request), Cursor.from_query(request.query_params))
    return paged(request, page, [scheduled_json(row) for row in page.items])


@scopes(GET="read:statuses", PUT="write:statuses", DELETE="write:statuses")
@extend_schema(
    methods=["GET"],
    operation_id="show_scheduled_status",
    tags=["statuses"],
    summary="A post that waits",
    responses={200: Entity(ScheduledStatusJson), **problems(401, 404)},
)
@extend_schema(
    methods=["PUT"],
    operation_id="reschedule_status",
    tags=["statuses"],
    summary="Another time for it",
    request=ScheduleInput,
    responses={200: Entity(ScheduledStatusJson), **problems(401, 404, 422)},
)
@extend_schema(
    methods=["DELETE"],
    operation_id="cancel_scheduled_status",
    tags=["statuses"],
    summary="Do not publish it",
    responses={200: EMPTY_OBJECT, **problems(401, 404)},
)
@api_view(["GET", "PUT", "DELETE"])
def one(request: Request, number: int) -> Response:
    """Show one that waits, move it, or take it back."""
    viewer = viewer_of(request)
    if request.method == "DELETE":
        cancel(viewer, number)
        return Response({})
    if request.method == "GET":
        return Response(scheduled_json(scheduled_post(viewer, number)))
    fields = validated(ScheduleInput(data=request.data))
    return Response(scheduled_json(reschedule(viewer, number, fields["scheduled_at"])))
