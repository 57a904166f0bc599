"""Archives that members asked for, and accounts that are being erased: rows of work, so that no lost message loses them."""

from datetime import datetime

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.events.leases import LeasedRow, State


class Export(LeasedRow):
    """An archive of all that somebody wrote and chose. `name` is random: the file cannot be guessed, and a second try writes the same one.

    `total` is counted when the work begins; `done` grows, and shows the member how far it is. Both count entries and pictures.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    name = models.CharField(max_length=80, unique=True)
    done = models.PositiveIntegerField(_("done"), default=0)
    total = models.PositiveIntegerField(_("of"), default=0)
    size = models.PositiveBigIntegerField(_("bytes"), default=0)
    expires_at = models.DateTimeField(_("kept until"), null=True, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = _("archive"), _("archives")
        constraints = [
            models.UniqueConstraint(
                "user", condition=models.Q(state=State.PENDING), name="export_one_at_a_time"
            )
        ]
        indexes = [
            models.Index(
                fields=["due_at", "id"],
                condition=models.Q(state=State.PENDING),
                name="export_due",
            ),
            models.Index(
                fields=["expires_at"],
                condition=~models.Q(expires_at=None),
                name="export_expiring",
            ),
        ]

    def __str__(self) -> str:
        return f"archive {self.pk} of {self.user_id}"

    def is_ready(self, now: datetime | None = None) -> bool:
        """Whether it can be downloaded."""
        return (
            self.state == State.DONE
            and self.expires_at is not None
            and self.expires_at > (now or timezone.now())
        )


class Erasure(LeasedRow):
    """An account whose owner has deleted it. `removed` says how much of what is gone by now."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    removed = models.JSONField(_("removed"), default=dict)

    class Meta:
        verbose_name, verbose_name_plural = _("erasure"), _("erasures")
        indexes = [
            models.Index(
                fields=["due_at", "id"],
                condition=models.Q(state=State.PENDING),
                name="erasure_due",
            )
        ]

    def __str__(self) -> str:
        return f"erasure of {self.user_id}"
