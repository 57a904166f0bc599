"""Notifications, read markers, conversations, and announcements by staff."""

from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.notifications.kinds import choices
from apps.posts.models import Post

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

TEXT_MAX_CHARACTERS = 2000
EMOJI_MAX_CHARACTERS = 32  # of one emoji: a family of four with skin tones has eleven


class Notification(models.Model):
    """`actor` did something that concerns `user`. `post` is the post to open; some kinds have none."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    kind = models.CharField(_("kind"), max_length=8, choices=choices)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    post = models.ForeignKey(Post, models.CASCADE, null=True, related_name="+", db_index=False)
    created_at = models.DateTimeField(_("created at"), default=timezone.now)
    is_held_back = models.BooleanField(_("held back"), default=False, db_default=False)

    class Meta:
        verbose_name, verbose_name_plural = _("notification"), _("notifications")
        constraints = [
            # `nulls_distinct=False`, because notifications of a follow have no post
            models.UniqueConstraint(
                "user", "kind", "actor", "post", name="notification_once", nulls_distinct=False
            )
        ]
        indexes = [
            models.Index(fields=["user", "-id"], name="notification_list"),
            models.Index(fields=["post"], condition=~models.Q(post=None), name="notification_post"),
            # finds a group: the notifications of one kind about one post within twelve hours
            models.Index(fields=["user", "kind", "post", "created_at"], name="notification_group"),
            models.Index(
                fields=["user", "-id"],
                condition=models.Q(is_held_back=True),
                name="notification_held_back",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.kind} by {self.actor_id}"


class UnwantedKind(models.Model):
    """`user` gets no notifications of `kind`."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    kind = models.CharField(_("kind"), max_length=8, choices=choices)

    class Meta:
        verbose_name, verbose_name_plural = _("unwanted kind"), _("unwanted kinds")
        constraints = [models.UniqueConstraint("user", "kind", name="unwanted_kind_once")]

    def __str__(self) -> str:
        return f"{self.user_id}: no {self.kind}"


class Treatment(models.TextChoices):
    """The treatment of notifications that meet one condition of a policy."""

    ACCEPT = "accept", _("accept")
    FILTER = "filter", _("hold back")
    DROP = "drop", _("hide")


def treatment_field(name: "StrPromise") -> "models.CharField[str, str]":
    accept = Treatment.ACCEPT
    return models.CharField(
        name, max_length=6, choices=Treatment.choices, default=accept, db_default=accept
    )


class NotificationPolicy(models.Model):
    """The treatment of new notifications for `user`. A change does not affect existing ones."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )
    for_not_following = treatment_field(_("from people you don't follow"))
    for_not_followers = treatment_field(_("from people who don't follow you"))
    for_new_accounts = treatment_field(_("from new accounts"))
    for_private_mentions = treatment_field(_("private mentions by people you don't follow"))
    for_bots = treatment_field(_("from programs you don't follow"))

    class Meta:
        verbose_name, verbose_name_plural = _("notification policy"), _("notification policies")

    def __str__(self) -> str:
        return str(self.user_id)


class NotificationPermission(models.Model):
    """An exemption: the policy of `user` does not apply to `actor`."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint("user", "actor", name="notification_permission_once")
        ]

    def __str__(self) -> str:
        return f"{self.user_id} accepts {self.actor_id}"


class ReadMarker(models.Model):
    """The id up to which a user has read a timeline. `version` grows with every change, and is part of the API."""

    class Timeline(models.TextChoices):
        """The marker of the home timeline contains a post id, the marker of notifications a notification id."""

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


class Conversation(models.Model):
    """A thread with messages for `user`; `last_post` is the newest one that `user` wrote or is mentioned in.

    The row grants no access: every read checks whether the post is visible.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False
    )
    thread_id = models.BigIntegerField(_("thread"))
    last_post = models.ForeignKey(Post, models.CASCADE, related_name="+", db_index=False)
    is_unread = models.BooleanField(_("unread"), default=False)
    # true if a stranger began it, until `user` accepts it or writes in it
    is_request = models.BooleanField(_("request"), default=False, db_default=False)
    # true after `user` has left: messages by others do not bring the conversation back
    has_left = models.BooleanField(_("left"), default=False, db_default=False)
    # the newest message that is shown to the other members as seen by `user`
    seen_id = models.BigIntegerField(_("seen"), null=True, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = _("conversation"), _("conversations")
        constraints = [models.UniqueConstraint("user", "thread_id", name="conversation_once")]
        indexes = [
            models.Index(fields=["user", "-last_post"], name="conversation_list"),
            models.Index(fields=["last_post"], name="conversation_last"),
            # counted for the badge on every page
            models.Index(
                fields=["user", "thread_id"],
                condition=models.Q(is_unread=True, is_request=False, has_left=False),
                name="conversation_unread",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.thread_id}"


class Announcement(models.Model):
    """Text for all members, shown from `published_at` until `ends_at` if set; may announce an event at `starts_at`."""

    text = models.TextField(_("text"), max_length=TEXT_MAX_CHARACTERS)
    published_at = models.DateTimeField(_("published at"), default=timezone.now)
    starts_at = models.DateTimeField(_("event starts"), null=True, blank=True)
    ends_at = models.DateTimeField(_("ends"), null=True, blank=True)
    is_all_day = models.BooleanField(_("all day"), default=False)
    updated_at = models.DateTimeField(_("updated at"), auto_now=True)

    class Meta:
        verbose_name, verbose_name_plural = _("announcement"), _("announcements")

    def __str__(self) -> str:
        return self.text[:60]


class AnnouncementRead(models.Model):
    """`user` has dismissed an announcement."""

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
