"""The notifications that a listener has already received.

Their ids come from a sequence and are assigned before the commit, so 101 may be visible before 100. If only the newest
id were remembered, 100 would never be sent.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import QuerySet

from apps.accounts.models import User
from apps.notifications.models import Notification
from apps.notifications.queries import notifications_of

MAX_KEPT = 16  # ids in `had`: a late notification is sent unless more than 16 newer ones were sent before it


@dataclass(frozen=True, slots=True)
class Known:
    """The notifications that a listener has: all with ids up to `floor`, and those in `had`, whose ids are higher."""

    floor: int
    had: frozenset[int] = frozenset()

    def __contains__(self, number: int) -> bool:
        return number <= self.floor or number in self.had

    def with_these(self, ids: Iterable[int]) -> "Known":
        above = sorted({number for number in ids if number > self.floor} | self.had)
        settled, kept = above[:-MAX_KEPT], above[-MAX_KEPT:]
        return Known(settled[-1] if settled else self.floor, frozenset(kept))

    def missing(self, listener_id: int) -> QuerySet[Notification]:
        """The listener's notifications that are not in this object, oldest first, without held-back (filtered) ones."""
        rows = notifications_of(User(pk=listener_id)).filter(pk__gt=self.floor)
        return rows.exclude(pk__in=self.had).order_by("pk")


def known_now(listener_id: int) -> Known:
    """All current notifications of the listener, visible or not."""
    newest = Notification.objects.filter(user=listener_id).order_by("-pk")
    return Known(0).with_these(newest.values_list("pk", flat=True)[: MAX_KEPT + 1])
