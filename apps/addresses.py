"""URLs of this site with scheme and host, for readers elsewhere."""

from functools import cache

from django.conf import settings
from django.templatetags.static import static


def absolute(path: str) -> str:
    return path if path.startswith(("http://", "https://")) else f"{settings.SITE_URL}{path}"


@cache
def picture_address(name: str) -> str:
    """A static file; cached, since its URL does not change while a process lives."""
    return absolute(static(name))
