"""Counts logins when they happen and, every hour, the posts and accounts that were created since the last run."""

import time
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Max
from django.db.models.functions import TruncDay

from apps.accounts.models import User
from apps.posts.models import Kind, Post
from apps.site_activity.models import Progress, Week
from apps.site_activity.queries import WEEKS, first_day_of
from apps.sql import database_time
from feedcache.ids import first_id_at, second_of

SETTLED = timedelta(minutes=1)  # newer posts and accounts may still be in a transaction
STEP = 6 * 3600  # one statement counts the posts of this many seconds
RUN_SECONDS = 20.0  # after this time, a run stops, and the next run continues
RETENTION = timedelta(weeks=WEEKS + 1)


def count_login(**_signal: Any) -> None:
    """Count a login in the current week."""
    _add(first_day_of(database_time().date()), logins=1)


def count() -> int:
    """Count the posts and accounts created since the last run; returns their number. The first run counts those of the
    last twelve weeks. Weeks older than `RETENTION` are deleted.
    """
    until, total, is_done = time.monotonic() + RUN_SECONDS, 0, False
    while not is_done:
        counted, is_done = _count_step()
        total += counted
        if time.monotonic() >= until:
            break
    Week.objects.filter(first_day__lt=(database_time() - RETENTION).date()).delete()
    return total


@transaction.atomic
def _count_step() -> tuple[int, bool]:
    """Count one step. Returns the number counted, and whether nothing is left to count.

    The lock of the progress row prevents concurrent runs from counting anything twice.
    """
    settled = database_time() - SETTLED
    monday = datetime.combine(first_day_of(settled.date()), datetime.min.time(), UTC)
    first = monday - timedelta(weeks=WEEKS - 1)
    before_all = first_id_at(int(first.timestamp())) - 1
    Progress.objects.get_or_create(id=1, defaults={"post_id": before_all})
    progress = Progress.objects.select_for_update().get(id=1)
    begin, end = second_of(progress.post_id + 1), int(settled.timestamp())
    until = min(_end_of_day(begin), begin + STEP, end)
    if until <= begin:
        return 0, True
    last = first_id_at(until) - 1
    posts = Post.objects.filter(pk__gt=progress.post_id, pk__lte=last).exclude(kind=Kind.REPOST)
    statuses = posts.count()
    _add(first_day_of(datetime.fromtimestamp(begin, UTC).date()), statuses=statuses)
    people, progress.account_id = _count_accounts(progress.account_id, first, settled)
    progress.post_id = last
    progress.save()
    return statuses + people, until == end


def _end_of_day(second: int) -> int:
    """The Unix time at which the day of `second` ends. No step crosses it, so the posts of a step are in one week."""
    return (second // 86_400 + 1) * 86_400


def _count_accounts(after: int, first: datetime, settled: datetime) -> tuple[int, int]:
    """Count accounts with ids above `after`, created since `first`. Returns their number, and the greatest id seen."""
    new = User.objects.filter(pk__gt=after, created_at__lt=settled)
    last = new.aggregate(last=Max("pk"))["last"]
    if last is None:
        return 0, after
    days = new.filter(pk__lte=last, created_at__gte=first).annotate(day=TruncDay("created_at", tzinfo=UTC))  # fmt: skip
    total = 0
    for day, number in days.values_list("day").annotate(number=Count("pk")).order_by("day"):
        _add(first_day_of(day.date()), registrations=number)
        total += number
    return total, last


def _add(first_day: date, **numbers: int) -> None:
    """Add to the numbers of a week, in one statement if the week has a row."""
    more = {name: F(name) + number for name, number in numbers.items()}
    if any(numbers.values()) and not Week.objects.filter(first_day=first_day).update(**more):
        Week.objects.bulk_create([Week(first_day=first_day)], ignore_conflicts=True)
        Week.objects.filter(first_day=first_day).update(**more)
