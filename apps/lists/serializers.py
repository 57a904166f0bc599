"""Lists as JSON, in the Mastodon shape."""

from typing import Any

from apps.lists.models import UserList


def list_json(user_list: UserList) -> dict[str, Any]:
    """A list as its owner sees it."""
    return {
        "id": str(user_list.pk),
        "title": user_list.title,
        "replies_policy": user_list.replies_policy,
        "exclusive": user_list.is_exclusive,
    }
