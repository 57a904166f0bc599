"""Refuses malformed text: NUL bytes and lone surrogates in URLs, cookies and forms.

PostgreSQL and its driver raise errors on such text, which would become a 500; this middleware responds with a 400. It
also refuses invalid UTF-8 in queries and URL-encoded forms, and queries of more than MAX_QUERY_CHARACTERS.
Other control characters are removed from forms: keyboards and clipboards insert them, and XML feeds cannot contain
them. The API's parsers treat request bodies in the same way.
"""

from collections.abc import Callable, Iterable
from urllib.parse import unquote_to_bytes

from django.http import HttpRequest, HttpResponseBase

from apps.errors import BadRequest
from apps.http.errors import JSON_PATHS, error_response
from apps.http.requests import is_malformed
from apps.texts import without_control_characters

MAX_QUERY_CHARACTERS = 8192


class TextValidationMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if _url_is_malformed(request) or is_malformed(request.COOKIES.values()):
            return error_response(request, BadRequest("The address contains invalid characters."))
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_args: object) -> HttpResponseBase | None:
        """Check and clean the fields of a form, once a view has been found for it."""
        if (
            request.method not in {"POST", "PUT", "PATCH"}
            or not _is_form(request)
            or request.path.startswith(JSON_PATHS)  # `apps.api.parsers` reads and checks those
        ):
            return None
        if is_malformed(_form_texts(request)):
            return error_response(request, BadRequest("The form contains invalid characters."))
        _remove_control_characters(request)
        return None


def _url_is_malformed(request: HttpRequest) -> bool:
    query = request.META.get("QUERY_STRING", "")
    if len(query) > MAX_QUERY_CHARACTERS:
        return True
    try:
        texts = [unquote_to_bytes(query).decode(), request.path]
    except UnicodeDecodeError:
        return True
    return is_malformed(texts)  # in the path, Django percent-encodes bytes that are not UTF-8


def _is_form(request: HttpRequest) -> bool:
    return request.content_type in {"application/x-www-form-urlencoded", "multipart/form-data"}


def _form_texts(request: HttpRequest) -> Iterable[str]:
    if request.content_type == "application/x-www-form-urlencoded":
        # Django would turn invalid UTF-8 into replacement characters
        yield unquote_to_bytes(request.body).decode(errors="surrogateescape")
    for name, values in request.POST.lists():
        yield name
        yield from (str(value) for value in values)


def _remove_control_characters(request: HttpRequest) -> None:
    """Remove control characters from the fields of a form."""
    fields = request.POST.copy()
    for name, values in fields.lists():
        fields.setlist(name, [without_control_characters(value) for value in values])
    if fields != request.POST:
        request.POST = fields  # type: ignore[assignment]  # Django itself sets it like this
