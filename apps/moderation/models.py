"""Members' reports to staff, and the measures that staff take."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.posts.models import Post

COMMENT_MAX_CHARACTERS = 1000


class Category(models.TextChoices):
    """The categories of reports in Mastodon's API."""

    SPAM = "spam", _("It is spam")
    LEGAL = "legal", _("It is against the law")
    VIOLATION = "violation", _("It breaks the rules of this site")
    OTHER = "other", _("Something else")


class Measure(models.TextChoices):
    """The measures that staff may take against an account or a post. Each can be undone."""

    WARN = "warn", _("Warning")
    HIDE = "hide", _("Post hidden")
    SENSITIVE = "sensitive", _("Pictures marked as sensitive")
    LIMIT = "limit", _("Account limited")
    FREEZE = "freeze", _("Account frozen")
    SUSPEND = "suspend", _("Account suspended")


class Report(models.Model):
    """`reporter` reports the account `target`, or some of its posts."""

    reporter = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    target = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    category = models.CharField(
        _("category"), max_length=9, choices=Category.choices, default=Category.OTHER
    )
    comment = models.TextField(_("comment"), max_length=COMMENT_MAX_CHARACTERS, blank=True)
    # keys of `house_rules.RULES`
    rule_ids = ArrayField(
        models.PositiveSmallIntegerField(),
        verbose_name=_("rules"),
        default=list,
        blank=True,
        db_default=[],
    )
    # the language of the reported posts, or else of the account or the reporter; empty for older reports
    language = models.CharField(_("language"), max_length=10, blank=True, default="", db_default="")
    created_at = models.DateTimeField(_("created at"), default=timezone.now)
    resolved_at = models.DateTimeField(_("resolved at"), null=True, blank=True)
    resolved_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", db_index=False
    )
    outcome = models.TextField(_("outcome"), blank=True)
    # the member of staff who handles the report
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        verbose_name=_("assigned to"),
    )

    class Meta:
        verbose_name, verbose_name_plural = _("report"), _("reports")
        indexes = [
            models.Index(fields=["-id"], condition=models.Q(resolved_at=None), name="report_open"),
            models.Index(fields=["target", "-id"], name="report_target"),
            models.Index(fields=["reporter", "-id"], name="report_reporter"),
        ]

    def __str__(self) -> str:
        return f"{self.pk}: {self.category}"


class ReportedPost(models.Model):
    report = models.ForeignKey(Report, models.CASCADE, related_name="posts", db_index=False)
    post = models.ForeignKey(Post, models.CASCADE, related_name="+", db_index=False)

    class Meta:
        verbose_name, verbose_name_plural = _("reported post"), _("reported posts")
        constraints = [models.UniqueConstraint("report", "post", name="reported_post_once")]
        indexes = [models.Index(fields=["post"], name="reported_post_mirror")]

    def __str__(self) -> str:
        return f"{self.report_id}: {self.post_id}"
