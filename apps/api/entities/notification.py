"""Notifications as JSON, in the Mastodon shape."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from rest_framework import serializers

from apps.accounts.models import User
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.base import ID, DateTime, Input, Uri, timestamp
from apps.api.entities.status import StatusJson, status_json
from apps.api.hooks import notification_fields
from apps.notifications.grouping import GROUP_KEY_PREFIXES, NotificationGroup, group_key
from apps.notifications.kinds import TOLD
from apps.notifications.models import NotificationPolicy, ReadMarker, Treatment
from apps.notifications.queries import HeldBackNotifications, NotificationItem

# The API's type for each kind of notification: Mastodon's, and `reaction`. A reply is a mention.
TYPES = {str(kind): told.type for kind, told in TOLD.items()}
TYPE_NAMES = sorted({*TYPES.values()})


class NotificationJson(TypedDict):
    """An event that concerns the viewer. `account` caused it, or is the viewer's own if nobody did."""

    id: str
    group_key: str
    type: Annotated[str, TYPE_NAMES]
    created_at: DateTime
    account: AccountJson
    status: NotRequired[StatusJson]


def notification_json(notification: NotificationItem) -> NotificationJson:
    """A notification as JSON; it has a `status` only if it is about a post."""
    body: NotificationJson = {
        "id": str(notification.id),
        "group_key": group_key(notification, GROUP_KEY_PREFIXES),
        "type": TYPES[notification.kind],
        "created_at": timestamp(notification.created_at),
        "account": account_json(notification.actor),
    }
    if notification.item is not None:
        body["status"] = status_json(notification.item)
    return cast("NotificationJson", {**body, **_added(notification)})


def _added(notification: NotificationItem) -> dict[str, Any]:
    """The fields that optional apps add."""
    values = {field.name: field.value(notification) for field in notification_fields()}
    return {name: value for name, value in values.items() if value is not None}


class PartialAccountJson(TypedDict):
    """The fields of an account that are needed for its avatar."""

    id: str
    acct: str
    url: Uri
    avatar: Uri
    avatar_static: Uri
    locked: bool
    bot: bool


def partial_account_json(person: User) -> PartialAccountJson:
    account = account_json(person)
    return {
        "id": account["id"],
        "acct": account["acct"],
        "url": account["url"],
        "avatar": account["avatar"],
        "avatar_static": account["avatar_static"],
        "locked": account["locked"],
        "bot": account["bot"],
    }


class NotificationGroupJson(TypedDict):
    """Notifications that are shown as one, such as likes of one post by several accounts; or a single notification."""

    group_key: str
    notifications_count: Annotated[int, "Only those on this page."]
    type: Annotated[str, TYPE_NAMES]
    most_recent_notification_id: Annotated[int, "A number, unlike all other ids, as in Mastodon."]
    page_min_id: str
    page_max_id: str
    latest_page_notification_at: DateTime
    sample_account_ids: list[str]
    status_id: NotRequired[str]


def group_json(group: NotificationGroup) -> NotificationGroupJson:
    """A group as JSON; it has a `status_id` only if it is about a post."""
    body: NotificationGroupJson = {
        "group_key": group.key,
        "notifications_count": len(group.items),
        "type": TYPES[group.newest.kind],
        "most_recent_notification_id": group.newest.id,
        "page_min_id": str(group.items[-1].id),
        "page_max_id": str(group.newest.id),
        "latest_page_notification_at": timestamp(group.newest.created_at),
        "sample_account_ids": [str(person.pk) for person in group.actors],
    }
    if group.item is not None:
        body["status_id"] = str(group.item.id)
    return cast("NotificationGroupJson", {**body, **_added(group.newest)})


class GroupedNotificationsJson(TypedDict):
    """Groups of notifications. Each account and each status in them is listed once."""

    accounts: list[AccountJson]
    partial_accounts: NotRequired[list[PartialAccountJson]]
    statuses: list[StatusJson]
    notification_groups: list[NotificationGroupJson]


def groups_json(
    groups: Sequence[NotificationGroup], *, partial: bool = False
) -> GroupedNotificationsJson:
    """Groups of notifications, with each account and each status listed once.

    With `partial`, only the newest account of each group is complete; the others have only the fields for an avatar.
    """
    first = {group.newest.actor.pk: group.newest.actor for group in groups}
    people = {person.pk: person for group in groups for person in group.actors}
    statuses = {group.item.id: group.item for group in groups if group.item}
    body: GroupedNotificationsJson = {
        "accounts": [account_json(person) for person in (first if partial else people).values()],
        "statuses": [status_json(item) for item in statuses.values()],
        "notification_groups": [group_json(group) for group in groups],
    }
    if partial:
        others = [person for pk, person in people.items() if pk not in first]
        body["partial_accounts"] = [partial_account_json(person) for person in others]
    return body


class PolicySummaryJson(TypedDict):
    """The numbers of held-back notifications, of which only the newest thousand are counted, and of their senders."""

    pending_requests_count: int
    pending_notifications_count: int


class NotificationPolicyJson(TypedDict):
    """How notifications from each kind of sender are treated (Mastodon's notification policy)."""

    for_not_following: Annotated[str, Treatment]
    for_not_followers: Annotated[str, Treatment]
    for_new_accounts: Annotated[str, Treatment]
    for_private_mentions: Annotated[str, Treatment]
    for_bots: Annotated[str, Treatment]
    for_limited_accounts: Annotated[
        Literal["drop"], "Accounts that staff have limited notify only people who follow them."
    ]
    summary: PolicySummaryJson


def policy_json(
    policy: NotificationPolicy, held: Sequence[HeldBackNotifications]
) -> NotificationPolicyJson:
    return {
        "for_not_following": policy.for_not_following,
        "for_not_followers": policy.for_not_followers,
        "for_new_accounts": policy.for_new_accounts,
        "for_private_mentions": policy.for_private_mentions,
        "for_bots": policy.for_bots,
        "for_limited_accounts": "drop",
        "summary": {
            "pending_requests_count": len(held),
            "pending_notifications_count": sum(len(entry.items) for entry in held),
        },
    }


class NotificationRequestJson(TypedDict):
    """The held-back notifications from one account (Mastodon's notification request)."""

    id: Annotated[str, "The id of the account."]
    created_at: DateTime
    updated_at: DateTime
    notifications_count: str
    account: AccountJson
    last_status: StatusJson | None


def held_back_json(held: HeldBackNotifications) -> NotificationRequestJson:
    newest, oldest = held.items[0], held.items[-1]
    return {
        "id": str(held.actor.pk),
        "created_at": timestamp(oldest.created_at),
        "updated_at": timestamp(newest.created_at),
        "notifications_count": str(len(held.items)),
        "account": account_json(held.actor),
        "last_status": status_json(newest.item) if newest.item else None,
    }


class RequestsMergedJson(TypedDict):
    """`merged` is always true, because accepted notifications are added to the list immediately."""

    merged: bool


class UnreadCountJson(TypedDict):
    """The number of unread notifications."""

    count: int


class MarkerJson(TypedDict):
    """How far a timeline has been read."""

    last_read_id: str
    version: int
    updated_at: DateTime


class MarkersJson(TypedDict, total=False):
    """The markers that the viewer has set."""

    home: MarkerJson
    notifications: MarkerJson


def marker_json(marker: ReadMarker) -> MarkerJson:
    return {
        "last_read_id": str(marker.last_read_id),
        "version": marker.version,
        "updated_at": timestamp(marker.updated_at),
    }


def markers_json(markers: Mapping[str, ReadMarker]) -> MarkersJson:
    """The markers as JSON, by the name of their timeline."""
    body: MarkersJson = {}
    if home := markers.get(ReadMarker.Timeline.HOME):
        body["home"] = marker_json(home)
    if notifications := markers.get(ReadMarker.Timeline.NOTIFICATIONS):
        body["notifications"] = marker_json(notifications)
    return body


class PolicyInput(Input):
    """A treatment for each kind of sender; absent fields stay unchanged, and unknown fields are ignored."""

    for_not_following = serializers.ChoiceField(Treatment.values, required=False)
    for_not_followers = serializers.ChoiceField(Treatment.values, required=False)
    for_new_accounts = serializers.ChoiceField(Treatment.values, required=False)
    for_private_mentions = serializers.ChoiceField(Treatment.values, required=False)
    for_bots = serializers.ChoiceField(Treatment.values, required=False)


class AccountIdsInput(Input):
    """The ids of the accounts whose requests are to be accepted or dismissed."""

    id = serializers.ListField(
        child=serializers.RegexField(r"\A[1-9][0-9]{0,17}\Z"), max_length=100
    )


class ReadMarkerInput(Input):
    """The newest id of a timeline that has been read."""

    last_read_id = serializers.RegexField(ID)


class ReadMarkersInput(Input):
    """How far each timeline has been read. Unknown timelines are ignored."""

    home = ReadMarkerInput(required=False)
    notifications = ReadMarkerInput(required=False)
