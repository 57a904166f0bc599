"""Strikes and their appeals, notes by staff about accounts, and reported posts as they were."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.moderation.house_rules import RULES
from apps.moderation.models import Measure, Report

TEXT_MAX_CHARACTERS = 1000
PER_POST = (Measure.HIDE, Measure.SENSITIVE)  # the other measures are about the account


def _staff(*, blank: bool = True) -> Any:
    return models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=blank,
        related_name="+",
        db_index=False,
    )


class Strike(models.Model):
    """A measure that staff took about the account `user`; it is in force until it is taken back.

    `text` is shown to the person. `evidence` is the post as it was then (kept for 90 days): `body`, `content_warning`,
    descriptions of `pictures`, options of the `poll`, and `is_restricted`. It is empty for measures about the account.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    measure = models.CharField(_("measure"), max_length=9, choices=Measure.choices)
    post_id = models.BigIntegerField(_("post"), null=True, blank=True)
    by = _staff()
    report = models.ForeignKey(
        Report, models.SET_NULL, null=True, blank=True, related_name="strikes", db_index=False
    )
    rule_ids = models.JSONField(_("rules"), default=list)  # keys of `house_rules.RULES`
    text = models.TextField(_("message to the person"), max_length=TEXT_MAX_CHARACTERS, blank=True)
    evidence = models.JSONField(default=dict)
    created_at = models.DateTimeField(_("created at"), db_default=Now())
    undone_at = models.DateTimeField(_("taken back at"), null=True, blank=True)
    undone_by = _staff()

    class Meta:
        verbose_name, verbose_name_plural = _("strike"), _("strikes")
        indexes = [
            models.Index(fields=["user", "-id"], name="strike_list"),
            models.Index(
                fields=["report", "id"], condition=~Q(report=None), name="strike_of_report"
            ),
            models.Index(fields=["created_at"], name="strike_age"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.measure}"

    @property
    def rules(self) -> list[str]:
        """The broken rules, in the language of the reader."""
        return [gettext(RULES[number]) for number in self.rule_ids if number in RULES]

    @property
    def appeal_ends_at(self) -> datetime:
        return self.created_at + timedelta(days=settings.APPEAL_DAYS)

    @property
    def may_be_appealed(self) -> bool:
        """Whether the strike is in force, is younger than `APPEAL_DAYS`, and has no appeal yet."""
        is_young = timezone.now() < self.appeal_ends_at
        return self.undone_at is None and is_young and not hasattr(self, "appeal")


class Appeal(models.Model):
    """An appeal against a strike, with the answer of staff. At most one for each strike."""

    strike = models.OneToOneField(Strike, models.CASCADE, related_name="appeal")
    text = models.TextField(_("appeal"), max_length=TEXT_MAX_CHARACTERS)
    created_at = models.DateTimeField(_("created at"), db_default=Now())
    decided_at = models.DateTimeField(_("decided at"), null=True, blank=True)
    decided_by = _staff()
    is_accepted = models.BooleanField(_("accepted"), default=False)
    answer = models.TextField(_("answer"), max_length=TEXT_MAX_CHARACTERS, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = _("appeal"), _("appeals")
        indexes = [models.Index(fields=["id"], condition=Q(decided_at=None), name="appeal_open")]

    def __str__(self) -> str:
        return f"{self.strike_id}: {self.text[:60]}"


class Note(models.Model):
    """A note about the account `user`, which only staff read."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    by = _staff()
    text = models.TextField(_("note"), max_length=TEXT_MAX_CHARACTERS)
    created_at = models.DateTimeField(_("created at"), db_default=Now())

    class Meta:
        verbose_name, verbose_name_plural = _("note"), _("notes")
        indexes = [models.Index(fields=["user", "-id"], name="strike_note_list")]

    def __str__(self) -> str:
        return self.text[:60]


class Evidence(models.Model):
    """A reported post as it was when it was reported, in the form of `Strike.evidence`."""

    report = models.ForeignKey(Report, models.CASCADE, related_name="evidence", db_index=False)
    post_id = models.BigIntegerField()
    seen = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint("report", "post_id", name="evidence_once")]

    def __str__(self) -> str:
        return f"{self.report_id}: {self.post_id}"
