"""`manage retention`: how long this site keeps data, as the table of docs/retention.md."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand

from feedsite.management.retention import lines

HEAD = """# How long data is kept

Every table of the database is in one line. Expired rows are deleted by a periodic task, at most a few thousand per
statement, for a few seconds per run; the next run continues. `./run manage retention` prints the table with the
settings of your site; this page has the defaults. 0 days: for ever.

`./run manage retention > docs/retention.md` writes this page; a test fails when it is out of date.
"""
FOOT = """
With `LEDGER_DAYS` the auditor checks, and explanations cover, only the deliveries of posts younger than that; missing
older ones are not errors. Unfinished and dead deliveries stay, and so do all later ones. With `NOTIFICATION_DAYS`
people lose the older end of their list; say so in your rules. Backups expire separately, by `manage backup --keep`
([backup.md](backup.md)): until then they contain deleted data.

Logs: containers keep 250 MB each (`docker-compose.yml`). You rotate the file that `LOG_FILE` names; after it has been
renamed, the site begins a new one (logrotate without `copytruncate`). `./run` moves a log above 10 MB to its one older
file. The lines of requests (`ACCESS_LOG`) have no addresses and no queries, but paths, which contain handles and post
ids.
"""
EXAMPLES = """
examples:
  ./run manage retention                          print the table
  LEDGER_DAYS=400 ./run manage retention          as it would be
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
