"""The language of a page: the user's setting, else the cookie, else Accept-Language."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.locale import LocaleMiddleware
from django.utils import translation
from django.utils.cache import patch_vary_headers

from apps.http.requests import viewer_of
from feedsite.middleware.cache_headers import is_file


class UserLocaleMiddleware(LocaleMiddleware):
    def process_request(self, request: HttpRequest) -> None:
        viewer = viewer_of(request)
        language = viewer.interface_language if viewer else ""
        translation.activate(language or translation.get_language_from_request(request))
        request.LANGUAGE_CODE = translation.get_language()

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if not is_file(request, response):
            patch_vary_headers(response, ("Accept-Language",))
            response.headers.setdefault("Content-Language", translation.get_language() or "en")
        translation.deactivate()  # the thread's next request may fail before it sets its language
        return response
