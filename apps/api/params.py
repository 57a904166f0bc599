"""Parses the parameters and bodies of API requests."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.serializers import BaseSerializer

from apps.api.hooks import SHOWN
from apps.errors import BadRequest, Invalid
from apps.timeline.pipeline.hooks import PROMOTERS
from apps.timeline.pipeline.items import FeedItem
from feedcache.ids import parse_id

MAX_OFFSET = 150  # so that offset and page together are not too many ids for `hydrate`


def validated(serializer: BaseSerializer[Any]) -> dict[str, Any]:
    """The validated data of a serializer. Raises ValidationError (422)."""
    serializer.is_valid(raise_exception=True)
    data: dict[str, Any] = serializer.validated_data
    return data


def is_true(text: str | None) -> bool:
    """Whether a query parameter is true, in any spelling that clients use."""
    return (text or "").lower() in {"1", "true", "t", "on", "yes"}


def shows_its_answer(request: Request) -> bool:
    """Whether the client sees the response: False for HEAD, which must not mark anything as read or shown."""
    return bool(request.META["REQUEST_METHOD"] != "HEAD")


def optional_bool(query: Mapping[str, str], name: str) -> bool | None:
    """A boolean query parameter; None if it is missing or empty. Raises BadRequest if it is neither true nor false."""
    text = query.get(name) or ""
    if text.lower() in {"0", "false", "f", "off", "no"}:
        return False
    if text and not is_true(text):
        raise BadRequest(f"{name} must be true or false.", code="bad_parameter")
    return True if text else None


def id_params(request: Request, *, maximum: int) -> list[int]:
    """The first `maximum` ids in the parameter `id[]` or `id`, in order. Raises BadRequest."""
    texts = request.query_params.getlist("id[]") or request.query_params.getlist("id")
    try:
        return [parse_id(text) for text in texts[:maximum]]
    except ValueError:
        raise BadRequest(_("An id must be a number.")) from None


def id_in_body(text: str, field: str) -> int:
    """An id in a field of the body. Raises Invalid if the text is no number, or one that is too large for an id."""
    try:
        return parse_id(text)
    except ValueError:
        raise Invalid(_("This is not an id."), errors={field: _("This is not an id.")}) from None


def offset_of(query: Mapping[str, str]) -> int:
    """The parameter `offset`, up to `MAX_OFFSET`, of the few endpoints that are not paged by id. Raises BadRequest."""
    text = query.get("offset") or "0"
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise BadRequest("offset is not a number.", code="bad_offset")
    return min(int(text), MAX_OFFSET)


_PROMOTED = OpenApiParameter(
    "promoted",
    bool,
    description="Include posts that are promoted to you. Only for clients that show `feedsite.promotion` with them.",
)
PROMOTED_PARAMETERS = [_PROMOTED] if PROMOTERS else []


def wants_promoted(request: Request) -> bool:
    """Whether a client requests promoted posts. Other clients would show them without their label."""
    return bool(PROMOTERS) and is_true(request.query_params.get("promoted"))


def note_shown(request: Request, viewer_id: int, items: Sequence[FeedItem]) -> None:
    """Notify optional apps of the posts that a viewer's client was sent."""
    if shows_its_answer(request):
        for note in SHOWN:
            note(viewer_id, items)
