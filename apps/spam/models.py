"""What the site does about spam, which domains are blocked, fingerprints of posts, verdicts, and dry runs."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.accounts.staff import CHANGE_USERS
from apps.events.leases import LeasedRow, State
from apps.moderation.models import Report
from apps.posts.actions.publish import DELETE_POSTS
from apps.spam.heuristics import ID_MAX_CHARACTERS, domain_of

MAX_SCORE = 1000
REPORT_FROM = 60  # by default
DOMAIN_CHARACTERS = 253
REASON_CHARACTERS = 500


_RANGE = [MinValueValidator(1), MaxValueValidator(MAX_SCORE)]


class Thresholds(models.Model):
    """From which score on the site reports a post, hides it, or limits its author; empty: never."""

    report_from = models.PositiveSmallIntegerField(
        _("Report from a score of"), default=REPORT_FROM, null=True, blank=True, validators=_RANGE
    )
    hide_from = models.PositiveSmallIntegerField(
        _("Hide the post from a score of"), null=True, blank=True, validators=_RANGE
    )
    limit_from = models.PositiveSmallIntegerField(
        _("Limit the account from a score of"), null=True, blank=True, validators=_RANGE
    )

    class Meta:
        abstract = True

    @property
    def lowest(self) -> int | None:
        """The lowest score at which something happens."""
        return min(filter(None, (self.report_from, self.hide_from, self.limit_from)), default=None)

    def acts_at(self, score: int) -> list[str]:
        """What happens to a post with this score: some of `ACTS`."""
        values = {"report": self.report_from, "hide": self.hide_from, "limit": self.limit_from}
        return [act for act, least in values.items() if least is not None and score >= least]


ACTS = {"report": _("Report"), "hide": _("Hide the post"), "limit": _("Limit the account")}


class Policy(Thresholds):
    """A single row with what staff have chosen. If it is missing, the defaults apply."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    switched_off = ArrayField(
        models.CharField(max_length=ID_MAX_CHARACTERS), default=list, db_default=[], blank=True
    )
    # the site's own account, made when it is first needed
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, editable=False, related_name="+"
    )

    class Meta:
        verbose_name = verbose_name_plural = _("what happens to spam")
        constraints = [models.CheckConstraint(condition=Q(id=1), name="one_spam_policy")]

    def __str__(self) -> str:
        return f"{self.report_from} / {self.hide_from} / {self.limit_from}"


class SiteAccount(User):
    """The site's own account, as the author of reports and measures. Only this code gives it permissions: nobody can
    log in to the account, and its row has none.
    """

    PERMISSIONS = frozenset({DELETE_POSTS, CHANGE_USERS})

    class Meta:
        proxy = True
        default_permissions = ()

    def has_perm(self, perm: str, obj: object = None) -> bool:
        return perm in self.PERMISSIONS


class BlockedDomain(models.Model):
    """A domain to which posts should not link, with its subdomains. In lower case, and in punycode."""

    domain = models.CharField(
        _("domain"),
        max_length=DOMAIN_CHARACTERS,
        unique=True,
        help_text=_("A domain such as example.org, which includes its subdomains."),
    )
    reason = models.CharField(
        _("reason"), max_length=REASON_CHARACTERS, blank=True, help_text=_("For staff only.")
    )
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        editable=False,
        related_name="+",
        verbose_name=_("by"),
    )
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    class Meta:
        verbose_name, verbose_name_plural = _("blocked domain"), _("blocked domains")

    def __str__(self) -> str:
        return self.domain

    def clean(self) -> None:
        """Normalise the domain, which may be pasted as an address. Raises ValidationError."""
        text = self.domain.strip()
        self.domain = domain_of(text if "://" in text else f"https://{text}")
        if "." not in self.domain:
            raise ValidationError({"domain": _("Enter a domain such as example.org.")})


class Fingerprint(models.Model):
    """The digest of the text of a new account's post, or of a link in it. Equal digests mean equal text or links."""

    id = models.BigAutoField(primary_key=True)
    digest = models.BigIntegerField()
    is_link = models.BooleanField()
    post_id = models.BigIntegerField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint("digest", "post_id", name="spam_fingerprint_once")]
        indexes = [models.Index(fields=["post_id"], name="spam_fingerprint_post")]

    def __str__(self) -> str:
        return f"{self.post_id}: {self.digest}"


class Verdict(models.Model):
    """A post for which the site did something because of its score.

    `reasons` maps the id of each heuristic that applied to the values in its reason. `acts` are some of `ACTS`. The
    report is filed later (`is_waiting`) while the site has filed too many reports in an hour.
    """

    post_id = models.BigIntegerField(_("post"), unique=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", verbose_name=_("account")
    )
    score = models.PositiveSmallIntegerField(_("score"))
    reasons = models.JSONField(_("reasons"))
    acts = ArrayField(models.CharField(max_length=8), verbose_name=_("what was done"))
    report = models.ForeignKey(
        Report, models.SET_NULL, null=True, related_name="+", verbose_name=_("report")
    )
    is_waiting = models.BooleanField(default=False)
    created_at = models.DateTimeField(_("created at"), db_default=Now())

    class Meta:
        verbose_name, verbose_name_plural = _("verdict about spam"), _("verdicts about spam")
        indexes = [
            models.Index(fields=["created_at"], name="spam_verdict_age"),
            models.Index(fields=["id"], condition=Q(is_waiting=True), name="spam_verdict_waiting"),
        ]

    def __str__(self) -> str:
        return f"{self.post_id}: {self.score}"


class DryRun(LeasedRow, Thresholds):
    """What `heuristics` with these thresholds would have done to the posts of `day`.

    `done` of `total` posts have been examined. `result` is `dry_run.Result` as JSON; it contains ids of posts and
    reasons, but no text.
    """

    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.SET_NULL,
        null=True,
        related_name="+",
        verbose_name=_("by"),
    )
    day = models.DateField(_("day"))
    heuristics = ArrayField(
        models.CharField(max_length=ID_MAX_CHARACTERS), verbose_name=_("heuristics")
    )
    done = models.PositiveIntegerField(_("done"), default=0)
    total = models.PositiveIntegerField(_("of"), default=0)
    result = models.JSONField(default=dict)

    class Meta:
        verbose_name, verbose_name_plural = _("dry run"), _("dry runs")
        indexes = [
            models.Index(
                fields=["due_at", "id"], condition=Q(state=State.PENDING), name="spam_dry_run_due"
            ),
            models.Index(fields=["created_at"], name="spam_dry_run_age"),
        ]

    def __str__(self) -> str:
        return f"{self.day}"
