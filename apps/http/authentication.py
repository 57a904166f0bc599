"""Who is logged in, by the cookie of their session.

A cookie means nothing to the API, which asks for a token, nor to pictures, of which a shared cache has one copy for everybody.
"""

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest

from apps.accounts.authentication.sessions import follow_session

WITHOUT_COOKIES = ("/api/", settings.MEDIA_URL)


class SessionUserMiddleware(AuthenticationMiddleware):
    """`request.user`, looked up at once: every page needs its language."""

    def process_request(self, request: HttpRequest) -> None:
        """Set the user; a session that began under an earlier SECRET_KEY gets another key from Django, and stays in the list of logins."""
        if request.path.startswith(WITHOUT_COOKIES):
            request.user = AnonymousUser()
            return
        before = request.session.session_key
        request.user = get_user(request)
        now = request.session.session_key
        if before and now and before != now:
            follow_session(before, now)
