"""Reports as JSON, in the Mastodon shape."""

from collections.abc import Collection
from typing import Annotated, TypedDict

from apps.accounts.models import User
from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.base import DateTime, optional_timestamp, timestamp
from apps.moderation.models import Category, Report


class ReportJson(TypedDict):
    """What the viewer reported."""

    id: str
    action_taken: bool
    action_taken_at: DateTime | None
    category: Annotated[str, Category]
    comment: str
    forwarded: Annotated[bool, "Never: there are no other sites."]
    created_at: DateTime
    status_ids: list[str]
    rule_ids: list[str]
    target_account: AccountJson


def report_json(report: Report, target: User, post_ids: Collection[int]) -> ReportJson:
    return {
        "id": str(report.pk),
        "action_taken": report.resolved_at is not None,
        "action_taken_at": optional_timestamp(report.resolved_at),
        "category": report.category,
        "comment": report.comment,
        "forwarded": False,
        "created_at": timestamp(report.created_at),
        "status_ids": [str(post_id) for post_id in post_ids],
        "rule_ids": [str(number) for number in report.rule_ids],
        "target_account": account_json(target),
    }
