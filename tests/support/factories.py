"""Creates test data through the same actions as the site.

Accounts, logins and follows, which every test needs, are written directly as rows.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from unittest import mock

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.db import connection, transaction
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone

from apps.accounts.authentication.session_store import SessionStore
from apps.accounts.authentication.sessions import device_of
from apps.accounts.cache import USER_COUNTS
from apps.accounts.email import sending
from apps.accounts.models import AccessToken, Login, Mail, User, UserCounts
from apps.accounts.queries import personal_token
from apps.events import actions as events
from apps.events.leases import State
from apps.events.models import Event
from apps.graph.actions import follow_user
from apps.graph.models import Followee, Follower
from apps.moderation.actions import suspend_user
from apps.notifications.models import Notification
from apps.posts.actions import publish as actions
from apps.posts.actions.drafts import Draft
from apps.posts.actions.publish import publish_post
from apps.posts.models import Post
from apps.posts.store import Changed
from apps.timeline.fanout import dispatch
from apps.timeline.models import Backfill, BackfillChunk, FanoutChunk, FanoutJob
from feedcache.read_through import write_together

PASSWORD = "a long enough passphrase"
_numbers = count(1)


def make_user(handle="", **fields) -> User:
    """An account as `register` creates it, without the checks, and with its counts loaded."""
    handle = handle or f"user{next(_numbers)}"
    fields.setdefault("email", f"{handle}@example.org")
    user = User(handle=handle, **fields)
    user.set_password(PASSWORD)
    user.save(force_insert=True)
    UserCounts.objects.create(user=user)  # which is `user.counts` from now on
    return user


@transaction.atomic
def make_follow(follower: User, followee: User) -> None:
    """The rows of a follow that was delivered; `follow_user` and `deliver` would need four times as many statements."""
    Followee.objects.create(owner=follower, followee=followee, created_at=Now())
    Follower.objects.create(owner=followee, follower=follower, created_at=Now())
    USER_COUNTS.change(follower.pk, {"following": 1}, graph_revision=1)
    USER_COUNTS.change(followee.pk, {"followers": 1}, followers_revision=1)
    Notification.objects.create(user=followee, actor=follower, kind="follow", created_at=Now())
    payload = {"follower_id": follower.pk, "followee_id": followee.pk}
    Event.objects.bulk_create(
        Event(
            name="followed", subscriber=subscriber, payload=payload,
            state=State.DONE, attempts=1, finished_at=Now(),
        )
        for subscriber in events.subscribers("followed")
    )  # fmt: skip


def log_in(browser: Client, user: User) -> None:
    """Write the rows of a login, a session and a `Login`; `force_login` would need twenty statements."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    key = str(session.session_key)
    Login.objects.create(user=user, session_key=key, device=device_of(""))
    browser.cookies[settings.SESSION_COOKIE_NAME] = key


def user_of_token(token) -> User | None:
    """The active account of a personal token."""
    found = personal_token(AccessToken.digest_of(token))
    return found.user if found else None


def publish(author, body="Hello.", *, idempotency_key="", **draft) -> Post:
    """A post of an author."""
    return published(author, body, idempotency_key=idempotency_key, **draft).post


def published(author, body="Hello.", *, idempotency_key="", **draft) -> Changed:
    """Like `publish`, with the whole result of `publish_post`."""
    return publish_post(author, Draft(body=body, **draft), idempotency_key=idempotency_key)


def repost(author, post_id) -> Post:
    """A repost of a post."""
    return actions.repost(author, post_id).post


def delivered(author, body="Hello.", *, to=(), **draft) -> Post:
    """A post that has been delivered. `to`: readers who follow the author, if necessary from now on."""
    for reader in to:
        follow_user(reader, author)
    post = publish(author, body, **draft)
    deliver()
    return post


@contextmanager
def seconds_ago(number: float) -> Iterator[None]:
    """Posts published in this context get ids of that time. Within a second, ids do not order posts of two authors."""

    def clock(_counts: UserCounts) -> float:
        return time.time() - number

    with mock.patch("apps.posts.store.clock", clock):
        yield


def show_to_author(post: Post) -> None:
    """Write a post to its author's own timelines, as the publishing request does, even if it has already done so."""
    write_together([dispatch.own_timeline_writes(post)])


def moderator() -> User:
    """A superuser on the staff; the same one throughout a test."""
    rights = {"is_staff": True, "is_superuser": True}
    user, _is_new = User.objects.get_or_create(handle="moderator", defaults=rights)
    UserCounts.objects.get_or_create(user=user)
    return user


def suspend(user: User) -> None:
    """Suspend an account, so that nobody sees it any more."""
    suspend_user(user, by=moderator(), reason="A test.")


_WORK = (Event, FanoutJob, Backfill, BackfillChunk, FanoutChunk, Mail)
_DUE = " UNION ALL ".join(
    f"SELECT FROM {model._meta.db_table} WHERE state = %(pending)s AND due_at <= %(now)s"
    for model in _WORK
)


def deliver() -> None:
    """Do the work of the Celery workers until nothing is due."""
    while _is_something_due() and (
        events.run_due(limit=100) or dispatch.run_due(limit=100) or sending.run_due(limit=100)
    ):
        pass


def _is_something_due() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT EXISTS ({_DUE})", {"pending": State.PENDING.value, "now": timezone.now()}
        )
        return bool(cursor.fetchone()[0])
