"""Pages to log in, log out, and change or reset a password."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth import authenticate, logout
from django.contrib.auth import views as auth
from django.http import HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.http import urlsafe_base64_decode
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from apps.accounts.authentication.backends import closed_account_of, login_name
from apps.accounts.authentication.devices import known_device, remember_device
from apps.accounts.authentication.passkeys import can_use_passkeys
from apps.accounts.authentication.sessions import remember_login
from apps.accounts.models import User
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    SiteRequest,
    client_address,
    login_required,
    next_url,
    require_get_or_post,
    session_origin,
    viewer_of,
)
from apps.http.verification import begin_login, clear_pending_login
from apps.throttling import SITE, Origin, begin_guess, check_rate_limit
from apps.web.account.switching import go_on_as_another
from apps.web.forms.accounts import LoginForm, NewPasswordForm, ResetForm, render_form
from apps.web.hooks import CLOSED


@sensitive_post_parameters("password")
@require_get_or_post
def log_in(request: SiteRequest) -> HttpResponseBase:
    """Log in. Each attempt is counted before the password is checked; if the password is right, the count is undone."""
    if viewer_of(request):
        return redirect(next_url(request))
    clear_pending_login(request)
    form = LoginForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        name = login_name(form.cleaned_data["username"])
        origin = _origin(request, lambda user: name in {user.handle, user.email})
        guess = begin_guess(name, origin)
        user = authenticate(request, username=name, password=form.cleaned_data["password"])
        if isinstance(user, User):
            guess.give_back()
            return begin_login(request, user, next_url(request))
        if address := _address_of_closed(request):
            guess.give_back()
            return SeeOther(address)
        form.add_error(None, _("Wrong handle or password."))
    return entry_page(request, "accounts/login.html", form)


def _address_of_closed(request: SiteRequest) -> str:
    account = closed_account_of(request)
    return next((address_of(account) for address_of in CLOSED if account), "")


@require_POST
def log_out(request: SiteRequest) -> HttpResponseBase:
    logout(request)
    response = SeeOther("/")
    go_on_as_another(request, response)
    return response


class PasswordChange(auth.PasswordChangeView):
    """The page to change the password. It passes the origin to the form, which limits guesses of the old password."""

    form_class = NewPasswordForm

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "origin": session_origin(self.request)}


@sensitive_post_parameters()
@require_get_or_post
@login_required
def password_change(request: AuthenticatedRequest) -> HttpResponseBase:
    view = PasswordChange.as_view(
        template_name="accounts/password_change.html",
        success_url="/settings/account",
        extra_context={"here": "settings", "tab": "account"},
    )
    response = view(request)
    if response.status_code == HttpResponseRedirect.status_code:
        # Django has rotated the key of this session; all other sessions are invalid now
        remember_login(request, request.user)
        remember_device(request, response, request.user)
    return _finish(request, response, _("Your password has been changed."))


@require_get_or_post
def password_reset(request: SiteRequest) -> HttpResponseBase:
    """Request a link for choosing a new password. The response does not reveal whether any account has the address."""
    if request.method == "POST":
        check_rate_limit("password_reset", client_address(request))
        # Only checked here (cost=0); the worker that sends mail counts the requests for addresses without an account.
        check_rate_limit("password_reset_site", SITE, cost=0)
    view = auth.PasswordResetView.as_view(
        template_name="accounts/password_reset.html", form_class=ResetForm, success_url="/login"
    )
    message = _(
        "If an account has this address, a link for choosing a new password has been sent to it."
    )
    return _finish(request, view(request), message)


@sensitive_post_parameters()
@require_get_or_post
def password_reset_confirm(request: SiteRequest, uidb64: str, token: str) -> HttpResponseBase:
    """Choose a new password with a mailed link. Wrong links count as failed guesses, like wrong passwords."""
    account_id = _account_id(uidb64)
    origin = _origin(request, lambda user: user.pk == account_id)
    guess = begin_guess(f"reset {account_id}", origin)
    view = auth.PasswordResetConfirmView.as_view(
        template_name="accounts/password_reset_confirm.html", success_url="/login"
    )
    message = _("Your password has been changed. Log in with the new one.")
    response = view(request, uidb64=uidb64, token=token)
    if _was_link_valid(response):
        guess.give_back()
    return _finish(request, response, message)


def _account_id(uidb64: str) -> int | None:
    """The account id in a link, decoded as Django does, so that all spellings of an id share one limit on guesses."""
    try:
        return int(urlsafe_base64_decode(uidb64).decode())
    except ValueError:
        return None


def _was_link_valid(response: HttpResponseBase) -> bool:
    """Whether the link was valid. If so, Django redirects, or the context of its page has a true `validlink`."""
    if isinstance(response, TemplateResponse):
        return bool((response.context_data or {})["validlink"])
    return True


def _origin(request: SiteRequest, is_account: Callable[[User], bool]) -> Origin:
    """The origin of a guess, including the device if somebody has logged in to the account on it before.

    `is_account` returns whether a user is the account whose password is guessed.
    """
    device = known_device(request)
    device_key = device.key if device and is_account(device.user) else ""
    return Origin(client_address(request), device_key)


def entry_page(request: SiteRequest, template: str, form: Any) -> HttpResponse:
    """The login or sign-up page, with its form and the address to redirect to afterwards."""
    context = {
        "form": form,
        "next": next_url(request),
        "can_use_passkeys": can_use_passkeys(request),
    }
    return render_form(request, template, context, form)


def _finish(request: SiteRequest, response: HttpResponseBase, message: str) -> HttpResponseBase:
    """Adapt the response of a Django form view to a POST: 302 becomes 303 with a message, and 200 becomes 422."""
    if request.method != "POST":
        return response
    if response.status_code == HttpResponseRedirect.status_code:
        messages.success(request, message)
        response.status_code = SeeOther.status_code
    else:
        response.status_code = 422
    return response
