"""ETags of the API, and 304 if the client already has the same response. The tag is a digest of the body.

A version counter of posts would not suffice: a like, or a block that hides a post from this viewer, changes the
response without changing the post's row. The response is built even for a 304; only its transfer is saved.
"""

import hashlib
from collections.abc import Callable
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.http import parse_etags

API = "/api/"
TAG_CHARACTERS = 32


class ETagMiddleware:
    """Adds an ETag to successful GET responses below `/api/`, or answers 304."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        if not _is_taggable(request, response) or not isinstance(response, HttpResponse):
            return response
        tag = f'W/"{hashlib.sha256(response.content).hexdigest()[:TAG_CHARACTERS]}"'
        response.headers["ETag"] = tag
        client_tags = parse_etags(request.META.get("HTTP_IF_NONE_MATCH", ""))
        if tag in client_tags or "*" in client_tags:
            response.status_code = HTTPStatus.NOT_MODIFIED
            response.content = b""
            for name in ("Content-Type", "Content-Length"):
                response.headers.pop(name, None)
        return response


def _is_taggable(request: HttpRequest, response: HttpResponseBase) -> bool:
    return (
        request.method == "GET"
        and request.path.startswith(API)
        and response.status_code == HTTPStatus.OK
        and not response.streaming
        and not response.has_header("ETag")
    )
