"""What every template may use about the site."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from apps.accounts.models import User


def site(request: HttpRequest) -> dict[str, Any]:
    """`site_name`, `site_url`, and `viewer`: the signed-in user or None."""
    user = getattr(request, "user", None)
    return {
        "site_name": settings.SITE_NAME,
        "site_url": settings.SITE_URL,
        "viewer": user if isinstance(user, User) else None,
        "theme": user.theme if isinstance(user, User) else request.COOKIES.get("theme", "auto"),
    }
