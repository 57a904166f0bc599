"""Stored orders, the algorithm that a reader has chosen, and the weights that staff have set."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

NAME_MAX_CHARACTERS = 40
MAX_WEIGHT = 1000


class RankSession(models.Model):
    """A fixed order for one reader, so that its pages neither repeat nor omit a post.

    `weights` contains pairs of a factor and its weight when the order was made. An entry is `[post id, shown id, number
    of posts above it by the same author, one value per factor in thousandths]`; the best entry is first. There are at
    most `RANK_CANDIDATES` entries of about 50 bytes each. Every read checks whether the reader may see the posts.
    """

    viewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    algorithm = models.CharField(_("algorithm"), max_length=NAME_MAX_CHARACTERS)
    weights = models.JSONField(_("weights"), default=list)
    entries = models.JSONField(_("entries"), default=list)
    made_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("ranking"), _("rankings")
        indexes = [
            models.Index(fields=["viewer", "-id"], name="rank_session_of"),
            models.Index(fields=["made_at"], name="rank_session_age"),
        ]

    def __str__(self) -> str:
        return f"{self.viewer_id}: {self.algorithm}"


class RankingChoice(models.Model):
    """The algorithm that a reader has chosen. The default applies if there is no row, or the site no longer has it."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )
    algorithm = models.CharField(_("algorithm"), max_length=NAME_MAX_CHARACTERS)

    class Meta:
        verbose_name, verbose_name_plural = _("ranking choice"), _("ranking choices")
        indexes = [models.Index(fields=["algorithm", "user"], name="ranking_choice_of")]

    def __str__(self) -> str:
        return self.algorithm


class FactorWeight(models.Model):
    """A weight that staff have set for a factor, in place of its default."""

    name = models.CharField(  # algorithm.factor
        _("factor"), max_length=2 * NAME_MAX_CHARACTERS + 1, unique=True
    )
    weight = models.FloatField(
        _("weight"), validators=[MinValueValidator(0), MaxValueValidator(MAX_WEIGHT)]
    )

    class Meta:
        verbose_name, verbose_name_plural = _("factor weight"), _("factor weights")

    def __str__(self) -> str:
        return self.name
