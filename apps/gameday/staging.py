"""Whether this site is a staging site, on which game days are allowed.

With PRODUCTION=1, GAMEDAY must repeat the host of SITE_URL. So the settings of a staging site, copied to another site,
do not allow game days there.
"""

from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from apps.errors import NotAllowed


def host() -> str:
    return urlsplit(settings.SITE_URL).hostname or ""


def is_staging() -> bool:
    if settings.PRODUCTION:
        return bool(settings.GAMEDAY) and host() == settings.GAMEDAY
    return settings.GAMEDAY in {"1", host()}


def require_staging() -> None:
    """Raise NotAllowed unless game days are allowed on this site."""
    if not is_staging():
        value = host() if settings.PRODUCTION else "1"
        message = _("Game days are for staging sites. If this is one, set GAMEDAY=%(value)s.")
        raise NotAllowed(message % {"value": value})
