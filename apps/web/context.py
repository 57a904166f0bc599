"""The unread badge of every page."""

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from apps.http.requests import viewer_of
from apps.notifications.queries import unread_count


def unread(request: HttpRequest) -> dict[str, Any]:
    """`unread_notifications`: a number, counted only when a template shows it."""
    user = viewer_of(request)
    if user is None:
        return {"unread_notifications": 0}
    return {"unread_notifications": SimpleLazyObject(lambda: unread_count(user))}
