"""Makes what tests need, through the actions that users go through."""

from itertools import count

from apps.accounts import mail
from apps.accounts.actions import register, suspend_user
from apps.accounts.models import User, UserCounts
from apps.accounts.queries import user_by_id
from apps.events import actions as events
from apps.posts.actions import publish_post
from apps.posts.drafts import Draft
from apps.posts.models import Post
from apps.timeline.fanout import dispatch

PASSWORD = "a long enough passphrase"
_numbers = count(1)


def make_user(handle="", **fields) -> User:
    """An account, with its counts loaded."""
    handle = handle or f"user{next(_numbers)}"
    fields.setdefault("email", f"{handle}@example.org")
    user = register(handle=handle, password=PASSWORD, **fields)
    return user_by_id(user.pk)


def publish(author, body="Hello.", *, idempotency_key="", **draft) -> Post:
    """A post of an author."""
    return publish_post(author, Draft(body=body, **draft), idempotency_key=idempotency_key)


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
    while events.run_due(limit=100) or dispatch.run_due(limit=100) or mail.run_due(limit=100):
        pass
