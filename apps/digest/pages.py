"""The switch for the weekly e-mail, and the page to unsubscribe without a login."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from apps.digest.actions import choose, reader_of
from apps.http.requests import AuthenticatedRequest, SeeOther, login_required, require_get_or_post


@require_POST
@login_required
def settings(request: AuthenticatedRequest) -> HttpResponseBase:
    choose(request.user, wants="wants" in request.POST)
    messages.success(request, _("Saved."))
    return SeeOther(f"{reverse('settings_notifications')}#digest")


@csrf_exempt  # mail programs post without a session (RFC 8058); the token in the link is proof enough
@require_get_or_post
@never_cache
def end(request: HttpRequest, token: str) -> HttpResponse:
    """GET only shows a button, because mail servers open every link in an e-mail. POST unsubscribes."""
    reader = reader_of(token)
    if request.method == "POST":
        choose(reader, wants=False)
    context = {"handle": reader.handle, "has_ended": request.method == "POST"}
    return render(request, "digest/end.html", context)


urlpatterns: list[URLPattern] = [
    path("settings/digest", settings, name="settings_digest"),
    path("digest/end/<str:token>", end, name="digest_end"),
]
