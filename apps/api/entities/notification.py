"""Notifications as JSON, in the Mastodon shape."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from rest_framework import serializers

from apps.accounts.models import User
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.base import ID, DateTime, Input, Uri, timestamp
from apps.api.entities.status import StatusJson, status_json
from apps.notifications.grouping import GROUP_KEY_PREFIXES, NotificationGroup, group_key
from apps.notifications.kinds import TOLD
from apps.notifications.models import NotificationPolicy, ReadMarker, Verdict
from apps.notifications.queries import FilteredNotifications, NotificationItem

# Mastodon's types of our kinds; a reply is a mention.
TYPES = {str(kind): told.type for kind, told in TOLD.items()}
TYPE_NAMES = sorted({*TYPES.values()})


class NotificationJson(TypedDict):
    """What an account did."""

    id: str
    group_key: str
    type: Annotated[str, TYPE_NAMES]
    created_at: DateTime
    account: AccountJson
    status: NotRequired[StatusJson]


def notification_json(notification: NotificationItem) -> NotificationJson:
    """A follow has no status."""
    body: NotificationJson = {
        "id": str(notification.id),
        "group_key": group_key(notification, GROUP_KEY_PREFIXES),
        "type": TYPES[notification.kind],
        "created_at": timestamp(notification.created_at),
        "account": account_json(notification.actor),
    }
    if notification.item is not None:
        body["status"] = status_json(notification.item)
    return body


class PartialAccountJson(TypedDict):
    """As much of an account as a picture of it needs."""

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
    """What several accounts did alike."""

    group_key: str
    notifications_count: Annotated[int, "As far as they are on this page."]
    type: Annotated[str, TYPE_NAMES]
    most_recent_notification_id: Annotated[
        int, "A number, unlike all other ids: so it is in Mastodon."
    ]
    page_min_id: str
    page_max_id: str
    latest_page_notification_at: DateTime
    sample_account_ids: list[str]
    status_id: NotRequired[str]


def group_json(group: NotificationGroup) -> NotificationGroupJson:
    """A follow has no status."""
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
    return body


class GroupedNotificationsJson(TypedDict):
    """Groups of notifications, and each account and each status they name once."""

    accounts: list[AccountJson]
    partial_accounts: NotRequired[list[PartialAccountJson]]
    statuses: list[StatusJson]
    notification_groups: list[NotificationGroupJson]


def groups_json(
    groups: Sequence[NotificationGroup], *, partial: bool = False
) -> GroupedNotificationsJson:
    """Groups of notifications, with each account and each status once.

    With `partial` only the first account of each group is complete, the others have what an avatar needs.
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
    """How much is held back, of the newest thousand."""

    pending_requests_count: int
    pending_notifications_count: int


class NotificationPolicyJson(TypedDict):
    """What a viewer wants held back."""

    for_not_following: Annotated[str, Verdict]
    for_not_followers: Annotated[str, Verdict]
    for_new_accounts: Annotated[str, Verdict]
    for_private_mentions: Annotated[str, Verdict]
    for_limited_accounts: Annotated[Literal["accept"], "There are no limited accounts here."]
    summary: PolicySummaryJson


def policy_json(
    policy: NotificationPolicy, held: Sequence[FilteredNotifications]
) -> NotificationPolicyJson:
    return {
        "for_not_following": policy.for_not_following,
        "for_not_followers": policy.for_not_followers,
        "for_new_accounts": policy.for_new_accounts,
        "for_private_mentions": policy.for_private_mentions,
        "for_limited_accounts": "accept",
        "summary": {
            "pending_requests_count": len(held),
            "pending_notifications_count": sum(len(entry.items) for entry in held),
        },
    }


class NotificationRequestJson(TypedDict):
    """What one account did that is held back."""

    id: Annotated[str, "The id of the account."]
    created_at: DateTime
    updated_at: DateTime
    notifications_count: str
    account: AccountJson
    last_status: StatusJson | None


def held_back_json(held: FilteredNotifications) -> NotificationRequestJson:
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
    """That nothing has to be waited for."""

    merged: bool


class UnreadCountJson(TypedDict):
    """How many are unread."""

    count: int


class MarkerJson(TypedDict):
    """How far a timeline has been read."""

    last_read_id: str
    version: int
    updated_at: DateTime


class MarkersJson(TypedDict, total=False):
    """The markers there are."""

    home: MarkerJson
    notifications: MarkerJson


def marker_json(marker: ReadMarker) -> MarkerJson:
    return {
        "last_read_id": str(marker.last_read_id),
        "version": marker.version,
        "updated_at": timestamp(marker.updated_at),
    }


def markers_json(markers: Mapping[str, ReadMarker]) -> MarkersJson:
    """By timeline."""
    body: MarkersJson = {}
    if home := markers.get(ReadMarker.Timeline.HOME):
        body["home"] = marker_json(home)
    if notifications := markers.get(ReadMarker.Timeline.NOTIFICATIONS):
        body["notifications"] = marker_json(notifications)
    return body


class PolicyInput(Input):
    """What becomes of which notifications; what is left out stays. Unknown fields are ignored."""

    for_not_following = serializers.ChoiceField(Verdict.values, required=False)
    for_not_followers = serializers.ChoiceField(Verdict.values, required=False)
    for_new_accounts = serializers.ChoiceField(Verdict.values, required=False)
    for_private_mentions = serializers.ChoiceField(Verdict.values, required=False)


class AccountIdsInput(Input):
    """Whose requests are meant."""

    id = serializers.ListField(
        child=serializers.RegexField(r"\A[1-9][0-9]{0,17}\Z"), max_length=100
    )


class MarkInput(Input):
    """Up to which id a timeline has been read."""

    last_read_id = serializers.RegexField(ID)


class MarksInput(Input):
    """What has been read. Unknown timelines are ignored."""

    home = MarkInput(required=False)
    notifications = MarkInput(required=False)
