"""What happened to a user, one row per happening, and how far it has been read."""

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.posts.models import Post

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise


class NotificationKind(models.TextChoices):
    """What happened."""

    FOLLOW = "follow", _("follow")
    LIKE = "like", _("like")
    REPOST = "repost", _("repost")
    REPLY = "reply", _("reply")
    MENTION = "mention", _("mention")
    QUOTE = "quote", _("quote")
    REQUEST = "request", _("follow request")
    POST = "post", _("new post")
    EDIT = "edit", _("edit")
    POLL = "poll", _("end of a poll")


class Notification(models.Model):
    """`actor` did something that `user` may want to know. `post` is the post to look at; a follow and a request have none."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    kind = models.CharField(_("kind"), max_length=8, choices=NotificationKind.choices)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    post = models.ForeignKey(Post, models.CASCADE, null=True, related_name="+", db_index=False)
    created_at = models.DateTimeField(_("created at"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("notification"), _("notifications")
        constraints = [
            # a follow has no post, and must be once all the same
            models.UniqueConstraint(
                "user", "kind", "actor", "post", name="notification_once", nulls_distinct=False
            )
        ]
        indexes = [
            models.Index(fields=["user", "-id"], name="notification_list"),
            models.Index(fields=["post"], condition=~models.Q(post=None), name="notification_post"),
            # one group of notifications: the same done to the same post within some hours
            models.Index(fields=["user", "kind", "post", "created_at"], name="notification_group"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.kind} by {self.actor_id}"


class UnwantedKind(models.Model):
    """`user` does not want to be told of things of one kind."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    kind = models.CharField(_("kind"), max_length=8, choices=NotificationKind.choices)

    class Meta:
        verbose_name, verbose_name_plural = _("unwanted kind"), _("unwanted kinds")
        constraints = [models.UniqueConstraint("user", "kind", name="unwanted_kind_once")]

    def __str__(self) -> str:
        return f"{self.user_id}: no {self.kind}"


class Verdict(models.TextChoices):
    """What becomes of notifications of a kind that somebody did not ask for."""

    ACCEPT = "accept", _("accept")
    FILTER = "filter", _("hold back")
    DROP = "drop", _("hide")


def verdict(name: "StrPromise") -> "models.CharField[str, str]":
    """A choice about some notifications; they are shown unless something else is said."""
    return models.CharField(name, max_length=6, choices=Verdict.choices, default=Verdict.ACCEPT)


class NotificationPolicy(models.Model):
    """Which notifications a user wants held back or hidden; acts at every read, so changing one's mind loses nothing."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )
    for_not_following = verdict(_("by people you don't follow"))
    for_not_followers = verdict(_("by people who don't follow you"))
    for_new_accounts = verdict(_("by new accounts"))
    for_private_mentions = verdict(_("private mentions by people you don't follow"))

    class Meta:
        verbose_name, verbose_name_plural = _("notification policy"), _("notification policies")

    def __str__(self) -> str:
        return str(self.user_id)


class NotificationPermission(models.Model):
    """`user` wants to be told what `actor` does, whatever the policy says."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint("user", "actor", name="notification_permission_once")
        ]

    def __str__(self) -> str:
        return f"{self.user_id} hears {self.actor_id}"


class ReadMarker(models.Model):
    """Up to which id a user has read a timeline. `version` grows with every change, for clients that compare."""

    class Timeline(models.TextChoices):
        """What is read: the home timeline by post ids, the notifications by their own."""

        HOME = "home", _("home")
        NOTIFICATIONS = "notifications", _("notifications")

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    timeline = models.CharField(_("timeline"), max_length=13, choices=Timeline.choices)
    last_read_id = models.BigIntegerField(_("last read"), default=0)
    version = models.PositiveIntegerField(_("version"), default=1)
    updated_at = models.DateTimeField(_("updated at"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("read marker"), _("read markers")
        constraints = [models.UniqueConstraint("user", "timeline", name="read_marker_once")]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.timeline} {self.last_read_id}"
