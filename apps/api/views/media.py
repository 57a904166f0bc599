"""Media attachments: uploaded first, then attached to a status by their ids."""

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.authentication import viewer_of
from apps.api.decorators import endpoint, operation
from apps.api.entities.status import MediaAttachmentJson, MediaChange, MediaInput, media_json
from apps.api.openapi import EMPTY_OBJECT, Entity
from apps.api.params import validated
from apps.errors import invalid
from apps.media.sandbox import bad_picture
from apps.media.video import explained, is_available
from apps.posts.actions.uploads import (
    describe_picture,
    upload_media,
    uploaded_picture,
    withdraw_picture,
)
from apps.posts.content.post import Picture
from apps.posts.models import Attachment, MediaState

FORM_BYTES = 64 * 1024  # allowed in an upload in addition to the file itself


def _upload(version: str, summary: str) -> Any:
    @operation(
        summary,
        MediaAttachmentJson,
        name=f"upload_media_{version}",
        request={"multipart/form-data": MediaInput},
        errors=[400, 401, 403, 415, 422, 429],
        responses={202: Entity(MediaAttachmentJson)},
        description="With 200 the upload is ready. With 202 a video or sound is being prepared, and cannot be "
        "attached to a status until `GET /api/v1/media/{media_id}` returns 200. An upload that no status uses within "
        "a day is deleted.",
    )
    @endpoint(POST="write:media")
    def view(request: Request) -> Response:
        viewer = viewer_of(request)
        _require_small(request)
        fields = validated(MediaInput(data=request.data))
        attachment = upload_media(
            viewer,
            fields["file"],
            alt=fields["description"] or "",
            focus=fields.get("focus", (0.0, 0.0)),
        )
        return _media(attachment, processing=HTTPStatus.ACCEPTED)

    return view


upload_v2 = _upload("v2", "Upload a picture, video or sound")
upload_v1 = _upload("v1", "Upload a picture, video or sound, for older clients")


@operation(
    "Your upload",
    MediaAttachmentJson,
    method="GET",
    name="show_media",
    errors=[400, 401, 403, 404, 422],
    responses={206: Entity(MediaAttachmentJson)},
    description="206 while a video or sound is being prepared, 422 if that has failed.",
)
@operation(
    "Change the description, focus or captions of your upload before a status uses it",
    MediaAttachmentJson,
    method="PUT",
    name="describe_media",
    request={"application/json": MediaChange, "multipart/form-data": MediaChange},
    errors=[400, 401, 403, 404, 422],
)
@operation(
    "Delete your upload before a status uses it",
    EMPTY_OBJECT,
    method="DELETE",
    name="delete_media",
    errors=[400, 401, 403, 404, 422],
)
@endpoint(GET="read:statuses", PUT="write:media", DELETE="write:media")
def media(request: Request, media_id: int) -> Response:
    """Show, describe or delete one of the viewer's uploads."""
    viewer = viewer_of(request)
    if request.method == "GET":
        return _media(uploaded_picture(viewer, media_id))
    if request.method == "DELETE":
        withdraw_picture(viewer, media_id)
        return Response({})
    fields = validated(MediaChange(data=request.data))
    attachment = describe_picture(
        viewer,
        media_id,
        alt=fields.get("description"),
        focus=fields.get("focus"),
        captions=fields.get("captions"),
    )
    return _media(attachment)


def _require_small(request: Request) -> None:
    """Check the size before the body is read, because reading the body writes it to disk. Raises Invalid."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    takes_video = is_available() and settings.VIDEO_MAX_BYTES > settings.PICTURE_MAX_BYTES
    limit = settings.VIDEO_MAX_BYTES if takes_video else settings.PICTURE_MAX_BYTES
    if length.isdecimal() and int(length) <= limit + FORM_BYTES:
        return
    if takes_video:
        raise invalid("file", explained("too_large"), "video_too_large")
    raise bad_picture(
        _("This picture is too large. The maximum is %(count)d MB.") % {"count": limit // 1024**2},
        "file",
    )


def _media(picture: Attachment, *, processing: int = HTTPStatus.PARTIAL_CONTENT) -> Response:
    """The response for an upload, with the status `processing` until it is ready. Raises Invalid if that has failed."""
    if picture.state == MediaState.FAILED:
        raise invalid("file", explained(picture.error), "failed")
    is_ready = picture.state == MediaState.READY
    return Response(media_json(Picture.of(picture)), status=200 if is_ready else processing)
