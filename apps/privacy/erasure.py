"""Deletion of accounts: hidden at once, erased within minutes, whatever is killed on the way.

The request anonymizes the account's row (`accounts.leaving`) and adds an Erasure, in one
transaction. The work erases a batch of every kind, again and again, until a whole round finds
nothing.
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
BATCH = 100  # rows of one kind between two looks at the clock
TASK_SECONDS = 12.0  # well below the lease
CHECKED_AGAIN_FOR = timedelta(hours=2)


def delete_account(user: User, *, password: str, origin: Origin | None = None) -> Erasure:
    """For good. Invalid for a wrong password, TooMany, NotAllowed for staff."""
    with transaction.atomic():
        close_account(user, password=password, origin=origin)
        row = Erasure.objects.create(user_id=user.pk)
        transaction.on_commit(partial(enqueue, TASK, row.pk))
    return row


def run_due(*, limit: int, only: list[int] | None = None) -> int:
    """Continue erasures that are due; the number claimed."""
    return leases.work_off(Erasure, _erase, limit=limit, only=only)


def look_again() -> None:
    """Erase rows of requests that were still running when their account was deleted: rare."""
    since = timezone.now() - CHECKED_AGAIN_FOR
    for row in Erasure.objects.filter(state=State.DONE, finished_at__gt=since)[:BATCH]:
        _round(User.objects.get(pk=row.user_id), {}, time.monotonic() + TASK_SECONDS)


def _erase(row: Erasure) -> leases.Receipt:
    user = User.objects.get(pk=row.user_id)
    removed, deadline = dict(row.removed), time.monotonic() + TASK_SECONDS
    while _round(user, removed, deadline):
        Erasure.objects.filter(pk=row.pk).update(removed=removed)
        if time.monotonic() > deadline:
            raise leases.Later("there is more to erase")
    return {"removed": removed}


def _round(user: User, removed: dict[str, int], deadline: float) -> bool:
    """Erase a batch of every kind; whether there was anything."""
    is_found = False
    for name, step in STEPS.items():
        count = step(user, BATCH)
        removed[name] = removed.get(name, 0) + count
        is_found = is_found or count > 0
        if time.monotonic() > deadline:
            return True
    return is_found
