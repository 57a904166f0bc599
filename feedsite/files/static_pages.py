"""Pages about the site, for people and crawlers."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from apps.api.entities.instance import privacy_facts
from apps.http.requests import SiteRequest
from apps.moderation.house_rules import rules_json
from apps.operations.epoch import last_return
from apps.posts.queries import site_size
from feedsite.monitoring.health import current_state

DAY = 24 * 3600
ROBOTS = """User-agent: *
Disallow: /admin/
Disallow: /aggregate
Disallow: /api/
Disallow: /compose
Disallow: /explain
Disallow: /home
Disallow: /login
Disallow: /notifications
Disallow: /password/
Disallow: /posts/
Disallow: /ranked
Disallow: /search
Disallow: /settings/

Sitemap: {sitemap}
"""


@require_safe
def page(request: HttpRequest, template: str) -> HttpResponse:
    return render(request, template, {"here": "about"})


@require_safe
def about(request: HttpRequest) -> HttpResponse:
    context = {
        "here": "about",
        "rules": rules_json(),
        "size": site_size(),
        "contact": settings.DEFAULT_FROM_EMAIL,
        "version": settings.VERSION,
    }
    return render(request, "about.html", context)


_SLOWER = gettext_lazy("Pages are built from the database and are slower than usual.")
# The parts of the site on the public status page, which names no servers. For each part, its checks with the effect of
# their failure, worst first.
_PARTS = (
    (
        gettext_lazy("Storage"),
        {
            "postgresql": gettext_lazy(
                "Most pages cannot be read right now, and nothing can be posted."
            ),
            "postgresql writes": gettext_lazy(
                "Nothing can be posted or changed right now, but everything can still be read."
            ),
            "media": gettext_lazy("Pictures, videos and audio cannot be added right now."),
        },
    ),
    (
        gettext_lazy("Timelines"),
        dict.fromkeys(
            (
                "redis",
                "timelines replicas",
                "relations",
                "relations replicas",
                "counters",
                "existence",
            ),
            _SLOWER,
        ),
    ),
    (
        gettext_lazy("Deliveries"),
        {
            "workers": gettext_lazy(
                "Posts are saved, and will reach home pages when deliveries run again."
            ),
            "dead letters": gettext_lazy(
                "Some deliveries were given up; the people who run this site have to check them."
            ),
            "deliveries": gettext_lazy("New posts reach home pages late."),
            "broker": gettext_lazy("New posts reach home pages a few seconds late."),
            "beat": gettext_lazy("Scheduled posts and overdue work have to wait."),
            "broadcast": gettext_lazy("Open pages do not show new posts until they are reloaded."),
        },
    ),
    (
        gettext_lazy("Page caches"),
        {
            "limits": gettext_lazy(
                "Logging in may be refused, because failed attempts cannot be counted."
            ),
            "memcached": _SLOWER,
        },
    ),
    (
        gettext_lazy("The audit"),
        {"audit": gettext_lazy("A mistake was found that could not be repaired.")},
    ),
)


def _sentence(checks: dict[str, Any], sentences: dict[str, Any]) -> str:
    """The sentence for the worst failing check of a part; empty if the part works."""
    failing = (name for name in sentences if name in checks and not checks[name]["ok"])
    return next((str(sentences[name]) for name in failing), "")


@require_safe
def status(request: HttpRequest) -> HttpResponse:
    """The public status page, which uses the same checks as the health endpoint."""
    state = current_state()
    parts = [(name, _sentence(state["checks"], sentences)) for name, sentences in _PARTS]
    context: dict[str, Any] = {"here": "about", "status": state["status"], "parts": parts}
    context["behind"] = state.get("deliveries_behind_seconds")
    context["went_back"] = last_return() if state["checks"]["postgresql"]["ok"] else None
    response = render(request, "status.html", context)
    response.headers["Cache-Control"] = "no-store"
    return response


@require_safe
def shortcuts(request: SiteRequest) -> HttpResponse:
    """The keyboard shortcuts, as a page or, for the dialog, as a list."""
    template = "_shortcuts.html" if request.htmx else "shortcuts.html"
    return render(request, template, {"here": "about"})


@require_safe
@cache_control(public=True, max_age=DAY)
def robots(_request: HttpRequest) -> HttpResponse:
    text = ROBOTS.format(sitemap=settings.SITE_URL + reverse("sitemap"))
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


@require_safe
@cache_control(public=True, max_age=DAY)
def favicon(_request: HttpRequest) -> HttpResponse:
    """The icon, also at /favicon.ico, where browsers look for it."""
    file: Path = settings.BASE_DIR / "static" / "favicon.svg"
    return HttpResponse(file.read_bytes(), content_type="image/svg+xml")


@require_safe
def manifest(_request: HttpRequest) -> JsonResponse:
    """The web app manifest."""
    mark = {"src": static("favicon.svg"), "sizes": "any", "type": "image/svg+xml"}
    body = {
        "name": settings.SITE_NAME,
        "short_name": settings.SITE_NAME,
        "description": _("What is happening, in the order it happened"),
        "id": "/",
        "start_url": "/",
        "scope": "/",
        "display": "standalone",
        "background_color": "#F5F2EC",
        "theme_color": "#B3331B",
        "icons": [{**mark, "purpose": "any"}, *map(_icon, (192, 512))],
        "share_target": {
            "action": reverse("compose"),
            "method": "GET",
            "params": {"title": "title", "text": "text", "url": "url"},
        },
        "shortcuts": [
            {"name": _("New post"), "url": reverse("compose")},
            {"name": _("Notifications"), "url": reverse("notifications")},
        ],
    }
    return JsonResponse(body, content_type="application/manifest+json")


def _icon(size: int) -> dict[str, str]:
    """A maskable icon, with margins."""
    file = static(f"img/icon-{size}.png")
    return {"src": file, "sizes": f"{size}x{size}", "type": "image/png", "purpose": "maskable"}


@require_safe
def rules(request: HttpRequest) -> HttpResponse:
    return render(request, "rules.html", {"here": "about", "rules": rules_json()})


@require_safe
def privacy(request: HttpRequest) -> HttpResponse:
    return render(request, "privacy.html", {"here": "about", **privacy_facts()})


pages: list[URLPattern] = [
    path("about", about, name="about"),
    path("about/api", page, {"template": "about_api.html"}, name="about_api"),
    path("about/shortcuts", shortcuts, name="shortcuts"),
    path("privacy", privacy, name="privacy"),
    path("rules", rules, name="rules"),
    path("status", status, name="status"),
    path("robots.txt", robots, name="robots"),
    path("favicon.svg", favicon, name="favicon"),
    path("favicon.ico", favicon),
    path("manifest.webmanifest", manifest, name="manifest"),
]
