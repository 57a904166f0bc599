"""`manage restore`: a backup takes the place of what the site has."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.utils.translation import override

from apps.operations.epoch import begin_by_hand
from feedcache.connections import RedisError
from feedcache.servers import topology_listener
from feedsite.backups import database
from feedsite.backups.folder import (
    KEYS,
    Backup,
    open_backup,
    other_keys,
    put_back,
    size_of,
    trees,
    verify_sums,
)
from feedsite.backups.progress import progress_bar
from feedsite.backups.verification import verdict_text, verify
from feedsite.management.commands.migrate import connected_for_migrations
from feedsite.management.compatibility import refuse_other_migrations

ROLES = {"web", "worker", "beat", "streaming"}
WHAT_ENDS = {
    "SECRET_KEY": "logins and links in mails end, and the handles of closed accounts become free",
    "PAGE_SIGNING_KEY": "downloaded pages have to be checked with their own key",
    "VAPID_PRIVATE_KEY": "every device has to be subscribed again",
}
EXAMPLES = """
Stop the site first. The files come back before the database, and the database in one transaction: interrupted, the site
has what it had, and the same command begins again. Then a backup of an older version is migrated, and nothing that was
cached before counts any more: a new epoch begins, as by `manage cache restored`.

The keys are not put back by this command, because the site has them from its environment: it says how.

examples:
  ./run manage restore /backups/nightly/2026-11-27T031700Z --check      touch nothing: restore into a scratch database,
                                                                        ask the auditor, and drop it again
  ./run manage restore /backups/nightly/2026-11-27T031700Z              into an empty site
  ./run manage restore /backups/nightly/2026-11-27T031700Z --replace    in place of the accounts that are there
with Docker:
  docker compose stop web streaming worker worker-bulk worker-media beat
  docker compose run --rm backup python manage.py restore /backups/nightly/2026-11-27T031700Z --replace
  docker compose up -d
"""


class Command(BaseCommand):
    help = "Put a backup in the place of what the site has, or only check that this would work."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("folder", metavar="DIR", type=Path, help="a backup")
        parser.add_argument(
            "--check", action="store_true", help="only into a scratch database, for the auditor"
        )
        parser.add_argument("--replace", action="store_true", help="the accounts that are there go")
        parser.add_argument(
            "--other-keys", action="store_true", help="although the site has other keys"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """CommandError, in one sentence, for all that forbids it; until then nothing was changed."""
        backup = open_backup(options["folder"].absolute())
        refuse_other_migrations(backup.migrations)
        with override("en"), connected_for_migrations(connection):
            database.refuse_several_servers()
            if options["check"]:
                self._check(backup)
                return
            self._refuse(backup, **options)
            try:
                self._restore(backup)
            except OSError as error:
                raise CommandError(
                    f"Not everything was restored: {error.strerror} ({error.filename}). Run it again."
                ) from None

    def _check(self, backup: Backup) -> None:
        verdict = verify(backup)
        for line in verdict_text(verdict):
            self.stdout.write(line)
        if not verdict.is_good:
            raise CommandError("The backup can be restored, but something in it is wrong.")
        self.stdout.write(f"The backup of {backup.made_at} is good.")

    def _refuse(self, backup: Backup, **options: Any) -> None:
        if roles := _running():
            raise CommandError(
                f"The site is running ({', '.join(sorted(roles))}). Stop it first, and wait ten seconds."
            )
        database.refuse_content(replaces=options["replace"])
        if (names := other_keys(backup)) and not options["other_keys"]:
            raise CommandError(_about_keys(backup, names))

    def _restore(self, backup: Backup) -> None:
        with progress_bar("Reading the backup", size_of(backup)) as advance:
            verify_sums(backup, advance)
        for tree, tally in backup.manifest["files"].items():
            root = trees().get(tree)
            if root is None:
                raise CommandError(
                    "The backup has files, and this site has a bucket: restore without it, and copy them there."
                )
            with progress_bar(tree, tally["bytes"]) as advance:
                number = put_back(backup, tree, root, advance)
            there = tally["number"] - number
            self.stdout.write(f"{tree}: {number:,} files put back, {there:,} were there.")
        with progress_bar("Database", backup.manifest["database_bytes"]) as advance:
            database.restore(backup.dump, advance, replaces=True)
        self.stdout.write("Database: restored.")
        call_command("migrate", verbosity=0)
        epoch = begin_by_hand()
        self.stdout.write(f"Everything cached before is ignored from now on (epoch {epoch:x}).")
        self.stdout.write(f"The site is as it was at {backup.made_at}. Start it.")


def _running() -> set[str]:
    """The kinds of processes of the site that run. Without Redis nobody knows: it may have been lost, too."""
    try:
        return ROLES & {process.role for process in topology_listener.processes()}
    except RedisError:
        return set()


def _about_keys(backup: Backup, names: list[str]) -> str:
    losses = "; ".join(f"with another {name} {WHAT_ENDS[name]}" for name in names)
    where = (
        f"They are in {backup.folder / KEYS}: give them to the site, by the environment as {names[0]}_FILE=..., or for"
        " ./run by copying them into its data directory."
        if backup.manifest["has_keys"]
        else "The backup was made without them: give the site those that were kept elsewhere."
    )
    return (
        f"The site has other keys than the backup: {', '.join(names)}. {where}"
        f" Or restore with --other-keys: {losses}."
    )
