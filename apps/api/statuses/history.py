"""Earlier versions of a status, and its source text."""

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view, permission_classes
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.authentication import viewer_of
from apps.api.entities.status import StatusEditJson, StatusSourceJson, version_json
from apps.api.openapi import Entity, problems
from apps.http.requests import viewer_id_of
from apps.posts.history import source_of, versions_of
from apps.scopes import scopes
from apps.timeline.thread import visible_item


@scopes(GET="read:statuses")
@extend_schema(
    operation_id="status_history",
    tags=["statuses"],
    summary="What a post said before",
    responses={200: Entity(StatusEditJson, many=True), **problems(404)},
)
@api_view(["GET"])
@permission_classes([AllowAny])
def history(request: Request, status_id: int) -> Response:
    """The first version, each edit, and what it says now; at most the newest 100."""
    status = visible_item(viewer_id_of(request), status_id).shown
    return Response([version_json(version, status.author) for version in versions_of(status.post)])


@scopes(GET="read:statuses")
@extend_schema(
    operation_id="status_source",
    tags=["statuses"],
    summary="Your post as you wrote it",
    responses={200: Entity(StatusSourceJson), **problems(401, 404)},
)
@api_view(["GET"])
def source(request: Request, status_id: int) -> Response:
    """The text to edit; for its author alone."""
    post = source_of(viewer_of(request), status_id)
    return Response(
        StatusSourceJson(id=str(post.id), text=post.body, spoiler_text=post.content_warning)
    )
