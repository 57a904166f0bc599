"""`manage migrate`: Django's own, on a connection fit for it."""

import time
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands.migrate import Command as Migrate
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections
from psycopg.errors import LockNotAvailable

from feedsite import migrating


class Command(Migrate):
    """Past the pooler, without a statement timeout, retrying when a table is locked."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate; wait and retry when a lock times out."""
        connection = connections[options["database"]]
        if connection.in_atomic_block:
            super().handle(*args, **options)  # in the caller's transaction
            return
        self._refuse_pooler(options["database"])
        with migrating.connected_for_migrations(connection), migrating.exclusive_lock(connection):
            with connection.execute_wrapper(migrating.concurrent_indexes(connection, self.report)):
                self._migrate_with_retries(*args, **options)
            if settings.DATABASE_POOLER:
                migrating.set_timeouts_of_role(connection)

    def _migrate_with_retries(self, *args: Any, **options: Any) -> None:
        for attempt in range(1, settings.MIGRATIONS_LOCK_ATTEMPTS + 1):
            try:
                super().handle(*args, **options)
            except OperationalError as error:
                is_last = attempt == settings.MIGRATIONS_LOCK_ATTEMPTS
                if is_last or not isinstance(error.__cause__, LockNotAvailable):
                    raise
                self.report(f"A table was busy (attempt {attempt}); once more in a moment")
                time.sleep(migrating.PAUSE_SECONDS)
            else:
                return

    def _refuse_pooler(self, alias: str) -> None:
        if (
            alias == DEFAULT_DB_ALIAS
            and settings.DATABASE_POOLER
            and not settings.MIGRATIONS_DATABASE_URL
        ):
            raise CommandError(
                "DATABASE_URL leads to a pooler (DATABASE_POOLER): set MIGRATIONS_DATABASE_URL to PostgreSQL itself."
            )

    def report(self, line: str) -> None:
        """Print a line of our own, apart from Django's output."""
        self.stderr.write(line)
