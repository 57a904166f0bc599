"""`manage retention`: prints how long this site keeps data, as the table in docs/retention.md."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand

from feedsite.management.retention import lines

HEAD = """# How long data is kept

Each table of the database belongs to one line of this list. Periodic tasks delete expired rows, at most a few thousand
per statement. A run takes a few seconds, and the next one continues where it ended. `./run manage retention` prints
the list with the settings of your site; this page shows the defaults. For `LEDGER_DAYS` and `NOTIFICATION_DAYS`,
0 means for ever.

`./run manage retention > docs/retention.md` writes this page; a test fails when it is out of date.
"""
FOOT = """
If you set `LEDGER_DAYS`, the auditor and explanations cover only the deliveries of newer posts; missing deliveries of
older posts are not errors. Unfinished and dead deliveries are kept, and so are all later ones. If you set
`NOTIFICATION_DAYS`, people lose their older notifications; mention this in your rules. Deleted data remains in backups
until `manage backup --keep` deletes the backups ([backup.md](backup.md)).

Each container keeps 250 MB of logs (`docker-compose.yml`). If you set `LOG_FILE`, you have to rotate this file, for
example with logrotate without `copytruncate`: after a rename, the site starts a new file. `./run` rotates each log at
10 MB and keeps one older file. Log lines of requests (`ACCESS_LOG`) contain no addresses and no query strings, but
their paths contain handles and post ids.
"""
EXAMPLES = """
examples:
  ./run manage retention                          print the table
  LEDGER_DAYS=400 ./run manage retention          the table as it would be with this setting
  ./run manage retention > docs/retention.md      write the page of the documentation
"""


class Command(BaseCommand):
    help = "Print how long data is kept, and by which settings, as Markdown."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES

    def handle(self, *_args: Any, **_options: Any) -> None:
        self.stdout.write("\n".join([HEAD, *lines(), FOOT.rstrip()]))
