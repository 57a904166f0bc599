"""What every template may use about the site."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from apps.accounts.visitors import viewer_of
from apps.budget import missing


def site(request: HttpRequest) -> dict[str, Any]:
    """`site_name`, `site_url`, `viewer` (the signed-in user or None), and whether the page had to go without something."""
    viewer = viewer_of(request)
    return {
        "site_name": settings.SITE_NAME,
        "site_url": settings.SITE_URL,
        "viewer": viewer,
        "is_partial": bool(missing()),
        "theme": viewer.theme if viewer else request.COOKIES.get("theme", "auto"),
    }
