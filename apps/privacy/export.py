"""Archives: asked for, made in the background, kept a few days for their owner, and deleted."""

import secrets
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import NotFound
from apps.events import leases
from apps.events.actions import enqueue
from apps.events.leases import LEASE, State
from apps.privacy.archive import entries_of, private_storage, write_archive
from apps.privacy.models import Export
from apps.throttling import check_rate_limit

TASK = "apps.privacy.tasks.build_export"
PURGE_BATCH_SIZE = 100


def request_export(user: User) -> Export:
    """Ask for an archive; the one that is being made already, if there is one. TooMany beyond some a day.

    An older archive goes: the new one has all that it had.
    """
    waiting = Export.objects.filter(user=user, state=State.PENDING).first()
    if waiting is not None:
        return waiting
    check_rate_limit("export", str(user.pk))
    name = f"exports/{secrets.token_hex(24)}.zip"
    try:
        with transaction.atomic():
            discard_exports(user.pk)
            made = Export.objects.create(user=user, name=name)
            transaction.on_commit(partial(enqueue, TASK, made.pk))
    except IntegrityError:  # two requests at once: one archive
        return Export.objects.get(user=user, state=State.PENDING)
    return made


def newest_export(user: User) -> Export | None:
    """The archive that somebody asked for last; None when there is none, or when its time is over."""
    found = Export.objects.filter(user=user).order_by("-pk").first()
    over = found is not None and found.state == State.DONE and not found.is_ready()
    return None if over else found


def own_export(user: User, number: int) -> Export:
    """An archive that can be downloaded. NotFound for those of others, and for one whose time is over."""
    found = Export.objects.filter(pk=number, user=user).first()
    if found is None or not found.is_ready():
        raise NotFound(_("This archive isn't here any more. You can ask for a new one."))
    return found


def run_due(*, limit: int, only: list[int] | None = None) -> int:
    """Make archives that are due, unless enough workers are at it already; how many were claimed."""
    under_way = Export.objects.filter(
        state=State.PENDING, attempts__gt=0, due_at__gt=timezone.now()
    )
    free = settings.EXPORT_CONCURRENCY - under_way.count()
    return leases.work_off(Export, _build, limit=min(limit, free), only=only) if free > 0 else 0


def purge() -> int:
    """Delete archives whose time is over, with their files; how many."""
    over = Export.objects.filter(expires_at__lte=timezone.now()).order_by("expires_at")
    return _discard(list(over[:PURGE_BATCH_SIZE]))


def discard_exports(user_id: int) -> int:
    """Delete the archives of somebody, with their files; how many."""
    return _discard(list(Export.objects.filter(user=user_id)))


def _build(row: Export) -> leases.Receipt:
    user = User.objects.select_related("counts").get(pk=row.user_id)
    total = entries_of(user)

    def progress(done: int) -> None:
        # The lease is renewed as long as there is progress; whoever has lost it must not go on.
        mine = Export.objects.filter(pk=row.pk, state=State.PENDING, attempts=row.attempts)
        if not mine.update(done=done, total=total, due_at=timezone.now() + LEASE):
            raise leases.Later("the archive was taken over, or is not wanted any more")

    progress(0)
    size = write_archive(user, row.name, progress)
    if not Export.objects.filter(pk=row.pk).exists():  # given up just now: nobody would delete it
        private_storage().delete(row.name)
    kept = timedelta(days=settings.EXPORT_KEEP_DAYS)
    return {"done": total, "total": total, "size": size, "expires_at": timezone.now() + kept}


def _discard(rows: list[Export]) -> int:
    for row in rows:
        row.delete()
        transaction.on_commit(partial(private_storage().delete, row.name))
    return len(rows)
