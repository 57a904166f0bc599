"""`manage retention`: what this site keeps how long, as the table of docs/retention.md."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand

from feedsite.management.retention import lines

HEAD = """# What is kept how long

Every table of the database is in one line. What has an end is deleted by a periodic task, in statements of some
thousand rows at most, for some seconds a run; what is left then goes with the next one. `./run manage retention` prints
the table with the settings of your site; this page has the defaults. 0 days: for ever.

`./run manage retention > docs/retention.md` writes this page; a test fails when it is out of date.
"""
FOOT = """
With `LEDGER_DAYS` the auditor checks, and explanations tell, the deliveries of younger posts only; that older ones
are gone is no mistake. A delivery that is unfinished or dead stays, and so do all that came after it. With
`NOTIFICATION_DAYS` people lose the older end of their list; say so in your rules. Backups have an end of their own,
`manage backup --keep` ([backup.md](backup.md)): what was deleted is in them until then.

Logs: containers keep 250 MB each (`docker-compose.yml`). A file that `LOG_FILE` names is yours to rotate: when it was
renamed it is begun anew (logrotate without `copytruncate`). `./run` moves what a log above 10 MB holds into its one
older file. The lines of requests (`ACCESS_LOG`) have no addresses and no queries, but paths, which name accounts and
posts.
"""
EXAMPLES = """
examples:
  ./run manage retention                          print the table
  LEDGER_DAYS=400 ./run manage retention          as it would be
  ./run manage retention > docs/retention.md      write the page of the documentation
"""


class Command(BaseCommand):
    help = "Print what is kept how long, and by which setting, as Markdown."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES

    def handle(self, *_args: Any, **_options: Any) -> None:
        self.stdout.write("\n".join([HEAD, *lines(), FOOT.rstrip()]))
