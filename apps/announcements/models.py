"""Announcements, who has read them, and what people answer with a picture."""

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

TEXT_MAX_CHARACTERS = 2000
EMOJI_MAX_CHARACTERS = 32  # one grapheme: a family of four is eleven characters


class Announcement(models.Model):
    """Something that everybody should know, from `published_at` on, until `ends_at` if it has an end."""

    text = models.TextField(_("text"), max_length=TEXT_MAX_CHARACTERS)
    published_at = models.DateTimeField(_("published at"), default=timezone.now)
    starts_at = models.DateTimeField(_("what it is about starts"), null=True, blank=True)
    ends_at = models.DateTimeField(_("ends"), null=True, blank=True)
    is_all_day = models.BooleanField(_("days, not hours"), default=False)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name, verbose_name_plural = _("announcement"), _("announcements")

    def __str__(self) -> str:
        return self.text[:60]


class AnnouncementRead(models.Model):
    """`user` has read an announcement and wants to see it no more."""

    announcement = models.ForeignKey(
        Announcement, models.CASCADE, related_name="reads", db_index=False
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )

    class Meta:
        constraints = [
            models.UniqueConstraint("user", "announcement", name="announcement_read_once")
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.announcement_id}"


class AnnouncementReaction(models.Model):
    """`user` answers an announcement with one emoji."""

    announcement = models.ForeignKey(
        Announcement, models.CASCADE, related_name="reactions", db_index=False
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    emoji = models.CharField(_("emoji"), max_length=EMOJI_MAX_CHARACTERS)

    class Meta:
        constraints = [
            models.UniqueConstraint("announcement", "emoji", "user", name="reaction_once")
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.emoji}"
