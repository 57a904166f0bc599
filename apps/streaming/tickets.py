"""Tickets authenticate the streams of the site's pages, because the streaming server ignores cookies and
scripts cannot set the headers of an EventSource.

A ticket identifies a login. It is valid only for streams, until the login ends, but at most for an hour.
"""

from datetime import timedelta

from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.sessions.models import Session
from django.core import signing
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from apps.accounts.models import Login, User
from apps.oauth.queries import Bearer
from apps.scopes import covered_by

PREFIX = "ticket_"
SALT = "apps.streaming.tickets"
LIFETIME = timedelta(hours=1)  # afterwards the page requests another one


def ticket_for(user: User, session_key: str | None) -> str | None:
    """A ticket for the user's login with this session; None if the session is not a recorded login."""
    login = Login.objects.filter(user=user, session_key=session_key).first()
    return f"{PREFIX}{signing.dumps(login.pk, salt=SALT)}" if login else None


def bearer_of_ticket(ticket: str) -> Bearer | None:
    """The bearer of a ticket, in two queries.

    None if the ticket is invalid, its login has ended, or the account is inactive or suspended.
    """
    try:
        login_id = signing.loads(ticket.removeprefix(PREFIX), salt=SALT, max_age=LIFETIME)
    except signing.BadSignature:
        return None
    logins = Login.objects.filter(pk=login_id, user__is_active=True, user__suspended_at=None)
    login = logins.select_related("user__counts").first()
    if login is None or not _is_alive(login):
        return None
    return Bearer(f"l{login.pk}", "", login.user, None, covered_by(["read"]))


def _is_alive(login: Login) -> bool:
    """Whether the login's session still exists, and the password has not been changed since the login."""
    sessions = Session.objects.filter(session_key=login.session_key, expire_date__gt=timezone.now())
    session = sessions.first()
    data = session.get_decoded() if session else {}
    return constant_time_compare(data.get(HASH_SESSION_KEY, ""), login.user.get_session_auth_hash())
