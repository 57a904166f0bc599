"""`manage token`: make a bearer token for an account."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.actions import issue_token
from apps.accounts.queries import user_by_handle
from apps.errors import DomainError, Invalid
from apps.scopes import ALL, NAMES, grantable

EXAMPLES = """
examples:
  curl -H "Authorization: Bearer $(./run manage token alice | awk '{print $NF}')" \\
       http://127.0.0.1:8000/api/v1/timelines/home
  ./run manage token moderator --scopes "admin:read admin:write:reports"   # only for staff
"""


class Command(BaseCommand):
    help = "Create a bearer token for an account, and print it at the end of the output. It is not shown again."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("handle", help="the handle of the account")
        parser.add_argument("--name", default="command line", help="name on the settings page")
        parser.add_argument("--scopes", default=ALL, help=f"what it may do (default: {ALL})")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = user_by_handle(options["handle"])
        except DomainError as error:
            raise CommandError(error.message) from None
        try:
            token = issue_token(user, name=options["name"], scopes=options["scopes"])
        except Invalid:
            scopes = " ".join(grantable(sorted(NAMES), user))
            raise CommandError(f"The scopes for @{user.handle} are: {scopes}") from None
        self.stdout.write(f"Token for @{user.handle}: {token}")
