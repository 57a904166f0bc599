"""Conversations as JSON, in the Mastodon shape."""

from typing import TypedDict

from apps.api.entities.account import AccountJson, account_json
from apps.api.entities.status import StatusJson, status_json
from apps.conversations.queries import ConversationItem


class ConversationJson(TypedDict):
    """A thread among mentioned people."""

    id: str
    unread: bool
    accounts: list[AccountJson]
    last_status: StatusJson


def conversation_json(conversation: ConversationItem) -> ConversationJson:
    return {
        "id": str(conversation.id),
        "unread": conversation.is_unread,
        "accounts": [account_json(person) for person in conversation.people],
        "last_status": status_json(conversation.item),
    }
