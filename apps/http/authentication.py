"""The middleware that sets `request.user` from the session cookie, and with it the language of the page.

The API authenticates by token, and pictures are the same for everybody in shared caches: neither reads the cookie.
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
    """Loads the user at once, not lazily: every page needs their language."""

    def process_request(self, request: HttpRequest) -> None:
        is_without = request.path.startswith(WITHOUT_COOKIES)
        request.user = AnonymousUser() if is_without else user_of_request(request)
        viewer = viewer_of(request)
        if viewer and viewer.interface_language:
            translation.activate(viewer.interface_language)
            request.LANGUAGE_CODE = translation.get_language()
