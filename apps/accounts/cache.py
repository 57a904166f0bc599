"""What this app keeps in caches: the counts of accounts, and the cards that pages show of their authors."""

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

MAX_BYTES = 16 * 1024  # a bio of 500 characters takes 2 KB at most, the lines 8 KB
BATCH = 1000
MAX_DECODED = 4096  # cards, of about 2 KB each with all that was derived from them

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
    """Add to counts of an account and set other columns of their row, in the caller's transaction."""
    row = USER_COUNTS_TABLE.change(user_id, deltas, **values)
    if row is not None:
        put_after_commit(USER_COUNTS, [row])


# A card has no version. Whatever changes it is followed, after the commit and before it is acknowledged, by `forget_cards`,
# which leaves tombstones: who read the old row cannot store it any more. Should the process die in between, the event
# `account_changed` does the same within seconds. The counts are those of the counters, read in the same round trip.
@dataclass(frozen=True, slots=True)
class Card:
    """What pages show of an account, but for its counts. Everybody who decodes the same bytes shares one."""

    # in the order of the columns, as `from_db` wants them
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


_CARD_FIELDS = tuple(one.name for one in fields(Card))
_COLUMNS = _CARD_FIELDS[: _CARD_FIELDS.index("last_open_post_id")]
_COUNTS = ("user_id", "followers", "following", "posts", "last_open_post_id")
_columns_of = attrgetter(*_COLUMNS)


def _encode(card: Card) -> bytes:
    *plain, suspended_at, created_at = _columns_of(card)
    moments = [moment and moment.timestamp() for moment in (suspended_at, created_at)]
    return pack(orjson.dumps([*plain, *moments, card.last_open_post_id]))


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
        None if one is None else datetime.fromtimestamp(one, UTC) for one in (suspended, created)
    ]
    columns = dict(zip(_COLUMNS, [*plain, *moments], strict=True))
    return Card(**columns, last_open_post_id=last_open_post_id)


def _card_of(user: User) -> Card:
    plain = {name: getattr(user, name) for name in _COLUMNS}
    plain |= {"avatar": user.avatar.name or "", "header": user.header.name or ""}
    return Card(**plain, last_open_post_id=user.counts.last_open_post_id)


def _user_of(card: Card, counts: tuple[int, ...]) -> User:
    """The account of a card with its counts; its other fields are read when they are asked for."""
    user = User.from_db(DEFAULT_DB_ALIAS, _COLUMNS, _columns_of(card))
    counted = [card.id, *counts, card.last_open_post_id]
    user.counts = UserCounts.from_db(DEFAULT_DB_ALIAS, _COUNTS, counted)
    user.derived = card.derived
    return user


# A card that nobody looks at for a day goes. Of its facts only the date of the last open post is not written at every change.
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
    """The cards of the accounts with these ids, suspended ones too, in one query."""
    users = User.objects.filter(pk__in=user_ids).select_related("counts")
    return {user.pk: _card_of(user) for user in users}


def ask_users(trip: Batch, user_ids: Collection[int]) -> Future[dict[int, User]]:
    """The accounts with these ids that are not suspended, with their counts, as a part of a trip."""
    cards = trip.get_many(CARDS, user_ids, load_cards, stage="people")
    counted = USER_COUNTS.queue(trip, user_ids, stage="counts")

    def users() -> dict[int, User]:
        counts = counted()
        return {
            user_id: _user_of(card, counts[user_id])
            for user_id, card in cards().items()
            if card.suspended_at is None
        }

    return users


def card_changed(user_id: int) -> None:
    """In the transaction of a change of an account: its card is forgotten after the commit, whatever happens."""
    record("account_changed", user_id=user_id)
    transaction.on_commit(lambda: forget_cards([user_id]), robust=True)


def forget_cards(user_ids: Collection[int]) -> None:
    """Nothing older than now will be read of these accounts' cards."""
    ids = list(user_ids)
    for start in range(0, len(ids), BATCH):
        if not CARDS.forget(ids[start : start + BATCH]):
            logger.warning("cards of %d accounts may be old until the event is handled", len(ids))
