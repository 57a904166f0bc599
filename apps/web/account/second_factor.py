"""Second-factor pages: the code at login, and the settings for authenticator apps, passkeys and recovery codes."""

from collections.abc import Callable
from typing import Any

import segno
from django.contrib import messages
from django.forms import Form
from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from apps.accounts.authentication import passkeys
from apps.accounts.authentication import second_factor as factors
from apps.accounts.authentication.passwords import require_password
from apps.errors import Invalid, TooMany
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
from apps.http.verification import (
    PendingLogin,
    complete_login,
    has_passed_second_factor,
    pass_second_factor,
    pending_login,
    record_failure,
    second_factor_required,
)
from apps.throttling import check_rate_limit
from apps.web.forms.accounts import (
    AppCodeForm,
    CodeForm,
    PasskeyForm,
    PasswordForm,
    add_errors,
    render_form,
    render_settings,
)

# The session contains the id of the new authenticator app's row, never the app's secret.
NEW_APP = "new_authenticator_app"
NO_STORE = "no-store"


@sensitive_post_parameters("code")
@require_get_or_post
def code(request: SiteRequest) -> HttpResponseBase:
    """The second step of a login: a code from the app, a recovery code, or (with JavaScript) a passkey."""
    pending = pending_login(request)
    if pending is None:
        return redirect(next_url(request) if viewer_of(request) else "login")
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            device = factors.verify_code(pending.user, form.cleaned_data["code"])
        except TooMany as error:
            form.add_error("code", error.message)
        else:
            if device is not None:
                pass_second_factor(request, pending.user, device)
                return complete_login(request, pending.user, pending.redirect_to)
            if record_failure(request):
                messages.error(request, _("Too many wrong codes. Log in again."))
                return SeeOther("/login")
            form.add_error("code", _("This code is wrong or has been used before."))
    return _code_page(request, pending, form)


@require_POST
def passkey_options(request: SiteRequest) -> HttpResponseBase:
    """The options of a passkey request. During a pending login, only the passkeys of its user are accepted."""
    check_rate_limit("passkey", client_address(request))
    pending = pending_login(request)
    return _json(passkeys.begin_authentication(request, pending.user if pending else None))


@require_POST
def passkey_login(request: SiteRequest) -> HttpResponseBase:
    """Log in with a passkey: instead of a code after the password, or instead of handle, password and code."""
    pending = pending_login(request)
    if pending is None and viewer_of(request):
        return SeeOther(next_url(request))
    user = pending.user if pending else None
    try:
        passkey = passkeys.finish_authentication(
            request, user, answer=request.POST.get("answer", "")
        )
    except Invalid as error:
        messages.error(request, error.message)
        return SeeOther("/login/code" if pending else "/login")
    redirect_to = pending.redirect_to if pending else next_url(request)
    pass_second_factor(request, passkey.user, passkey)
    return complete_login(request, passkey.user, redirect_to)


@require_get_or_post
@login_required
@second_factor_required
def security(request: AuthenticatedRequest) -> HttpResponseBase:
    context = {
        "factor": factors.second_factor_of(request.user),
        "can_use_passkeys": passkeys.can_use_passkeys(request),
        "passkey_origin": passkeys.origin(),
    }
    return _settings(request, "accounts/security.html", context)


@sensitive_post_parameters("password")
@require_get_or_post
@login_required
@second_factor_required
def app_add(request: AuthenticatedRequest) -> HttpResponseBase:
    """Ask for the password, then create the secret of an app; `app_code` confirms the app."""

    def begin() -> HttpResponseBase:
        request.session[NEW_APP] = factors.begin_app(request.user).pk
        return SeeOther(f"/settings/security/app/code{_query(request)}")

    return _with_password(
        request,
        begin,
        title=_("Set up an authenticator app"),
        text=_(
            "An app on your phone shows six digits, new ones every 30 seconds. You enter them after the password when"
            " you log in."
        ),
        button=_("Continue"),
    )


@sensitive_post_parameters("code")
@require_get_or_post
@login_required
@second_factor_required
def app_code(request: AuthenticatedRequest) -> HttpResponseBase:
    """Show the secret of the app that was added in this session, and confirm the app with one of its codes."""
    device = factors.unconfirmed_app(request.user, request.session.get(NEW_APP, 0))
    if device is None:
        return redirect("settings_security")
    form = AppCodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            device, codes = factors.confirm_app(request.user, device.pk, form.cleaned_data["code"])
        except (Invalid, TooMany) as error:
            add_errors(form, error)
        else:
            del request.session[NEW_APP]
            return _added(request, device, codes)
    qr_code = segno.make(device.config_url, error="m", micro=False)
    context = {
        "form": form,
        "picture": qr_code.svg_data_uri(scale=5, dark="#000", light="#fff"),
        "secret": _in_fours(device.config_url.partition("secret=")[2].partition("&")[0]),
    }
    return _settings(request, "accounts/security_app.html", context, form)


@sensitive_post_parameters("password")
@require_get_or_post
@login_required
@second_factor_required
def app_remove(request: AuthenticatedRequest) -> HttpResponseBase:
    def remove() -> HttpResponseBase:
        factors.remove_app(request.user)
        messages.success(request, _("Removed."))
        return SeeOther("/settings/security")

    title, text = _("Remove the authenticator app?"), _("Its codes stop working immediately.")
    return _with_password(request, remove, title=title, text=text, button=_("Remove"), danger=True)


@sensitive_post_parameters("password")
@require_get_or_post
@login_required
@second_factor_required
def codes_new(request: AuthenticatedRequest) -> HttpResponseBase:
    if not factors.has_second_factor(request.user):
        return redirect("settings_security")
    title, text = _("Make new recovery codes?"), _("The old ones stop working immediately.")

    def make() -> HttpResponseBase:
        return _codes_page(request, factors.new_codes(request.user))

    return _with_password(request, make, title=title, text=text, button=_("Create new codes"))


@sensitive_post_parameters("password")
@require_get_or_post
@login_required
@second_factor_required
def passkey_remove(request: AuthenticatedRequest, passkey_id: int) -> HttpResponseBase:
    passkey = factors.own_passkey(request.user, passkey_id)

    def remove() -> HttpResponseBase:
        factors.remove_passkey(request.user, passkey_id)
        messages.success(request, _("Removed."))
        return SeeOther("/settings/security")

    title = _("Remove the passkey %(name)s?") % {"name": passkey.name}
    text = _("It stops working here immediately. Delete it on your device too.")
    return _with_password(request, remove, title=title, text=text, button=_("Remove"), danger=True)


@require_get_or_post
@login_required
@second_factor_required
def passkey_add(request: AuthenticatedRequest) -> HttpResponseBase:
    """Ask for a name and the password; then `passkeys.js` posts the browser's response to this view."""
    form = PasskeyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        name, answer = form.cleaned_data["name"], form.cleaned_data["answer"]
        try:
            passkey, codes = passkeys.finish_registration(
                request, request.user, name=name, answer=answer
            )
        except Invalid as error:
            form.add_error(None, error.message)
        else:
            return _added(request, passkey, codes)
    context = {"form": form, "password_form": PasswordForm()}
    return _settings(request, "accounts/security_passkey.html", context, form)


@sensitive_post_parameters("password")
@require_POST
@login_required
@second_factor_required
def passkey_add_options(request: AuthenticatedRequest) -> HttpResponseBase:
    try:
        require_password(request.user, request.POST.get("password", ""), session_origin(request))
        return _json(passkeys.begin_registration(request, request.user))
    except Invalid as error:
        return JsonResponse({"error": error.message}, status=error.status)


def _added(request: AuthenticatedRequest, device: Any, codes: list[str]) -> HttpResponseBase:
    """The response after a factor was added. Also marks the session as verified, unless it already is."""
    if not has_passed_second_factor(request):
        pass_second_factor(request, request.user, device)
    if codes:
        return _codes_page(request, codes)
    messages.success(request, _("Added."))
    return SeeOther(next_url(request, "/settings/security"))


def _codes_page(request: AuthenticatedRequest, codes: list[str]) -> HttpResponse:
    """The only page that shows recovery codes; they are never stored in a session or logged."""
    return _settings(request, "accounts/security_codes.html", {"codes": codes})


def _code_page(request: SiteRequest, pending: PendingLogin, form: CodeForm) -> HttpResponse:
    factor = factors.second_factor_of(pending.user)
    context = {
        "form": form,
        "factor": factor,
        "next": pending.redirect_to,
        "can_use_passkeys": bool(factor.passkeys) and passkeys.can_use_passkeys(request),
    }
    response = render_form(request, "accounts/code.html", context, form)
    response.headers["Cache-Control"] = NO_STORE
    return response


def _with_password(
    request: AuthenticatedRequest,
    action: Callable[[], HttpResponseBase],
    *,
    title: str,
    text: str,
    button: str,
    danger: bool = False,
) -> HttpResponseBase:
    """A page that asks for the password and then calls `action`."""
    form = PasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            require_password(request.user, form.cleaned_data["password"], session_origin(request))
            response = action()
        except Invalid as error:
            add_errors(form, error)
        else:
            return response
    context = {"form": form, "question": title, "text": text, "act": button, "danger": danger}
    return _settings(request, "accounts/security_act.html", context, form)


def _settings(
    request: AuthenticatedRequest, template: str, context: dict[str, Any], *forms: Form
) -> HttpResponse:
    context = {"next": next_url(request, ""), **context}
    response = render_settings(request, template, "security", context, *forms)
    response.headers["Cache-Control"] = NO_STORE
    return response


def _json(options: dict[str, Any]) -> JsonResponse:
    response = JsonResponse(options)
    response.headers["Cache-Control"] = NO_STORE
    return response


def _in_fours(text: str) -> str:
    return " ".join(text[start : start + 4] for start in range(0, len(text), 4))


def _query(request: AuthenticatedRequest) -> str:
    query = request.GET.urlencode()
    return f"?{query}" if query else ""
