"""Queries that read collections.

A collection shows only accounts that may be shown to its reader now. It leaves out suspended and limited accounts,
accounts that no longer want to be recommended, and accounts with a block between them and the reader.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.accounts.queries import users_by_id
from apps.curation.models import Collection, CollectionItem, ReportedCollection
from apps.errors import NotAllowed, NotFound
from apps.graph.queries import exact_relations
from apps.moderation.models import Report
from apps.notifications.kinds import NotificationKind
from apps.notifications.models import Notification


@dataclass(frozen=True, slots=True)
class Item:
    """An account in a collection."""

    id: int
    member: User
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Shown:
    """A collection as a reader sees it: the accounts that are shown, in the order in which they were added.

    `hidden` is the number of accounts that are hidden from everybody now.
    """

    collection: Collection
    items: Sequence[Item]
    hidden: int = 0

    @property
    def url(self) -> str:
        return self.collection.url

    @property
    def name(self) -> str:
        return self.collection.name

    def item_of(self, user_id: int | None) -> Item | None:
        return next((item for item in self.items if item.member.pk == user_id), None)


def approval(user: User) -> str:
    """Who may put an account into collections: "public", its "followers" if it is locked, or nobody ("").

    Accounts that do not want to be suggested, and limited or suspended ones, cannot be put into collections.
    """
    if not user.is_discoverable or user.limited_at or user.suspended_at:
        return ""
    return "followers" if user.is_locked else "public"


def approval_json(user: User) -> dict[str, Any]:
    """Who may put an account into collections, in the form of an account's `feature_approval`.

    The JSON of an account is the same for all readers, so it cannot say whether a reader may add a locked account:
    `current_user` is "unknown" then.
    """
    agreed = approval(user)
    return {
        "automatic": [agreed] if agreed else [],
        "manual": [],
        "current_user": {"public": "automatic", "followers": "unknown", "": "denied"}[agreed],
    }


def collection_for(viewer_id: int | None, collection_id: int) -> Collection:
    """A collection with its owner. Raises NotFound, or NotAllowed for a viewer whom its owner has blocked."""
    rows = Collection.objects.filter(pk=collection_id, owner__suspended_at=None)
    found = rows.select_related("owner__counts").first()
    if found is None:
        raise not_found()
    if found.owner_id in exact_relations(viewer_id, [found.owner_id]).blocked_by:
        raise NotAllowed(_("You can't see this collection."))
    return found


def own_collection(owner: User, collection_id: int) -> Collection:
    """One of an account's collections. Raises NotFound, or NotAllowed if it belongs to somebody else."""
    found = collection_for(owner.pk, collection_id)
    if found.owner_id != owner.pk:
        raise NotAllowed(_("This collection belongs to somebody else."))
    return found


def collections_of(owner: User, viewer_id: int | None) -> QuerySet[Collection]:
    """An account's collections, newest first: others see only discoverable ones; viewers it has blocked see none."""
    rows = Collection.objects.filter(owner=owner).select_related("owner").order_by("-pk")
    if viewer_id == owner.pk:
        return rows
    if owner.pk in exact_relations(viewer_id, [owner.pk]).blocked_by:
        return rows.none()
    return rows.filter(is_discoverable=True)


def collections_with(member: User) -> QuerySet[Collection]:
    """The collections that an account is in, newest first, discoverable or not, except those of suspended owners."""
    inside = CollectionItem.objects.filter(member=member, left_at=None).values("collection")
    rows = Collection.objects.filter(pk__in=inside, owner__suspended_at=None)
    return rows.select_related("owner").order_by("-pk")


def shown(collections: Sequence[Collection], viewer_id: int | None) -> list[Shown]:
    """Collections with the accounts in them, in three queries for up to 1,000 accounts."""
    ids = [collection.pk for collection in collections]
    rows = list(
        CollectionItem.objects.filter(collection__in=ids, left_at=None).order_by("pk")
        if ids
        else ()
    )
    users = users_by_id({row.member_id for row in rows})
    users = {pk: user for pk, user in users.items() if approval(user)}
    severed = exact_relations(viewer_id, users).severed
    items: dict[int, list[Item]] = defaultdict(list)
    hidden: dict[int, int] = defaultdict(int)
    for row in rows:
        if row.member_id not in users:
            hidden[row.collection_id] += 1
        elif row.member_id not in severed:
            items[row.collection_id].append(Item(row.pk, users[row.member_id], row.created_at))
    return [Shown(one, items[one.pk], hidden[one.pk]) for one in collections]


def what_notifications_are_about(viewer: User, rows: Sequence[Notification]) -> dict[int, Shown]:
    """The collection that each notification is about: the one that its actor last added the viewer to, or last changed.

    There is at most one notification of each kind per actor: a new one replaces the old one.
    """
    added, changed = NotificationKind.COLLECTED, NotificationKind.COLLECTION
    actors = {row.actor_id for row in rows if row.kind in {added, changed}}
    if not actors:
        return {}
    inside = CollectionItem.objects.filter(
        member=viewer, left_at=None, collection__owner__in=actors
    ).select_related("collection__owner")
    newest: dict[tuple[str, int], Collection] = {}
    for item in inside.order_by("created_at", "pk"):
        newest[added, item.collection.owner_id] = item.collection
    for item in inside.order_by("collection__updated_at", "pk"):
        newest[changed, item.collection.owner_id] = item.collection
    by_id = {one.collection.pk: one for one in shown(list({*newest.values()}), viewer.pk)}
    return {
        row.pk: by_id[newest[row.kind, row.actor_id].pk]
        for row in rows
        if (row.kind, row.actor_id) in newest
    }


def reported_collections(report: Report) -> list[ReportedCollection]:
    """The collections in a report, as they were when it was filed."""
    return list(ReportedCollection.objects.filter(report=report).order_by("pk"))


# SQL for a profile: whether its owner has collections that the viewer may see there.
HAS_COLLECTIONS = """EXISTS (
    SELECT 1 FROM curation_collection c
    WHERE c.owner_id = %(owner)s AND (c.is_discoverable OR c.owner_id = %(viewer)s))"""


def not_found() -> NotFound:
    return NotFound(_("There is no such collection."))
