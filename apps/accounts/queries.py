"""Reads of accounts. Suspended accounts are not found: hidden and absent look the same."""

from collections.abc import Collection
from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.accounts.cache import USER_COUNTS
from apps.accounts.models import AccessToken, User
from apps.prepared import Prepared
from apps.refusals import NotFound


@dataclass(frozen=True, slots=True)
class AccountCounts:
    """The counts of an account."""

    followers: int = 0
    following: int = 0
    posts: int = 0


def user_counts(user_ids: Collection[int]) -> dict[int, AccountCounts]:
    """The counts of up to 1,000 accounts from Redis, for pages that need no row of theirs.

    Who reads the row has the counts beside it: the join costs less than another round trip.
    """
    return {
        user_id: AccountCounts(*values)
        for user_id, values in USER_COUNTS.get_many(user_ids).items()
    }


def users_by_id(user_ids: Collection[int]) -> dict[int, User]:
    """The accounts with these ids that are not suspended, with their counts, in one query."""
    if not user_ids:
        return {}
    users = User.objects.filter(pk__in=set(user_ids), suspended_at=None).select_related("counts")
    return {user.pk: user for user in users}


_OF_HANDLE = Prepared(
    lambda handle: User.objects.filter(handle=handle, suspended_at=None).select_related("counts"),
    "a handle",
)


def user_by_handle(handle: str) -> User:
    """The account of a handle, in any case, with or without the @; NotFound."""
    name = handle.removeprefix("@").lower()
    user = _OF_HANDLE.first(name)
    if user is None:
        raise NotFound(_("There is no account with this handle."))
    return user


def user_by_id(user_id: int) -> User:
    """The account with an id; NotFound."""
    user = users_by_id([user_id]).get(user_id)
    if user is None:
        raise NotFound(_("There is no such account."))
    return user


def user_ids_by_handle(handles: Collection[str]) -> dict[str, int]:
    """The ids of the accounts that exist among these lower-case handles."""
    if not handles:
        return {}
    rows = User.objects.filter(handle__in=set(handles), suspended_at=None).values_list(
        "handle", "pk"
    )
    return dict(rows)


def user_ids_named(handles: Collection[str]) -> list[int]:
    """The ids of the accounts of all these lower-case handles; NotFound names the first that is not there."""
    ids = user_ids_by_handle(handles)
    for handle in handles:
        if handle not in ids:
            raise NotFound(_("There is no account @%(handle)s.") % {"handle": handle})
    return list(ids.values())


def tokens_of(user: User) -> list[AccessToken]:
    """A user's tokens that still work, newest first."""
    return list(AccessToken.objects.filter(user=user, revoked_at=None).order_by("-pk"))


_PERSONAL_TOKEN = Prepared(
    lambda digest: AccessToken.objects.filter(
        digest=digest, revoked_at=None, user__is_active=True, user__suspended_at=None
    ).select_related("user__counts"),
    "a digest",
)


def personal_token(token: str) -> AccessToken | None:
    """The row of a personal token with its active account and the counts; None when it is unknown or revoked."""
    return _PERSONAL_TOKEN.first(AccessToken.digest_of(token))


def user_of_token(token: str) -> User | None:
    """The active account a personal token stands for; None when it is unknown or revoked."""
    row = personal_token(token)
    return row.user if row else None
