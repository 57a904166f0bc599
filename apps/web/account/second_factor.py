"""Pages of the second factor: the one after the password, passkeys, and the settings of both."""

from typing import Any

import segno
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from apps.accounts.authentication import passkeys
from apps.accounts.authentication import second_factor as factors
from apps.errors import Invalid, TooMany
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    SiteRequest,
    client_address,
    login_required,
    next_address,
    page,
    session_origin,
    viewer_of,
)
from apps.http.verification import (
    Candidate,
    candidate_of,
    has_failed,
    has_second_factor,
    let_in,
    passed,
    second_factor_shown,
)
from apps.throttling import check_rate_limit
from apps.web.forms.accounts import (
    AppCodeForm,
    CodeForm,
    PasskeyForm,
    PasswordForm,
    form_page,
    show_error,
)

NEW_APP = (
    "new_authenticator_app"  # the name of a session entry: the number of its row, never the key
)
NO_STORE = "no-store"


@sensitive_post_parameters("code")
@page
def code(request: SiteRequest) -> HttpResponseBase:
    """The page after the password: a code of the app, a recovery code, or a passkey. Without JavaScript too."""
    candidate = candidate_of(request)
    if candidate is None:
        return redirect(next_address(request) if viewer_of(request) else "login")
    form = CodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            device = factors.verify_code(candidate.user, form.cleaned_data["code"])
        except TooMany as refusal:
            form.add_error("code", refusal.message)
        else:
            if device is not None:
                passed(request, candidate.user, device)
                return let_in(request, candidate.user, candidate.onward)
            if has_failed(request):
                messages.error(request, _("Too many wrong codes. Log in again."))
                return SeeOther("/login")
            form.add_error("code", _("This code is wrong, or was used before."))
    return _code_page(request, candidate, form)


@require_POST
def passkey_options(request: SiteRequest) -> HttpResponseBase:
    """What the browser is asked for a passkey: of who showed the password, else of anybody who has one here."""
    check_rate_limit("passkey", client_address(request))
    candidate = candidate_of(request)
    return _json(passkeys.begin_authentication(request, candidate.user if candidate else None))


@require_POST
def passkey_login(request: SiteRequest) -> HttpResponseBase:
    """A passkey in the place of a code; or of name, password and code together."""
    candidate = candidate_of(request)
    if candidate is None and viewer_of(request):
        return SeeOther(next_address(request))
    user = candidate.user if candidate else None
    try:
        passkey = passkeys.finish_authentication(
            request, user, answer=request.POST.get("answer", "")
        )
    except Invalid as refusal:
        messages.error(request, refusal.message)
        return SeeOther("/login/code" if candidate else "/login")
    onward = candidate.onward if candidate else next_address(request)
    passed(request, passkey.user, passkey)
    return let_in(request, passkey.user, onward)


@page
@login_required
@second_factor_shown
def security(request: AuthenticatedRequest) -> HttpResponseBase:
    """What there is, and what may be done with it."""
    context = {
        "factor": factors.second_factor_of(request.user),
        "work_here": passkeys.work_here(request),
        "passkey_origin": passkeys.origin(),
        "onward": next_address(request, ""),
    }
    return _settings(request, "accounts/security.html", context)


@sensitive_post_parameters("password")
@page
@login_required
@second_factor_shown
def app_add(request: AuthenticatedRequest) -> HttpResponseBase:
    """The password first; then there is a key for the app."""

    def begin() -> HttpResponseBase:
        request.session[NEW_APP] = factors.begin_app(request.user).pk
        return SeeOther(f"/settings/security/app/code{_query(request)}")

    return _with_password(
        request,
        begin,
        title=_("Set up an authenticator app"),
        text=_(
            "An app on your phone shows six digits, new ones every 30 seconds. Logging in asks for them after the password."
        ),
        act=_("Go on"),
    )


@sensitive_post_parameters("code")
@page
@login_required
@second_factor_shown
def app_code(request: AuthenticatedRequest) -> HttpResponseBase:
    """The key, as a picture and as text, for who began in this session; a code of it turns the app on."""
    device = factors.unconfirmed_app(request.user, request.session.get(NEW_APP, 0))
    if device is None:
        return redirect("settings_security")
    form = AppCodeForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            device, codes = factors.confirm_app(request.user, device.pk, form.cleaned_data["code"])
        except (Invalid, TooMany) as refusal:
            show_error(form, refusal)
        else:
            del request.session[NEW_APP]
            return _added(request, device, codes)
    picture = segno.make(device.config_url, error="m", micro=False)
    context = {
        "form": form,
        "picture": picture.svg_data_uri(scale=5, dark="#000", light="#fff"),
        "secret": _in_fours(device.config_url.partition("secret=")[2].partition("&")[0]),
    }
    return _settings(request, "accounts/security_app.html", context, form)


@sensitive_post_parameters("password")
@page
@login_required
@second_factor_shown
def app_remove(request: AuthenticatedRequest) -> HttpResponseBase:
    """End the app."""

    def remove() -> HttpResponseBase:
        factors.remove_app(request.user)
        messages.success(request, _("Removed."))
        return SeeOther("/settings/security")

    title, text = _("Remove the authenticator app?"), _("Its codes stop working at once.")
    return _with_password(request, remove, title=title, text=text, act=_("Remove"), danger=True)


@sensitive_post_parameters("password")
@page
@login_required
@second_factor_shown
def codes_new(request: AuthenticatedRequest) -> HttpResponseBase:
    """Other recovery codes, for who has a second factor."""
    if not factors.is_on(request.user):
        return redirect("settings_security")
    title, text = _("Make new recovery codes?"), _("The old ones stop working at once.")

    def make() -> HttpResponseBase:
        return _codes_page(request, factors.new_codes(request.user))

    return _with_password(request, make, title=title, text=text, act=_("Make new codes"))


@sensitive_post_parameters("password")
@page
@login_required
@second_factor_shown
def passkey_remove(request: AuthenticatedRequest, passkey_id: int) -> HttpResponseBase:
    """End a passkey."""
    passkey = factors.own_passkey(request.user, passkey_id)

    def remove() -> HttpResponseBase:
        factors.remove_passkey(request.user, passkey_id)
        messages.success(request, _("Removed."))
        return SeeOther("/settings/security")

    title = _("Remove the passkey %(name)s?") % {"name": passkey.name}
    text = _("It stops working here at once. Delete it on your device too.")
    return _with_password(request, remove, title=title, text=text, act=_("Remove"), danger=True)


@page
@login_required
@second_factor_shown
def passkey_add(request: AuthenticatedRequest) -> HttpResponseBase:
    """Its name and the password; then the browser asks for the passkey (`passkeys.js`), and its answer comes here."""
    form = PasskeyForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        name, answer = form.cleaned_data["name"], form.cleaned_data["answer"]
        try:
            passkey, codes = passkeys.finish_registration(
                request, request.user, name=name, answer=answer
            )
        except Invalid as refusal:
            form.add_error(None, refusal.message)
        else:
            return _added(request, passkey, codes)
    context = {"form": form, "password_form": PasswordForm()}
    return _settings(request, "accounts/security_passkey.html", context, form)


@sensitive_post_parameters("password")
@require_POST
@login_required
@second_factor_shown
def passkey_add_options(request: AuthenticatedRequest) -> HttpResponseBase:
    """What the browser is asked for a new passkey, after the password."""
    try:
        factors.require_password(
            request.user, request.POST.get("password", ""), session_origin(request)
        )
        return _json(passkeys.begin_registration(request, request.user))
    except Invalid as refusal:
        return JsonResponse({"error": refusal.message}, status=refusal.status)


def _added(request: AuthenticatedRequest, device: Any, codes: list[str]) -> HttpResponseBase:
    """A session in which a factor was added has shown it."""
    if not has_second_factor(request):
        passed(request, request.user, device)
    if codes:
        return _codes_page(request, codes)
    messages.success(request, _("Added."))
    return SeeOther(next_address(request, "/settings/security"))


def _codes_page(request: AuthenticatedRequest, codes: list[str]) -> HttpResponse:
    """The only sight of recovery codes: they are in no session and no log."""
    return _settings(request, "accounts/security_codes.html", {"codes": codes})


def _code_page(request: SiteRequest, candidate: Candidate, form: CodeForm) -> HttpResponse:
    has = factors.second_factor_of(candidate.user)
    context = {
        "form": form,
        "factor": has,
        "next": candidate.onward,
        "work_here": bool(has.passkeys) and passkeys.work_here(request),
    }
    response = form_page(request, "accounts/code.html", context, form)
    response.headers["Cache-Control"] = NO_STORE
    return response


def _with_password(
    request: AuthenticatedRequest,
    done: Any,
    *,
    title: str,
    text: str,
    act: str,
    danger: bool = False,
) -> HttpResponseBase:
    """A page that asks for the password before something is done."""
    form = PasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            factors.require_password(
                request.user, form.cleaned_data["password"], session_origin(request)
            )
            answer: HttpResponseBase = done()
        except Invalid as refusal:
            show_error(form, refusal)
        else:
            return answer
    context = {"form": form, "question": title, "text": text, "act": act, "danger": danger}
    return _settings(request, "accounts/security_act.html", context, form)


def _settings(
    request: AuthenticatedRequest, template: str, context: dict[str, Any], *shown: Any
) -> HttpResponse:
    more = {
        "here": "settings",
        "tab": "security",
        "no_fab": True,
        "next": next_address(request, ""),
    }
    response = form_page(request, template, {**more, **context}, *shown)
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
