"""The API's JSON renderer, and the content negotiation that selects it."""

from typing import Any

import orjson
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer

ANYTHING = "*/*"


class FastJSONRenderer(BaseRenderer):
    """Renders JSON with orjson, which takes a tenth of the time that the standard library takes."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None
    ) -> bytes:
        del accepted_media_type, renderer_context
        return b"" if data is None else orjson.dumps(data, default=str)


class AnythingIsJSON(DefaultContentNegotiation):
    """DRF's negotiation, skipped for the many clients that accept anything."""

    def select_renderer(
        self, request: Any, renderers: Any, format_suffix: str | None = None
    ) -> tuple[Any, str]:
        if format_suffix is None and request.META.get("HTTP_ACCEPT", ANYTHING) == ANYTHING:
            return renderers[0], renderers[0].media_type
        chosen: tuple[Any, str] = super().select_renderer(request, renderers, format_suffix)
        return chosen
