"""Settings pages: profile, appearance, writing, reading, privacy, account."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.forms import ChoiceField, Form
from django.http import HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils.translation import get_language_from_request, override
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.actions import (
    issue_token,
    remove_avatar,
    remove_header,
    revoke_token,
    set_locked,
    update_profile,
    update_settings,
)
from apps.accounts.authentication.sessions import end_session, sessions_of
from apps.accounts.email.confirmation import change_email
from apps.accounts.models import User
from apps.accounts.queries import tokens_of
from apps.errors import Invalid
from apps.graph.queries import requests_count
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    SiteRequest,
    login_required,
    next_url,
    require_get_or_post,
    session_origin,
    viewer_of,
)
from apps.http.verification import second_factor_required
from apps.tags.actions import choose_featured_tags
from apps.tags.queries import featured_tags
from apps.web.forms.accounts import (
    AppearanceForm,
    EmailForm,
    ProfileForm,
    QuickAppearanceForm,
    ReadingForm,
    TokenForm,
    WritingForm,
    add_errors,
    render_settings,
)
from apps.web.forms.graph import PrivacyForm
from apps.web.timelines.second_column import second_columns

PROFILE = ("display_name", "bio", "lines", "is_bot", "avatar", "header", "avatar_alt", "header_alt")
PROFILE_FIELDS = {  # names of fields in the actions' errors -> names of fields in the form
    "fields": "lines",
    "name": "featured_tags",
    "avatar_description": "avatar_alt",
    "header_description": "header_alt",
}
PREFERENCES: dict[str, type[Form]] = {
    "writing": WritingForm,
    "reading": ReadingForm,
}
SEARCH_MAX_CHARACTERS = 100
YEAR = 365 * 24 * 3600  # seconds
NEW_TOKEN = "new_access_token"  # noqa: S105 -- the name of a session entry


@require_safe
@login_required
def index(request: AuthenticatedRequest) -> HttpResponseBase:
    """The list of all settings, or of the entries that contain the words of `q`."""
    context = {"q": request.GET.get("q", "").strip()[:SEARCH_MAX_CHARACTERS]}
    return render_settings(request, "accounts/settings_index.html", "", context)


@require_get_or_post
@login_required
def profile(request: AuthenticatedRequest) -> HttpResponseBase:
    user = request.user
    initial = {
        "display_name": user.display_name,
        "bio": user.bio,
        "lines": "\n".join(f"{name}: {value}" for name, value in user.lines),
        "is_bot": user.is_bot,
        "avatar_alt": user.avatar_alt,
        "header_alt": user.header_alt,
        "featured_tags": " ".join(f"#{use.row.tag.name}" for use in featured_tags(user.pk)),
    }
    form = ProfileForm(request.POST or None, request.FILES or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        try:
            choose_featured_tags(user, data["featured_tags"])
            update_profile(user, **{name: data[name] for name in PROFILE})
        except Invalid as error:
            add_errors(form, error, PROFILE_FIELDS)
        else:
            if data["remove_avatar"]:
                remove_avatar(user)
            if data["remove_header"]:
                remove_header(user)
            return _saved(request)
    return _settings(request, "accounts/settings_profile.html", "profile", form)


@require_get_or_post
@login_required
def appearance(request: AuthenticatedRequest) -> HttpResponseBase:
    user = request.user
    initial = {
        "theme": user.theme,
        "text_size": user.text_size,
        "language": user.interface_language,
    }
    form = AppearanceForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        update_settings(
            user,
            theme=data["theme"],
            text_size=data["text_size"],
            interface_language=data["language"],
        )
        if not data["language"]:  # the browser's language applies again
            request.COOKIES.pop(settings.LANGUAGE_COOKIE_NAME, None)
        # the message is in the new language
        with override(data["language"] or get_language_from_request(request)):
            response = _saved(request)
        if not data["language"]:
            response.delete_cookie(settings.LANGUAGE_COOKIE_NAME, samesite="Lax")
        return _store_in_cookies(response, language=data["language"], theme=data["theme"])
    return _settings(request, "accounts/settings_appearance.html", "appearance", form)


@require_get_or_post
@login_required
def preferences(request: AuthenticatedRequest, tab: str) -> HttpResponseBase:
    """The settings pages whose fields are columns of the account: writing and reading."""
    form_class = PREFERENCES[tab]
    initial = {name: getattr(request.user, name) for name in form_class.base_fields}
    form = form_class(request.POST or None, initial=initial)
    column = form.fields.get("second_column")
    if isinstance(column, ChoiceField):
        column.choices = second_columns(request.user)
    if request.method == "POST" and form.is_valid():
        update_settings(request.user, **form.cleaned_data)
        return _saved(request)
    return _settings(request, f"accounts/settings_{tab}.html", tab, form)


@require_get_or_post
@login_required
def privacy(request: AuthenticatedRequest) -> HttpResponseBase:
    initial = {name: getattr(request.user, name) for name in PrivacyForm.base_fields}
    form = PrivacyForm(request.POST or None, initial=initial)
    if request.method == "POST":
        # also if it is empty, because browsers do not send unchecked boxes
        form = PrivacyForm(request.POST)
        form.full_clean()
        set_locked(request.user, locked=form.cleaned_data["is_locked"])
        names = ("hides_activity", "tells_seen")
        update_settings(request.user, **{name: form.cleaned_data[name] for name in names})
        messages.success(request, _("Saved."))
        return SeeOther(request.path)
    context = {"form": form, "waiting": requests_count(request.user)}
    return render_settings(request, "graph/privacy.html", "privacy", context)


@require_POST
def quick_appearance(request: SiteRequest) -> HttpResponseBase:
    """Store the language or theme chosen in the footer: in a cookie, and for logged-in users also in the account."""
    form, user = QuickAppearanceForm(request.POST), viewer_of(request)
    response = SeeOther(next_url(request))
    if not form.is_valid():
        return response
    language, theme = form.cleaned_data["language"], form.cleaned_data["theme"]
    if user:
        update_settings(
            user,
            theme=theme or user.theme,
            interface_language=language or user.interface_language,
        )
    return _store_in_cookies(response, language=language, theme=theme)


@sensitive_post_parameters("password")
@require_get_or_post
@login_required
def account(request: AuthenticatedRequest) -> HttpResponseBase:
    form = EmailForm(request.POST or None, initial=_initial_email(request.user))
    if request.method == "POST" and form.is_valid():
        try:
            change_email(request.user, origin=session_origin(request), **form.cleaned_data)
        except Invalid as error:
            add_errors(form, error)
        else:
            return _email_saved(request)
    return _account(request, form)


@require_POST
@login_required
def session_end(request: AuthenticatedRequest, login_id: int) -> HttpResponseBase:
    end_session(request.user, login_id)
    messages.success(request, _("Logged out there."))
    return SeeOther("/settings/account#sessions")


@require_POST
@login_required
@second_factor_required
def token_new(request: AuthenticatedRequest) -> HttpResponseBase:
    """Create an access token. The account page shows it once."""
    form = TokenForm(request.user, request.POST)
    if not form.is_valid():
        return _account(request, EmailForm(initial=_initial_email(request.user)), form)
    scopes = " ".join(form.cleaned_data["scopes"])
    request.session[NEW_TOKEN] = issue_token(
        request.user, name=form.cleaned_data["name"], scopes=scopes
    )
    return SeeOther("/settings/account#tokens")


@require_POST
@login_required
def token_revoke(request: AuthenticatedRequest, token_id: int) -> HttpResponseBase:
    revoke_token(request.user, token_id)
    messages.success(request, _("Revoked."))
    return SeeOther("/settings/account#tokens")


def _account(
    request: AuthenticatedRequest, form: EmailForm, token_form: TokenForm | None = None
) -> HttpResponse:
    token_form = token_form or TokenForm(request.user)
    context = {
        "token_form": token_form,
        "tokens": tokens_of(request.user),
        "sessions": sessions_of(request.user, current_key=request.session.session_key),
        "new_token": request.session.pop(NEW_TOKEN, ""),
        "waits_for_confirmation": settings.EMAIL_CONFIRMATION_REQUIRED
        and request.user.pending_email,
    }
    response = _settings(
        request, "accounts/settings_account.html", "account", form, token_form, **context
    )
    if context["new_token"]:
        response.headers["Cache-Control"] = "no-store"
    return response


def _settings(
    request: AuthenticatedRequest,
    template: str,
    tab: str,
    form: Form,
    *other_forms: Form,
    **context: Any,
) -> HttpResponse:
    if form.errors:
        request.user.refresh_from_db()  # so that the page does not show rejected values as saved
    return render_settings(request, template, tab, {"form": form, **context}, form, *other_forms)


def _store_in_cookies(response: HttpResponseBase, *, language: str, theme: str) -> HttpResponseBase:
    """Store the choices for pages that do not read the user: error pages, and pages after logging out."""
    for cookie, value in ((settings.LANGUAGE_COOKIE_NAME, language), ("theme", theme)):
        if value:
            secure = settings.SECURE_COOKIES
            response.set_cookie(cookie, value, max_age=YEAR, samesite="Lax", secure=secure)
    return response


def _initial_email(user: User) -> dict[str, str]:
    return {"email": user.pending_email or user.email or ""}


def _email_saved(request: AuthenticatedRequest) -> HttpResponseBase:
    """The response after the address is saved. It does not reveal whether another account has the address."""
    if settings.EMAIL_CONFIRMATION_REQUIRED and request.user.pending_email:
        return SeeOther(reverse("email_pending"))
    return _saved(request)


def _saved(request: AuthenticatedRequest) -> HttpResponseBase:
    messages.success(request, _("Saved."))
    return SeeOther(request.path)
