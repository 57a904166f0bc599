"""Devices and clients that get notifications, their owners' preferences, and messages to be sent."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from oauth2_provider.models import AccessToken as ProgramToken

from apps.accounts.models import AccessToken, Login
from apps.events.leases import SlowRow, State

ENDPOINT_MAX_CHARACTERS = 2000
ZONE_MAX_CHARACTERS = 40


class Policy(models.TextChoices):
    """The people whose actions a device is notified of; the values are Mastodon's."""

    ALL = "all", _("Everybody")
    FOLLOWED = "followed", _("People you follow")
    FOLLOWER = "follower", _("Your followers")
    NONE = "none", _("No one")


class Texts(models.TextChoices):
    """The posts whose texts a device shows. The device always shows the name of the person who acted."""

    ALL = "all", _("For all posts")
    OPEN = "open", _("Only for posts that everybody may read")
    NONE = "none", _("For no posts")


def _kinds() -> Any:
    """A field for kinds of notifications, without `choices`, so that a new kind needs no migration."""
    return ArrayField(models.CharField(max_length=8), default=list, blank=True)


class Preferences(models.Model):
    """A member's preferences for browsers with a login. Quiet hours and texts also apply to clients of the API.

    Quiet hours last from `quiet_from` until `quiet_until` in `time_zone`, and may span midnight.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )
    silent_kinds = _kinds()  # browsers get no messages for these
    policy = models.CharField(max_length=8, choices=Policy.choices, default=Policy.ALL)
    texts = models.CharField(max_length=4, choices=Texts.choices, default=Texts.ALL)
    quiet_from = models.TimeField(null=True, blank=True)
    quiet_until = models.TimeField(null=True, blank=True)
    time_zone = models.CharField(max_length=ZONE_MAX_CHARACTERS, blank=True, default="")

    def __str__(self) -> str:
        return str(self.user_id)


def _access(model: type[models.Model]) -> Any:
    """A field that refers to a login or token. Each has at most one subscription, which is deleted together with it.

    There is no foreign key constraint, so that logins and tokens can be deleted while this app is not installed.
    """
    return models.OneToOneField(
        model, models.CASCADE, null=True, blank=True, related_name="+", db_constraint=False
    )


class Subscription(models.Model):
    """A browser with a `login`, or a client with a token, that gets notifications.

    `kinds` and `policy` apply to clients; browsers use the settings in `Preferences`. `sealed_token` is the client's
    token, encrypted (`encryption.seal`); every message to the client contains it.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    login = _access(Login)
    personal_token = _access(AccessToken)
    program_token = _access(ProgramToken)
    endpoint = models.CharField(max_length=ENDPOINT_MAX_CHARACTERS)
    p256dh = models.CharField(max_length=100)  # the device's public key, base64url
    auth = models.CharField(max_length=32)  # the device's secret, base64url
    is_standard = models.BooleanField(default=True)  # true for RFC 8291, false for its fourth draft
    kinds = _kinds()
    policy = models.CharField(max_length=8, choices=Policy.choices, default=Policy.ALL)
    sealed_token = models.TextField(blank=True, default="")
    # used if the member has chosen no language
    language = models.CharField(max_length=10, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(login__isnull=False, personal_token=None, program_token=None)
                | Q(login=None, personal_token__isnull=False, program_token=None)
                | Q(login=None, personal_token=None, program_token__isnull=False),
                name="push_one_access",
            )
        ]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.pk}"


class Delivery(SlowRow):
    """A message to a device or client about a notification, which may be deleted before the message is sent."""

    subscription = models.ForeignKey(Subscription, models.CASCADE, related_name="+", db_index=False)
    notification_id = models.BigIntegerField()
    retry_after = timedelta(minutes=1)

    class Meta:
        constraints = [
            models.UniqueConstraint("subscription", "notification_id", name="push_delivery_once")
        ]
        indexes = [
            models.Index(
                fields=["due_at", "id"],
                condition=Q(state=State.PENDING),
                name="push_delivery_due",
            ),
            models.Index(
                fields=["finished_at"],
                condition=Q(finished_at__isnull=False),
                name="push_delivery_finished",
            ),
        ]

    def __str__(self) -> str:
        return f"push message {self.pk}"
