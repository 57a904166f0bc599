"""The model of a rule-based feed."""

from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

NAME_MAX_CHARACTERS = 40
SLUG_MAX_CHARACTERS = 50
WORDS_MAX_CHARACTERS = 100


def _numbers() -> Any:
    return ArrayField(models.BigIntegerField(), default=list)


def _texts(maximum: int) -> Any:
    return ArrayField(models.CharField(max_length=maximum), default=list)


class Feed(models.Model):
    """A feed: posts by an included person, with an included tag or with included words, unless an exclude rule or a
    switch leaves them out.

    People are account ids, tags are normalized names, and words are phrases. `slug` is the last part of the address
    and never changes. Everybody may read a public feed, but not its rules.
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    name = models.CharField(_("name"), max_length=NAME_MAX_CHARACTERS)
    slug = models.CharField(max_length=SLUG_MAX_CHARACTERS)
    include_people = _numbers()
    include_tags = _texts(WORDS_MAX_CHARACTERS)
    include_words = _texts(WORDS_MAX_CHARACTERS)
    exclude_people = _numbers()
    exclude_tags = _texts(WORDS_MAX_CHARACTERS)
    exclude_words = _texts(WORDS_MAX_CHARACTERS)
    languages = _texts(10)  # empty: all languages
    only_media = models.BooleanField(default=False)
    without_replies = models.BooleanField(default=False)
    without_reposts = models.BooleanField(default=False)
    is_public = models.BooleanField(_("public"), default=False)
    is_pinned = models.BooleanField(_("pinned"), default=False)
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("feed"), _("feeds")
        constraints = [models.UniqueConstraint("owner", "slug", name="feed_of_owner")]

    def __str__(self) -> str:
        return self.name

    @property
    def url(self) -> str:
        return f"{self.owner.url}/feeds/{quote(self.slug, safe='')}"
