"""Lists (in the Mastodon shape) and circles as JSON."""

from typing import Annotated, TypedDict

from rest_framework import serializers

from apps.api.entities.base import Input
from apps.graph.groups.queries import CircleChoice
from apps.graph.models import RepliesPolicy, UserList


class ListJson(TypedDict):
    """A list of people."""

    id: str
    title: str
    replies_policy: Annotated[str, RepliesPolicy]
    exclusive: Annotated[bool, "Its members' posts do not appear on the home page."]


def list_json(user_list: UserList) -> ListJson:
    return {
        "id": str(user_list.pk),
        "title": user_list.name,
        "replies_policy": user_list.replies_policy,
        "exclusive": user_list.is_exclusive,
    }


class ListInput(Input):
    """A new list. Unknown fields are ignored."""

    title = serializers.CharField(source="name", max_length=UserList.NAME_MAX_CHARACTERS)
    replies_policy = serializers.ChoiceField(RepliesPolicy.values, default=RepliesPolicy.LIST.value)
    exclusive = serializers.BooleanField(source="is_exclusive", default=False)


class ListChange(Input):
    """The fields of a list to change; absent fields stay unchanged."""

    title = serializers.CharField(
        source="name", max_length=UserList.NAME_MAX_CHARACTERS, required=False
    )
    replies_policy = serializers.ChoiceField(RepliesPolicy.values, required=False)
    exclusive = serializers.BooleanField(source="is_exclusive", required=False)


class PeopleInput(Input):
    """Accounts by id; in a form the field is `account_ids[]`."""

    account_ids = serializers.ListField(child=serializers.CharField(max_length=20), max_length=100)


class CircleJson(TypedDict):
    """A circle that the viewer may post to."""

    id: str
    title: str
    is_own: bool
    is_shared: Annotated[bool, "Its members may post to it."]


def circle_json(circle: CircleChoice) -> CircleJson:
    return {
        "id": str(circle.id),
        "title": circle.name,
        "is_own": circle.is_own,
        "is_shared": circle.is_shared,
    }
