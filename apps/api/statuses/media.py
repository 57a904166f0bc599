"""Media attachments: uploaded first, then named by the status that has them."""

from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.authentication import viewer_of
from apps.api.entities.status import MediaAttachmentJson, media_json
from apps.api.inputs.status import MediaChange, MediaInput
from apps.api.openapi import EMPTY_OBJECT, Entity, problems
from apps.api.params import validated
from apps.media.sandbox import bad_picture
from apps.posts.content.post import Picture
from apps.posts.models import Attachment
from apps.posts.uploads import (
    describe_picture,
    upload_picture,
    uploaded_picture,
    withdraw_picture,
)
from apps.scopes import scopes

FORM_BYTES = 64 * 1024  # of an upload, beside the file itself


def _upload(version: str, summary: str) -> Any:
    @scopes(POST="write:media")
    @extend_schema(
        operation_id=f"upload_media_{version}",
        tags=["media"],
        summary=summary,
        description="The picture is ready when this answers. It is deleted when no status takes it within a day.",
        request={"multipart/form-data": MediaInput},
        responses={200: Entity(MediaAttachmentJson), **problems(400, 401, 403, 415, 422, 429)},
    )
    @api_view(["POST"])
    def endpoint(request: Request) -> Response:
        viewer = viewer_of(request)
        _require_small(request)
        fields = validated(MediaInput(data=request.data))
        attachment = upload_picture(
            viewer,
            fields["file"],
            alt=fields["description"] or "",
            focus=fields.get("focus", (0.0, 0.0)),
        )
        return _media(attachment)

    return endpoint


upload_v2 = _upload("v2", "Upload a picture")
upload_v1 = _upload("v1", "Upload a picture, as older clients do")


@scopes(GET="read:statuses", PUT="write:media", DELETE="write:media")
@extend_schema(
    methods=["GET"],
    operation_id="show_media",
    tags=["media"],
    summary="Your picture",
    responses={200: Entity(MediaAttachmentJson), **problems(400, 401, 403, 404)},
)
@extend_schema(
    methods=["PUT"],
    operation_id="describe_media",
    tags=["media"],
    summary="Another description or focus for your picture, until a status has it",
    request=MediaChange,
    responses={200: Entity(MediaAttachmentJson), **problems(400, 401, 403, 404, 422)},
)
@extend_schema(
    methods=["DELETE"],
    operation_id="delete_media",
    tags=["media"],
    summary="Delete your picture, until a status has it",
    responses={200: EMPTY_OBJECT, **problems(400, 401, 403, 404, 422)},
)
@api_view(["GET", "PUT", "DELETE"])
def one(request: Request, media_id: int) -> Response:
    """Show, describe or delete a picture of one's own."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return _media(uploaded_picture(viewer, media_id))
    if request.method == "DELETE":
        withdraw_picture(viewer, media_id)
        return Response({})
    fields = validated(MediaChange(data=request.data))
    attachment = describe_picture(
        viewer, media_id, alt=fields.get("description"), focus=fields.get("focus")
    )
    return _media(attachment)


def _require_small(request: Request) -> None:
    """Check the size before the body is read, which would write it to disk."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not length.isdecimal() or int(length) > settings.PICTURE_MAX_BYTES + FORM_BYTES:
        maximum = {"count": settings.PICTURE_MAX_BYTES // 1024**2}
        raise bad_picture(
            _("This picture is too large. %(count)d MB is the most.") % maximum, "file"
        )


def _media(picture: Attachment) -> Response:
    return Response(media_json(Picture.of(picture)))
