"""Suggestions of accounts to follow: the most followed ones that the viewer does not know, without dismissed ones."""

import logging
from typing import NamedTuple

from django.utils.translation import gettext as _

from apps.accounts.cache import VIEWER_SECONDS, viewer_changed
from apps.accounts.models import User, UserCounts
from apps.accounts.queries import ACCOUNT, account_of, cached_users, users_by_id
from apps.errors import NotFound
from apps.search.models import Dismissal
from apps.sql import rows_of
from feedcache.connections import RedisError, configuration
from feedcache.local_cache import LocalCache
from feedcache.read_through import ReadThrough, name_of_pair
from feedcache.read_through.envelope import pack_ids, unpack_ids
from feedcache.servers.topology_listener import current, listener

logger = logging.getLogger(__name__)

MAX_DISMISSED = 200  # per account; beyond it the oldest are deleted

# One list of all whom the viewer knows: PostgreSQL walks down the most followed to the limit. Of several lists it
# believes that they leave hardly anybody, and sets three processes to work.
_SUGGESTIONS = f"""
SELECT {ACCOUNT} FROM accounts_usercounts c JOIN accounts_user u ON u.id = c.user_id
WHERE c.posts > 0 AND u.suspended_at IS NULL AND c.user_id <> %(viewer)s AND c.user_id NOT IN (
    SELECT followee_id FROM graph_followee WHERE owner_id = %(viewer)s
    UNION ALL
    SELECT owner_id FROM graph_followrequest WHERE requester_id = %(viewer)s
    UNION ALL
    SELECT blocked_id FROM graph_block WHERE owner_id = %(viewer)s
    UNION ALL
    SELECT owner_id FROM graph_block WHERE blocked_id = %(viewer)s
    UNION ALL
    SELECT muted_id FROM graph_mute WHERE owner_id = %(viewer)s
    UNION ALL
    SELECT other_id FROM search_dismissal WHERE owner_id = %(viewer)s
)
ORDER BY c.followers DESC, c.user_id LIMIT %(limit)s
"""  # noqa: S608 -- constants


# For the side column of every page, by reader and epoch: a change of what the reader knows is another epoch.
SUGGESTED: ReadThrough[tuple[int, str], tuple[int, ...]] = ReadThrough(
    name="suggested",
    version=1,
    ttl_seconds=VIEWER_SECONDS,
    key_of=name_of_pair,
    encode=pack_ids,
    decode=unpack_ids,
    family="content",
    single_flight=False,
)
MAX_CACHED = 10


def suggested_people(viewer: User, *, limit: int) -> list[User]:
    """The most followed accounts that a viewer has not followed, asked to follow, blocked, muted or dismissed."""
    if not viewer.epoch or limit > MAX_CACHED:
        return _suggested(viewer.pk, limit)
    key = (viewer.pk, viewer.epoch)
    ids = SUGGESTED.get_many([key], _load_suggested).get(key, ())
    people = cached_users(ids[:limit])
    if len(people) < limit < len(ids):  # some are suspended by now
        people |= cached_users(ids[limit:])
    return [people[user_id] for user_id in ids if user_id in people][:limit]


class SuggestedPerson(NamedTuple):
    """What the side column shows of an account."""

    pk: int
    handle: str
    name: str
    url: str
    avatar_url: str

    @classmethod
    def of(cls, user: User) -> "SuggestedPerson":
        return cls(user.pk, user.handle, user.name, user.url, user.avatar_url)


CARD_SECONDS = 60.0
CARD_CHANNEL = "suggestions"
# By reader, epoch and number of accounts, in each process.
CARD_CACHE: "LocalCache[tuple[int, str, int], tuple[SuggestedPerson, ...]]" = LocalCache(
    maximum=2048, ttl_seconds=CARD_SECONDS
)


def people_for_card(viewer: User, *, limit: int) -> tuple[SuggestedPerson, ...]:
    """The same for the side column: names and pictures up to a minute old.

    What the viewer does shows at once, since it ends the epoch, and so does a block by others; accounts that are
    suspended or closed disappear at once (`clear_cards`).
    """

    def load() -> tuple[SuggestedPerson, ...]:
        return tuple(map(SuggestedPerson.of, suggested_people(viewer, limit=limit)))

    if not viewer.epoch:
        return load()
    listener().subscribe_channel(CARD_CHANNEL, _clear)
    current()  # starts the listener of this process
    return CARD_CACHE.get((viewer.pk, viewer.epoch, limit), load) or ()


def clear_cards() -> None:
    """Clear the cards of this process, and by a message those of the others."""
    CARD_CACHE.clear()
    try:
        configuration().publish(CARD_CHANNEL, b"")
    except RedisError as error:
        logger.warning("suggestions may be a minute old: %s", error)


def _clear(_message: bytes | None) -> None:
    CARD_CACHE.clear()


def _load_suggested(keys: list[tuple[int, str]]) -> dict[tuple[int, str], tuple[int, ...]]:
    return {key: tuple(person.pk for person in _suggested(key[0], MAX_CACHED)) for key in keys}


def _suggested(viewer_id: int, limit: int) -> list[User]:
    return [account_of(row) for row in rows_of(_SUGGESTIONS, {"viewer": viewer_id, "limit": limit})]


def popular_people(*, limit: int) -> list[User]:
    """The most followed discoverable accounts, for visitors: the first rows of an index."""
    rows = UserCounts.objects.filter(followers__gt=0, user__suspended_at=None)
    found = rows.filter(user__is_discoverable=True).order_by("-followers", "user")
    ids = list(found.values_list("user", flat=True)[:limit])
    users = users_by_id(ids)
    return [users[user_id] for user_id in ids if user_id in users]


def dismiss_suggestion(viewer: User, other_id: int) -> None:
    """Do not suggest an account to the viewer again. Idempotent. NotFound for an unknown account."""
    if not users_by_id([other_id]):
        raise NotFound(_("There is no such account."))
    Dismissal.objects.get_or_create(owner=viewer, other_id=other_id)
    viewer_changed(viewer.pk)
    newest = Dismissal.objects.filter(owner=viewer).order_by("-pk")[:MAX_DISMISSED]
    Dismissal.objects.filter(owner=viewer).exclude(
        pk__in=list(newest.values_list("pk", flat=True))
    ).delete()
