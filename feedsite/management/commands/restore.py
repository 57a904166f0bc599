"""`manage restore`: replaces the contents of the site with a backup."""

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
Stop the site first. The files are restored before the database, and the database in one transaction: if the command is
interrupted, the site still has its old database, and you can run the same command again. Afterwards a backup of an
older version is migrated, and everything cached is ignored: a new epoch begins, as with `manage cache restored`.

This command does not restore the keys, because the site reads them from its environment. It prints how to set them.

examples:
  ./run manage restore /backups/nightly/2026-11-27T031700Z --check      change nothing: restore into a scratch database,
                                                                        run the auditor, and drop the database
  ./run manage restore /backups/nightly/2026-11-27T031700Z              into an empty site
  ./run manage restore /backups/nightly/2026-11-27T031700Z --replace    replace the existing accounts
with Docker:
  docker compose stop web streaming worker worker-bulk worker-media beat
  docker compose run --rm backup python manage.py restore /backups/nightly/2026-11-27T031700Z --replace
  docker compose up -d
"""


class Command(BaseCommand):
    help = "Replace the contents of the site with a backup, or only check the backup."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("folder", metavar="DIR", type=Path, help="the folder of a backup")
        parser.add_argument(
            "--check",
            action="store_true",
            help="only restore into a scratch database, and run the auditor",
        )
        parser.add_argument("--replace", action="store_true", help="replace the existing accounts")
        parser.add_argument(
            "--other-keys",
            action="store_true",
            help="restore even if the site's keys are different",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Restore or check a backup. Raises CommandError if it fails; if it is refused, nothing was changed."""
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
            raise CommandError("The backup can be restored, but it contains errors.")
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
                    "The backup contains files, but this site uses a bucket: restore without it, then copy them to it."
                )
            with progress_bar(tree, tally["bytes"]) as advance:
                number = put_back(backup, tree, root, advance)
            there = tally["number"] - number
            self.stdout.write(f"{tree}: {number:,} files restored, {there:,} already existed.")
        with progress_bar("Database", backup.manifest["database_bytes"]) as advance:
            database.restore(backup.dump, advance, replaces=True)
        self.stdout.write("Database: restored.")
        call_command("migrate", verbosity=0)
        epoch = begin_by_hand()
        self.stdout.write(f"Everything cached before is ignored from now on (epoch {epoch:x}).")
        self.stdout.write(f"The site is as it was at {backup.made_at}. Start it.")


def _running() -> set[str]:
    """The kinds of the site's processes that are running. Empty without Redis, which may have been lost, too."""
    try:
        return ROLES & {process.role for process in topology_listener.processes()}
    except RedisError:
        return set()


def _about_keys(backup: Backup, names: list[str]) -> str:
    losses = "; ".join(f"with another {name} {WHAT_ENDS[name]}" for name in names)
    where = (
        f"They are in {backup.folder / KEYS}: set {names[0]}_FILE=... in the environment, or for ./run copy them"
        " into its data directory."
        if backup.manifest["has_keys"]
        else "The backup does not contain them: use the keys that you kept elsewhere."
    )
    return (
        f"The site has other keys than the backup: {', '.join(names)}. {where}"
        f" Or restore with --other-keys: {losses}."
    )
