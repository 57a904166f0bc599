"""OAuth pages: authorize an application, list the authorized applications, revoke their access."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

from csp.decorators import csp_update
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from oauth2_provider.exceptions import FatalClientError, OAuthToolkitError
from oauth2_provider.http import OAuth2ResponseRedirect
from oauth2_provider.oauth2_backends import get_oauthlib_core

from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, require_get_or_post
from apps.http.verification import second_factor_required
from apps.oauth.actions import end_access
from apps.oauth.models import OUT_OF_BAND, Application
from apps.oauth.provider import Scopes
from apps.oauth.queries import connections_of
from apps.scopes import OFFERED
from apps.web.forms.accounts import render_settings

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*:(//[\w.:\[\]-]+)?", re.ASCII | re.IGNORECASE)


@require_get_or_post
@login_required
@second_factor_required
def authorize(request: AuthenticatedRequest) -> HttpResponseBase:
    """Ask the viewer whether an application may act for them. The form posts to the same URL, query string included."""
    core = get_oauthlib_core()
    try:
        scopes, credentials = core.validate_authorization_request(request)
    except OAuthToolkitError as error:
        return _error_response(request, error)
    application = credentials.pop("request").client
    if request.method != "POST":
        return _authorize_page(request, application, scopes, credentials["redirect_uri"])
    try:
        address, _headers, _body, _status = core.create_authorization_response(
            request, scopes, credentials, allow="allow" in request.POST
        )
    except OAuthToolkitError as error:
        return _error_response(request, error, application)
    if credentials["redirect_uri"] == OUT_OF_BAND:
        return _code_page(request, application, parse_qs(urlsplit(address).query)["code"][0])
    return _redirect(address, application)


@require_safe
@login_required
def applications(request: AuthenticatedRequest) -> HttpResponseBase:
    context = {"connections": connections_of(request.user.pk)}
    return render_settings(request, "oauth/applications.html", "applications", context)


@require_POST
@login_required
def revoke(request: AuthenticatedRequest, application_id: int) -> HttpResponseBase:
    end_access(request.user.pk, application_id=application_id)
    messages.success(request, _("Revoked."))
    return SeeOther("/settings/applications")


def _authorize_page(
    request: AuthenticatedRequest, application: Application, scopes: list[str], redirect_uri: str
) -> HttpResponseBase:
    texts = Scopes().get_all_scopes()
    context = {
        "application": application,
        "scopes": [texts[name] for name in scopes if name in OFFERED],
        "host": "" if redirect_uri == OUT_OF_BAND else urlsplit(redirect_uri).hostname,
        "address": request.get_full_path(),
    }
    page: Callable[[HttpRequest], HttpResponseBase] = partial(
        render, template_name="oauth/authorize.html", context=context
    )
    # the form's response redirects to the application, and browsers check that address against form-action
    origin = _ORIGIN.match(redirect_uri)
    if origin:
        page = csp_update({"form-action": [origin[0]]})(page)
    response = page(request)
    response.headers["Cache-Control"] = "no-store"
    return response


def _code_page(request: AuthenticatedRequest, application: Application, code: str) -> HttpResponse:
    response = render(request, "oauth/code.html", {"application": application, "code": code})
    response.headers["Cache-Control"] = "no-store"
    return response


def _error_response(
    request: AuthenticatedRequest, error: OAuthToolkitError, application: Application | None = None
) -> HttpResponseBase:
    """Redirect to the application if the redirect URI is registered and not `OUT_OF_BAND`; otherwise show the error."""
    reason: Any = error.oauthlib_error
    address = reason.redirect_uri or ""
    if application is None and not isinstance(error, FatalClientError):
        application = Application.objects.filter(client_id=reason.client_id or "").first()
    if address == OUT_OF_BAND or not (application and application.redirect_uri_allowed(address)):
        denied = reason.error == "access_denied"
        context = {"reason": "" if denied else reason.description or reason.error}
        return render(request, "oauth/refused.html", context, status=200 if denied else 400)
    return _redirect(reason.in_uri(address), application)


def _redirect(address: str, application: Application) -> HttpResponse:
    """Redirect to the application; the library rejects schemes that the application did not register."""
    response: HttpResponse = OAuth2ResponseRedirect(address, application.get_allowed_schemes())
    return response
