"""What every template may use about the site."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from apps.accounts.models import Theme
from apps.accounts.visitors import viewer_of
from apps.budget import missing
from apps.caches.servers import are_left_alone


def site(request: HttpRequest) -> dict[str, Any]:
    """`site_name`, `site_url`, `viewer` (the signed-in user or None), whether the page had to go without something
    (`is_partial`), and whether what it is made with is slow now (`is_slow`)."""
    viewer = viewer_of(request)
    return {
        "site_name": settings.SITE_NAME,
        "site_url": settings.SITE_URL,
        "viewer": viewer,
        "is_partial": bool(missing()),
        "is_slow": are_left_alone(),
        "theme": viewer.theme if viewer else _theme_of(request),
    }


def _theme_of(request: HttpRequest) -> str:
    """What a visitor chose; pages are kept under it, so it is not whatever a cookie says."""
    chosen = request.COOKIES.get("theme", "")
    return chosen if chosen in Theme.values else Theme.AUTO
