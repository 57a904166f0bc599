"""A system check for the setting GAMEDAY."""

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error

from apps.gameday.staging import host, is_staging


@checks.register(checks.Tags.security)
def check_gameday(**_options: object) -> list[CheckMessage]:
    """Refuse a value that does not confirm that this is a staging site."""
    if not settings.GAMEDAY or is_staging():
        return []
    value = host() if settings.PRODUCTION else "1"
    return [
        Error(
            f"GAMEDAY={settings.GAMEDAY} does not name this site: faults could be put into the wrong one.",
            hint=f"If this is a staging site, set GAMEDAY={value}; otherwise remove the setting.",
            id="feedsite.E033",
        )
    ]
