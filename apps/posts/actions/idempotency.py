"""A publish request that is sent again is done once: keys that clients choose, kept with what was made of them.

The key is written in the transaction of the post itself. Whoever dies before its commit has done nothing, and whoever dies
after it has done everything: the same key gives the same post in both cases.
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
from apps.errors import Conflict
from apps.posts.actions.drafts import Draft, invalid
from apps.posts.content.text import normalise
from apps.posts.models import IdempotencyKey, Post, ScheduledPost

KEY_MAX_CHARACTERS = 200
IN_FLIGHT_SECONDS = 2.0  # how long a repetition waits for the end of the first request
LOOK_SECONDS = 0.02
KEEP_FOR = timedelta(days=7)
_KNOWN = "SELECT FROM posts_idempotencykey WHERE user_id = %s AND key = %s"


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked to be done once; without a key it is done as often as it is asked.

    `pictures` tells them from others where a repetition uploads them anew, and so cannot name the same ids.
    """

    author: User
    key: str
    draft: Draft
    at: datetime | None = None
    pictures: Sequence[str] = ()

    @property
    def fingerprint(self) -> str:
        """The same for the same request: 32 characters."""
        said: dict[str, object] = {one.name: getattr(self.draft, one.name) for one in fields(Draft)}
        said["body"] = normalise(self.draft.body)
        # a file is told by what it is made of; its bytes are not read again
        said["pictures"] = [(one.width, one.height, one.alt) for one in self.draft.pictures]
        if self.pictures:
            said["media_ids"] = self.pictures
        text = orjson.dumps(said | {"at": self.at}, option=orjson.OPT_SORT_KEYS, default=str)
        return hashlib.blake2b(text, digest_size=16).hexdigest()

    @property
    def lock(self) -> int:
        """The number that PostgreSQL knows the key by while somebody works on it."""
        name = f"idempotency {self.author.pk} {self.key}".encode()
        return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), signed=True)


def existing_result(request: Request) -> IdempotencyKey | None:
    """What was made of an equal request; None the first time. Invalid for a bad key, and for one of another request."""
    if not request.key:
        return None
    if len(request.key) > KEY_MAX_CHARACTERS:
        raise invalid("Idempotency-Key", _("The Idempotency-Key is too long."), "too_long")
    if not _is_known(request):  # nearly every time, and twice for every post
        return None
    rows = IdempotencyKey.objects.filter(user=request.author, key=request.key)
    row = rows.select_related("post", "scheduled").first()
    if row is not None and row.fingerprint not in {"", request.fingerprint}:
        message = _("This Idempotency-Key was used for another request.")
        raise invalid("Idempotency-Key", message, "idempotency_key_reused")
    return row


def claim(request: Request) -> IdempotencyKey | None:
    """Take the key for the caller's transaction; what was made of it meanwhile. Conflict while another one has it.

    The lock ends with the transaction, and with the connection of a process that dies.
    """
    if not request.key:
        return None
    deadline = time.monotonic() + IN_FLIGHT_SECONDS
    while not _is_taken(request):
        if time.monotonic() > deadline:
            message = _("A request with this Idempotency-Key is still being worked on.")
            raise Conflict(message, code="idempotency_key_in_flight")
        time.sleep(LOOK_SECONDS)
    return existing_result(request)


def note(
    request: Request, *, post: Post | None = None, scheduled: ScheduledPost | None = None
) -> None:
    """Keep what was made, in the transaction that makes it."""
    if request.key:
        IdempotencyKey.objects.create(
            user=request.author,
            key=request.key,
            fingerprint=request.fingerprint,
            post=post,
            scheduled=scheduled,
        )


def purge_keys(*, limit: int) -> int:
    """Forget up to `limit` keys that are older than anybody repeats a request; how many."""
    old = IdempotencyKey.objects.filter(created_at__lt=timezone.now() - KEEP_FOR).order_by(
        "created_at"
    )
    keys = list(old.values_list("pk", flat=True)[:limit])
    IdempotencyKey.objects.filter(pk__in=keys).delete()
    return len(keys)


def _is_known(request: Request) -> bool:
    with connection.cursor() as sql:
        sql.execute(_KNOWN, [request.author.pk, request.key])
        return sql.fetchone() is not None


def _is_taken(request: Request) -> bool:
    with connection.cursor() as sql:
        sql.execute("SELECT pg_try_advisory_xact_lock(%s)", [request.lock])
        return bool(sql.fetchone()[0])
