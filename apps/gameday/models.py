"""Every game day, with its report card."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

MADE_BY_MAX_CHARACTERS = 60


class Run(models.Model):
    """A fault that was put into the site. It has a card if it was carried out to the end, and else an error.

    Names of people are texts, as in the history of the caches: the rows outlive accounts.
    """

    fault = models.CharField(_("fault"), max_length=20)
    seconds = models.PositiveSmallIntegerField(_("seconds"))
    by_lot = models.BooleanField(_("by lot"), default=False)
    made_by = models.CharField(_("by"), max_length=MADE_BY_MAX_CHARACTERS)
    created_at = models.DateTimeField(_("when"), db_default=Now())
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    card = models.JSONField(null=True)
    error = models.TextField(_("error"), blank=True, default="")

    class Meta:
        verbose_name, verbose_name_plural = _("game day"), _("game days")
        ordering = ("-id",)
        constraints = [
            models.UniqueConstraint(
                models.Value(1),
                condition=models.Q(ended_at__isnull=True),
                name="gameday_one_at_a_time",
            )
        ]

    def __str__(self) -> str:
        return f"{self.pk}: {self.fault}"
