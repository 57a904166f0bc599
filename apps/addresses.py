"""URLs of this site with scheme and host, for readers elsewhere."""

from functools import cache

from django.conf import settings
from django.templatetags.static import static


def absolute(path: str) -> str:
    return path if path.startswith(("http://", "https://")) else f"{settings.SITE_URL}{path}"


def own_host() -> str:
    """Of this site, with its port."""
    return str(settings.SITE_URL).partition("://")[2].lower()


def is_own_host(host: str) -> bool:
    """In any case, with or without the port."""
    return host.lower() in {own_host(), own_host().partition(":")[0]}


def local_handle(name: str) -> str:
    """A handle as people write it, without its @ and the host of this site: `@bob@this.site` is bob."""
    handle, _at, host = name.removeprefix("@").partition("@")
    return handle if not host or is_own_host(host) else f"{handle}@{host}"


def picture_address(name: str) -> str:
    """A static file."""
    return absolute(_static_path(name))


@cache  # the names in the manifest do not change while a process lives
def _static_path(name: str) -> str:
    return static(name)
