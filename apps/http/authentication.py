"""The middleware that sets `request.user`, and so the language of the page, from the session cookie.

Requests for the API and for uploaded files ignore the cookie: the API authenticates by token, and shared caches hold
one copy of a file for everybody.
"""

from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.utils import translation

from apps.accounts.authentication.sessions import user_of_request
from apps.http.requests import viewer_of

WITHOUT_COOKIES = ("/api/", settings.MEDIA_URL)


class SessionUserMiddleware(AuthenticationMiddleware):
    """Loads the user immediately, not lazily, because every page needs the user's language."""

    def process_request(self, request: HttpRequest) -> None:
        is_without = request.path.startswith(WITHOUT_COOKIES)
        request.user = AnonymousUser() if is_without else user_of_request(request)
        viewer = viewer_of(request)
        if viewer and viewer.interface_language:
            translation.activate(viewer.interface_language)
            request.LANGUAGE_CODE = translation.get_language()
