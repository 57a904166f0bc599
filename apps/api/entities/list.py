"""Lists as JSON, in the Mastodon shape."""

from typing import Annotated, TypedDict

from apps.lists.models import RepliesPolicy, UserList


class ListJson(TypedDict):
    """A list of people."""

    id: str
    title: str
    replies_policy: Annotated[str, RepliesPolicy]
    exclusive: Annotated[bool, "Its people are not on the home page."]


def list_json(user_list: UserList) -> ListJson:
    return {
        "id": str(user_list.pk),
        "title": user_list.title,
        "replies_policy": user_list.replies_policy,
        "exclusive": user_list.is_exclusive,
    }
