"""The service worker, the page that it shows without a network, and settings for notifications on devices."""

import json
from pathlib import Path
from zoneinfo import available_timezones

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.errors import DomainError
from apps.http.requests import (
    AuthenticatedRequest,
    SeeOther,
    login_required,
    require_get_or_post,
)
from apps.push.actions import (
    Address,
    change_preferences,
    subscribe_device,
    unsubscribe,
    unsubscribe_device,
)
from apps.push.forms import PreferencesForm, initial_of
from apps.push.queries import preferences_of
from apps.web.forms.accounts import render_settings

REGIONS = (
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Europe",
    "Indian",
    "Pacific",
)
# The time zones that people recognize: those named by region and city.
ZONES = sorted(zone for zone in available_timezones() if zone.partition("/")[0] in REGIONS)
WORKER: Path = settings.BASE_DIR / "static" / "js" / "worker.js"
# The worker may only send requests to this site. Pages have other policies.
WORKER_CSP = "default-src 'none'; connect-src 'self'; script-src 'self'"


@require_safe
def worker(_request: HttpRequest) -> HttpResponse:
    """Serve the worker at the root, so that all pages are in its scope. Browsers install it again if a byte differs."""
    site = {
        "name": settings.SITE_NAME,
        "icon": static("img/icon-192.png"),
        "sheets": [static("css/app.css"), static("css/narrow.css")],
    }
    text = f"const SITE = {json.dumps(site)};\n{WORKER.read_text()}"
    response = HttpResponse(text, content_type="text/javascript; charset=utf-8")
    response.headers["Cache-Control"] = "no-cache"
    response.headers["Content-Security-Policy"] = WORKER_CSP
    return response


@require_safe
def offline(request: HttpRequest) -> HttpResponse:
    """The page that the service worker stores, and shows without a network."""
    return render(request, "push/offline.html")


@require_get_or_post
@login_required
def preferences(request: AuthenticatedRequest) -> HttpResponseBase:
    """The settings page for notifications on devices."""
    initial = initial_of(preferences_of(request.user))
    form = PreferencesForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        change_preferences(request.user, **form.preferences())
        messages.success(request, _("Saved."))
        return SeeOther(request.path)
    return render_settings(
        request, "push/settings.html", "notifications", {"form": form, "zones": ZONES}, form
    )


@require_POST
@login_required
def subscribe(request: AuthenticatedRequest) -> HttpResponseBase:
    """Subscribe this device. Called by a script; the response is 204, or 4xx with an error message."""
    endpoint, p256dh, auth = (request.POST.get(name, "") for name in ("endpoint", "p256dh", "auth"))
    address = Address(endpoint, p256dh, auth)
    try:
        subscribe_device(request.user, request.session.session_key, address)
    except DomainError as error:
        return HttpResponse(
            error.message, status=error.status, content_type="text/plain; charset=utf-8"
        )
    return HttpResponse(status=204)


@require_POST
@login_required
def end_here(request: AuthenticatedRequest) -> HttpResponseBase:
    """Unsubscribe this device. Called by a script."""
    unsubscribe_device(request.user, request.session.session_key)
    return HttpResponse(status=204)


@require_POST
@login_required
def end(request: AuthenticatedRequest, number: int) -> HttpResponseBase:
    """Unsubscribe a device or client in the list."""
    unsubscribe(request.user, number)
    messages.success(request, _("Removed."))
    return SeeOther(f"{reverse('settings_notifications')}#devices")


urlpatterns: list[URLPattern] = [
    path("sw.js", worker, name="service_worker"),
    path("offline", offline, name="offline"),
    path("settings/push", preferences, name="settings_push"),
    path("settings/push/here", subscribe, name="push_here"),
    path("settings/push/here/end", end_here, name="push_end_here"),
    path("settings/push/<int:number>/end", end, name="push_end"),
]
