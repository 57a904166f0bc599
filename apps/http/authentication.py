"""The middleware that sets `request.user` from the session cookie.

The API authenticates by token, and pictures are the same for everybody in shared caches: neither reads the cookie.
"""

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

from apps.accounts.authentication.sessions import follow_session

WITHOUT_COOKIES = ("/api/", settings.MEDIA_URL)


class SessionUserMiddleware(AuthenticationMiddleware):
    """Loads the user at once, not lazily: every page needs their language."""

    def process_request(self, request: HttpRequest) -> None:
        """A session of an earlier SECRET_KEY gets a new key: the list of logins follows it."""
        if request.path.startswith(WITHOUT_COOKIES):
            request.user = AnonymousUser()
            return
        old_key = request.session.session_key
        request.user = get_user(request)
        new_key = request.session.session_key
        if old_key and new_key and old_key != new_key:
            follow_session(old_key, new_key)
