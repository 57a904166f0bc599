"""What only pages need: a session, who is logged in by it, and messages.

A program shows its token with every request: for it these would be work for nothing. And a cookie never means anything to the API,
nor to pictures: a shared cache has one copy of them for everybody.
"""

from collections.abc import Awaitable

from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware, get_user
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from apps.accounts.sessions import follow_session

WITHOUT_SESSION = ("/api/", settings.MEDIA_URL)


class _PagesOnly(MiddlewareMixin):
    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if request.path.startswith(WITHOUT_SESSION):
            return self.get_response(request)
        return super().__call__(request)


class Sessions(_PagesOnly, SessionMiddleware):
    """`request.session`."""


class Users(_PagesOnly, AuthenticationMiddleware):
    """`request.user`, at once: every page asks for its language, and an object that waits to be asked costs at every look."""

    def process_request(self, request: HttpRequest) -> None:
        """Look who it is. Django gives a session another key when it was begun under an earlier SECRET_KEY."""
        super().process_request(request)
        before = request.session.session_key
        request.user = get_user(request)
        now = request.session.session_key
        if before and now and before != now:
            follow_session(before, now)


class Messages(_PagesOnly, MessageMiddleware):
    """What the page before left to be said."""
