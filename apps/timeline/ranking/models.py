"""Stored orders, and the preset that a reader has chosen."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.timeline.ranking.scoring import Preset


class RankSession(models.Model):
    """A fixed order for one reader, so that its pages neither repeat nor omit a post.

    `entries` are `[post id, score, recency, engagement, affinity, posts of the author above]`, best first, the factors in
    thousandths; at most 199, about 8 KB. Every read checks which of them the reader may see.
    """

    viewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    preset = models.CharField(_("preset"), max_length=9, choices=Preset.choices)
    entries = models.JSONField(_("entries"), default=list)
    made_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("ranking"), _("rankings")
        indexes = [
            models.Index(fields=["viewer", "-id"], name="rank_session_of"),
            models.Index(fields=["made_at"], name="rank_session_age"),
        ]

    def __str__(self) -> str:
        return f"{self.viewer_id}: {self.preset}"


class RankingChoice(models.Model):
    """The preset of a reader; without a row the balanced one."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )
    preset = models.CharField(_("preset"), max_length=9, choices=Preset.choices)

    class Meta:
        verbose_name, verbose_name_plural = _("choice of ranking"), _("choices of ranking")

    def __str__(self) -> str:
        return self.preset
