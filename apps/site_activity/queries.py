"""Reads the weekly activity of the site."""

from datetime import date, timedelta

from apps.site_activity.models import Week
from apps.sql import database_time

WEEKS = 12  # as in Mastodon


def first_day_of(day: date) -> date:
    """The Monday of the week that a day is in."""
    return day - timedelta(days=day.weekday())


def last_weeks() -> list[Week]:
    """The last twelve weeks, the current week first; a week without a row had no activity."""
    monday = first_day_of(database_time().date())
    days = [monday - timedelta(weeks=back) for back in range(WEEKS)]
    found = Week.objects.in_bulk(days)
    return [found.get(day) or Week(first_day=day, statuses=0, logins=0, registrations=0) for day in days]  # fmt: skip
