"""`manage backup`: copies the database, the files and the keys of the site to a folder."""

import shutil
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils.translation import override

from feedsite.backups import database
from feedsite.backups.folder import (
    DUMP,
    Backup,
    NewBackup,
    backups_in,
    bytes_below,
    interrupted_in,
    trees,
)
from feedsite.backups.progress import progress_bar, size_text
from feedsite.backups.verification import verdict_text, verify
from feedsite.management.commands.migrate import connected_for_migrations

NAME = "%Y-%m-%dT%H%M%SZ"
GIVEN_UP = timedelta(days=1)  # an older unfinished backup is not running any more
EXAMPLES = """
The site keeps running. The database is saved as of one moment. Files are copied once before and once after that, so
that no file named in the database is missing. Redis and Memcached are not saved; the database fills them again.

Anybody with access to the folder and its keys can read everything on the site, so restrict access. docs/backup.md
explains how to restore, and how to lose only a minute of data instead of a day.

examples:
  ./run manage backup /backups/before-0.4             a new folder
  ./run manage backup /backups/before-0.4 --check     the same, then verify it by restoring it into a scratch database
  ./run manage backup /backups/nightly --keep 14      a dated folder in it; only the newest 14 are kept.
                                                      Unchanged files are links, and take no space
  ./run manage backup /backups/a --without-keys       without the keys, which are kept elsewhere
by cron, every night at 3:17, with an e-mail if it fails:
  17 3 * * *  cd /srv/feedsite && docker compose run --rm -T backup >/dev/null
"""


class Command(BaseCommand):
    help = "Save the database, the files and the keys of the site in a folder, while it runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument(
            "folder",
            metavar="DIR",
            type=Path,
            help="a new folder; with --keep, the folder that contains the backups",
        )
        parser.add_argument(
            "--keep",
            type=int,
            metavar="N",
            help="make a dated folder in DIR, and keep the newest N",
        )
        parser.add_argument(
            "--check", action="store_true", help="verify the backup in a scratch database"
        )
        parser.add_argument(
            "--without-keys", action="store_true", help="leave out SECRET_KEY and the other keys"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Make a backup. With --keep, then remove old ones, unless it was interrupted or its check found errors."""
        folder, keep = options["folder"].absolute(), options["keep"]
        if keep is not None and keep < 1:
            raise CommandError("--keep must be at least 1.")
        earlier = backups_in(folder) if keep else []
        if keep:
            folder /= _now().strftime(NAME)
        new = NewBackup(folder, earlier[-1] if earlier else None)
        with override("en"), connected_for_migrations(connection):
            try:
                backup = self._make(new, with_keys=not options["without_keys"])
            except OSError as error:
                where = error.filename or folder
                raise CommandError(
                    f"The backup was interrupted, and cannot be used: {error.strerror} ({where})."
                ) from None
            self.stdout.write(f"The backup is complete: {backup.folder}")
            if options["check"]:
                self._check(backup)
        if keep:
            self._remove_old(folder.parent, keep)

    def _make(self, new: NewBackup, *, with_keys: bool) -> Backup:
        database.refuse_several_servers()
        new.begin()
        self._add_files(new)
        with progress_bar("Database", database.database_bytes()) as advance:
            migrations = set(MigrationRecorder(connection).applied_migrations())
            new.sums[DUMP] = database.dump(new.folder / DUMP, advance)
        self._add_files(new)  # files that belong to rows written since the first call
        if with_keys:
            new.add_keys()
        backup = new.complete(migrations=migrations, server=database.server_version())
        self.stdout.write(f"Database: {size_text(backup.manifest['database_bytes'])}.")
        for tree, tally in backup.manifest["files"].items():
            self.stdout.write(f"{tree}: {tally['number']:,} files, {size_text(tally['bytes'])}.")
        if settings.MEDIA_BUCKET:
            self.stdout.write(
                f"Files are in the bucket {settings.MEDIA_BUCKET} and are not saved here: let it keep versions."
            )
        if not with_keys:
            self.stdout.write("The keys are not included, but a restore needs them.")
        return backup

    def _add_files(self, new: NewBackup) -> None:
        for tree, root in trees().items():
            with progress_bar(tree, bytes_below(root)) as advance:
                new.add_tree(tree, root, advance)

    def _check(self, backup: Backup) -> None:
        verdict = verify(backup)
        for line in verdict_text(verdict):
            self.stdout.write(line)
        if not verdict.is_good:
            raise CommandError("The backup was made and can be restored, but it contains errors.")

    def _remove_old(self, folder: Path, keep: int) -> None:
        old = [backup.folder for backup in backups_in(folder)[:-keep]]
        for path in [*old, *interrupted_in(folder, before=_now() - GIVEN_UP)]:
            shutil.rmtree(path)
            self.stdout.write(f"Removed: {path}")


def _now() -> datetime:
    return datetime.now(UTC)
