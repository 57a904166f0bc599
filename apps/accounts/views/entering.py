"""Pages to come in by and to leave: join, log in, log out, passwords."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate, login, logout
from django.contrib.auth import views as auth
from django.http import HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from apps.accounts.actions import register
from apps.accounts.forms import JoinForm, LoginForm, form_page, show_refusal
from apps.accounts.limits import count_or_refuse
from apps.accounts.models import User
from apps.accounts.sessions import remember_login
from apps.accounts.visitors import (
    MemberVisit,
    SeeOther,
    Visit,
    client_address,
    next_address,
    page,
    signed_in_only,
    viewer_of,
)
from apps.refusals import Invalid


@sensitive_post_parameters("password")
@page
def join(request: Visit) -> HttpResponseBase:
    """Make an account and be logged in."""
    if viewer_of(request):
        return redirect("front")
    form = JoinForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        count_or_refuse("sign_up", client_address(request))
        try:
            user = register(**form.cleaned_data)
        except Invalid as refusal:
            show_refusal(form, refusal)
        else:
            login(request, user)
            return SeeOther(next_address(request))
    return _entry_page(request, "accounts/join.html", form)


@sensitive_post_parameters("password")
@page
def log_in(request: Visit) -> HttpResponseBase:
    """Log in with handle or e-mail; a success gives back what it counted, so only failures use up the limit."""
    if viewer_of(request):
        return redirect(next_address(request))
    form = LoginForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        name = form.cleaned_data["username"].strip().removeprefix("@").lower()
        subject = f"{client_address(request)} {name}"
        count_or_refuse("log_in", subject)
        user = authenticate(request, username=name, password=form.cleaned_data["password"])
        if isinstance(user, User):
            count_or_refuse("log_in", subject, cost=-1)
            login(request, user)
            return SeeOther(next_address(request))
        form.add_error(None, _("Handle or password is wrong."))
    return _entry_page(request, "accounts/login.html", form)


@require_POST
def log_out(request: Visit) -> HttpResponseBase:
    """End the session."""
    logout(request)
    return SeeOther("/")


@sensitive_post_parameters()
@page
@signed_in_only
def password_change(request: MemberVisit) -> HttpResponseBase:
    """A new password, for who knows the old one."""
    view = auth.PasswordChangeView.as_view(
        template_name="accounts/password_change.html",
        success_url="/settings/account",
        extra_context={"here": "settings", "tab": "account", "no_fab": True},
    )
    response = view(request)
    if response.status_code == HttpResponseRedirect.status_code:
        remember_login(
            request, request.user
        )  # its session has a new key, and all others have ended
    return _finish(response, request, _("Your password is changed."))


@page
def password_reset(request: Visit) -> HttpResponseBase:
    """Send a link to the address of an account; says the same whether there is one."""
    if request.method == "POST":
        count_or_refuse("password_reset", client_address(request))
    view = auth.PasswordResetView.as_view(
        template_name="accounts/password_reset.html",
        email_template_name="accounts/password_reset_email.txt",
        subject_template_name="accounts/password_reset_subject.txt",
        extra_email_context={"site_url": settings.SITE_URL, "site_name": settings.SITE_NAME},
        success_url="/login",
    )
    said = _("If an account has this address, a link to a new password is on its way.")
    return _finish(view(request), request, said)


@sensitive_post_parameters()
@page
def password_reset_confirm(request: Visit, uidb64: str, token: str) -> HttpResponseBase:
    """A new password, for who has the link."""
    view = auth.PasswordResetConfirmView.as_view(
        template_name="accounts/password_reset_confirm.html", success_url="/login"
    )
    said = _("Your password is changed. Log in with it.")
    return _finish(view(request, uidb64=uidb64, token=token), request, said)


def _entry_page(request: Visit, template: str, form: Any) -> HttpResponse:
    context = {"form": form, "next": next_address(request)}
    return form_page(request, template, context, form)


def _finish(response: HttpResponseBase, request: Visit, said: str) -> HttpResponseBase:
    """Django's own views answer a form with 302 or 200; here it is 303, with a word to say, or 422."""
    if request.method != "POST":
        return response
    if response.status_code == HttpResponseRedirect.status_code:
        messages.success(request, said)
        response.status_code = SeeOther.status_code
    else:
        response.status_code = 422
    return response
