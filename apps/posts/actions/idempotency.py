"""Idempotency keys: a publish request that is sent again returns the first result.

The key is written in the transaction of the post itself. If the process dies before the commit, nothing was
written, and a repeated request publishes the post; after the commit, a repeated request returns the post.
"""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta

import orjson
from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.errors import Conflict, invalid
from apps.posts.actions.drafts import Draft
from apps.posts.models import IdempotencyKey, Post, ScheduledPost
from apps.sql import purge
from apps.texts import normalise

KEY_MAX_CHARACTERS = 200
IN_FLIGHT_SECONDS = 2.0  # how long a repeated request waits for the first one
POLL_SECONDS = 0.02
RETENTION = timedelta(days=7)
_EXISTS = "SELECT FROM posts_idempotencykey WHERE user_id = %s AND key = %s"


@dataclass(frozen=True, slots=True)
class Request:
    """A request to execute only once. Without a key, it is executed each time.

    `pictures` are digests of the files, because uploading them again gives different ids.
    """

    author: User
    key: str
    draft: Draft
    at: datetime | None = None
    pictures: Sequence[str] = ()

    @property
    def fingerprint(self) -> str:
        """A string of 32 characters that is equal for equal requests."""
        values: dict[str, object] = {
            field.name: getattr(self.draft, field.name) for field in fields(Draft)
        }
        values["body"] = normalise(self.draft.body)
        # the contents of the files are left out, so that they are not read for this
        values["pictures"] = [
            (picture.width, picture.height, picture.alt) for picture in self.draft.pictures
        ]
        if self.pictures:
            values["media_ids"] = self.pictures
        text = orjson.dumps(values | {"at": self.at}, option=orjson.OPT_SORT_KEYS, default=str)
        return hashlib.blake2b(text, digest_size=16).hexdigest()

    @property
    def lock(self) -> int:
        """The number of the PostgreSQL advisory lock for the key."""
        name = f"idempotency {self.author.pk} {self.key}".encode()
        return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), signed=True)


def existing_result(request: Request) -> IdempotencyKey | None:
    """The result of an equal request, or None. Raises Invalid if the key is too long or belongs to another request."""
    if not request.key:
        return None
    if len(request.key) > KEY_MAX_CHARACTERS:
        raise invalid("Idempotency-Key", _("The Idempotency-Key is too long."), "too_long")
    # the usual case; plain SQL, because every post with a key checks this twice
    if not _exists(request):
        return None
    rows = IdempotencyKey.objects.filter(user=request.author, key=request.key)
    row = rows.select_related("scheduled").first()
    if row is not None and row.fingerprint not in {"", request.fingerprint}:
        message = _("This Idempotency-Key was used for another request.")
        raise invalid("Idempotency-Key", message, "idempotency_key_reused")
    return row


def claim(request: Request) -> IdempotencyKey | None:
    """Lock the key for the caller's transaction. Returns the result if an equal request has finished in the meantime.

    Raises Conflict if another request with the key is still running after IN_FLIGHT_SECONDS, and Invalid like
    `existing_result`. The lock is released when the transaction ends, even if the process dies.
    """
    if not request.key:
        return None
    deadline = time.monotonic() + IN_FLIGHT_SECONDS
    while not _lock(request):
        if time.monotonic() > deadline:
            message = _("A request with this Idempotency-Key is still being worked on.")
            raise Conflict(message, code="idempotency_key_in_flight")
        time.sleep(POLL_SECONDS)
    return existing_result(request)


def note(
    request: Request, *, post: Post | None = None, scheduled: ScheduledPost | None = None
) -> None:
    """Store the result, in the transaction that creates it."""
    if request.key:
        IdempotencyKey.objects.create(
            user=request.author,
            key=request.key,
            fingerprint=request.fingerprint,
            post=post,
            scheduled=scheduled,
        )


def purge_keys() -> int:
    """Delete expired keys. Returns their number."""
    old = IdempotencyKey.objects.filter(created_at__lt=timezone.now() - RETENTION)
    return purge(old.order_by("created_at"))


def _exists(request: Request) -> bool:
    with connection.cursor() as sql:
        sql.execute(_EXISTS, [request.author.pk, request.key])
        return sql.fetchone() is not None


def _lock(request: Request) -> bool:
    with connection.cursor() as sql:
        sql.execute("SELECT pg_try_advisory_xact_lock(%s)", [request.lock])
        return bool(sql.fetchone()[0])
