"""Several accounts in one browser. A signed cookie contains the session keys of the accounts not in use."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponseBase
from django.middleware.csrf import rotate_token
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.authentication.sessions import session_with, user_of_session
from apps.accounts.models import User
from apps.errors import NotFound
from apps.http.requests import AuthenticatedRequest, SeeOther, SiteRequest, login_required

COOKIE = "accounts"
MAX_OTHERS = 4
SEPARATOR = "."


@require_safe
@login_required
def accounts(request: AuthenticatedRequest) -> HttpResponseBase:
    others = _others(request)
    context = {"others": others.values(), "is_full": len(others) >= MAX_OTHERS, "here": "settings"}
    return render(request, "accounts/accounts.html", context)


@require_POST
@login_required
def add(request: AuthenticatedRequest) -> HttpResponseBase:
    """Add the current session to the cookie, and let another account log in."""
    others = _others(request)
    if len(others) >= MAX_OTHERS:
        text = _("This browser already has the maximum number of accounts. Log out of one first.")
        messages.error(request, text)
        return SeeOther("/accounts")
    response = SeeOther("/login")
    _remember(response, [*others, str(request.session.session_key)])
    request.session = session_with(None)
    return response


@require_POST
@login_required
def switch(request: AuthenticatedRequest, handle: str) -> HttpResponseBase:
    """Switch to another account of this browser. Raises NotFound if its session has ended."""
    others = _others(request)
    found = [key for key, user in others.items() if user.handle == handle]
    if not found:
        raise NotFound(_("You are no longer logged in to this account here."))
    response = SeeOther("/")
    left = [key for key in others if key != found[0]]
    _enter(request, response, found[0], [*left, str(request.session.session_key)])
    return response


def go_on_as_another(request: SiteRequest, response: HttpResponseBase) -> None:
    """After a logout, switch to the account that was used most recently before, if there is one."""
    others = _others(request)
    if others:
        *left, last = others
        _enter(request, response, last, left)
        messages.success(request, _("Switched to @%(handle)s.") % {"handle": others[last].handle})


def _enter(request: SiteRequest, response: HttpResponseBase, key: str, others: list[str]) -> None:
    request.session = session_with(key)
    request.session.modified = True  # so that its cookie is sent
    rotate_token(request)
    _remember(response, others)


def _others(request: SiteRequest) -> dict[str, User]:
    """The other accounts of this browser by session key, except those whose session has ended."""
    kept = request.get_signed_cookie(COOKIE, default="", max_age=settings.SESSION_COOKIE_AGE)
    keys = (kept or "").split(SEPARATOR)[:MAX_OTHERS]
    found = {key: user_of_session(key) for key in keys if key}
    current = request.user.pk
    return {key: user for key, user in found.items() if user and user.pk != current}


def _remember(response: HttpResponseBase, keys: list[str]) -> None:
    response.set_signed_cookie(
        COOKIE,
        SEPARATOR.join(keys),
        max_age=settings.SESSION_COOKIE_AGE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
