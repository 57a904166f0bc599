"""Index posts and accounts when they change."""

from apps.accounts.models import User
from apps.events.actions import Payload, handles
from apps.search.indexing import index_people, index_posts


@handles("post_published")
@handles("post_edited")
@handles("post_deleted")
def index_post(payload: Payload) -> None:
    index_posts([payload["post_id"]])


@handles("account_changed")
def index_person(payload: Payload) -> None:
    if user := User.objects.filter(pk=payload["user_id"]).first():
        index_people([user])
