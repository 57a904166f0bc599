"""The language of a response: from the cookie, or else from Accept-Language.

Pages use their user's setting instead, which `apps.http.authentication` activates when it loads the user.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.utils import translation

from feedsite.middleware.cache_headers import is_file


class RequestLocaleMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        translation.activate(translation.get_language_from_request(request))
        request.LANGUAGE_CODE = translation.get_language()
        response = self._get_response(request)
        if not is_file(request, response):
            response.headers.setdefault("Content-Language", translation.get_language() or "en")
        translation.deactivate()  # the thread's next request may fail before it sets its language
        return response
