"""Context processors: the site, the viewer, and the viewer's unread notifications."""

from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from apps.accounts.models import Theme
from apps.deadline import behind, missing
from apps.http.requests import viewer_of
from apps.notifications.queries import unread as unread_of
from apps.web.post_card import Appearance
from feedcache.connections import has_open_breaker


def site(request: HttpRequest) -> dict[str, Any]:
    """The site, the viewer, the theme, and the state of this page.

    `is_partial`: parts of the page are missing; `behind`: how many seconds late new posts reach the home page;
    `is_slow`: this process skips a failed Redis server that pages need; `return_url`: the address that the page's forms
    return to; `me`: the viewer's handle, name and avatar, for fragments.
    """
    viewer = viewer_of(request)
    return {
        "site_name": settings.SITE_NAME,
        "site_url": settings.SITE_URL,
        "viewer": viewer,
        "me": Appearance.of(viewer) if viewer else None,
        "is_member": viewer is not None,
        "is_partial": bool(missing()),
        "behind": behind(),
        "is_slow": has_open_breaker(),
        "here": "",  # the current entry of the navigation, which views replace
        "return_url": request.get_full_path() if request.method in {"GET", "HEAD"} else "/",
        "theme": viewer.theme if viewer else _theme_of(request),
    }


def _theme_of(request: HttpRequest) -> str:
    theme = request.COOKIES.get("theme", "")
    return theme if theme in Theme.values else Theme.AUTO


def unread(request: HttpRequest) -> dict[str, Any]:
    """`unread_notifications` and `unread_messages`, counted together when a template first renders either."""
    user = viewer_of(request)
    if user is None:
        return {"unread_notifications": 0, "unread_messages": 0}
    counted = cache(lambda: unread_of(user))
    return {
        "unread_notifications": SimpleLazyObject(lambda: counted().unread_notifications),
        "unread_messages": SimpleLazyObject(lambda: counted().unread_messages),
    }
