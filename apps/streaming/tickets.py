"""Tickets authenticate the streams of the site's pages, because the streaming server ignores cookies and
scripts cannot set the headers of an EventSource.

A ticket identifies a login. It is valid only for streams, until the login ends, but at most for an hour.
"""

from collections.abc import Collection, Mapping
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
    login = _logins_of([ticket]).get(ticket)
    return Bearer(f"l{login.pk}", "", login.user, None, covered_by(["read"])) if login else None


def valid_tickets(tickets: Collection[str]) -> set[str]:
    """The tickets for which `bearer_of_ticket` finds a bearer, in two queries for all of them."""
    return set(_logins_of(tickets))


def _logins_of(tickets: Collection[str]) -> dict[str, Login]:
    """The logins of the valid tickets."""
    ids = {ticket: login_id for ticket in tickets if (login_id := _login_id(ticket)) is not None}
    active = Login.objects.filter(user__is_active=True, user__suspended_at=None)
    logins = active.select_related("user__counts").in_bulk(set(ids.values()))
    keys = [login.session_key for login in logins.values()]
    sessions = Session.objects.filter(expire_date__gt=timezone.now()).in_bulk(keys)
    return {
        ticket: logins[login_id]
        for ticket, login_id in ids.items()
        if login_id in logins and _is_alive(logins[login_id], sessions)
    }


def _login_id(ticket: str) -> int | None:
    try:
        login_id: int = signing.loads(ticket.removeprefix(PREFIX), salt=SALT, max_age=LIFETIME)
    except signing.BadSignature:
        return None
    return login_id


def _is_alive(login: Login, sessions: Mapping[str, Session]) -> bool:
    """Whether the login's session is among `sessions`, and the password has not been changed since the login."""
    session = sessions.get(login.session_key)
    data = session.get_decoded() if session else {}
    return constant_time_compare(data.get(HASH_SESSION_KEY, ""), login.user.get_session_auth_hash())
