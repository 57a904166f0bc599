"""Queries that read accounts. Unless a docstring says otherwise, suspended accounts are treated as missing."""

from collections.abc import Collection
from dataclasses import dataclass

from django.utils.translation import gettext as _

from apps.accounts.cache import CARDS, USER_COUNTS, active_users_of, cached_viewer, load_cards
from apps.accounts.models import AccessToken, User, UserCounts
from apps.addresses import without_own_host
from apps.errors import NotFound
from apps.sql import Columns, Row, rows_of
from feedcache.ids import MAX_AUTHOR_ID
from feedcache.read_through import Batch
from feedcache.structures.counters.service import queue_in_batch

_USER, _COUNTS = Columns(User), Columns(UserCounts)
# For hand-written SQL: the columns of an account and its counts, which `account_of` reads.
ACCOUNT = f"{_USER.of('u')}, {_COUNTS.of('c')}"
# An inner join: on a distributed site, an outer join would send all counts to the coordinator, unless the query reads
# one account by its id.
WITH_COUNTS = "JOIN accounts_usercounts c ON c.user_id = u.id"
IS_ACTIVE = "u.is_active AND u.suspended_at IS NULL"

# `user_by_handle` and `personal_token` read the account's id first, and then the account with its counts by this id: on
# a distributed site, this queries one server instead of all.
_BY_HANDLE = """
SELECT id FROM accounts_user WHERE handle = %(handle)s AND suspended_at IS NULL
"""
_ACTIVE = f"""
SELECT {ACCOUNT} FROM accounts_user u LEFT JOIN accounts_usercounts c ON c.user_id = u.id
WHERE u.id = %(id)s AND {IS_ACTIVE}
"""  # noqa: S608 -- constants
_PERSONAL = """
SELECT id, name, scopes, user_id FROM accounts_accesstoken WHERE digest = %(digest)s AND revoked_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class AccountCounts:
    followers: int = 0
    following: int = 0
    posts: int = 0


def user_counts(user_ids: Collection[int]) -> dict[int, AccountCounts]:
    """The counts of up to 1,000 accounts from Redis, for pages that do not read the rows of these accounts.

    Pages that do read the rows join the counts, which costs less than another round trip. Suspended accounts are
    included.
    """
    return {
        user_id: AccountCounts(*values)
        for user_id, values in USER_COUNTS.get_many(user_ids).items()
    }


def users_by_id(user_ids: Collection[int]) -> dict[int, User]:
    """Accounts that are not suspended, with their counts, in one query."""
    possible = {user_id for user_id in user_ids if 0 < user_id <= MAX_AUTHOR_ID}
    if not possible:
        return {}
    # filtered by `counts`, not by `pk`, so that a distributed site queries only the servers with these counts
    users = User.objects.filter(counts__in=possible, suspended_at=None)
    return {user.pk: user for user in users.select_related("counts")}


def user_by_handle(handle: str) -> User:
    """The account with this handle. Ignores case, and allows a leading @ and this site's host. Raises NotFound."""
    return user_by_id(user_id_by_handle(without_own_host(handle)))


def user_id_by_handle(handle: str) -> int:
    """The id of the account with this handle. Ignores case. Raises NotFound."""
    for (user_id,) in rows_of(_BY_HANDLE, {"handle": handle.lower()}):
        return int(user_id)
    raise NotFound(_("There is no account with this handle."))


def account_of(row: Row) -> User:
    """The account, with its counts, in a row of `ACCOUNT` columns."""
    user = _USER.instance(row[: len(_USER)])
    counts = row[len(_USER) :]
    if counts[0] is not None:
        user.counts = _COUNTS.instance(counts)
    return user


def active_viewer(user_id: int) -> User | None:
    """An account with its counts; None if it is suspended or inactive. Runs no SQL if it is cached."""
    viewer = cached_viewer(user_id)
    if viewer is not None:
        return viewer.user()
    return active_user(user_id)


def active_user(user_id: int) -> User | None:
    """An account with its counts, from PostgreSQL; None if it is suspended or inactive."""
    for row in rows_of(_ACTIVE, {"id": user_id}):
        return account_of(row)
    return None


def cached_users(user_ids: Collection[int]) -> dict[int, User]:
    """Accounts that are not suspended, from the caches. Call it only after a revision check in the same request."""
    batch = Batch()
    cards = batch.get_many(CARDS, user_ids, load_cards)
    counts = queue_in_batch(batch, {USER_COUNTS: user_ids})
    batch.execute()
    return active_users_of(cards(), counts()[0])


def user_by_id(user_id: int) -> User:
    """An account that is not suspended, with its counts. Raises NotFound."""
    user = users_by_id([user_id]).get(user_id)
    if user is None:
        raise NotFound(_("There is no such account."))
    return user


def user_ids_by_handle(handles: Collection[str]) -> dict[str, int]:
    """The ids of accounts by lower-case handle, in the order of `handles`. Missing accounts are left out."""
    if not handles:
        return {}
    rows = User.objects.filter(handle__in=set(handles), suspended_at=None).values_list(
        "handle", "pk"
    )
    ids = dict(rows)
    return {handle: ids[handle] for handle in handles if handle in ids}


def handles_of(user_ids: Collection[int]) -> dict[int, str]:
    """The handles of accounts by id, including suspended accounts."""
    return dict(User.objects.filter(pk__in=set(user_ids)).values_list("pk", "handle"))


def user_ids_named(handles: Collection[str]) -> list[int]:
    """The ids of the accounts with these lower-case handles. Raises NotFound, which names the first missing handle."""
    ids = user_ids_by_handle(handles)
    for handle in handles:
        if handle not in ids:
            raise NotFound(_("There is no account @%(handle)s.") % {"handle": handle})
    return list(ids.values())


def tokens_of(user: User) -> list[AccessToken]:
    """A user's valid tokens, newest first."""
    return list(AccessToken.objects.filter(user=user, revoked_at=None).order_by("-pk"))


@dataclass(frozen=True, slots=True)
class PersonalToken:
    id: int
    name: str
    scopes: str
    user: User


def personal_token(digest: str) -> PersonalToken | None:
    """A valid token with its account and counts; None if it is unknown or revoked, or the account is not active."""
    for id_, name, scopes, user_id in rows_of(_PERSONAL, {"digest": digest}):
        user = active_user(user_id)
        return PersonalToken(id_, name, scopes, user) if user else None
    return None
