"""Verifies a backup: restores it into a scratch database, runs the auditor, and looks for missing files."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.apps import apps
from django.core.management.base import CommandError
from django.db import models

from apps.accounts.models import User
from apps.accounts.queries import handles_of
from apps.audit import auditor
from apps.audit.models import AuditRun, accounts_of, finding_text
from apps.posts.models import Post
from feedsite.backups import database
from feedsite.backups.folder import Backup, size_of, verify_sums
from feedsite.backups.progress import progress_bar
from feedsite.management.compatibility import is_behind

MAX_NAMED = 5


@dataclass(frozen=True)
class Verdict:
    """The contents of a restored backup, and its errors."""

    accounts: int
    posts: int
    run: AuditRun
    findings: list[str]
    missing: list[str]  # files that rows refer to and the backup lacks

    @property
    def is_good(self) -> bool:
        return not self.run.violations and not self.missing


def verify(backup: Backup) -> Verdict:
    """Read every file, restore the backup into a scratch database and compare its tables. Does not touch the site.

    Raises CommandError if files are missing or changed, if the restore fails, or if an older version made the backup,
    because only that version knows its tables.
    """
    with progress_bar("Reading the backup", size_of(backup)) as advance:
        verify_sums(backup, advance)
    if is_behind(backup.migrations):
        raise CommandError(
            f"All files of the backup are unchanged. It was made by feedsite {backup.manifest['version']}: only that"
            " version can check its tables."
        )
    with database.scratch_database() as name:
        with progress_bar("Scratch database", backup.manifest["database_bytes"]) as advance:
            database.restore(backup.dump, advance, database=name)
        with database.reading(name):
            audit_pass = auditor.compare_tables()
            names = handles_of(accounts_of(audit_pass.findings))
            return Verdict(
                accounts=User.objects.count(),
                posts=Post.objects.count(),
                run=audit_pass.run,
                findings=[finding_text(one, names) for one in audit_pass.findings],
                missing=sorted(_missing(backup)),
            )


def _missing(backup: Backup) -> Iterator[str]:
    """The files that restored rows refer to, but the backup lacks; none if the files are in a bucket."""
    if backup.manifest["bucket"]:
        return
    there = set(backup.files_of("media"))
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, models.FileField):
                rows = model._default_manager.exclude(**{field.name: ""})
                names = rows.values_list(field.name, flat=True).iterator()
                yield from (f"media/{name}" for name in names if f"media/{name}" not in there)


def verdict_text(verdict: Verdict) -> list[str]:
    """The verdict as lines of text."""
    run = verdict.run
    rows = (
        f"{run.deliveries:,} deliveries, {run.receipts:,} receipts, {run.follows:,} follows"
        f" and {run.counts:,} counts"
    )
    lines = [
        f"{verdict.accounts:,} accounts and {verdict.posts:,} posts were restored into a scratch database.",
        f"The auditor compared {rows}: {run.violations} violations.",
    ]
    lines += [f"  {finding}" for finding in verdict.findings[:MAX_NAMED]]
    if verdict.missing:
        some = ", ".join(verdict.missing[:MAX_NAMED])
        lines.append(f"{len(verdict.missing)} files that the database names are missing: {some}.")
    return lines
