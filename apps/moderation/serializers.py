"""Reports as JSON, in the Mastodon shape."""

from collections.abc import Collection
from typing import Any

from apps.accounts.models import User
from apps.accounts.serializers import account_json, timestamp
from apps.moderation.models import Report


def report_json(report: Report, target: User, post_ids: Collection[int]) -> dict[str, Any]:
    """A report as its writer sees it."""
    return {
        "id": str(report.pk),
        "action_taken": report.resolved_at is not None,
        "action_taken_at": timestamp(report.resolved_at) if report.resolved_at else None,
        "category": report.category,
        "comment": report.comment,
        "forwarded": False,
        "created_at": timestamp(report.created_at),
        "status_ids": [str(post_id) for post_id in post_ids],
        "rule_ids": [str(number) for number in report.rule_ids],
        "target_account": account_json(target),
    }
