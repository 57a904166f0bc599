"""Transcoding of uploaded video and sound. Rows are leased, so a lost message or a killed worker does no harm."""

import shutil
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from django.conf import settings
from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage, storages
from django.db import transaction
from django.db.models.functions import Now

from apps.events import leases
from apps.events.actions import enqueue
from apps.events.leases import LEASE, State
from apps.media.addresses import new_name
from apps.media.video import SOURCE, Transcoded, Unfit, transcode
from apps.posts.models import Attachment, MediaState, Transcode

TASK = "apps.posts.tasks.transcode"
SWEEP_LIMIT = 20
SWEEP_SECONDS = 5.0  # the interval of sweeps: messages expire before the next sweep sends new ones


def begin(attachment: Attachment, source: str) -> None:
    """Start transcoding an upload once the caller's transaction commits."""
    row = Transcode.objects.create(attachment=attachment, source=source)
    transaction.on_commit(partial(enqueue, TASK, row.pk))


def run_due(*, limit: int, only: list[int] | None = None) -> int:
    """Transcode uploads that are due, up to VIDEO_CONCURRENCY at a time on the site; returns the number claimed."""
    running = Transcode.objects.filter(state=State.PENDING, attempts__gt=0, due_at__gt=Now())
    free = settings.VIDEO_CONCURRENCY - running.count()
    return leases.run_due(Transcode, _work, limit=min(limit, free), only=only) if free > 0 else 0


def sweep() -> None:
    """Enqueue uploads that are due, and mark uploads as failed after their last attempt. Their `Transcode` rows, now
    dead letters, stay, so that staff can retry them.
    """
    for row_id in leases.due_ids(Transcode, limit=SWEEP_LIMIT):
        enqueue(TASK, row_id, expires=SWEEP_SECONDS)
    dead = Transcode.objects.filter(state=State.DEAD).values("attachment")
    waiting = Attachment.objects.filter(pk__in=dead, state=MediaState.PROCESSING)
    waiting.update(state=MediaState.FAILED, error="unreadable")


@transaction.atomic
def retry_dead(ids: Sequence[int]) -> int:
    """Retry uploads that failed at every attempt; returns their number."""
    revived = leases.revive_dead(Transcode, pk__in=ids)
    uploads = Transcode.objects.filter(pk__in=revived).values("attachment")
    Attachment.objects.filter(pk__in=uploads).update(state=MediaState.PROCESSING, error="")
    for row_id in revived:
        transaction.on_commit(partial(enqueue, TASK, row_id))
    return len(revived)


def sources_of(attachments: list[Attachment]) -> list[str]:
    """The names, in the private storage, of the uploaded files of attachments that are not ready."""
    ids = [row.pk for row in attachments if row.state != MediaState.READY]
    if not ids:
        return []
    return list(Transcode.objects.filter(attachment__in=ids).values_list("source", flat=True))


def _work(row: Transcode) -> None:
    def renew() -> None:
        claimed = Transcode.objects.filter(pk=row.pk, state=State.PENDING, attempts=row.attempts)
        if not claimed.update(due_at=Now() + LEASE):
            raise leases.RetryLater("another worker has the upload, or it was deleted")

    renew()
    with tempfile.TemporaryDirectory(prefix="transcode-") as folder:
        path = Path(folder).resolve() / SOURCE
        try:
            with storages["private"].open(row.source) as stored, path.open("wb") as copy:
                shutil.copyfileobj(stored, copy)
            made = transcode(path, renew)
        except (FileNotFoundError, Unfit) as error:
            reason = error.reason if isinstance(error, Unfit) else "unreadable"
            if reason == "unavailable":
                raise leases.RetryLater("ffmpeg is not installed here") from None
            _end(row, state=MediaState.FAILED, error=reason)
        else:
            _store(row, made)


def _store(row: Transcode, made: Transcoded) -> None:
    with made.path.open("rb") as file:
        name = default_storage.save(new_name(is_open=True, suffix=made.path.suffix), File(file))
    names = [name]
    values: dict[str, object] = {
        "file": name,
        "size": made.path.stat().st_size,
        "duration_ms": round(made.seconds * 1000),
        "width": made.width,
        "height": made.height,
        "moves": made.loops,
    }
    if made.poster is not None:
        poster = default_storage.save(new_name(is_open=True), ContentFile(made.poster.preview))
        names.append(poster)
        values |= {"preview": poster, "blurhash": made.poster.blurhash}
    if not _end(row, state=MediaState.READY, **values):
        for name in names:
            default_storage.delete(name)


def _end(row: Transcode, **values: object) -> bool:
    """Write the result, and delete the row and the uploaded file.

    Does nothing and returns False if another worker has claimed or finished the row since, or if the upload was
    deleted.
    """
    found = Attachment.objects.filter(pk=row.attachment_id)
    # one statement cannot lock rows on several servers, so it names the author, whose rows are on one server
    author_id = found.values_list("author_id", flat=True).first() or 0
    with transaction.atomic():
        attachment = found.select_for_update(of=("self",)).filter(author_id=author_id)
        claimed = Transcode.objects.select_for_update().filter(pk=row.pk, attempts=row.attempts)
        if attachment.first() is None or claimed.first() is None:
            return False
        attachment.update(**values)
        Transcode.objects.filter(pk=row.pk).delete()
        transaction.on_commit(partial(storages["private"].delete, row.source))
    return True
