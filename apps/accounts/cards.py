"""Author cards: what pages show of an account, in Memcached, so that a page of posts needs no row of it.

A card has no version. Whatever changes it is followed, after the commit and before it is acknowledged, by `forget_cards`,
which leaves tombstones: who read the old row cannot store it any more. Should the process die in between, the event
`account_changed` does the same within seconds. The counts are those of the counters, read in the same trip.
"""

import logging
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import orjson
from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models.base import ModelState

from apps.accounts.cache import USER_COUNTS
from apps.accounts.models import User, UserCounts
from apps.caches.decoded import Decoded
from apps.caches.memcached.envelope import pack, unpack
from apps.caches.readthrough import ReadThrough
from apps.caches.together import Later, Together
from apps.events.actions import record
from apps.prepared import IsAnyOf, Prepared

logger = logging.getLogger(__name__)

MAX_BYTES = 16 * 1024  # a bio of 500 characters takes 2 KB at most, the lines 8 KB
# in the order of the columns, as `from_db` wants them
_FIELDS = (
    "id",
    "handle",
    "display_name",
    "bio",
    "avatar",
    "header",
    "lines",
    "is_bot",
    "is_discoverable",
    "is_indexable",
    "is_locked",
    "suspended_at",
    "created_at",
)
_FILES = slice(_FIELDS.index("avatar"), _FIELDS.index("header") + 1)
_MOMENTS = slice(_FIELDS.index("suspended_at"), len(_FIELDS))
_COUNTS = ("user_id", "followers", "following", "posts", "last_open_post_id")
BATCH = 1000
DECODED_MOST = 4096  # cards, of about 2 KB each with all that was derived from them


def _encode(user: User) -> bytes:
    values: list[Any] = [getattr(user, name) for name in _FIELDS]
    values[_FILES] = [file.name or "" for file in values[_FILES]]
    values[_MOMENTS] = [moment and moment.timestamp() for moment in values[_MOMENTS]]
    return pack(orjson.dumps([*values, user.counts.last_open_post_id]))


def _decode(data: bytes) -> User:
    """An account whose other fields are read when they are asked for; ValueError when the bytes are something else."""
    values = orjson.loads(unpack(data, max_bytes=MAX_BYTES))
    *fields, suspended, created, last_open_post_id = values
    id_, handle = fields[:2]
    if len(fields) != _MOMENTS.start or not isinstance(id_, int) or not isinstance(handle, str):
        raise ValueError("not a card")
    moments = [
        None if one is None else datetime.fromtimestamp(one, UTC) for one in (suspended, created)
    ]
    user = User.from_db(DEFAULT_DB_ALIAS, _FIELDS, [*fields, *moments])
    user.counts = UserCounts.from_db(DEFAULT_DB_ALIAS, _COUNTS, [id_, 0, 0, 0, last_open_post_id])
    user.derived = {}
    return user


def _shown(card: User, counts: tuple[int, ...]) -> User:
    """The account of a card with its counts: an object of its own, since the card is everybody's.

    Put together by hand: `from_db` or `copy` would take as long as all the rest of an author.
    """
    kept = UserCounts.__new__(UserCounts)
    kept.__dict__.update(card.counts.__dict__)
    kept.followers, kept.following, kept.posts = counts
    state = ModelState()
    state.adding, state.db, state.fields_cache = False, DEFAULT_DB_ALIAS, {"counts": kept}
    user = User.__new__(User)
    user.__dict__.update(card.__dict__, _state=state)
    return user


# A card that nobody looks at for a day goes. Of its facts only the date of the last open post is not written at every change.
CARDS: ReadThrough[int, User] = ReadThrough(
    name="card",
    version=4,
    ttl_seconds=24 * 3600,
    key_of=str,
    encode=_encode,
    decode=Decoded(_decode, most=DECODED_MOST),
    family="content",
    negative_ttl_seconds=0,  # ids of accounts come from ids of posts: they exist
)


_LOADED = Prepared(
    lambda ids: User.objects.filter(IsAnyOf("pk", ids)).select_related("counts"), [-1]
)


def load_cards(user_ids: Collection[int]) -> dict[int, User]:
    """The accounts with these ids, suspended ones too, with their counts, in one query."""
    return {user.pk: user for user in _LOADED.all(list(user_ids))}


def ask_users(trip: Together, user_ids: Collection[int]) -> Later[dict[int, User]]:
    """The accounts with these ids that are not suspended, with their counts, as a part of a trip."""
    cards = trip.entries(CARDS, user_ids, load_cards, stage="people")
    counted = USER_COUNTS.ask(trip, user_ids, stage="counts")

    def users() -> dict[int, User]:
        counts = counted()
        return {
            user_id: _shown(card, counts[user_id])
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
