"""What the search does when posts and accounts change."""

from apps.accounts.models import User
from apps.events.registry import Payload, handles
from apps.search.indexing import index_people, index_posts


@handles("post_published")
@handles("post_edited")
@handles("post_deleted")
def index_post(payload: Payload) -> None:
    """Write the post as it is now."""
    index_posts([payload["post_id"]])


@handles("account_changed")
def index_person(payload: Payload) -> None:
    """Write the account as it is now."""
    if user := User.objects.filter(pk=payload["user_id"]).first():
        index_people([user])
