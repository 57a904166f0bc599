"""Tags, which posts bear them, who follows them, and how often they are used."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.tags.names import NAME_MAX_CHARACTERS, tag_address


class Tag(models.Model):
    """A tag, in the normal form of its name."""

    name = models.CharField(
        _("name"), max_length=NAME_MAX_CHARACTERS, unique=True, db_collation="C"
    )
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("tag"), _("tags")

    def __str__(self) -> str:
        return f"#{self.name}"

    @property
    def url(self) -> str:
        """Where it is read."""
        return tag_address(self.name)


class TagUse(models.Model):
    """A post bears a tag. Written in the transaction of the post, by its number: posts are a higher app's.

    `is_public`: the post is for everybody and may be found by the tag. The rows of a deleted post go with it.
    """

    tag = models.ForeignKey(Tag, models.CASCADE, related_name="+", db_index=False)
    post_id = models.BigIntegerField()
    is_public = models.BooleanField()

    class Meta:
        constraints = [models.UniqueConstraint("post_id", "tag", name="tag_use_once")]
        indexes = [
            models.Index(
                fields=["tag", "-post_id"],
                condition=models.Q(is_public=True),
                name="tag_use_public",
            )
        ]

    def __str__(self) -> str:
        return f"{self.post_id} # {self.tag_id}"


class TagFollow(models.Model):
    """`user` wants to read a tag's public posts on the home page."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    tag = models.ForeignKey(Tag, models.CASCADE, related_name="+", db_index=False)
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("followed tag"), _("followed tags")
        constraints = [models.UniqueConstraint("user", "tag", name="tag_follow_once")]
        indexes = [models.Index(fields=["user", "-id"], name="tag_follow_list")]

    def __str__(self) -> str:
        return f"{self.user_id} -> {self.tag_id}"


class TagDay(models.Model):
    """How many public posts of a day (UTC) bear a tag, and of how many accounts; counted again while the day lasts."""

    tag = models.ForeignKey(Tag, models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    uses = models.PositiveIntegerField()
    accounts = models.PositiveIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint("tag", "day", name="tag_day_once")]
        indexes = [models.Index(fields=["day", "-accounts", "-uses"], name="tag_day_top")]

    def __str__(self) -> str:
        return f"{self.tag_id}: {self.uses} on {self.day}"
