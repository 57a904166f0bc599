"""Decisions of the moderators as JSON, as in Mastodon's API."""

from typing import Annotated, TypedDict

from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.base import DateTime, timestamp
from apps.api.hooks import NotificationField
from apps.moderation.models import Measure
from apps.notifications.queries import NotificationItem
from apps.strikes.queries import OwnStrike

# Mastodon's words for measures.
_ACTIONS = {
    Measure.WARN: "none",
    Measure.HIDE: "delete_statuses",
    Measure.SENSITIVE: "mark_statuses_as_sensitive",
    Measure.LIMIT: "silence",
    Measure.FREEZE: "disable",
    Measure.SUSPEND: "suspend",
}


class AppealJson(TypedDict):
    """The account's appeal against a decision of the moderators."""

    text: str
    state: Annotated[str, ["approved", "rejected", "pending"]]


class AccountWarningJson(TypedDict):
    """A decision of the moderators about the account."""

    id: str
    action: Annotated[str, [*_ACTIONS.values()]]
    text: str
    status_ids: list[str]
    target_account: AccountJson
    appeal: AppealJson | None
    created_at: DateTime


def _warning_json(notification: NotificationItem) -> AccountWarningJson | None:
    """The decision that a notification is about; None if it is not about a decision."""
    if not isinstance(notification.about, OwnStrike):
        return None
    row, said = notification.about.strike, notification.about.appeal
    appeal: AppealJson | None = None
    if said is not None:
        decided = "approved" if said.is_accepted else "rejected"
        appeal = {"text": said.text, "state": decided if said.decided_at else "pending"}
    return {
        "id": str(row.pk),
        "action": _ACTIONS[Measure(row.measure)],
        "text": row.text,
        "status_ids": [str(row.post_id)] if row.post_id else [],
        "target_account": account_json(notification.actor),
        "appeal": appeal,
        "created_at": timestamp(row.created_at),
    }


WARNING = NotificationField("moderation_warning", AccountWarningJson, _warning_json)
