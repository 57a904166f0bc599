"""`manage backup`: the database, the files and the keys of the site, in a folder."""

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
GIVEN_UP = timedelta(days=1)  # an unfinished backup that began before is not being made any more
EXAMPLES = """
The site runs on meanwhile. The database is saved as it is at one moment, the files before and after it: none that the
database names is missing. Redis and Memcached are not saved; they are filled from the database again.

Whoever has the folder has all the site knows, with its keys: keep it where few can read it. docs/backup.md says how to
restore, and how to lose minutes instead of a day.

examples:
  ./run manage backup /backups/before-0.4             a new folder
  ./run manage backup /backups/before-0.4 --check     and restore it into a scratch database, to be sure of it
  ./run manage backup /backups/nightly --keep 14      a folder a day in there, by its date; the oldest beyond 14 go.
                                                      Files of the day before are linked: they take no room again
  ./run manage backup /backups/a --without-keys       the keys are kept elsewhere
by cron, every night at 3:17, with mail when it fails:
  17 3 * * *  cd /srv/feedsite && docker compose run --rm -T backup >/dev/null
"""


class Command(BaseCommand):
    help = "Save the database, the files and the keys of the site in a folder, while it runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument(
            "folder", metavar="DIR", type=Path, help="a new folder; with --keep one of backups"
        )
        parser.add_argument(
            "--keep", type=int, metavar="N", help="a dated folder in DIR; the newest N stay"
        )
        parser.add_argument(
            "--check", action="store_true", help="restore it into a scratch database"
        )
        parser.add_argument(
            "--without-keys", action="store_true", help="leave out SECRET_KEY and so on"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """CommandError, in one sentence, for all that can be wrong."""
        folder, keep = options["folder"].absolute(), options["keep"]
        if keep is not None and keep < 1:
            raise CommandError("--keep takes a number from 1 on.")
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
                    f"The backup was interrupted, and is of no use: {error.strerror} ({where})."
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
        self._add_files(new)  # those of the rows that came meanwhile
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
            self.stdout.write("Without the keys: a restore asks for them.")
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
            raise CommandError(
                "The backup was made and can be restored, but something in it is wrong."
            )

    def _remove_old(self, folder: Path, keep: int) -> None:
        old = [backup.folder for backup in backups_in(folder)[:-keep]]
        for path in [*old, *interrupted_in(folder, before=_now() - GIVEN_UP)]:
            shutil.rmtree(path)
            self.stdout.write(f"Removed: {path}")


def _now() -> datetime:
    return datetime.now(UTC)
