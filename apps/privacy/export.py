"""Archives of users' data: requested by the user, built by a task, and deleted after a few days."""

import secrets
import time
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
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
RENEW_SECONDS = 5.0  # between two updates of a row's progress; well below the lease


def request_export(user: User) -> Export:
    """Request an archive, or return the pending request. Raises TooMany.

    Older archives are deleted, because the new one contains everything.
    """
    pending = Export.objects.filter(user=user, state=State.PENDING).first()
    if pending is not None:
        return pending
    check_rate_limit("export", str(user.pk))
    name = f"exports/{secrets.token_hex(24)}.zip"
    try:
        with transaction.atomic():
            discard_exports(user.pk)
            export = Export.objects.create(user=user, name=name)
            transaction.on_commit(partial(enqueue, TASK, export.pk))
    except IntegrityError:  # two requests at once share an archive
        return Export.objects.get(user=user, state=State.PENDING)
    return export


def newest_export(user: User) -> Export | None:
    """The archive that a user requested last; None if there is none or it has expired."""
    export = Export.objects.filter(user=user).order_by("-pk").first()
    is_expired = export is not None and export.state == State.DONE and not export.is_ready()
    return None if is_expired else export


def own_export(user: User, export_id: int) -> Export:
    """An archive to download. Raises NotFound unless it is the user's own, finished, and not expired."""
    export = Export.objects.filter(pk=export_id, user=user).first()
    if export is None or not export.is_ready():
        raise NotFound(_("This archive no longer exists. You can make a new one."))
    return export


def run_due(*, limit: int, only: list[int] | None = None) -> int:
    """Build archives that are due, at most EXPORT_CONCURRENCY at a time; returns the number of claimed rows."""
    running = Export.objects.filter(state=State.PENDING, attempts__gt=0, due_at__gt=Now())
    free = settings.EXPORT_CONCURRENCY - running.count()
    return leases.run_due(Export, _build, limit=min(limit, free), only=only) if free > 0 else 0


def purge() -> int:
    """Delete expired archives with their files; returns their number."""
    expired = Export.objects.filter(expires_at__lte=timezone.now()).order_by("expires_at")
    return _discard(list(expired[:PURGE_BATCH_SIZE]))


def discard_exports(user_id: int) -> int:
    """Delete a user's archives with their files; returns their number."""
    return _discard(list(Export.objects.filter(user=user_id)))


def _build(row: Export) -> leases.Outcome:
    user = User.objects.select_related("counts").get(pk=row.user_id)
    total = entries_of(user)
    renewed_at = -RENEW_SECONDS

    def progress(done: int) -> None:
        # Progress renews the lease; a worker that has lost it must stop.
        nonlocal renewed_at
        if time.monotonic() < renewed_at + RENEW_SECONDS:
            return
        renewed_at = time.monotonic()
        claimed = Export.objects.filter(pk=row.pk, state=State.PENDING, attempts=row.attempts)
        if not claimed.update(done=done, total=total, due_at=Now() + LEASE):
            raise leases.RetryLater("the archive was taken over, or is not wanted any more")

    progress(0)
    size = write_archive(user, row.name, progress)
    # the lock waits for `_discard`, which may have run before the file existed
    with transaction.atomic():
        is_wanted = Export.objects.select_for_update().filter(pk=row.pk).exists()
    if not is_wanted:
        private_storage().delete(row.name)
    lifetime = timedelta(days=settings.EXPORT_KEEP_DAYS)
    return {"done": total, "total": total, "size": size, "expires_at": timezone.now() + lifetime}


def _discard(rows: list[Export]) -> int:
    for row in rows:
        # if the storage fails, the row stays, so that the file is deleted later
        with transaction.atomic():
            row.delete()
            private_storage().delete(row.name)
    return len(rows)
