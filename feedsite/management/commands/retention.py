"""`manage retention`: how long this site keeps data, as the table of docs/retention.md."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand

from feedsite.management.retention import lines

HEAD = """# How long data is kept

Each table of the database belongs to one line of this list. Expired rows are deleted by a periodic task, at most a few
thousand per statement, for a few seconds per run; the next run continues. `./run manage retention` prints the list with
the settings of your site; this page has the defaults. A setting of 0 days means for ever.

`./run manage retention > docs/retention.md` writes this page; a test fails when it is out of date.
"""
FOOT = """
If you set `LEDGER_DAYS`, the auditor checks, and explanations cover, only the deliveries of younger posts; missing
deliveries of older posts are not errors. Unfinished and dead deliveries are kept, and so are all later ones. If you set
`NOTIFICATION_DAYS`, people lose their older notifications; say so in your rules. Backups are deleted separately, by
`manage backup --keep` ([backup.md](backup.md)): until then they contain deleted data.

Logs: each container keeps 250 MB (`docker-compose.yml`). You have to rotate the file that `LOG_FILE` names; when it has
been renamed, the site starts a new one (logrotate without `copytruncate`). `./run` keeps one older file of each log,
and rotates at 10 MB. Log lines of requests (`ACCESS_LOG`) contain no addresses and no queries, but paths, which have
handles and post ids.
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
