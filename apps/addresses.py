"""URLs of this site with scheme and host, for readers elsewhere."""

from functools import cache

from django.conf import settings
from django.templatetags.static import static


def absolute(path: str) -> str:
    return path if path.startswith(("http://", "https://")) else f"{settings.SITE_URL}{path}"


def picture_address(name: str) -> str:
    """A static file."""
    return absolute(_static_path(name))


@cache  # the names in the manifest do not change while a process lives
def _static_path(name: str) -> str:
    return static(name)
