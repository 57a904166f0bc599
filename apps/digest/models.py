"""Subscribers to the weekly e-mail, and the e-mails of each week."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from apps.events.leases import SlowRow, State


class DigestReader(models.Model):
    """A member who has subscribed to the e-mail, and the time of the subscription."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )
    since = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return str(self.user_id)


class Issue(SlowRow):
    """The e-mail to one member in the week that begins on the Monday `week`."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    week = models.DateField()
    retry_after = timedelta(minutes=1)

    class Meta:
        constraints = [models.UniqueConstraint("user", "week", name="digest_issue_once")]
        indexes = [
            models.Index(
                fields=["due_at", "id"], condition=Q(state=State.PENDING), name="digest_issue_due"
            ),
            models.Index(
                fields=["finished_at"],
                condition=Q(finished_at__isnull=False),
                name="digest_issue_finished",
            ),
        ]

    def __str__(self) -> str:
        return f"digest {self.pk} of {self.week}"
