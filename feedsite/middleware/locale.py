"""The language of a response: that of the cookie, else of Accept-Language. Pages use their user's setting instead.

`apps.http.authentication` activates it when it loads the user.
"""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils import translation
from django.utils.cache import patch_vary_headers

from feedsite.middleware.cache_headers import is_file


class RequestLocaleMiddleware(LocaleMiddleware):
    def process_request(self, request: HttpRequest) -> None:
        translation.activate(translation.get_language_from_request(request))
        request.LANGUAGE_CODE = translation.get_language()

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if not is_file(request, response):
            patch_vary_headers(response, ("Accept-Language",))
            response.headers.setdefault("Content-Language", translation.get_language() or "en")
        translation.deactivate()  # the thread's next request may fail before it sets its language
        return response
