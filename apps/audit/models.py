"""The runs of the auditor and their findings."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class Kind(models.TextChoices):
    MISSING = "missing", _("left out of a page")
    EXTRA = "extra", _("shown to somebody it is not for")
    REPEATED = "repeated", _("twice on a page")
    ORDER = "order", _("in the wrong order")
    WINDOW = "window", _("missing in a window")
    UNDELIVERED = "undelivered", _("never handed to delivery")
    STUCK = "stuck", _("delivery stands still")
    DEAD = "dead", _("delivery given up")
    MIRROR = "mirror", _("half a follow")
    COUNT = "count", _("wrong count")


class AuditRun(models.Model):
    """One run of the auditor: how much it compared, and the outcome."""

    started_at = models.DateTimeField(_("at"), default=timezone.now)
    seconds = models.FloatField(_("seconds"), default=0)
    pages = models.PositiveIntegerField(_("pages"), default=0)
    windows = models.PositiveIntegerField(_("windows"), default=0)
    deliveries = models.PositiveIntegerField(_("deliveries"), default=0)
    follows = models.PositiveIntegerField(_("follows"), default=0)
    counts = models.PositiveIntegerField(_("counts"), default=0)
    late = models.PositiveIntegerField(_("still on the way"), default=0)
    settled = models.PositiveIntegerField(_("right at the second look"), default=0)
    violations = models.PositiveIntegerField(_("violations"), default=0)
    repaired = models.PositiveIntegerField(_("repaired"), default=0)

    class Meta:
        verbose_name, verbose_name_plural = _("audit run"), _("audit runs")
        indexes = [models.Index(fields=["-started_at"], name="audit_run_time")]

    def __str__(self) -> str:
        return f"{self.started_at:%Y-%m-%d %H:%M:%S}"


class AuditFinding(models.Model):
    """One violation. It has ids, not foreign keys: it outlives the account and the post."""

    run = models.ForeignKey(AuditRun, models.CASCADE, related_name="findings")
    kind = models.CharField(_("what"), max_length=12, choices=Kind.choices)
    viewer_id = models.BigIntegerField(_("account"), null=True)
    post_id = models.BigIntegerField(_("post"), null=True)
    details = models.JSONField(_("details"), default=dict)
    found_at = models.DateTimeField(_("found at"), default=timezone.now)
    repaired_at = models.DateTimeField(_("repaired at"), null=True)

    class Meta:
        verbose_name, verbose_name_plural = _("audit finding"), _("audit findings")
        indexes = [models.Index(fields=["kind", "post_id"], name="audit_finding_about")]

    def __str__(self) -> str:
        return f"{self.kind} {self.viewer_id or '-'} {self.post_id or '-'}"
