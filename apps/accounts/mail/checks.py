"""System checks of the mail settings."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register

from apps.accounts.mail.sending import CONSOLE


@register(Tags.security)
def mail_goes_out(**_given: Any) -> list[CheckMessage]:
    """Production must not log mails: readers of the log could take over any account."""
    if not settings.PRODUCTION or settings.EMAIL_BACKEND != CONSOLE:
        return []
    return [
        Error(
            "EMAIL_URL is consolemail://: links to new passwords would stand in the log.",
            hint="Set EMAIL_URL to a mail server, such as smtp+tls://user:password@mail.example.org:587,"
            " or to dummymail:// for a site without mail. For development set PRODUCTION=0.",
            id="accounts.E001",
        )
    ]
