"""Makes what tests need, through the actions that users go through."""

from itertools import count

from apps.accounts.actions import register
from apps.accounts.email import sending
from apps.accounts.models import AccessToken, User, UserCounts
from apps.accounts.queries import personal_token, user_by_id
from apps.events import actions as events
from apps.moderation.actions import suspend_user
from apps.posts.actions.drafts import Draft
from apps.posts.actions.publish import publish_post
from apps.posts.models import Post
from apps.timeline.fanout import dispatch
from feedcache.read_through import write_together

PASSWORD = "a long enough passphrase"
_numbers = count(1)


def make_user(handle="", **fields) -> User:
    """An account, with its counts loaded."""
    handle = handle or f"user{next(_numbers)}"
    fields.setdefault("email", f"{handle}@example.org")
    user = register(handle=handle, password=PASSWORD, **fields)
    return user_by_id(user.pk)


def user_of_token(token) -> User | None:
    """The active account of a personal token."""
    found = personal_token(AccessToken.digest_of(token))
    return found.user if found else None


def publish(author, body="Hello.", *, idempotency_key="", **draft) -> Post:
    """A post of an author."""
    return publish_post(author, Draft(body=body, **draft), idempotency_key=idempotency_key)


def show_to_author(post: Post) -> None:
    """What the request does for the author's own timelines, whether or not it did."""
    write_together([dispatch.own_timeline_writes(post)])


def moderator() -> User:
    """Somebody of staff who may do everything; the same one in a whole test."""
    rights = {"is_staff": True, "is_superuser": True}
    user, _is_new = User.objects.get_or_create(handle="moderator", defaults=rights)
    UserCounts.objects.get_or_create(user=user)
    return user


def suspend(user: User) -> None:
    """An account that nobody sees from now on."""
    suspend_user(user, by=moderator(), reason="A test.")


def deliver() -> None:
    """Do what the workers would do, until nothing is due."""
    while events.run_due(limit=100) or dispatch.run_due(limit=100) or sending.run_due(limit=100):
        pass
