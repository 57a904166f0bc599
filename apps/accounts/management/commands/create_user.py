"""`manage create_user`: create an account from the command line."""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.actions import register
from apps.errors import DomainError

EXAMPLES = """
examples:
  ./run manage create_user mei --password 'a long passphrase'
  ./run manage create_user olga --password 'a long passphrase' --staff
"""


class Command(BaseCommand):
    help = (
        "Create an account. Unlike the sign-up page, it accepts any password and reserved handles."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("handle", help="the handle, without @")
        parser.add_argument("--password", required=True, help="any password is accepted")
        parser.add_argument("--email", help="the e-mail address")
        parser.add_argument("--display-name", default="", help="the name on pages")
        parser.add_argument(
            "--staff", action="store_true", help="can use the admin, with all rights"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = register(
                handle=options["handle"],
                email=options["email"],
                password=options["password"],
                display_name=options["display_name"],
                by_operator=True,
            )
        except DomainError as error:
            raise CommandError(error.message) from None
        if options["staff"]:
            user.is_staff = user.is_superuser = True
            user.save(update_fields=["is_staff", "is_superuser"])
        self.stdout.write(f"Made @{user.handle}.")
