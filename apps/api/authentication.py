"""Authenticates API requests and checks scopes.

If this process remembers the token, one round trip both checks it and counts the request against the rate limit.
"""

from django.contrib.auth.models import AnonymousUser
from django.utils.translation import gettext as _
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from apps.accounts.models import User
from apps.accounts.staff import is_permitted
from apps.api.throttling import bearer_token, note_counted, queue_request
from apps.errors import NotAllowed
from apps.http import requests
from apps.http.verification import may_act_as_staff
from apps.oauth.queries import Bearer, bearer_of, remembered_token
from apps.scopes import needed_scopes
from feedcache.read_through import Batch

TOKEN_MAX_CHARACTERS = 200


class BearerAuthentication(BaseAuthentication):
    """Authenticates by `Authorization: Bearer TOKEN`, with the token of a person or of an application."""

    def authenticate(self, request: Request) -> tuple[User | AnonymousUser, Bearer] | None:
        """The account and the token; None without a bearer token. An application's own token has no account.

        Raises AuthenticationFailed for an invalid token, and NotAllowed for missing scopes. Scopes are checked here and
        not by a permission class, because an endpoint with its own permission classes would skip that class. To save a
        round trip, one batch validates the token and counts the request, and its action if the remembered scopes permit
        it, for the account that this process last saw with the token.
        """
        token = bearer_token(request)
        if token is None:
            return None
        if not 0 < len(token) <= TOKEN_MAX_CHARACTERS:
            raise AuthenticationFailed(_("The access token is invalid."))
        batch, known = Batch(), remembered_token(token)
        counted = None
        if known:
            acts = _is_in_scope(request, known.bearer)
            counted = queue_request(batch, request, known.user_id, with_action=acts)
        bearer = bearer_of(token, batch)
        if bearer is None:
            raise AuthenticationFailed(_("The access token is invalid."))
        if counted:
            note_counted(request, counted)
        _require_scope(request, bearer)
        return bearer.user or AnonymousUser(), bearer

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


def _require_scope(request: Request, bearer: Bearer) -> None:
    view, method = request.parser_context["view"], request.method or ""
    if not hasattr(view, method.lower()):
        return  # the response will be 405
    if method != "OPTIONS" and not _is_in_scope(request, bearer):
        raise NotAllowed(
            _("This action is outside the scopes of the access token."), code="insufficient_scope"
        )


def _is_in_scope(request: Request, bearer: Bearer) -> bool:
    needed = needed_scopes(request.parser_context["view"], request.method or "")
    return needed is not None and bearer.may(needed)


def viewer_of(request: Request) -> User:
    """The account of an authenticated request."""
    viewer = requests.viewer_of(request)
    if viewer is None:
        raise TypeError("this endpoint is for authenticated requests only")
    return viewer


def staff_of(request: Request, permission: str) -> User:
    """The account of the request. Raises NotAllowed if it is not staff, lacks `permission` (such as
    "timeline.change_sitepolicy"), or has no second factor although the site requires one of staff.
    """
    viewer = viewer_of(request)
    if not is_permitted(viewer, permission):
        raise NotAllowed(_("You do not have permission to do this."))
    if not may_act_as_staff(request):
        raise NotAllowed(_("Staff need a second factor to do this."))
    return viewer
