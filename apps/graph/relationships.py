"""All that stands between a viewer and other accounts, as the viewer may know it; and the viewer's own lists of people."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.graph.models import Block, Endorsement, FollowRequest, Mute
from apps.graph.queries import MAX_OTHERS, RELATED, people_of
from apps.paging import Cursor, Page, page_of_rows
from apps.sql import rows_of
from feedcache.structures.list_prefix import Entry

# Of follows and requests: with reposts, with news, in which languages. Of mutes: without notifications, until when. Of
# notes: the text. That somebody is endorsed is all there is to it.
_TERMS = """
SELECT 'follow', followee_id, shows_reposts, notifies, NULL::timestamptz, '', languages FROM graph_followee
WHERE owner_id = %(viewer)s AND followee_id = ANY(%(others)s)
UNION ALL
SELECT 'follow', owner_id, shows_reposts, notifies, NULL, '', languages FROM graph_followrequest
WHERE requester_id = %(viewer)s AND owner_id = ANY(%(others)s)
UNION ALL
SELECT 'mute', muted_id, hides_notifications, false, expires_at, '', NULL FROM graph_mute
WHERE owner_id = %(viewer)s AND muted_id = ANY(%(others)s)
UNION ALL
SELECT 'note', about_id, false, false, NULL, text, NULL FROM graph_accountnote
WHERE owner_id = %(viewer)s AND about_id = ANY(%(others)s)
UNION ALL
SELECT 'endorsement', other_id, true, false, NULL, '', NULL FROM graph_endorsement
WHERE owner_id = %(viewer)s AND other_id = ANY(%(others)s)
"""
_ALL = f"""
SELECT kind, other, false, false, NULL::timestamptz, '', NULL::varchar[] FROM ({RELATED}) AS related (kind, other)
UNION ALL
{_TERMS}
"""  # noqa: S608 -- two constants
_NOTHING = (False, False, None, "", None)


@dataclass(frozen=True, slots=True)
class Relationship:
    """How a viewer stands to one account."""

    id: int
    following: bool = False
    shows_reposts: bool = False
    notifies: bool = False
    languages: Sequence[str] = ()
    followed_by: bool = False
    blocking: bool = False
    blocked_by: bool = False
    muting: bool = False
    mutes_notifications: bool = False
    mute_ends_at: datetime | None = None
    requested: bool = False
    requested_by: bool = False
    endorsed: bool = False
    note: str = ""


def relationships(viewer_id: int, other_ids: Sequence[int]) -> list[Relationship]:
    """How a viewer stands to up to 1,000 accounts, in their order; one query."""
    if not other_ids:
        return []
    if len(other_ids) > MAX_OTHERS:
        raise ValueError(f"at most {MAX_OTHERS} accounts a call, not {len(other_ids)}")
    rows = rows_of(_ALL, {"viewer": viewer_id, "others": list(other_ids)})
    found = {(kind, other_id): terms for kind, other_id, *terms in rows}
    return [_relationship(other_id, found) for other_id in other_ids]


def _relationship(other_id: int, found: dict[tuple[str, int], Any]) -> Relationship:
    reposts, notifies, *_rest, languages = found.get(("follow", other_id), _NOTHING)
    silent, _none, ends_at, *_rest = found.get(("mute", other_id), _NOTHING)
    return Relationship(
        id=other_id,
        following=("following", other_id) in found,
        shows_reposts=reposts,
        notifies=notifies,
        languages=languages or (),
        followed_by=("followed_by", other_id) in found,
        blocking=("blocking", other_id) in found,
        blocked_by=("blocked_by", other_id) in found,
        muting=("muting", other_id) in found,
        mutes_notifications=silent,
        mute_ends_at=ends_at,
        requested=("requested", other_id) in found,
        requested_by=("requested_by", other_id) in found,
        endorsed=("endorsement", other_id) in found,
        note=found.get(("note", other_id), _NOTHING)[3],
    )


def silenced_ids(owner_id: int, muted_ids: Collection[int]) -> set[int]:
    """Of those whom somebody mutes, the ones whose notifications are hidden too; no query for nobody."""
    if not muted_ids:
        return set()
    rows = Mute.objects.filter(owner=owner_id, muted__in=muted_ids, hides_notifications=True)
    return set(rows.values_list("muted_id", flat=True))


def blocked_page(owner: User, cursor: Cursor) -> Page[User]:
    """Whom somebody has blocked, newest first; the cursor is the row."""
    return _people(Block.objects.filter(owner=owner), "blocked_id", cursor)


def muted_page(owner: User, cursor: Cursor) -> Page[tuple[User, datetime | None]]:
    """Whom somebody has muted and until when, None for good; newest first. The cursor is the row."""
    rows = page_of_rows(Mute.objects.filter(owner=owner), cursor)
    users = users_by_id([row.muted_id for row in rows.items])
    found = [(users[row.muted_id], row.expires_at) for row in rows.items if row.muted_id in users]
    return rows.mapped(found)


def endorsed_page(owner: User, viewer_id: int | None, cursor: Cursor) -> Page[User]:
    """Whom an account recommends, newest first, as a viewer may see it; the cursor is the row."""
    rows = page_of_rows(Endorsement.objects.filter(owner=owner), cursor)
    entries = rows.mapped([Entry(row.pk, row.other_id) for row in rows.items])
    return people_of(owner.pk, entries, viewer_id)


def requests_page(owner: User, cursor: Cursor) -> Page[User]:
    """Who asks to follow somebody, newest first; the cursor is the row."""
    return _people(FollowRequest.objects.filter(owner=owner), "requester_id", cursor)


def requests_count(owner: User, *, maximum: int = 100) -> int:
    """How many ask to follow somebody, at most so many."""
    asking = FollowRequest.objects.filter(owner=owner, requester__suspended_at=None)
    return len(asking.values_list("pk")[:maximum])


def _people(rows: QuerySet[Any], name: str, cursor: Cursor) -> Page[User]:
    page = page_of_rows(rows, cursor)
    users = users_by_id([getattr(row, name) for row in page.items])
    found = [users.get(getattr(row, name)) for row in page.items]
    return page.mapped([user for user in found if user is not None])
