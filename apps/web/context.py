"""What every template may use: the site, its viewer, their unread notifications."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from apps.accounts.models import Theme
from apps.deadline import missing
from apps.http.requests import viewer_of
from apps.notifications.queries import unread_count
from feedcache.redis_servers.connections import has_open_breaker


def site(request: HttpRequest) -> dict[str, Any]:
    """`site_name`, `site_url`, `viewer` (the signed-in user or None), whether the page had to go without something
    (`is_partial`), whether what it is made with is slow now (`is_slow`), and where what is done on it leads back to (`way_back`)."""
    viewer = viewer_of(request)
    return {
        "site_name": settings.SITE_NAME,
        "site_url": settings.SITE_URL,
        "viewer": viewer,
        "is_partial": bool(missing()),
        "is_slow": has_open_breaker(),
        "way_back": request.get_full_path() if request.method in {"GET", "HEAD"} else "/",
        "theme": viewer.theme if viewer else _theme_of(request),
    }


def _theme_of(request: HttpRequest) -> str:
    """What a visitor chose, if it is a theme."""
    chosen = request.COOKIES.get("theme", "")
    return chosen if chosen in Theme.values else Theme.AUTO


def unread(request: HttpRequest) -> dict[str, Any]:
    """`unread_notifications`: a number, counted only when a template shows it."""
    user = viewer_of(request)
    if user is None:
        return {"unread_notifications": 0}
    return {"unread_notifications": SimpleLazyObject(lambda: unread_count(user))}
