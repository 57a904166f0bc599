"""Which form an answer of the API takes: JSON, the only one there is."""

from collections.abc import Iterable
from typing import Any

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

_ANYTHING = {"", "*/*", "application/json"}


class PlainNegotiation(DefaultContentNegotiation):
    """As the library does it; without taking apart what nearly every program sends, which was 2 % of a home page."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """The renderer and the media type; NotAcceptable when there is none for what is asked."""
        first, *others = renderers
        is_usual = first.media_type == "application/json" and not others and not format_suffix
        if is_usual and request.META.get("HTTP_ACCEPT", "") in _ANYTHING:
            return first, first.media_type
        renderers = [first, *others]
        chosen: tuple[Any, str] = super().select_renderer(request, renderers, format_suffix)
        return chosen
