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


def conversation_json(talk: ConversationItem) -> ConversationJson:
    return {
        "id": str(talk.id),
        "unread": talk.is_unread,
        "accounts": [account_json(person) for person in talk.people],
        "last_status": status_json(talk.item),
    }
