"""Actions that change collections.

The owner's actions lock the owner's counts row, so that the limits hold. Adding accounts also locks their counts rows,
so that a concurrent block either prevents the addition or is followed by a removal (`handlers`).
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from apps.accounts.models import User, UserCounts
from apps.accounts.profile import single_line
from apps.accounts.queries import users_by_id
from apps.accounts.staff import log_action, require_permission
from apps.curation.models import (
    DESCRIPTION_MAX_CHARACTERS,
    NAME_MAX_CHARACTERS,
    Collection,
    CollectionItem,
    ReportedCollection,
)
from apps.curation.queries import approval, collection_for, not_found, own_collection, shown
from apps.errors import DomainError, Invalid, NotAllowed, NotFound, invalid
from apps.events.actions import declare, record
from apps.graph.actions import follow_user
from apps.graph.queries import ExactRelations, exact_relations
from apps.moderation.models import Report
from apps.posts.content.post import PostContent
from apps.sql import lock_each
from apps.tags.names import normalize
from apps.texts import normalise
from apps.throttling import check_rate_limit

MAX_COLLECTIONS = 10  # per account
MAX_ITEMS = 25  # per collection
# The accounts in a collection are notified if one of these fields changes.
_NEWS = {"name", "description", "tag", "is_sensitive"}

declare(
    collected="collection_id, owner_id, user_ids (added to the collection)",
    uncollected="owner_id, user_ids (removed from one of the owner's collections, or they left it)",
    collection_changed="collection_id, owner_id",
)


@transaction.atomic
def create_collection(owner: User, member_ids: Sequence[int] = (), **fields: Any) -> Collection:
    """Create a collection of these accounts. If one of them cannot be added, nothing is created.

    `fields` are columns of `Collection`. Raises Invalid if a field is invalid or a limit is exceeded, NotFound and
    NotAllowed as in `add_account`, and TooMany.
    """
    ids = list(dict.fromkeys(member_ids))
    clean = _clean({"name": "", **fields})
    lock_each(UserCounts, [owner.pk, *ids])
    if Collection.objects.filter(owner=owner).count() >= MAX_COLLECTIONS:
        raise Invalid(
            _("You have %(count)d collections, which is the maximum.") % {"count": MAX_COLLECTIONS}
        )
    made = Collection.objects.create(owner=owner, **clean)
    _add(owner, made, ids)
    return made


@transaction.atomic
def change_collection(owner: User, collection_id: int, **fields: Any) -> Collection:
    """Change the given fields of a collection. Raises NotFound, NotAllowed or Invalid."""
    lock_each(UserCounts, [owner.pk])
    row = own_collection(owner, collection_id)
    changed = {name: value for name, value in _clean(fields).items() if value != getattr(row, name)}
    if changed:
        Collection.objects.filter(pk=row.pk).update(**changed, updated_at=Now())
        row.refresh_from_db(fields=[*changed, "updated_at"])
    if _NEWS & changed.keys():
        record("collection_changed", collection_id=row.pk, owner_id=owner.pk)
    return row


@transaction.atomic
def delete_collection(owner: User, collection_id: int) -> None:
    """Delete one of the owner's collections. Raises NotFound or NotAllowed."""
    lock_each(UserCounts, [owner.pk])
    _delete(own_collection(owner, collection_id))


@transaction.atomic
def take_down(row: Collection, *, by: User) -> None:
    """Delete a collection on behalf of staff. Raises NotFound; NotAllowed without the permission to change collections,
    and for a superuser's collection unless `by` is one.
    """
    require_permission(by, "curation.change_collection", over=row.owner)
    lock_each(UserCounts, [row.owner_id])
    if not Collection.objects.filter(pk=row.pk).exists():
        raise not_found()
    log_action(by, row, _("Deleted."))
    _delete(row)


@transaction.atomic
def add_account(owner: User, collection_id: int, member_id: int) -> CollectionItem:
    """Add an account that agrees to be in collections (`queries.approval`).

    Raises NotFound; NotAllowed for another account's collection, and for an account that does not agree, has left the
    collection, or has blocked or is blocked by the owner; Invalid if the account is already in it or the collection is
    full; and TooMany.
    """
    return add_accounts(owner, collection_id, [member_id])[0]


@transaction.atomic
def add_accounts(
    owner: User, collection_id: int, member_ids: Sequence[int]
) -> list[CollectionItem]:
    """Add all of these accounts or none, with the rules of `add_account`."""
    ids = list(dict.fromkeys(member_ids))
    lock_each(UserCounts, [owner.pk, *ids])
    row = own_collection(owner, collection_id)
    _add(owner, row, ids)
    return list(CollectionItem.objects.filter(collection=row, member__in=ids))


@transaction.atomic
def remove_item(owner: User, collection_id: int, item_id: int) -> None:
    """Remove an account from one of the owner's collections. Raises NotFound or NotAllowed."""
    lock_each(UserCounts, [owner.pk])
    row = own_collection(owner, collection_id)
    item = _item(row, item_id)
    item.delete()
    record("uncollected", owner_id=owner.pk, user_ids=[item.member_id])


@transaction.atomic
def remove_hidden(owner: User, collection_id: int) -> int:
    """Remove all accounts that are hidden from everybody; returns how many. Raises NotFound or NotAllowed."""
    lock_each(UserCounts, [owner.pk])
    row = own_collection(owner, collection_id)
    [one] = shown([row], None)
    rows = CollectionItem.objects.filter(collection=row, left_at=None)
    rows = rows.exclude(pk__in=[item.id for item in one.items])
    member_ids = list(rows.values_list("member_id", flat=True))
    rows.delete()
    if member_ids:
        record("uncollected", owner_id=owner.pk, user_ids=member_ids)
    return len(member_ids)


@transaction.atomic
def leave(member: User, collection_id: int, item_id: int) -> None:
    """Remove `member` from a collection permanently. Raises NotFound or NotAllowed."""
    row = collection_for(member.pk, collection_id)
    item = _item(row, item_id)
    if item.member_id != member.pk:
        raise NotAllowed(_("You can only remove yourself from this collection."))
    CollectionItem.objects.filter(pk=item.pk).update(left_at=Now())
    record("uncollected", owner_id=row.owner_id, user_ids=[member.pk])


def store_reported(
    report: Report, _posts: Sequence[PostContent], collection_ids: Sequence[int]
) -> None:
    """Store the reported collections as they are now. Raises NotFound unless the reported account owns them all."""
    found = Collection.objects.filter(pk__in=collection_ids, owner=report.target_id)
    if len(collection_ids) > MAX_COLLECTIONS or found.count() < len(set(collection_ids)):
        raise not_found()
    ReportedCollection.objects.bulk_create(
        ReportedCollection(
            report=report, collection_id=row.pk, name=row.name, description=row.description
        )
        for row in found
    )


class Followed(NamedTuple):
    """The numbers of new follows and of new follow requests (`asked`), and the failed accounts with the reasons."""

    followed: int
    asked: int
    failed: list[tuple[User, str]]


def follow_each(follower: User, members: Sequence[User]) -> Followed:
    """Follow each of the first `MAX_ITEMS` accounts that is neither followed nor requested yet, in its own transaction.

    Once a rate limit is used up, all remaining follows fail for that reason.
    """
    ids = [member.pk for member in members[:MAX_ITEMS]]
    before = exact_relations(follower.pk, ids)
    known = before.following | before.requested | {follower.pk}
    failed = []
    for member in members[:MAX_ITEMS]:
        if member.pk in known:
            continue
        try:
            follow_user(follower, member)
        except DomainError as refusal:
            failed.append((member, refusal.message))
    after = exact_relations(follower.pk, ids)
    return Followed(
        len(after.following - before.following), len(after.requested - before.requested), failed
    )


def _add(owner: User, row: Collection, member_ids: list[int]) -> None:
    """Add all of these accounts or none. The caller has locked their counts rows and the owner's."""
    if not member_ids:
        return
    present = dict(
        CollectionItem.objects.filter(collection=row).values_list("member_id", "left_at")
    )
    inside = [pk for pk, left_at in present.items() if left_at is None]
    users = users_by_id(member_ids)
    related = exact_relations(owner.pk, member_ids)
    for pk in member_ids:
        if pk not in users:
            raise NotFound(_("There is no such account."))
        if pk in inside:
            message = _("@%(handle)s is in this collection already.")
            raise invalid("account_id", message % {"handle": users[pk].handle})
        if pk in present or not _may_add(owner, users[pk], related):
            message = _("@%(handle)s can't be added to this collection.")
            raise NotAllowed(message % {"handle": users[pk].handle})
    if len(inside) + len(member_ids) > MAX_ITEMS:
        message = _("A collection can have at most %(count)d accounts.") % {"count": MAX_ITEMS}
        raise invalid("account_id", message)
    check_rate_limit("collect", str(owner.pk), cost=len(member_ids))
    CollectionItem.objects.bulk_create(
        CollectionItem(collection=row, member_id=pk, created_at=Now()) for pk in member_ids
    )
    record("collected", collection_id=row.pk, owner_id=owner.pk, user_ids=member_ids)


def may_add(owner: User, user: User) -> bool:
    """Whether the owner may add this account to their collections, apart from those that the account has left."""
    return _may_add(owner, user, exact_relations(owner.pk, [user.pk]))


def _may_add(owner: User, user: User, related: ExactRelations) -> bool:
    agreed = approval(user)
    if not agreed or user.pk in related.severed:
        return False
    return agreed == "public" or user.pk in related.following or user.pk == owner.pk


def item_of(row: Collection, member: User) -> CollectionItem:
    """The item of an account in a collection. Raises NotFound if the account is not in it."""
    return _found(CollectionItem.objects.filter(collection=row, member=member))


def _delete(row: Collection) -> None:
    items = CollectionItem.objects.filter(collection=row, left_at=None)
    member_ids = list(items.values_list("member_id", flat=True))
    owner_id = row.owner_id
    row.delete()
    record("uncollected", owner_id=owner_id, user_ids=member_ids)


def _item(row: Collection, item_id: int) -> CollectionItem:
    return _found(CollectionItem.objects.filter(collection=row, pk=item_id))


def _found(rows: QuerySet[CollectionItem]) -> CollectionItem:
    found = rows.filter(left_at=None).first()
    if found is None:
        raise not_found()
    return found


def _clean(fields: dict[str, Any]) -> dict[str, Any]:
    clean = dict(fields)
    if "name" in fields:
        clean["name"] = single_line(fields["name"])
        if not clean["name"]:
            raise invalid("name", _("Give the collection a name."))
    if "description" in fields:
        clean["description"] = normalise(fields["description"])
    for name, maximum in (
        ("name", NAME_MAX_CHARACTERS),
        ("description", DESCRIPTION_MAX_CHARACTERS),
    ):
        if len(clean.get(name, "")) > maximum:
            raise invalid(name, _("At most %(count)d characters.") % {"count": maximum})
    if fields.get("tag"):
        tag = normalize(fields["tag"].strip())
        if tag is None:
            raise invalid("tag_name", _("“%(name)s” can't be a tag.") % {"name": fields["tag"]})
        clean["tag"] = tag
    return clean
