"""Django's sessions in PostgreSQL. Each process caches the sessions that it has read.

A cached session is valid while its user's cached account (`accounts.cache.Viewer`) has the same epoch as before the
session's row was read. The epoch is a new random text each time the account is loaded into the cache. A change or
deletion of a session row drops the account from the cache (`apps.accounts.handlers`), so no process uses a session that
has ended or has been changed. Tokens are cached in the same way (docs/decisions/0116).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db
from django.utils import timezone

from apps.accounts.cache import cached_viewer
from apps.accounts.models import User
from feedcache.local_cache import exact_size

MAX_REMEMBERED = 10_000  # sessions cached in a process


@dataclass(frozen=True, slots=True)
class _Remembered:
    """A session that Django accepted for this user; valid while the cached account has the same epoch."""

    epoch: str
    user_id: int
    data: bytes  # JSON, so that every request gets a copy
    expires: datetime


_remembered: dict[str, _Remembered] = {}  # by session key


class SessionStore(db.SessionStore):
    """The engine of `settings.SESSION_ENGINE`."""

    def __init__(self, session_key: str | None = None) -> None:
        super().__init__(session_key)
        self._user: User | None = None  # set if the session came from the cache
        self._epoch = ""
        self._expires: datetime | None = None  # set if the session was read from its row

    def load(self) -> dict[str, Any]:
        """The data, from this process's cache or else from the row; {} for a session that has ended."""
        now = timezone.now()
        known = _remembered.get(self.session_key or "")
        viewer = cached_viewer(known.user_id) if known else None
        if known and viewer and viewer.epoch == known.epoch and known.expires > now:
            self._user = viewer.user()
            data: dict[str, Any] = orjson.loads(known.data)
            return data
        # Read before the row. "" is no epoch: an entry cached with it only tells the next `load` whose session it is.
        self._epoch = viewer.epoch if viewer else ""
        # also clears `session_key` if the session has ended
        row = self._get_session_from_db()  # type: ignore[attr-defined]  # unknown to the stubs
        if row is None:
            return {}
        self._expires = row.expire_date
        return self.decode(row.session_data)

    def remembered_user(self) -> User | None:
        """The account, if it is active and this process has cached the session; otherwise None. Loads the session."""
        return self._user if SESSION_KEY in self else None

    def remember(self, user: User) -> None:
        """Cache the session as it was read. Call this after Django has found `user` in it."""
        if self._expires is None or self.session_key is None or self.modified:
            return
        if len(_remembered) >= MAX_REMEMBERED:
            _remembered.clear()
        data = exact_size(orjson.dumps(dict(self.items())))
        _remembered[self.session_key] = _Remembered(self._epoch, user.pk, data, self._expires)
