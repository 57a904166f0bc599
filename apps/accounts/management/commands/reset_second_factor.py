"""`manage reset_second_factor`: remove the second factor of users who are locked out, staff in particular."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts.email.rescue import reset_second_factor
from apps.accounts.queries import user_by_handle
from apps.errors import DomainError


class Command(BaseCommand):
    help = "Remove an account's authenticator app, passkeys and recovery codes, so that its password suffices."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("handle", help="the handle of the account")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = user_by_handle(options["handle"])
            reset_second_factor(user, by=None)
        except DomainError as error:
            raise CommandError(error.message) from None
        self.stdout.write(f"The second factor of @{user.handle} is reset.")
