"""E-mails to accounts. Each is a row that a task sends, so requests neither wait for the e-mail nor reveal its outcome.

Links are made when an e-mail is sent, so that the broker, the row and the log contain no token.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core import signing
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured
from django.core.mail import send_mail
from django.db import transaction
from django.db.models.functions import Now
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import get_language, override

from apps import sql
from apps.accounts.models import Mail, MailKind, User
from apps.errors import TooMany
from apps.events import leases
from apps.events.actions import enqueue
from apps.events.leases import State
from apps.throttling import SITE, check_rate_limit

logger = logging.getLogger(__name__)

TASK = "apps.accounts.tasks.send_mail"
CONSOLE = "django.core.mail.backends.console.EmailBackend"
CONFIRMATION_SALT = "apps.accounts.confirmation"
SENT_RETENTION = timedelta(days=1)
DEAD_RETENTION = timedelta(days=7)
SWEEP_BATCH_SIZE = 20


def enqueue_mail(kind: MailKind, *, user: User | None = None, address: str = "") -> None:
    """Send an e-mail after the commit, in the request's language unless the recipient has chosen one."""
    row = Mail.objects.create(kind=kind, user=user, address=address, language=get_language() or "")
    transaction.on_commit(partial(enqueue, TASK, row.pk))


def run_due(*, limit: int, only: list[int] | None = None) -> int:
    """Send due e-mails, unless enough workers are sending already; returns the number of claimed rows."""
    at_once = settings.EMAIL_CONCURRENCY
    return leases.run_few(Mail, _send, at_once=at_once, limit=limit, only=only)


def due() -> list[int]:
    return leases.due_ids(Mail, limit=SWEEP_BATCH_SIZE)


def purge() -> None:
    """Delete e-mails, because they contain addresses: sent ones after a day, failed ones after a week."""
    for state, retention in ((State.DONE, SENT_RETENTION), (State.DEAD, DEAD_RETENTION)):
        old = Mail.objects.filter(state=state, finished_at__lt=Now() - retention)
        sql.purge(old.order_by("pk"))


def confirmation_token(user: User) -> str:
    """A token for a pending address, valid for two days or until the address is confirmed, removed or set again."""
    claims = [user.pk, user.pending_email, str(user.pending_email_at)]
    return signing.dumps(claims, salt=CONFIRMATION_SALT)


@dataclass(frozen=True, slots=True)
class _Message:
    """An e-mail to send: the name of its templates, its recipient, and the context of the templates."""

    template: str
    address: str
    user: User
    link: str = ""
    asker: User | None = None  # the other user who entered the recipient's address


def _send(row: Mail) -> None:
    message = _MESSAGES[MailKind(row.kind)](row)
    if message is not None:
        language = message.user.interface_language or row.language or settings.LANGUAGE_CODE
        with override(language):
            _deliver(message)


def _deliver(message: _Message) -> None:
    if settings.PRODUCTION and settings.EMAIL_BACKEND == CONSOLE:
        raise ImproperlyConfigured("EMAIL_URL is consolemail://: links would be written to the log")
    context = {
        "message": message,
        "site_url": settings.SITE_URL,
        "site_name": settings.SITE_NAME,
    }
    subject = render_to_string(f"accounts/email/{message.template}_subject.txt", context)
    body = render_to_string(f"accounts/email/{message.template}.txt", context)
    send_mail(" ".join(subject.split()), body, None, [message.address])


def _password_reset(row: Mail) -> _Message | None:
    user = User.objects.filter(email=row.address, is_active=True, suspended_at=None).first()
    if user is None or user.email is None:
        _count_unknown()
        return None
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    token = default_token_generator.make_token(user)
    link = reverse("password_reset_confirm", kwargs={"uidb64": uid, "token": token})
    return _Message("password_reset", user.email, user, settings.SITE_URL + link)


def _confirm_email(row: Mail) -> _Message | None:
    user = row.user
    if user is None or not user.pending_email:  # confirmed or removed in the meantime
        return None
    owner = User.objects.filter(email=user.pending_email).exclude(pk=user.pk).first()
    if owner is not None:
        link = settings.SITE_URL + reverse("password_reset")
        return _Message("email_taken", user.pending_email, owner, link, asker=user)
    link = reverse("email_confirm", kwargs={"token": confirmation_token(user)})
    return _Message("confirm_email", user.pending_email, user, settings.SITE_URL + link)


def _notice(row: Mail) -> _Message | None:
    """An e-mail without a link. Its templates are named after its kind."""
    return _Message(row.kind, row.address, row.user) if row.user else None


def _count_unknown() -> None:
    try:
        check_rate_limit("password_reset_site", SITE)
    except TooMany:
        logger.warning("many new passwords are requested for addresses without an account")


_MESSAGES: dict[MailKind, Callable[[Mail], _Message | None]] = {
    MailKind.PASSWORD_RESET: _password_reset,
    MailKind.CONFIRM_EMAIL: _confirm_email,
    MailKind.EMAIL_CHANGED: _notice,
    MailKind.EMAIL_BY_STAFF: _notice,
    MailKind.SECOND_FACTOR_RESET: _notice,
}


@register(Tags.security)
def mail_goes_out(**_given: Any) -> list[CheckMessage]:
    """Refuse to log e-mails in production: readers of the log could take over any account."""
    if not settings.PRODUCTION or settings.EMAIL_BACKEND != CONSOLE:
        return []
    return [
        Error(
            "EMAIL_URL is consolemail://: links that set new passwords would be written to the log.",
            hint="Set EMAIL_URL to a mail server, such as smtp+tls://user:password@mail.example.org:587,"
            " or to dummymail:// for a site without mail. For development set PRODUCTION=0.",
            id="accounts.E001",
        )
    ]
