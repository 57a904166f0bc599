"""Polls. A poll has the id of its status."""

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.authentication import viewer_of
from apps.api.entities.status import PollJson, poll_json
from apps.api.inputs.status import VoteInput
from apps.api.openapi import Entity, problems
from apps.api.params import validated
from apps.engagement.voting import vote
from apps.http.requests import viewer_id_of
from apps.scopes import scopes
from apps.timeline.thread import visible_poll


@scopes(GET="read:statuses")
@extend_schema(
    operation_id="show_poll",
    tags=["polls"],
    summary="A poll",
    responses={200: Entity(PollJson), **problems(404)},
)
@api_view(["GET"])
@permission_classes([AllowAny])
def one(request: Request, poll_id: int) -> Response:
    """A poll as the viewer may see it."""
    return Response(poll_json(visible_poll(viewer_id_of(request), poll_id)))


@scopes(POST="write:statuses")
@extend_schema(
    operation_id="vote_in_poll",
    tags=["polls"],
    summary="Vote",
    request=VoteInput,
    responses={200: Entity(PollJson), **problems(400, 401, 403, 404, 422)},
)
@api_view(["POST"])
def votes(request: Request, poll_id: int) -> Response:
    """Vote once; the answer is the poll with the vote."""
    viewer = viewer_of(request)
    visible_poll(viewer.pk, poll_id)  # NotFound before anything else
    fields = validated(VoteInput(data=request.data))
    vote(viewer, poll_id, fields["choices"])
    return Response(poll_json(visible_poll(viewer.pk, poll_id)))
