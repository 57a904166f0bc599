"""The JSON renderer of the API."""

from typing import Any

import orjson
from rest_framework.renderers import BaseRenderer


class FastJSONRenderer(BaseRenderer):
    """orjson takes a tenth of the time of the standard library."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None
    ) -> bytes:
        del accepted_media_type, renderer_context
        return b"" if data is None else orjson.dumps(data, default=str)
