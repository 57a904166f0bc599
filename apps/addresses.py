"""Absolute URLs of this site, for use outside its pages, and handles that may contain the site's host."""

from functools import cache

from django.conf import settings
from django.templatetags.static import static


def absolute(path: str) -> str:
    return path if path.startswith(("http://", "https://")) else f"{settings.SITE_URL}{path}"


def own_host() -> str:
    """The site's host in lower case, with the port if SITE_URL has one."""
    return str(settings.SITE_URL).partition("://")[2].lower()


def is_own_host(host: str) -> bool:
    """Whether this is the site's host, with or without the port. Ignores case."""
    return host.lower() in {own_host(), own_host().partition(":")[0]}


def without_own_host(name: str) -> str:
    """A handle as people write it, without its @ and without this site's host: `@bob@this.site` becomes `bob`.

    The host of another site is kept: `@bob@other.site` becomes `bob@other.site`.
    """
    handle, _at, host = name.removeprefix("@").partition("@")
    return handle if not host or is_own_host(host) else f"{handle}@{host}"


def picture_address(name: str) -> str:
    """The absolute URL of a static file."""
    return absolute(_static_path(name))


@cache  # the hashed names of static files do not change while a process runs
def _static_path(name: str) -> str:
    return static(name)
