"""The page of one's own strikes, and a page for owners of closed accounts, to which the login page links."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from apps.accounts.authentication.second_factor import has_second_factor, verify_code
from apps.accounts.models import User
from apps.errors import DomainError, TooMany
from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, require_get_or_post
from apps.strikes.actions import appeal
from apps.strikes.models import TEXT_MAX_CHARACTERS
from apps.strikes.queries import own_strike, own_strikes, owner_of
from apps.web.forms.accounts import CodeForm, render_form, render_settings

VERIFIED = "strikes_verified"  # in the session: the token for which the second factor was checked


@require_get_or_post
@login_required
def settings(request: AuthenticatedRequest) -> HttpResponseBase:
    """One's own strikes, each with a form to appeal."""
    failed = _appeal(request, request.user)
    if request.method == "POST" and not failed:
        return SeeOther(request.path)
    context = {**_context(request.user), **failed}
    response = render_settings(request, "strikes/settings.html", "strikes", context)
    response.status_code = 422 if failed else response.status_code
    return response


@require_get_or_post
@never_cache
def closed(request: HttpRequest, token: str) -> HttpResponseBase:
    """The strikes of a frozen or suspended account, for its owner, after a check of its second factor if it has one."""
    owner = owner_of(token)
    if has_second_factor(owner) and request.session.get(VERIFIED) != token:
        return _second_factor(request, owner, token)
    failed = _appeal(request, owner)
    if request.method == "POST" and not failed:
        return SeeOther(request.path)
    context = {**_context(owner), **failed, "handle": owner.handle}
    return render(request, "strikes/closed.html", context, status=422 if failed else 200)


def _second_factor(request: HttpRequest, owner: User, token: str) -> HttpResponseBase:
    """Ask for an authenticator or recovery code. Passkeys cannot be used, because nobody is logged in."""
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            device = verify_code(owner, form.cleaned_data["code"])
        except TooMany as error:
            form.add_error("code", error.message)
        else:
            if device is not None:
                request.session[VERIFIED] = token
                return SeeOther(request.path)
            form.add_error("code", _("This code is wrong or has been used before."))
    context = {"form": form, "handle": owner.handle}
    return render_form(request, "strikes/closed.html", context, form)


def _appeal(request: HttpRequest, user: User) -> dict[str, Any]:
    """Appeal if a form was submitted. Returns the error for the page, or {}. Raises NotFound for others' strikes."""
    if request.method != "POST":
        return {}
    number, text = request.POST.get("strike", ""), request.POST.get("text", "")
    is_number = number.isascii() and number.isdecimal() and len(number) <= 18
    strike = own_strike(user, int(number) if is_number else 0)
    try:
        appeal(strike, text=text)
    except DomainError as error:
        return {"failed": strike.pk, "typed": text, "error": error.message}
    messages.success(request, _("Your appeal has been sent. You will be notified of the answer."))
    return {}


def _context(user: User) -> dict[str, Any]:
    return {"strikes": own_strikes(user), "text_max": TEXT_MAX_CHARACTERS}


urlpatterns: list[URLPattern] = [
    path("settings/strikes", settings, name="settings_strikes"),
    path("strikes/<str:token>", closed, name="strikes_closed"),
]
