"""Caches of this app: the counts of accounts, the cards (profiles as pages show them), and the viewers of requests."""

import logging
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

import orjson
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, models, transaction

from apps.accounts.counts_store import CountsTable, TableCounts
from apps.accounts.models import User, UserCounts
from apps.events.actions import record
from apps.events.live import announce
from apps.sql import Columns, rows_of
from feedcache.local_cache import CachedDecoder
from feedcache.read_through import Batch, ReadThrough
from feedcache.read_through.envelope import pack, unpack
from feedcache.structures.counters.buckets import IdBuckets
from feedcache.structures.counters.records import Field, Schema
from feedcache.structures.counters.store import CounterStore

logger = logging.getLogger(__name__)

# The maximum size of an entry's uncompressed JSON. A bio takes up to 2 KB of it, picture descriptions 4 KB, and lines
# (names and values) 8 KB.
MAX_BYTES = 16 * 1024
BATCH_SIZE = 1000
MAX_ACCOUNTS = 2  # `User` objects cached with a card, one for each set of counts
# The size of a generation of a `CachedDecoder`, which has two. A card takes about 8 KB with everything derived from it;
# a viewer takes about 7 KB, and each change of one of its counts makes a new one.
MAX_DECODED, MAX_DECODED_VIEWERS = 1024, 256

# Add new fields at the end, because records store counts by position.
_FIELDS = (Field("followers"), Field("following"), Field("posts"))

USER_COUNTS_TABLE = CountsTable(
    UserCounts,
    tuple(field.name for field in _FIELDS),
    rebuild="apps.accounts.tasks.maintain_counts",
)
USER_COUNTS = TableCounts(
    CounterStore(Schema("users", _FIELDS, rules=2), IdBuckets(settings.COUNTERS_USERS_PER_BUCKET)),
    USER_COUNTS_TABLE,
)


# A card has no revision. After the commit of every change, before the response, `forget_cards` leaves a tombstone, so
# that processes that have read the old row can no longer store it. If the process dies in between, the handler of the
# event `account_changed` does this within seconds. The counts are read from the counters, together with the card.
@dataclass(frozen=True, slots=True)
class Card:
    """The parts of an account that pages show, except its counts. A decoded card is shared by all requests."""

    # in the order of `User`'s columns, as `from_db` expects
    id: int
    handle: str
    display_name: str
    bio: str
    avatar: str
    header: str
    avatar_alt: str
    header_alt: str
    lines: list[list[str]]
    is_bot: bool
    is_discoverable: bool
    is_indexable: bool
    is_locked: bool
    suspended_at: datetime | None
    limited_at: datetime | None
    created_at: datetime
    last_open_post_id: int
    derived: dict[Any, Any] = field(default_factory=dict, compare=False)  # shared by its `accounts`
    # accounts made from this card, by their counts
    accounts: dict[tuple[int, ...], User] = field(default_factory=dict, compare=False)


_CARD_FIELDS = tuple(column.name for column in fields(Card))
_COLUMNS = _CARD_FIELDS[: _CARD_FIELDS.index("last_open_post_id")]
_COUNTS = ("user_id", "followers", "following", "posts", "last_open_post_id")
_columns_of = attrgetter(*_COLUMNS)
_USER = Columns(User, _COLUMNS)
_LOAD_CARDS = f"""
SELECT {_USER.of("u")}, coalesce(c.last_open_post_id, 0)
FROM accounts_user u JOIN accounts_usercounts c ON c.user_id = u.id WHERE c.user_id = ANY(%(ids)s)
"""  # noqa: S608 -- constants


def _encode(card: Card) -> bytes:
    *plain, suspended_at, limited_at, created_at = _columns_of(card)
    timestamps = [at and at.timestamp() for at in (suspended_at, limited_at, created_at)]
    return pack(orjson.dumps([*plain, *timestamps, card.last_open_post_id]))


def _decode(data: bytes) -> Card:
    """Decode a card. Raises ValueError if the bytes are not a card."""
    values = orjson.loads(unpack(data, max_bytes=MAX_BYTES))
    *plain, suspended, limited, created, last_open_post_id = values
    if (
        len(values) != len(_COLUMNS) + 1
        or not isinstance(plain[0], int)
        or not isinstance(plain[1], str)
    ):
        raise ValueError("not a card")
    moments = [
        None if seconds is None else datetime.fromtimestamp(seconds, UTC)
        for seconds in (suspended, limited, created)
    ]
    columns = dict(zip(_COLUMNS, [*plain, *moments], strict=True))
    return Card(**columns, last_open_post_id=last_open_post_id)


def _card_of(user: User, last_open_post_id: int) -> Card:
    values = {name: getattr(user, name) for name in _COLUMNS}
    values |= {"avatar": user.avatar.name or "", "header": user.header.name or ""}
    return Card(**values, last_open_post_id=last_open_post_id)


def _user_of(card: Card, counts: tuple[int, ...]) -> User:
    """An account built from a card and counts; other fields are deferred. Pages share it, so do not change it."""
    user = card.accounts.get(counts)
    if user is not None:
        return user
    user = User.from_db(DEFAULT_DB_ALIAS, _COLUMNS, _columns_of(card))
    columns = [card.id, *counts, card.last_open_post_id]
    user.counts = UserCounts.from_db(DEFAULT_DB_ALIAS, _COUNTS, columns)
    user.derived, user.shown_counts = card.derived, counts
    if len(card.accounts) >= MAX_ACCOUNTS:
        card.accounts.clear()
    card.accounts[counts] = user
    return user


_decode_card = CachedDecoder(_decode, maximum=MAX_DECODED)

# Cards expire after a day. Changes to an account drop its card; new posts drop it only once a day, because only the day
# of `last_open_post_id` is shown.
CARDS: ReadThrough[int, Card] = ReadThrough(
    name="card",
    version=6,
    ttl_seconds=24 * 3600,
    key_of=str,
    encode=_encode,
    decode=_decode_card,
    decode_many=_decode_card.many,
    family="content",
    negative_ttl_seconds=0,  # the ids are taken from posts, follows and suggestions, so the accounts exist
)


def load_cards(user_ids: Collection[int]) -> dict[int, Card]:
    """The cards of accounts, including suspended ones, in one query."""
    rows = rows_of(_LOAD_CARDS, {"ids": list(user_ids)})
    cards = (_card_of(_USER.instance(columns), last_open) for *columns, last_open in rows)
    return {card.id: card for card in cards}


def active_users_of(
    cards: Mapping[int, Card], counts: Mapping[int, tuple[int, ...]]
) -> dict[int, User]:
    """Users built from cards and their counts; suspended ones are left out."""
    return {
        user_id: _user_of(card, counts[user_id])
        for user_id, card in cards.items()
        if card.suspended_at is None
    }


def card_changed(user_id: int) -> None:
    """Call this in the transaction of a change. The card is dropped after the commit, even if this process dies."""
    record("account_changed", user_id=user_id)
    transaction.on_commit(lambda: forget_cards([user_id]), robust=True)


def forget_cards(user_ids: Collection[int]) -> None:
    """Drop the cards of these accounts, so that outdated cards are no longer read."""
    ids = list(user_ids)
    for start in range(0, len(ids), BATCH_SIZE):
        if not CARDS.forget(ids[start : start + BATCH_SIZE]):
            logger.warning(
                "cached cards of %d accounts may be outdated until the event is handled", len(ids)
            )


# The account behind a request, without SQL (docs/decisions/0116). `handlers.forget_viewer` drops it when a `User` or
# `UserCounts` is saved; code that changes their rows by SQL or `update` calls `viewer_changed`. Counts that are not in
# `_VIEWER_COUNTS`, such as followers, change too often to be cached. They are deferred fields.
_VIEWER_FIELDS = tuple(field for field in User._meta.concrete_fields if field.name != "password")
_VIEWER_COLUMNS = tuple(field.attname for field in _VIEWER_FIELDS)
_VIEWER_DATES = tuple(
    index for index, field in enumerate(_VIEWER_FIELDS) if isinstance(field, models.DateTimeField)
)
_VIEWER_COUNTS = (
    "user_id",
    "graph_revision",
    "followed_tags",
    "exclusive_lists",
    "filters",
    "filters_revision",
    "pinned_feeds",
    "holds_notifications",
    "choosy_follows",
    "knows_circles",
)
# bounds the age of an entry if a process dies between a commit and `forget_viewers`
VIEWER_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Viewer:
    """The account behind a request. Each load gets a new `epoch`: tokens and sessions cached before are read again."""

    epoch: str
    session_hash: str
    columns: list[Any]
    counts: list[Any]

    def user(self) -> User | None:
        """The account, without its password and public counts; None if it is suspended or inactive."""
        user = User.from_db(DEFAULT_DB_ALIAS, _VIEWER_COLUMNS, self.columns)
        if not user.is_active or user.suspended_at is not None:
            return None
        user.session_hash, user.epoch = self.session_hash, self.epoch
        user.counts = UserCounts.from_db(DEFAULT_DB_ALIAS, _VIEWER_COUNTS, self.counts)
        return user


def _encode_viewer(viewer: Viewer) -> bytes:
    return pack(orjson.dumps([viewer.epoch, viewer.session_hash, viewer.columns, viewer.counts]))


def _decode_viewer(data: bytes) -> Viewer:
    """Decode a viewer. Raises ValueError if the bytes are not a viewer."""
    epoch, session_hash, columns, counts = orjson.loads(unpack(data, max_bytes=MAX_BYTES))
    if len(columns) != len(_VIEWER_COLUMNS) or len(counts) != len(_VIEWER_COUNTS):
        raise ValueError("not a viewer")
    for index in _VIEWER_DATES:
        columns[index] = columns[index] and datetime.fromisoformat(columns[index])
    return Viewer(epoch, session_hash, columns, counts)


VIEWERS: ReadThrough[int, Viewer] = ReadThrough(
    name="viewer",
    version=1,
    ttl_seconds=VIEWER_SECONDS,
    key_of=str,
    encode=_encode_viewer,
    decode=CachedDecoder(_decode_viewer, maximum=MAX_DECODED_VIEWERS),
    family="content",
    negative_ttl_seconds=0,
    single_flight=False,
    is_personal=True,
)


def _load_viewers(user_ids: Collection[int]) -> dict[int, Viewer]:
    counts = [f"counts__{name}" for name in _VIEWER_COUNTS]
    rows = User.objects.filter(pk__in=user_ids, counts__isnull=False)
    viewers = {}
    for password, *values in rows.values_list("password", *_VIEWER_COLUMNS, *counts):
        columns, of_counts = values[: len(_VIEWER_COLUMNS)], values[len(_VIEWER_COLUMNS) :]
        session_hash = User(password=password).get_session_auth_hash()
        viewer = Viewer(secrets.token_hex(8), session_hash, columns, of_counts)
        viewers[of_counts[0]] = viewer
    return viewers


def cached_viewer(user_id: int, batch: Batch | None = None) -> Viewer | None:
    """The account behind a request, from the cache, or else loaded from PostgreSQL. Executes the batch.

    None if the account does not exist, and while the caches may be outdated.
    """
    return (batch or Batch()).get_checked(VIEWERS, user_id, _load_viewers)


def cached_viewers(user_ids: Collection[int]) -> dict[int, Viewer]:
    """The viewers of any number of accounts; those that are not cached, or may be outdated, are left out."""
    found, ids = dict[int, Viewer](), list(user_ids)
    for start in range(0, len(ids), BATCH_SIZE):
        batch = Batch()
        viewers = batch.get_many(VIEWERS, ids[start : start + BATCH_SIZE], lambda _missing: {})
        batch.execute(check_revisions=True)
        found |= viewers() if batch.is_current else {}
    return found


def forget_viewers(user_ids: Collection[int]) -> None:
    """Call this after a commit, so that these accounts, their sessions and their tokens are read again."""
    ids = list(user_ids)
    for start in range(0, len(ids), BATCH_SIZE):
        if not VIEWERS.forget(ids[start : start + BATCH_SIZE]):
            logger.warning("the caches of %d viewers may be outdated until Redis answers", len(ids))


def viewer_changed(*user_ids: int) -> None:
    """Call this in the transaction that changes accounts or the counts in `_VIEWER_COUNTS`."""
    transaction.on_commit(lambda: forget_viewers(user_ids), robust=True)


def access_changed(user_id: int) -> None:
    """Call this in the transaction that ends tokens or sessions. After the commit, the account is dropped from the
    cache, even if this process dies, and the streams of these tokens and sessions end.
    """
    record("access_ended", user_id=user_id)
    viewer_changed(user_id)
    announce("tokens_ended", user_id=user_id)
