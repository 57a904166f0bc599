"""Conversations as JSON, in the Mastodon shape."""

from typing import Any

from apps.accounts.serializers import account_json
from apps.conversations.queries import Talk
from apps.timeline.serializers import status_json


def conversation_json(talk: Talk) -> dict[str, Any]:
    """One conversation with what was said last."""
    return {
        "id": str(talk.id),
        "unread": talk.is_unread,
        "accounts": [account_json(person) for person in talk.people],
        "last_status": status_json(talk.item),
    }
