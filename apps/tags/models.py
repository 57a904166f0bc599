"""Tags, their uses in posts, their followers, and counts of their uses."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.tags.names import NAME_MAX_CHARACTERS, tag_address
from feedcache.ids import MAX_AUTHOR_ID, SEQUENCE_BITS

AUTHOR_OF_POST = models.F("post_id").bitrightshift(SEQUENCE_BITS).bitand(MAX_AUTHOR_ID)


class Tag(models.Model):
    """A tag, by its normalized name."""

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
        return tag_address(self.name)


class TagUse(models.Model):
    """The use of a tag in a post. There is no foreign key to the post, because the app `posts` depends on this one.

    Only posts whose uses are `is_public` appear on the tag's page. The rows are deleted with the post.
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
            ),
            # an author's own uses: a post id contains its author
            models.Index(
                AUTHOR_OF_POST,
                "tag",
                "post_id",
                condition=models.Q(is_public=True),
                name="tag_use_author",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.post_id} # {self.tag_id}"


class TagFollow(models.Model):
    """`user` follows a tag, so its public posts appear on the user's home page."""

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


class FeaturedTag(models.Model):
    """`user` shows a tag on their profile."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    tag = models.ForeignKey(Tag, models.CASCADE, related_name="+", db_index=False)
    created_at = models.DateTimeField(_("since"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("featured tag"), _("featured tags")
        constraints = [models.UniqueConstraint("user", "tag", name="featured_tag_once")]

    def __str__(self) -> str:
        return f"{self.user_id} shows {self.tag_id}"


class PastTagFollow(models.Model):
    """A follow of a tag that has ended; kept for `settings.HOME_HISTORY_DAYS`."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    tag = models.ForeignKey(Tag, models.CASCADE, related_name="+", db_index=False)
    began_at = models.DateTimeField(_("since"))
    ended_at = models.DateTimeField(_("until"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("past tag follow"), _("past tag follows")
        indexes = [
            models.Index(fields=["user", "ended_at"], name="past_tag_follow_of_user"),
            models.Index(fields=["ended_at"], name="past_tag_follow_due"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} -> {self.tag_id} until {self.ended_at:%Y-%m-%d %H:%M:%S}"


class TagDay(models.Model):
    """The numbers of public posts with a tag on a day (UTC) and of their authors; recounted until the next day ends."""

    tag = models.ForeignKey(Tag, models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    uses = models.PositiveIntegerField()
    accounts = models.PositiveIntegerField()

    class Meta:
        verbose_name, verbose_name_plural = _("daily tag statistics"), _("daily tag statistics")
        constraints = [models.UniqueConstraint("tag", "day", name="tag_day_once")]
        indexes = [models.Index(fields=["day", "-accounts", "-uses"], name="tag_day_top")]

    def __str__(self) -> str:
        return f"{self.tag_id}: {self.uses} on {self.day}"
