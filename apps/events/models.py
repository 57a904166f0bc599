"""The event outbox: one row per event and subscriber."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.events.leases import LeasedRow, State


class Event(LeasedRow):
    """An event for one subscriber, inserted in the transaction of the change itself."""

    name = models.CharField(_("name"), max_length=40)
    subscriber = models.CharField(_("subscriber"), max_length=120)
    payload = models.JSONField(_("payload"))

    class Meta:
        verbose_name, verbose_name_plural = _("event"), _("events")
        indexes = [
            models.Index(
                fields=["due_at", "id"], condition=models.Q(state=State.PENDING), name="event_due"
            ),
            models.Index(
                fields=["finished_at"], condition=models.Q(state=State.DONE), name="event_done"
            ),
            # the events that a subscriber has not handled yet
            models.Index(
                fields=["subscriber", "name"],
                condition=models.Q(state__in=[State.PENDING, State.DEAD]),
                name="event_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} -> {self.subscriber}"
