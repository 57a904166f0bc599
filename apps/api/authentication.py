"""Who asks the API, and whether the token may do that: one query for both."""

from django.contrib.auth.models import AnonymousUser
from django.utils.translation import gettext as _
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from apps.accounts.models import User
from apps.errors import NotAllowed
from apps.oauth.queries import Bearer, bearer_of
from apps.scopes import needed_scopes

TOKEN_MAX_CHARACTERS = 200


class BearerAuthentication(BaseAuthentication):
    """`Authorization: Bearer TOKEN`, of a person or of an application."""

    def authenticate(self, request: Request) -> tuple[User | AnonymousUser, Bearer] | None:
        """The account and the token; None without the header.

        AuthenticationFailed for a bad token, NotAllowed for one whose scopes do not reach here. It is decided here and
        not by a permission class, which an endpoint could put another in the place of.
        """
        scheme, _blank, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() != "bearer":
            return None
        bearer = bearer_of(token) if 0 < len(token) <= TOKEN_MAX_CHARACTERS else None
        if bearer is None:
            raise AuthenticationFailed(_("The access token is invalid."))
        _require_scope(request, bearer)
        return bearer.user or AnonymousUser(), bearer

    def authenticate_header(self, request: Request) -> str:
        """What a 401 says."""
        return 'Bearer realm="api"'


def _require_scope(request: Request, bearer: Bearer) -> None:
    view, method = request.parser_context["view"], request.method or ""
    if not hasattr(view, method.lower()):
        return  # there is no such method: the answer is 405
    needed = needed_scopes(view, method)
    if method != "OPTIONS" and (needed is None or not bearer.may(needed)):
        raise NotAllowed(
            _("This action is outside the scopes of the access token."), code="insufficient_scope"
        )
