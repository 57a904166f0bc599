"""The cache entries of this app: the counts of accounts, and the cards of authors."""

import logging
from collections.abc import Collection
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

import orjson
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, transaction

from apps.accounts.counts_store import CountsTable, put_after_commit
from apps.accounts.models import User, UserCounts
from apps.events.actions import record
from feedcache.batch import Batch, Future
from feedcache.local_cache import CachedDecoder
from feedcache.memcached.envelope import pack, unpack
from feedcache.read_through import ReadThrough
from feedcache.structures.counters.layout import IdBuckets
from feedcache.structures.counters.schema import Field, Schema
from feedcache.structures.counters.service import CounterService
from feedcache.structures.counters.store import CounterStore

logger = logging.getLogger(__name__)

MAX_BYTES = 16 * 1024  # at most 2 KB of bio and 8 KB of lines
BATCH_SIZE = 1000
MAX_DECODED = 4096  # cards of about 2 KB each, with everything derived from them

_FIELDS = (Field("followers"), Field("following"), Field("posts"))  # new ones at the end

USER_COUNTS_TABLE = CountsTable(
    UserCounts,
    tuple(field.name for field in _FIELDS),
    rebuild="apps.accounts.tasks.maintain_counts",
)
USER_COUNTS = CounterService(
    CounterStore(Schema("users", _FIELDS, rules=2), IdBuckets(settings.COUNTERS_USERS_PER_BUCKET)),
    USER_COUNTS_TABLE,
)


def change_user_counts(user_id: int, deltas: dict[str, int], **values: Any) -> None:
    """Add to counts of an account and set other columns of the row, in the caller's transaction."""
    row = USER_COUNTS_TABLE.change(user_id, deltas, **values)
    if row is not None:
        put_after_commit(USER_COUNTS, [row])


# A card has no version. After the commit of every change, and before it is acknowledged,
# `forget_cards` leaves a tombstone, so that a reader of the old row cannot store it any more. If
# the process dies in between, the event `account_changed` does the same within seconds. The counts
# come from the counters, in the same round trip.
@dataclass(frozen=True, slots=True)
class Card:
    """What pages show of an account, except its counts; shared by readers of equal bytes."""

    # in the order of the columns, for `from_db`
    id: int
    handle: str
    display_name: str
    bio: str
    avatar: str
    header: str
    lines: list[list[str]]
    is_bot: bool
    is_discoverable: bool
    is_indexable: bool
    is_locked: bool
    suspended_at: datetime | None
    created_at: datetime
    last_open_post_id: int
    derived: dict[Any, Any] = field(default_factory=dict)  # as `User.derived`


_CARD_FIELDS = tuple(column.name for column in fields(Card))
_COLUMNS = _CARD_FIELDS[: _CARD_FIELDS.index("last_open_post_id")]
_COUNTS = ("user_id", "followers", "following", "posts", "last_open_post_id")
_columns_of = attrgetter(*_COLUMNS)


def _encode(card: Card) -> bytes:
    *plain, suspended_at, created_at = _columns_of(card)
    timestamps = [moment and moment.timestamp() for moment in (suspended_at, created_at)]
    return pack(orjson.dumps([*plain, *timestamps, card.last_open_post_id]))


def _decode(data: bytes) -> Card:
    """ValueError when the bytes are something else."""
    values = orjson.loads(unpack(data, max_bytes=MAX_BYTES))
    *plain, suspended, created, last_open_post_id = values
    if (
        len(values) != len(_CARD_FIELDS) - 1
        or not isinstance(plain[0], int)
        or not isinstance(plain[1], str)
    ):
        raise ValueError("not a card")
    moments = [
        None if seconds is None else datetime.fromtimestamp(seconds, UTC)
        for seconds in (suspended, created)
    ]
    columns = dict(zip(_COLUMNS, [*plain, *moments], strict=True))
    return Card(**columns, last_open_post_id=last_open_post_id)


def _card_of(user: User) -> Card:
    values = {name: getattr(user, name) for name in _COLUMNS}
    values |= {"avatar": user.avatar.name or "", "header": user.header.name or ""}
    return Card(**values, last_open_post_id=user.counts.last_open_post_id)


def _user_of(card: Card, counts: tuple[int, ...]) -> User:
    """The account of a card with its counts; its other fields are deferred."""
    user = User.from_db(DEFAULT_DB_ALIAS, _COLUMNS, _columns_of(card))
    columns = [card.id, *counts, card.last_open_post_id]
    user.counts = UserCounts.from_db(DEFAULT_DB_ALIAS, _COUNTS, columns)
    user.derived = card.derived
    return user


# Unread cards expire after a day. Of their values only the date of the last open post is not
# updated at every change.
CARDS: ReadThrough[int, Card] = ReadThrough(
    name="card",
    version=4,
    ttl_seconds=24 * 3600,
    key_of=str,
    encode=_encode,
    decode=CachedDecoder(_decode, maximum=MAX_DECODED),
    family="content",
    negative_ttl_seconds=0,  # ids of accounts come from ids of posts: they exist
)


def load_cards(user_ids: Collection[int]) -> dict[int, Card]:
    """The cards of accounts, suspended ones too, in one query."""
    users = User.objects.filter(pk__in=user_ids).select_related("counts")
    return {user.pk: _card_of(user) for user in users}


def ask_users(batch: Batch, user_ids: Collection[int]) -> Future[dict[int, User]]:
    """Request the accounts that are not suspended, with their counts."""
    cards = batch.get_many(CARDS, user_ids, load_cards, stage="people")
    counted = USER_COUNTS.queue(batch, user_ids, stage="counts")

    def users() -> dict[int, User]:
        counts = counted()
        return {
            user_id: _user_of(card, counts[user_id])
            for user_id, card in cards().items()
            if card.suspended_at is None
        }

    return users


def card_changed(user_id: int) -> None:
    """In the transaction of a change: its card is forgotten after the commit, in any case."""
    record("account_changed", user_id=user_id)
    transaction.on_commit(lambda: forget_cards([user_id]), robust=True)


def forget_cards(user_ids: Collection[int]) -> None:
    """From now on no reader gets an older card of these accounts."""
    ids = list(user_ids)
    for start in range(0, len(ids), BATCH_SIZE):
        if not CARDS.forget(ids[start : start + BATCH_SIZE]):
            logger.warning("cards of %d accounts may be old until the event is handled", len(ids))
