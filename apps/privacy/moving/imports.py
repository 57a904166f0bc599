"""Imports: a row for the file and one for each line. A task processes the lines in chunks, and undoes them on request.

The effect of a line (such as a follow) and its outcome are written in one transaction, under the lock of the import, so
a task that runs twice or is killed between two lines continues where the last run stopped. Lines wait in the database,
not in memory. Imported follows have a separate rate limit, so that they do not use up the limit for follows made by
hand.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import IO, Any

from django.conf import settings
from django.core.files.base import File
from django.db import IntegrityError, transaction
from django.db.models import Count
from django.db.models.functions import Now
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import Conflict, DomainError, NotFound, TooMany
from apps.events import leases
from apps.events.actions import enqueue
from apps.events.leases import State
from apps.privacy.archive import private_storage
from apps.privacy.hooks import POSTS, Posts
from apps.privacy.models import Import, ImportKind, ImportLine, Outcome
from apps.privacy.moving.files import MAX_BYTES, read_lines
from apps.privacy.moving.lines import do_line, people_of, undo_line
from apps.sql import purge as purge_rows
from apps.throttling import check_rate_limit

TASK = "apps.privacy.tasks.move_in"
CHUNK = 100  # lines for each task
TASK_SECONDS = 12.0  # well below the lease
# After this time, a task begins no further post, because the pictures of one post may take a while.
POSTS_SECONDS = 4.0
PAUSE = timedelta(seconds=1)
# For a rate limit, or a suspended or frozen user; below `leases.FARTHEST`, because a later `due_at` counts as a clock
# error.
LONGEST_PAUSE = timedelta(minutes=4)
ROWS_AT_ONCE = 1000
PURGED = 100  # imports in one run
LISTED = 20  # imports on the page


@dataclass(frozen=True, slots=True)
class Progress:
    """An import, with its lines counted by outcome."""

    row: Import
    counts: Mapping[str, int]

    def has_something_to_undo(self) -> bool:
        is_pending = self.row.state == State.PENDING
        return not self.row.is_undone and (is_pending or self.counts[Outcome.DONE] > 0)

    def total(self) -> int:
        """The number of all lines; during and after an undo, the number of lines that had an effect."""
        is_undone = self.row.is_undone
        return self.finished() + self.counts[Outcome.DONE if is_undone else Outcome.WAITING]

    def finished(self) -> int:
        if self.row.is_undone:
            return self.counts[Outcome.UNDONE]
        return sum(self.counts.values()) - self.counts[Outcome.WAITING]


def offered_kinds() -> list[tuple[str, str]]:
    """The kinds of files that this site imports, as choices of a form."""
    return [
        (kind.value, str(kind.label)) for kind in ImportKind if kind != ImportKind.POSTS or POSTS
    ]


def request_import(user: User, kind: ImportKind, name: str, file: IO[bytes]) -> Import:
    """Start importing a file. Raises Invalid if it cannot be read, Conflict during another import, or TooMany."""
    row = Import(user=user, kind=kind, name=name[:100])
    lines = _lines(row, file)
    if Import.objects.filter(user=user, state=State.PENDING).exists():
        raise _busy()
    check_rate_limit("import", str(user.pk))
    try:
        with transaction.atomic():
            row.save()
            while some := list(islice(lines, ROWS_AT_ONCE)):
                ImportLine.objects.bulk_create(some)
            if kind == ImportKind.POSTS:
                file.seek(0)
                private_storage().save(row.file, File(file))
            transaction.on_commit(partial(enqueue, TASK, row.pk))
    except IntegrityError:  # two requests at once
        raise _busy() from None
    return row


def _lines(row: Import, file: IO[bytes]) -> Iterator[ImportLine]:
    """The lines of a file. Raises Invalid immediately for a wrong format, and while iterating for a damaged archive."""
    if row.kind != ImportKind.POSTS:
        lines = read_lines(ImportKind(row.kind), file.read(MAX_BYTES + 1))
        return (ImportLine(job=row, number=number, cells=cells) for number, cells in lines)
    row.file = f"imports/{secrets.token_hex(24)}.zip"
    posts = _posts().read(_posts().open(file))
    return (
        ImportLine(
            job=row,
            number=number,
            cells=one.cells,
            post=one.post,
            outcome=Outcome.REFUSED if one.refusal else Outcome.WAITING,
            reason=one.refusal,
        )
        for number, one in enumerate(posts, start=1)
    )


def _posts() -> Posts:
    for posts in POSTS:
        return posts
    raise RuntimeError("no app in OPTIONAL_APPS imports posts from archives")


def undo_import(user: User, import_id: int) -> Import:
    """Undo an import. A running import stops first; its remaining lines are not processed.

    Raises NotFound or Conflict.
    """
    try:
        with transaction.atomic():
            row = Import.objects.select_for_update().filter(pk=import_id, user=user).first()
            if row is None:
                raise _no_such_import()
            if not row.is_undone:
                row.is_undone, row.state, row.attempts = True, State.PENDING, 0
                row.due_at, row.finished_at = Now(), None
                row.save()
                transaction.on_commit(partial(enqueue, TASK, row.pk))
    except IntegrityError:
        raise _busy() from None
    return row


def imports_of(user: User, import_id: int | None = None) -> list[Progress]:
    """The user's newest imports, or the one with this id."""
    rows = Import.objects.filter(user=user)
    if import_id is not None:
        rows = rows.filter(pk=import_id)
    found = list(rows.order_by("-pk")[:LISTED])
    counts: dict[int, dict[str, int]] = {row.pk: dict.fromkeys(Outcome.values, 0) for row in found}
    if counts:
        lines = ImportLine.objects.filter(job__in=counts).values_list("job", "outcome")
        for row_id, outcome, number in lines.annotate(Count("pk")):
            counts[row_id][outcome] = number
    return [Progress(row, counts[row.pk]) for row in found]


def own_import(user: User, import_id: int) -> Progress:
    """One of the user's imports. Raises NotFound."""
    for progress in imports_of(user, import_id):
        return progress
    raise _no_such_import()


def refused_lines(user: User, import_id: int) -> list[ImportLine]:
    """The lines that were refused or only partly imported, in the order of the file. Raises NotFound."""
    if not Import.objects.filter(pk=import_id, user=user).exists():
        raise _no_such_import()
    lines = ImportLine.objects.filter(job=import_id).exclude(reason="").defer("post", "trace")
    return list(lines.order_by("number"))


def run_due(*, limit: int, only: list[int] | None = None) -> int:
    """Process a chunk of each import that is due; returns the number of claimed imports."""
    return leases.run_due(Import, _chunk, limit=limit, only=only, write=_write)


def purge() -> None:
    """Delete imports that finished more than `IMPORT_KEEP_DAYS` ago, with their lines; the imported data stays."""
    until = timezone.now() - timedelta(days=settings.IMPORT_KEEP_DAYS)
    for row in Import.objects.filter(finished_at__lt=until).order_by("finished_at")[:PURGED]:
        purge_rows(ImportLine.objects.filter(job=row).order_by("pk"))
        _discard_file(row)
        row.delete()


def discard_imports(user: User, *, limit: int) -> int:
    """Delete up to `limit` imports of a user with their files; the imported data stays. Returns their number."""
    rows = list(Import.objects.filter(user=user)[:limit])
    for row in rows:
        _discard_file(row)
        row.delete()
    return len(rows)


def _chunk(row: Import) -> leases.Outcome:
    user = User.objects.select_related("counts").get(pk=row.user_id)
    if user.is_suspended or not user.is_active:
        return _later(row, LONGEST_PAUSE)
    waiting = Outcome.DONE if row.is_undone else Outcome.WAITING
    lines = ImportLine.objects.filter(job=row, outcome=waiting)
    # undo in reverse order: a list after its members
    chunk = list(lines.order_by("-number" if row.is_undone else "number")[:CHUNK])
    kind = ImportKind(row.kind)
    deadline = time.monotonic() + (POSTS_SECONDS if row.file else TASK_SECONDS)
    with (
        translation.override(user.interface_language or settings.LANGUAGE_CODE),
        _given(row, user, chunk) as given,
    ):
        for line in chunk:
            try:
                if not _work(row, kind, user, line, given(line)):
                    # another worker has taken over, or the import is to be undone: `_write` then writes nothing
                    break
            except TooMany as error:
                return _later(row, min(timedelta(seconds=error.retry_after), LONGEST_PAUSE))
            if time.monotonic() > deadline:
                break
    if lines.exists():
        return _later(row, PAUSE)
    return {"state": State.DONE, "finished_at": Now(), "last_error": ""}


@transaction.atomic
def _work(row: Import, kind: ImportKind, user: User, line: ImportLine, given: Any) -> bool:
    """Process one line. Returns False if this worker has lost its lease. `given` has accounts or a prepared post."""
    if not _claimed(row).select_for_update().exists():
        return False
    if row.is_undone:
        _undo(kind, user, line)
        line.outcome, line.reason = Outcome.UNDONE, ""
    else:
        try:
            with transaction.atomic():
                trace, line.reason = _do(kind, user, line, given)
        except TooMany:
            raise
        except DomainError as error:
            line.outcome, line.reason = Outcome.REFUSED, error.message
        else:
            line.outcome = Outcome.SAME if trace is None else Outcome.DONE
            line.trace = dict(trace or {})
    line.post = None
    line.save(update_fields=["outcome", "reason", "trace", "post"])
    return True


def _do(
    kind: ImportKind, user: User, line: ImportLine, given: Any
) -> tuple[Mapping[str, Any] | None, str]:
    """Apply a line. Returns the data for undoing it, or None if nothing changed, and a text about parts left out."""
    if kind == ImportKind.POSTS:
        return _posts().make(user, line.post or {}, given)
    return do_line(kind, user, line.cells, given), ""


def _undo(kind: ImportKind, user: User, line: ImportLine) -> None:
    if kind == ImportKind.POSTS:
        _posts().remove(user, line.trace)
    else:
        undo_line(kind, user, line.trace)


@contextmanager
def _given(
    row: Import, user: User, chunk: Sequence[ImportLine]
) -> Iterator[Callable[[ImportLine], Any]]:
    """Yield a function that returns data too slow to fetch in a line's transaction: accounts, or a post's pictures."""
    kind = ImportKind(row.kind)
    if row.is_undone:
        yield lambda _line: None
    elif kind == ImportKind.POSTS:
        with private_storage().open(row.file) as file:
            posts, archive = _posts(), _posts().open(file)
            yield lambda line: posts.prepare(user, line.post or {}, archive)
    else:
        people = people_of(kind, [line.cells for line in chunk])
        yield lambda _line: people


def _claimed(row: Import) -> Any:
    """The import, as long as this worker holds its lease."""
    return Import.objects.filter(
        pk=row.pk, state=State.PENDING, attempts=row.attempts, is_undone=row.is_undone
    )


def _later(row: Import, pause: timedelta) -> leases.Outcome:
    """Continue after a pause, without counting a failed attempt."""
    return {"attempts": row.attempts - 1, "due_at": Now() + pause}


def _write(row: Import, receipt: leases.Outcome) -> None:
    if _claimed(row).update(**receipt) and receipt.get("state") == State.DONE:
        _discard_file(row)


def _discard_file(row: Import) -> None:
    if row.file:
        transaction.on_commit(partial(private_storage().delete, row.file))


def _busy() -> Conflict:
    return Conflict(_("Another file is being imported: wait until it is done."))


def _no_such_import() -> NotFound:
    return NotFound(_("There is no such import."))
