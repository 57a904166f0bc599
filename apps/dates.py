"""Time zones by name, and times as text in the active language."""

from datetime import UTC, datetime
from functools import cache, lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import pgettext

MINUTE, HOUR, DAY = 60, 3600, 86400


@lru_cache(maxsize=64)
def zone_named(name: str) -> ZoneInfo | None:
    """The time zone with this name; None if there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def full_time(moment: datetime) -> str:
    """A moment as date, time and time zone."""
    # Translators: a Django date format.
    day = date_format(moment, pgettext("date format", "j F Y, H:i"))
    return f"{day} {timezone.localtime(moment):%Z}"


def machine_time(moment: datetime) -> str:
    """A time for the `datetime` attribute of a <time> element: in UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def age(moment: datetime, *, now: datetime, language: str | None) -> str:
    """A short age: now, 4m, 1h, yesterday, 18 Nov, 18 Nov 2025. `language` (the active one) is only a cache key."""
    seconds = max(int((now - moment).total_seconds()), 0)
    if seconds < 2 * DAY:
        unit = MINUTE if seconds < HOUR else HOUR if seconds < DAY else DAY
        return _recent(seconds // unit * unit, language)
    this_year = moment.year == now.year
    # Translators: Django date formats of a day of this year and of another year.
    return date_format(
        moment,
        pgettext("date format", "j M") if this_year else pgettext("date format", "j M Y"),
    )


@cache
def _recent(seconds: int, _language: str | None) -> str:
    if seconds < MINUTE:
        return pgettext("age of a post", "now")
    if seconds < HOUR:
        return pgettext("age of a post", "%(count)dm") % {"count": seconds // MINUTE}
    if seconds < DAY:
        return pgettext("age of a post", "%(count)dh") % {"count": seconds // HOUR}
    return pgettext("age of a post", "yesterday")
