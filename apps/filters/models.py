"""Readers' filters: where they apply, what they do, and what they match."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

TITLE_MAX_CHARACTERS = 100
KEYWORD_MAX_CHARACTERS = 200  # both before and after folding

# For all filters of an account together, because every page that it reads is searched for all its keywords.
MAX_KEYWORDS = 1_000
MAX_FOLDED_CHARACTERS = 10_000


class FilterContext(models.TextChoices):
    """A place where a filter applies. Lists count as home, tags and feeds as the public timeline."""

    HOME = "home", _("Home and lists")
    NOTIFICATIONS = "notifications", _("Notifications")
    PUBLIC = "public", _("Public timelines, tags and feeds")
    THREAD = "thread", _("Threads")
    ACCOUNT = "account", _("Profiles")


class FilterAction(models.TextChoices):
    """The effect of a filter on the posts that it matches."""

    WARN = "warn", _("Hide it behind a warning")
    BLUR = "blur", _("Cover its pictures")
    HIDE = "hide", _("Hide it completely")


class Filter(models.Model):
    """A filter. `places` are values of `FilterContext`. After `expires_at` it does nothing."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    title = models.CharField(_("title"), max_length=TITLE_MAX_CHARACTERS)
    places = models.JSONField(_("places"), default=list)
    act = models.CharField(
        _("what it does"), max_length=4, choices=FilterAction.choices, default=FilterAction.WARN
    )
    expires_at = models.DateTimeField(_("expires at"), null=True, blank=True)
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("filter"), _("filters")
        indexes = [models.Index(fields=["owner", "id"], name="filter_of_owner")]

    def __str__(self) -> str:
        return self.title


class FilterKeyword(models.Model):
    filter = models.ForeignKey(Filter, models.CASCADE, related_name="keywords")
    keyword = models.CharField(_("keyword"), max_length=KEYWORD_MAX_CHARACTERS)
    whole_word = models.BooleanField(_("whole words only"), default=True)

    def __str__(self) -> str:
        return self.keyword


class FilterPost(models.Model):
    filter = models.ForeignKey(Filter, models.CASCADE, related_name="posts", db_index=False)
    post_id = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint("filter", "post_id", name="filter_post_once")]

    def __str__(self) -> str:
        return str(self.post_id)
