"""Accounts that their owners have deleted: invisible at once, gone within minutes, whatever is killed on the way.

The request is one transaction: the account's row is made nameless (`accounts.leaving`) and a row of work says that the rest
has to go. The work takes a batch at a time and asks every kind again until a whole round finds nothing.
"""

import time
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.utils import timezone

from apps.accounts.actions import close_account
from apps.accounts.models import User
from apps.events import leases
from apps.events.actions import enqueue
from apps.events.leases import State
from apps.privacy.erasure_steps import STEPS
from apps.privacy.models import Erasure
from apps.throttling import Origin

TASK = "apps.privacy.tasks.erase"
BATCH = 100  # of one kind, between two looks at the clock
TURN_SECONDS = 12.0  # well below the lease
LOOKED_AT_AGAIN = timedelta(hours=2)


def delete_account(user: User, *, password: str, origin: Origin | None = None) -> Erasure:
    """Delete somebody's account, for good. Invalid for a wrong password, TooMany, NotAllowed for staff."""
    with transaction.atomic():
        close_account(user, password=password, origin=origin)
        row = Erasure.objects.create(user_id=user.pk)
        transaction.on_commit(partial(enqueue, TASK, row.pk))
    return row


def run_due(*, limit: int, only: list[int] | None = None) -> int:
    """Go on with erasures that are due; how many were claimed."""
    return leases.work_off(Erasure, _erase, limit=limit, only=only)


def look_again() -> None:
    """Erase what a request wrote that was under way when its account was deleted: rare, and found within the hour."""
    since = timezone.now() - LOOKED_AT_AGAIN
    for row in Erasure.objects.filter(state=State.DONE, finished_at__gt=since)[:BATCH]:
        _round(User.objects.get(pk=row.user_id), {}, time.monotonic() + TURN_SECONDS)


def _erase(row: Erasure) -> leases.Receipt:
    user = User.objects.get(pk=row.user_id)
    removed, until = dict(row.removed), time.monotonic() + TURN_SECONDS
    while _round(user, removed, until):
        Erasure.objects.filter(pk=row.pk).update(removed=removed)
        if time.monotonic() > until:
            raise leases.Later("there is more to erase")
    return {"removed": removed}


def _round(user: User, removed: dict[str, int], until: float) -> bool:
    """A batch of every kind; whether there was anything at all."""
    found = False
    for name, step in STEPS.items():
        count = step(user, BATCH)
        removed[name] = removed.get(name, 0) + count
        found = found or count > 0
        if time.monotonic() > until:
            return True
    return found
