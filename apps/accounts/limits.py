"""The limits of the site: counted where the thing is done, so that pages and programs share one count."""

from django.conf import settings
from django.utils.translation import gettext as _

from apps.caches.ratelimit import count
from apps.refusals import TooMany


def count_or_refuse(limit_name: str, subject: str, *, cost: int = 1) -> None:
    """Count against one of `RATE_LIMITS` for a subject; TooMany when it is used up."""
    limit, seconds = settings.RATE_LIMITS[limit_name]
    verdict = count(limit_name, subject, limit=limit, seconds=seconds, cost=cost)
    if not verdict.allowed:
        raise TooMany(_("Too many requests."), retry_after=verdict.retry_after)
