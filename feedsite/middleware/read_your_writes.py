"""Notes PostgreSQL's log position after each change, so that the account's next pages show the change.

A replica that has not replayed this position is not read for the account (`apps.replicas`).
"""

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponseBase

from apps import replicas
from apps.http.requests import viewer_id_of

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class ReadYourWritesMiddleware:
    """Used only with replicas. Positions are per account, because people may write in an app and read in a browser."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        if not settings.REPLICA_DATABASES:
            raise MiddlewareNotUsed
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        viewer_id = viewer_id_of(request)
        if request.method not in SAFE_METHODS and viewer_id is not None:
            replicas.note_write(viewer_id)
        return response
