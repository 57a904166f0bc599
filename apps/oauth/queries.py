"""Who is behind a bearer token, and the applications a user has connected."""

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.utils import timezone
from oauth2_provider.models import AccessToken

from apps.accounts.models import User
from apps.accounts.queries import ACCOUNT, IS_ACTIVE, WITH_COUNTS, account_of, personal_token
from apps.oauth.models import Application
from apps.scopes import covered_by
from apps.sql import Columns, rows_of

APP_TOKEN_PREFIX = "rillapp_"  # noqa: S105 -- a public prefix: it tells tokens of applications from personal ones, for secret scanners too
MAX_CONNECTIONS = 100

_APPLICATION = Columns(Application)
_ISSUED = f"""
SELECT t.id, t.scope, t.user_id, {_APPLICATION.of("a")}, {ACCOUNT}
FROM oauth2_provider_accesstoken t
JOIN oauth_application a ON a.id = t.application_id
LEFT JOIN accounts_user u ON u.id = t.user_id {WITH_COUNTS}
WHERE t.token_checksum = %(checksum)s AND t.expires > %(now)s AND (t.user_id IS NULL OR {IS_ACTIVE})
"""  # noqa: S608 -- constants


@dataclass(frozen=True, slots=True)
class Bearer:
    """Who is behind a bearer token. Without a user the application acts for itself."""

    key: str  # identifies the token in rate limits and logs; not secret
    name: str  # of the application, or what its owner calls a personal token
    user: User | None
    application: Application | None
    scopes: frozenset[str]  # with all that they cover

    def may(self, needed: tuple[str, ...]) -> bool:
        """Whether the token has one of these scopes; True when none is needed."""
        return not needed or not self.scopes.isdisjoint(needed)


@dataclass(frozen=True, slots=True)
class Connection:
    """What an application may do for a user, over all its tokens."""

    application: Application
    scopes: str
    since: datetime


def connections_of(user_id: int) -> list[Connection]:
    """The applications that may act for a user, newest first, from their newest 100 tokens."""
    tokens = (
        AccessToken.objects.filter(user_id=user_id, expires__gt=timezone.now())
        .exclude(application=None)
        .select_related("application")
        .order_by("-pk")[:MAX_CONNECTIONS]
    )
    by_application: dict[int, list[Any]] = {}
    for token in tokens:
        by_application.setdefault(token.application_id, []).append(token)
    return [
        Connection(
            application=issued[0].application,
            scopes=" ".join(sorted({name for token in issued for name in token.scope.split()})),
            since=issued[-1].created,
        )
        for issued in by_application.values()
    ]


def bearer_of(token: str) -> Bearer | None:
    """The bearer of a token, in one query; None when it is
    unknown, expired, or of a suspended account.
    """
    if not token.startswith(APP_TOKEN_PREFIX):
        row = personal_token(token)
        if row is None:
            return None
        return Bearer(f"p{row.id}", row.name, row.user, None, covered_by(row.scopes.split()))
    checksum = sha256(token.encode()).hexdigest()
    for id_, scope, user_id, *rest in rows_of(
        _ISSUED, {"checksum": checksum, "now": timezone.now()}
    ):
        application = _APPLICATION.instance(rest[: len(_APPLICATION)])
        user = None if user_id is None else account_of(tuple(rest[len(_APPLICATION) :]))
        return Bearer(f"a{id_}", application.name, user, application, covered_by(scope.split()))
    return None
