"""Traits, segments and their members, promoted accounts, campaigns, virtual follows, and impressions."""

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.languages import WRITTEN
from apps.promotions.vocabulary import is_sensitive
from apps.tags.models import Tag

NAME_MAX_CHARACTERS = 60
DESCRIPTION_MAX_CHARACTERS = 100
MAX_ACTIVE_SEGMENTS = 100  # one query checks a batch of people against all of them
MAX_DAYS = 365
MAX_FREQUENCY = 100
MAX_BUDGET = 2_000_000_000


def _refuse_sensitive(field: str, *texts: str) -> None:
    if is_sensitive(*texts):
        message = _("People are not sorted by health, belief, origin, politics or private life.")
        raise ValidationError({field: message}, code="sensitive")


class Trait(models.Model):
    """Something that people may state about themselves, such as "first-year student". Nobody else can state it."""

    slug = models.SlugField(_("slug"), max_length=NAME_MAX_CHARACTERS, unique=True)
    name = models.CharField(
        _("name"), max_length=NAME_MAX_CHARACTERS, help_text=_("As in “You are a …”.")
    )
    is_active = models.BooleanField(_("may be chosen"), default=True)

    class Meta:
        verbose_name, verbose_name_plural = _("trait"), _("traits")

    def __str__(self) -> str:
        return self.label

    @property
    def label(self) -> str:
        """The name in the reader's language; names that staff added are not translated."""
        return gettext(self.name) if self.name else ""

    def clean(self) -> None:
        _refuse_sensitive("name", self.name, self.slug.replace("-", " "))


class UserTrait(models.Model):
    """`user` has stated a trait."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    trait = models.ForeignKey(Trait, models.CASCADE, related_name="+", db_index=False)
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint("user", "trait", name="user_trait_once")]
        indexes = [models.Index(fields=["trait", "user"], name="user_trait_mirror")]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.trait_id}"


class OptOut(models.Model):
    """`user` does not want promoted posts, and so is not in any segment and follows nobody virtually."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    def __str__(self) -> str:
        return str(self.user_id)


class Segment(models.Model):
    """The people who match all rules of the segment. It is empty if it has no rules, or is not active."""

    name = models.CharField(_("name"), max_length=NAME_MAX_CHARACTERS, help_text=_("For staff."))
    slug = models.SlugField(_("slug"), max_length=NAME_MAX_CHARACTERS, unique=True)
    description = models.CharField(
        _("description"),
        max_length=DESCRIPTION_MAX_CHARACTERS,
        help_text=_("People see it as “Promoted to …”, for example “first-year students”."),
    )
    is_active = models.BooleanField(_("active"), default=True)
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("segment"), _("segments")

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        _refuse_sensitive("description", self.description)
        _refuse_sensitive("name", self.name)
        others = Segment.objects.filter(is_active=True).exclude(pk=self.pk)
        if self.is_active and others.count() >= MAX_ACTIVE_SEGMENTS:
            message = _("At most %(count)d active segments.") % {"count": MAX_ACTIVE_SEGMENTS}
            raise ValidationError({"is_active": message}, code="many")


class RuleKind(models.TextChoices):
    TRAIT = "trait", _("states the trait")
    LANGUAGE = "language", _("has chosen the language")
    FOLLOWS_ACCOUNT = "account", _("follows the account")
    FOLLOWS_TAG = "tag", _("follows the tag")
    ACTIVE = "active", _("posted publicly in the last … days")
    JOINED = "joined", _("joined on this day or later")


# A rule has a value in exactly one of these columns; its kind determines which one.
RULE_FIELDS = {
    RuleKind.TRAIT: "trait",
    RuleKind.LANGUAGE: "language",
    RuleKind.FOLLOWS_ACCOUNT: "account",
    RuleKind.FOLLOWS_TAG: "tag",
    RuleKind.ACTIVE: "days",
    RuleKind.JOINED: "since",
}


def _fills_its_column() -> models.Q:
    condition = models.Q()
    for kind, field in RULE_FIELDS.items():
        empty = {
            f"{other}__isnull": True
            for other in RULE_FIELDS.values()
            if other not in {field, "language"}
        }
        language = ~models.Q(language="") if field == "language" else models.Q(language="")
        filled = models.Q() if field == "language" else models.Q(**{f"{field}__isnull": False})
        condition |= models.Q(kind=kind, **empty) & filled & language
    return condition


class SegmentRule(models.Model):
    """One condition of a segment. `kind` determines which of the other columns is filled."""

    segment = models.ForeignKey(Segment, models.CASCADE, related_name="rules")
    kind = models.CharField(_("kind"), max_length=8, choices=RuleKind.choices)
    trait = models.ForeignKey(
        Trait, models.CASCADE, null=True, blank=True, related_name="+", db_index=False
    )
    language = models.CharField(_("language"), max_length=8, choices=WRITTEN, blank=True)
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="+"
    )
    tag = models.ForeignKey(
        Tag, models.CASCADE, null=True, blank=True, related_name="+", db_index=False
    )
    days = models.PositiveSmallIntegerField(
        _("days"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_DAYS)],
    )
    since = models.DateField(_("day"), null=True, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = _("rule"), _("rules")
        constraints = [
            models.CheckConstraint(condition=_fills_its_column(), name="rule_fills_its_column")
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.value}"

    @property
    def value(self) -> str:
        """The value in the column that belongs to the rule's kind."""
        field = RULE_FIELDS.get(RuleKind(self.kind)) if self.kind in RuleKind.values else None
        return str(getattr(self, field)) if field else ""

    def clean(self) -> None:
        """Require a value for the rule's kind and no other value, and refuse sensitive subjects."""
        if self.kind not in RuleKind.values:
            return  # the validation of the field reports the unknown kind
        wanted = RULE_FIELDS[RuleKind(self.kind)]
        for field in RULE_FIELDS.values():
            if field == wanted and not getattr(self, field):
                raise ValidationError({field: _("This rule needs a value here.")}, code="missing")
            if field != wanted and getattr(self, field):
                raise ValidationError(
                    {field: _("This value does not fit this kind of rule.")}, code="superfluous"
                )
        if self.tag is not None:
            _refuse_sensitive("tag", self.tag.name)
        if self.account is not None:
            _refuse_sensitive(
                "account", self.account.handle, self.account.display_name, self.account.bio
            )


class SegmentMembership(models.Model):
    """`user` matched the rules of a segment when they were last computed."""

    segment = models.ForeignKey(Segment, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        constraints = [models.UniqueConstraint("user", "segment", name="membership_once")]
        indexes = [models.Index(fields=["segment", "user"], name="membership_scan")]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.segment_id}"


class PromotedAccount(models.Model):
    """An account whose open posts campaigns may show to people who do not follow it."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.PROTECT, primary_key=True, related_name="+"
    )
    sponsor = models.CharField(
        _("who pays"), max_length=100, help_text=_("People see it next to promoted posts.")
    )
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("promoted account"), _("promoted accounts")

    def __str__(self) -> str:
        return str(self.user)


class PromotionSwitch(models.Model):
    """A single row: whether the site promotes posts at all. If the row is missing, it does not."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    is_on = models.BooleanField(
        _("posts are promoted"),
        default=False,
        help_text=_("While this is off, no campaign starts, and nobody sees the running ones."),
    )

    class Meta:
        verbose_name = verbose_name_plural = _("promotion switch")
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="one_switch")]

    def __str__(self) -> str:
        return gettext("on") if self.is_on else gettext("off")


class CampaignState(models.TextChoices):
    DRAFT = "draft", _("draft")
    RUNNING = "running", _("running")
    PAUSED = "paused", _("paused")
    ENDED = "ended", _("ended")


class EndReason(models.TextChoices):
    STAFF = "staff", _("by staff")
    TIME = "time", _("its time ran out")
    BUDGET = "budget", _("its budget was used up")
    ACCOUNT = "account", _("its account was deleted")


class Campaign(models.Model):
    """Shows a promoted account to the people in given segments for a period.

    While `is_live`, it makes virtual follows: from its start date until it is paused or ends. Staff can edit only
    drafts and paused campaigns, so a running campaign can be read without a lock.
    """

    account = models.ForeignKey(
        PromotedAccount, models.PROTECT, related_name="campaigns", verbose_name=_("account")
    )
    name = models.CharField(_("name"), max_length=NAME_MAX_CHARACTERS, help_text=_("For staff."))
    segments = models.ManyToManyField(Segment, related_name="campaigns", verbose_name=_("segments"))
    starts_at = models.DateTimeField(_("starts"), default=timezone.now)
    ends_at = models.DateTimeField(_("ends"))
    budget_impressions = models.PositiveIntegerField(
        _("impression budget"),
        validators=[MinValueValidator(1), MaxValueValidator(MAX_BUDGET)],
        help_text=_("The campaign ends when all of them are used."),
    )
    frequency_cap = models.PositiveSmallIntegerField(
        _("impressions per reader and day"),
        default=3,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_FREQUENCY)],
    )
    state = models.CharField(
        _("state"), max_length=7, choices=CampaignState.choices, default=CampaignState.DRAFT
    )
    is_live = models.BooleanField(_("live"), default=False, editable=False)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)
    end_reason = models.CharField(
        _("why it ended"), max_length=7, choices=EndReason.choices, blank=True
    )
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("campaign"), _("campaigns")
        permissions = [("run_campaign", "Can start, pause and end campaigns")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(ends_at__gt=models.F("starts_at")), name="campaign_takes_time"
            ),
            models.CheckConstraint(
                condition=models.Q(is_live=False) | models.Q(state=CampaignState.RUNNING),
                name="campaign_live_when_running",
            ),
        ]
        indexes = [
            # the few rows that `apply_time` reads every few seconds
            models.Index(
                fields=["starts_at"],
                condition=models.Q(state=CampaignState.RUNNING),
                name="campaign_running",
            )
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        times: tuple[Any, Any] = (self.starts_at, self.ends_at)  # None if they were invalid
        if None not in times and times[1] <= times[0]:
            raise ValidationError({"ends_at": _("It ends before it starts.")}, code="order")


class CampaignCount(models.Model):
    """The impressions of a campaign, in a separate row, because campaigns are read often and rarely written."""

    campaign = models.OneToOneField(
        Campaign, models.CASCADE, primary_key=True, related_name="count"
    )
    impressions = models.PositiveBigIntegerField(_("impressions"), default=0)

    def __str__(self) -> str:
        return str(self.impressions)


class ReaderImpressions(models.Model):
    """The number of pages on which a reader saw a campaign on a day (UTC).

    `pages` contains hashes of the ids of the newest of these pages, so that no page is counted twice.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    number = models.PositiveIntegerField()
    pages = ArrayField(models.BigIntegerField())

    class Meta:
        constraints = [
            models.UniqueConstraint("user", "day", "campaign", name="reader_impressions_once")
        ]
        indexes = [models.Index(fields=["day"], name="reader_impressions_day")]

    def __str__(self) -> str:
        return f"{self.user_id}, {self.campaign_id}: {self.number}"


class SegmentSweep(models.Model):
    """A single row: the progress of the recomputation of all memberships. A change of a segment restarts it."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    after = models.BigIntegerField(default=0)  # the last account recomputed
    finished_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return str(self.after)


class VirtualFollow(models.Model):
    """`user` may see `account`'s promoted post. Each pair has one row, with the first matching campaign and segment."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    account = models.ForeignKey(PromotedAccount, models.CASCADE, related_name="+", db_index=False)
    campaign = models.ForeignKey(Campaign, models.CASCADE, related_name="+", db_index=False)
    segment = models.ForeignKey(Segment, models.CASCADE, related_name="+", db_index=False)
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint("user", "account", name="virtual_follow_once"),
            models.CheckConstraint(
                condition=~models.Q(user=models.F("account")), name="virtual_follow_not_self"
            ),
        ]
        indexes = [  # scanned by a fan-out
            models.Index(fields=["account", "id"], include=["user"], name="virtual_follow_scan")
        ]

    def __str__(self) -> str:
        return f"{self.user_id} ({self.account_id})"
