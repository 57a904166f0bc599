"""Finds the user behind a bearer token, and the applications that a user has connected."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Max, Min
from django.utils import timezone
from oauth2_provider.models import AccessToken

from apps.accounts.cache import cached_viewer, cached_viewers
from apps.accounts.models import User
from apps.accounts.queries import active_user, personal_token
from apps.oauth.models import Application
from apps.scopes import covered_by
from apps.sql import Columns, rows_of
from feedcache.read_through import Batch

# Lets the site and secret scanners tell applications' tokens from personal ones.
APP_TOKEN_PREFIX = "rillapp_"  # noqa: S105 -- a public prefix
MAX_CONNECTIONS = 100
MAX_CHECKED = 10_000  # tokens that a process remembers

_APPLICATION = Columns(Application)
_ISSUED = f"""
SELECT t.id, t.scope, t.user_id, t.expires, {_APPLICATION.of("a")}
FROM oauth2_provider_accesstoken t
JOIN oauth_application a ON a.id = t.application_id
WHERE t.token_checksum = %(checksum)s AND t.expires > %(now)s
"""  # noqa: S608 -- constants


@dataclass(frozen=True, slots=True)
class Bearer:
    """The user or application behind a bearer token. Without a user, the application acts for itself."""

    key: str  # identifies the token in rate limits and logs; not secret
    name: str  # of the application or, for a personal token, the name that its owner has chosen
    user: User | None
    application: Application | None
    scopes: frozenset[str]  # including those that broader scopes cover

    def may(self, needed: tuple[str, ...]) -> bool:
        """Whether the token has one of these scopes; True if none is needed."""
        return not needed or not self.scopes.isdisjoint(needed)


@dataclass(frozen=True, slots=True)
class Connection:
    """An application's access to a user's account, through all its tokens together."""

    application: Application
    scopes: str
    since: datetime


def connections_of(user_id: int) -> list[Connection]:
    """The newest 100 applications with valid tokens of a user, ordered by their newest token."""
    tokens = AccessToken.objects.filter(user_id=user_id, expires__gt=timezone.now())
    found = (
        tokens.exclude(application=None)
        .values("application")
        .annotate(newest=Max("pk"), since=Min("created"), scopes=ArrayAgg("scope", distinct=True))
        .order_by("-newest")[:MAX_CONNECTIONS]
    )
    applications = Application.objects.in_bulk([row["application"] for row in found])
    return [
        Connection(
            application=applications[row["application"]],
            scopes=" ".join(sorted({name for scope in row["scopes"] for name in scope.split()})),
            since=row["since"],
        )
        for row in found
        # an application may have been deleted between the two queries
        if row["application"] in applications
    ]


@dataclass(frozen=True, slots=True)
class Remembered:
    """A token that this process has read, valid until the `epoch` of its user's cached `Viewer` changes."""

    epoch: str
    user_id: int
    bearer: Bearer  # without its user, who is read for each request
    expires: datetime | None


_checked: dict[str, Remembered] = {}  # by digest


def remembered_token(token: str) -> Remembered | None:
    """What this process remembers of a token; None if it has not read the token.

    Only `bearer_of` checks whether the token is still valid.
    """
    return _checked.get(_digest(token))


def bearer_of(token: str, batch: Batch | None = None) -> Bearer | None:
    """The bearer of a token; None if it is unknown or expired, or its account is not active.

    Takes no query if this process remembers the token and the same `Viewer` is still cached for its user; otherwise up
    to three (docs/decisions/0116). If the process remembers the token, the commands in `batch` are executed in the same
    round trip.
    """
    digest = _digest(token)
    known = _checked.get(digest)
    viewer = cached_viewer(known.user_id, batch) if known else None
    if known and viewer and viewer.epoch == known.epoch:
        if known.expires is not None and known.expires <= timezone.now():
            # otherwise its requests would still count against the account
            _checked.pop(digest, None)
            return None
        user = viewer.user()
        return replace(known.bearer, user=user) if user else None
    bearer, expires = (
        _personal(digest) if not token.startswith(APP_TOKEN_PREFIX) else _issued(digest)
    )
    if bearer is None:
        _checked.pop(digest, None)
    elif bearer.user is not None:
        if len(_checked) >= MAX_CHECKED:
            _checked.clear()
        # the epoch from before the token was read, so that a change in between makes the entry invalid; "" matches no
        # epoch, so the entry is not valid yet: the next call reads the viewer first
        epoch = viewer.epoch if viewer else ""
        _checked[digest] = Remembered(epoch, bearer.user.pk, replace(bearer, user=None), expires)
    return bearer


def valid_tokens(tokens: Collection[str]) -> set[str]:
    """The tokens for which `bearer_of` finds a user. Those that this process remembers are checked in batches."""
    remembered = {token: known for token in tokens if (known := _checked.get(_digest(token)))}
    viewers = cached_viewers({known.user_id for known in remembered.values()})
    valid = {
        token
        for token, known in remembered.items()
        if (viewer := viewers.get(known.user_id))
        and viewer.epoch == known.epoch
        and (known.expires is None or known.expires > timezone.now())
        and viewer.user()
    }
    others = set(tokens) - valid
    return valid | {token for token in others if (one := bearer_of(token)) and one.user}


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def _personal(digest: str) -> tuple[Bearer | None, None]:
    row = personal_token(digest)
    if row is None:
        return None, None
    return Bearer(f"p{row.id}", row.name, row.user, None, covered_by(row.scopes.split())), None


def _issued(checksum: str) -> tuple[Bearer | None, datetime | None]:
    tokens = rows_of(_ISSUED, {"checksum": checksum, "now": timezone.now()})
    for id_, scope, user_id, expires, *rest in tokens:
        user = active_user(user_id) if user_id is not None else None
        if user_id is not None and user is None:  # the account is suspended or inactive
            continue
        application = _APPLICATION.instance(rest)
        scopes = covered_by(scope.split())
        return Bearer(f"a{id_}", application.name, user, application, scopes), expires
    return None, None
