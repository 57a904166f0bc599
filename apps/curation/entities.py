"""Collections in Mastodon's JSON format."""

from typing import Annotated, Literal, TypedDict

from apps.addresses import absolute
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.base import DateTime, Uri, timestamp
from apps.api.hooks import NotificationField
from apps.curation.queries import Item, Shown
from apps.notifications.queries import NotificationItem
from apps.tags.names import tag_address


class ShallowTagJson(TypedDict):
    """A tag by its name."""

    name: str
    url: Uri


class CollectionItemJson(TypedDict):
    """An account in a collection."""

    id: str
    account_id: str
    state: Annotated[
        Literal["accepted"],
        "Accounts agree in advance, by `discoverable`; those that have left are not in `items`.",
    ]
    created_at: DateTime


class CollectionJson(TypedDict):
    """Accounts that somebody recommends."""

    id: str
    account_id: str
    uri: Uri
    url: Uri
    name: str
    description: Annotated[str, "Plain text."]
    language: str | None
    local: Annotated[bool, "Always true: there are no other sites."]
    sensitive: bool
    discoverable: bool
    tag: ShallowTagJson | None
    item_count: Annotated[int, "The number of `items`, which are those that the viewer may see."]
    items: list[CollectionItemJson]
    created_at: DateTime
    updated_at: DateTime


class WrappedCollectionJson(TypedDict):
    """A collection in an object."""

    collection: CollectionJson


class CollectionsJson(TypedDict):
    """Collections in an object."""

    collections: list[CollectionJson]


class CollectionWithAccountsJson(TypedDict):
    """A collection with its accounts: first its owner, then its members."""

    accounts: list[AccountJson]
    collection: CollectionJson


class WrappedCollectionItemJson(TypedDict):
    """An account in a collection, in an object."""

    collection_item: CollectionItemJson


def item_json(item: Item) -> CollectionItemJson:
    return {
        "id": str(item.id),
        "account_id": str(item.member.pk),
        "state": "accepted",
        "created_at": timestamp(item.created_at),
    }


def collection_json(one: Shown) -> CollectionJson:
    row, address = one.collection, absolute(one.url)
    return {
        "id": str(row.pk),
        "account_id": str(row.owner_id),
        "uri": address,
        "url": address,
        "name": row.name,
        "description": row.description,
        "language": row.language or None,
        "local": True,
        "sensitive": row.is_sensitive,
        "discoverable": row.is_discoverable,
        "tag": {"name": row.tag, "url": absolute(tag_address(row.tag))} if row.tag else None,
        "item_count": len(one.items),
        "items": [item_json(item) for item in one.items],
        "created_at": timestamp(row.created_at),
        "updated_at": timestamp(row.updated_at),
    }


def with_accounts_json(one: Shown) -> CollectionWithAccountsJson:
    people = [one.collection.owner, *(item.member for item in one.items)]
    return {
        "accounts": [account_json(person) for person in people],
        "collection": collection_json(one),
    }


def _of_notification(item: NotificationItem) -> CollectionJson | None:
    about = item.about
    return collection_json(about) if isinstance(about, Shown) else None


COLLECTION = NotificationField("collection", CollectionJson, _of_notification)
