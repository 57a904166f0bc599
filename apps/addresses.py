"""Addresses of this site with scheme and host, for whoever reads them elsewhere."""

from functools import cache

from django.conf import settings
from django.templatetags.static import static


def absolute(path: str) -> str:
    """An address of this site with scheme and host."""
    return path if path.startswith(("http://", "https://")) else f"{settings.SITE_URL}{path}"


@cache
def picture_address(name: str) -> str:
    """A picture of the site's own; its address does not change while a process lives."""
    return absolute(static(name))
