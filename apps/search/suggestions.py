"""Suggests the most followed accounts that the viewer does not follow yet and has not dismissed.

New members also see starter packs made by staff, and authors of posts with the tags that they chose, preferably in
languages that they read.
"""

import logging
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from django.utils.translation import gettext as _

from apps.accounts.cache import VIEWER_SECONDS, viewer_changed
from apps.accounts.models import User, UserCounts
from apps.accounts.queries import ACCOUNT, account_of, cached_users, users_by_id
from apps.errors import NotAllowed, NotFound
from apps.graph.actions import follow_user
from apps.graph.queries import ExactRelations, exact_relations
from apps.posts.models import Post, Visibility
from apps.search.models import Dismissal, StarterPack
from apps.sql import rows_of
from apps.tags.models import TagFollow
from feedcache.connections import RedisError, configuration
from feedcache.ids import author_of
from feedcache.local_cache import LocalCache
from feedcache.read_through import ReadThrough, name_of_pair
from feedcache.read_through.envelope import pack_ids, unpack_ids
from feedcache.servers.topology_listener import current, listener

logger = logging.getLogger(__name__)

# `listed_people` reads this many newest accounts, or the authors of this many newest public posts.
MAX_YOUNGEST, MAX_NEWEST_POSTS = 500, 2_000
MAX_DISMISSED = 200  # per account; the oldest beyond this number are deleted
MAX_PACKS = 6  # on a page
# The number of most followed accounts from which `people_to_begin_with` chooses.
MANY = 40
# `people_to_begin_with` also chooses from the authors of the 50 newest posts with each of the viewer's 10 latest tags.
POSTS_OF_TAG, MAX_TAGS = 50, 10

# One subquery selects all accounts to leave out, so that PostgreSQL scans the index of follower counts up to the limit.
# With several subqueries, it estimates that hardly any account remains, and plans a parallel scan.
_SUGGESTIONS = f"""
SELECT {ACCOUNT} FROM accounts_usercounts c JOIN accounts_user u ON u.id = c.user_id
WHERE c.posts > 0 AND u.suspended_at IS NULL AND u.limited_at IS NULL AND u.is_discoverable
AND c.user_id <> %(viewer)s AND c.user_id NOT IN (
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

_NEWEST_OF_TAGS = """
SELECT u.post_id FROM unnest(%(tags)s::bigint[]) f(tag_id) CROSS JOIN LATERAL (
    SELECT post_id FROM tags_taguse WHERE tag_id = f.tag_id AND is_public ORDER BY post_id DESC LIMIT %(posts)s
) u
"""

# For the side column of every page, by reader and epoch: the epoch changes when the reader follows or blocks somebody.
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
    """The most followed discoverable accounts with posts, except those that the viewer follows, has asked to follow,
    blocks, mutes or has dismissed, and those that block the viewer.
    """
    if not viewer.epoch or limit > MAX_CACHED:
        return _suggested(viewer.pk, limit)
    key = (viewer.pk, viewer.epoch)
    ids = SUGGESTED.get_many([key], _load_suggested).get(key, ())
    people = cached_users(ids[:limit])
    if len(people) < limit < len(ids):  # some have been suspended in the meantime
        people |= cached_users(ids[limit:])
    return [people[user_id] for user_id in ids if user_id in people][:limit]


class SuggestedPerson(NamedTuple):
    """The fields of an account that the side column shows."""

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
    """Like `suggested_people`, but for the side column: names and pictures may be up to a minute old.

    Follows, blocks and dismissals by the viewer, and blocks by others, take effect immediately, because they change
    the epoch. Accounts that are suspended or closed disappear immediately (`clear_cards`).
    """

    def load() -> tuple[SuggestedPerson, ...]:
        return tuple(map(SuggestedPerson.of, suggested_people(viewer, limit=limit)))

    if not viewer.epoch:
        return load()
    listener().subscribe_channel(CARD_CHANNEL, _clear)
    current()  # starts the listener of this process
    return CARD_CACHE.get((viewer.pk, viewer.epoch, limit), load) or ()


def clear_cards() -> None:
    """Clear the cached suggestions in this process and, by a message, in all others."""
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


def listed_people(
    viewer: User | None, *, newest_first: bool, limit: int, offset: int = 0
) -> list[User]:
    """The newest discoverable accounts, or the discoverable authors of the newest public posts, most recent first.

    Excludes accounts that the viewer blocks or mutes, or that block the viewer.
    """
    discoverable = User.objects.filter(is_discoverable=True, suspended_at=None, limited_at=None)
    if newest_first:
        ids = list(discoverable.order_by("-pk").values_list("pk", flat=True)[:MAX_YOUNGEST])
    else:
        public = Post.objects.filter(visibility=Visibility.PUBLIC, deleted_at=None).order_by("-pk")
        written = public.values_list("pk", flat=True)[:MAX_NEWEST_POSTS]
        authors = list(dict.fromkeys(map(author_of, written)))
        found = set(discoverable.filter(pk__in=authors).values_list("pk", flat=True))
        ids = [pk for pk in authors if pk in found]
    if viewer is not None:
        known = exact_relations(viewer.pk, ids)
        ids = [pk for pk in ids if pk not in known.severed | known.muting]
    users = users_by_id(ids[offset : offset + limit])
    return [users[pk] for pk in ids[offset : offset + limit] if pk in users]


def popular_people(*, limit: int) -> list[User]:
    """The most followed discoverable accounts, for visitors, read from the top of an index."""
    rows = UserCounts.objects.filter(
        followers__gt=0, user__suspended_at=None, user__limited_at=None
    )
    found = rows.filter(user__is_discoverable=True).order_by("-followers", "user")
    ids = list(found.values_list("user", flat=True)[:limit])
    users = users_by_id(ids)
    return [users[user_id] for user_id in ids if user_id in users]


@dataclass(frozen=True, slots=True)
class Pack:
    """A starter pack as a member sees it, the most followed accounts first."""

    pk: int
    title: str
    language: str
    people: list[User]


def starter_packs(viewer: User, languages: Collection[str]) -> list[Pack]:
    """Up to `MAX_PACKS` non-empty packs in these languages, without people muted or blocked (in either direction)."""
    rows = StarterPack.objects.filter(is_active=True, language__in=languages)
    packs = list(rows.order_by("place", "pk").prefetch_related("members")[:MAX_PACKS])
    ids = {pack.pk: {person.pk for person in pack.members.all()} for pack in packs}
    people, _known = _welcome_people(viewer, set().union(*ids.values()))
    found = [
        Pack(pack.pk, pack.title, pack.language, [one for one in people if one.pk in ids[pack.pk]])
        for pack in packs
    ]
    return [pack for pack in found if pack.people]


def follow_pack(viewer: User, pack_id: int) -> int:
    """Follow the accounts in a pack, except blocked and muted ones; returns the number of new follows and requests.

    Raises NotFound for an unknown or inactive pack, TooMany or Invalid at a limit of follows; earlier follows stay.
    """
    pack = StarterPack.objects.filter(pk=pack_id, is_active=True).first()
    if pack is None:
        raise NotFound(_("There is no such starter pack."))
    people, known = _welcome_people(viewer, pack.members.values_list("pk", flat=True))
    followed = 0
    for person in people:
        if person.pk in known.following | known.requested:
            continue
        with suppress(NotAllowed):  # blocked meanwhile
            follow_user(viewer, person)
            followed += 1
    return followed


def people_to_begin_with(
    viewer: User, *, languages: Collection[str], limit: int, without: Collection[int] = ()
) -> list[User]:
    """People to follow first: authors of posts with tags that the viewer follows, then the most followed accounts.

    People whose last post is in one of `languages` come before all others. Accounts in `without` are left out.
    """
    writers = _writers_of_followed_tags(viewer)
    popular = suggested_people(viewer, limit=MANY)
    others, known = _welcome_people(viewer, writers - {person.pk for person in popular})
    left_out = {*without, *known.following, *known.requested, *_dismissed(viewer)}
    people = [one for one in others if one.is_discoverable and one.pk not in left_out]
    people += [one for one in popular if one.pk not in left_out]
    written = _last_languages(people)
    people.sort(key=lambda one: (written.get(one.pk) not in languages, one.pk not in writers))
    return people[:limit]


def _welcome_people(viewer: User, ids: Collection[int]) -> tuple[list[User], ExactRelations]:
    """The accounts, most followed first, and the viewer's relations to them.

    Leaves out the viewer, limited accounts, accounts that the viewer mutes, and blocks in either direction.
    """
    known = exact_relations(viewer.pk, ids)
    left = set(ids) - known.severed - known.muting - {viewer.pk}
    people = [one for one in users_by_id(left).values() if one.limited_at is None]
    return sorted(people, key=lambda one: (-one.counts.followers, one.pk)), known


def _writers_of_followed_tags(viewer: User) -> set[int]:
    """Authors of the newest public posts with tags that the viewer follows."""
    if not viewer.counts.followed_tags:
        return set()
    follows = TagFollow.objects.filter(user=viewer).order_by("-pk")
    tags = list(follows.values_list("tag", flat=True)[:MAX_TAGS])
    parameters = {"tags": tags, "posts": POSTS_OF_TAG}
    return {author_of(post_id) for (post_id,) in rows_of(_NEWEST_OF_TAGS, parameters)}


def _last_languages(people: Sequence[User]) -> dict[int, str]:
    """The language of each person's last open post."""
    ids = [person.counts.last_open_post_id for person in people]
    return dict(Post.objects.filter(pk__in=ids).values_list("author", "language"))


def _dismissed(viewer: User) -> list[int]:
    return list(Dismissal.objects.filter(owner=viewer).values_list("other", flat=True))


def dismiss_suggestion(viewer: User, other_id: int) -> None:
    """Do not suggest an account to the viewer again. Idempotent. Raises NotFound for an unknown account."""
    if not users_by_id([other_id]):
        raise NotFound(_("There is no such account."))
    Dismissal.objects.get_or_create(owner=viewer, other_id=other_id)
    viewer_changed(viewer.pk)
    newest = Dismissal.objects.filter(owner=viewer).order_by("-pk")[:MAX_DISMISSED]
    Dismissal.objects.filter(owner=viewer).exclude(
        pk__in=list(newest.values_list("pk", flat=True))
    ).delete()
