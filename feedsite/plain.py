"""Pages that say what the site is, to people and to programs."""

from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from apps.accounts.visitors import Visit

DAY = 24 * 3600
ROBOTS = """User-agent: *
Disallow: /admin/
Disallow: /api/
Disallow: /compose
Disallow: /home
Disallow: /login
Disallow: /notifications
Disallow: /password/
Disallow: /posts/
Disallow: /settings/
"""


@require_safe
def about(request: HttpRequest) -> HttpResponse:
    """What this site is and does with what it is told."""
    return render(request, "about.html", {"here": "about"})


@require_safe
def shortcuts(request: Visit) -> HttpResponse:
    """The keys that do something; for the dialog only the list."""
    template = "_shortcuts.html" if request.htmx else "shortcuts.html"
    return render(request, template, {"here": "about"})


@require_safe
@cache_control(public=True, max_age=DAY)
def robots(_request: HttpRequest) -> HttpResponse:
    """What crawlers should leave alone."""
    return HttpResponse(ROBOTS, content_type="text/plain; charset=utf-8")


@require_safe
@cache_control(public=True, max_age=DAY)
def favicon(_request: HttpRequest) -> HttpResponse:
    """The mark, at the address where it is looked for."""
    file: Path = settings.BASE_DIR / "static" / "favicon.svg"
    return HttpResponse(file.read_bytes(), content_type="image/svg+xml")


@require_safe
def manifest(_request: HttpRequest) -> JsonResponse:
    """What a device needs to keep the site beside its apps."""
    icon = {"src": static("favicon.svg"), "sizes": "any", "type": "image/svg+xml", "purpose": "any"}
    body = {
        "name": settings.SITE_NAME,
        "short_name": settings.SITE_NAME,
        "id": "/",
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "background_color": "#F5F2EC",
        "theme_color": "#B3331B",
        "icons": [icon],
        "shortcuts": [
            {"name": _("New post"), "url": reverse("compose")},
            {"name": _("Notifications"), "url": reverse("notifications")},
        ],
    }
    return JsonResponse(body, content_type="application/manifest+json")


@require_safe
def change_password(_request: HttpRequest) -> HttpResponseRedirect:
    """Where password managers look for the form."""
    return HttpResponseRedirect(reverse("password_change"))


pages: list[URLPattern] = [
    path("about", about, name="about"),
    path("about/shortcuts", shortcuts, name="shortcuts"),
    path("robots.txt", robots, name="robots"),
    path("favicon.svg", favicon, name="favicon"),
    path("favicon.ico", favicon),
    path("manifest.webmanifest", manifest, name="manifest"),
    path(".well-known/change-password", change_password),
]
