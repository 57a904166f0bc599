"""Devices and programs that are told of notifications, what their owner wants of it, and what is on its way."""

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
    """Whose doings are told; the names are Mastodon's."""

    ALL = "all", _("Everybody's")
    FOLLOWED = "followed", _("Those of people you follow")
    FOLLOWER = "follower", _("Those of your followers")
    NONE = "none", _("Nobody's")


class Texts(models.TextChoices):
    """Whose words are on the screen of a device; the name of who did something always is."""

    ALL = "all", _("Of every post")
    OPEN = "open", _("Only of posts that everybody may read")
    NONE = "none", _("Of none")


def _kinds() -> Any:
    """Without choices: a new kind is no migration."""
    return ArrayField(models.CharField(max_length=8), default=list, blank=True)


class Preferences(models.Model):
    """What a member wants on the devices on which they are logged in. Quiet hours and texts hold for programs, too.

    Quiet from `quiet_from` until `quiet_until` by the clock of `time_zone`, over midnight if need be.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )
    silent_kinds = _kinds()  # told on the site only
    policy = models.CharField(max_length=8, choices=Policy.choices, default=Policy.ALL)
    texts = models.CharField(max_length=4, choices=Texts.choices, default=Texts.ALL)
    quiet_from = models.TimeField(null=True, blank=True)
    quiet_until = models.TimeField(null=True, blank=True)
    time_zone = models.CharField(max_length=ZONE_MAX_CHARACTERS, blank=True, default="")

    def __str__(self) -> str:
        return str(self.user_id)


def _access(model: type[models.Model]) -> Any:
    """One subscription each, which ends with it. Without a constraint: rows stay while the app is left out."""
    return models.OneToOneField(
        model, models.CASCADE, null=True, blank=True, related_name="+", db_constraint=False
    )


class Subscription(models.Model):
    """Where and how a device is told: of a browser by its `login`, of a program by its token.

    `kinds` and `policy` are those of a program; devices have those of `Preferences`. `sealed_token` is the token of
    the program, which gets it back with every message (`encryption.seal`).
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    login = _access(Login)
    personal_token = _access(AccessToken)
    program_token = _access(ProgramToken)
    endpoint = models.CharField(max_length=ENDPOINT_MAX_CHARACTERS)
    p256dh = models.CharField(max_length=100)  # public key of the device, base64url
    auth = models.CharField(max_length=32)  # secret of the device, base64url
    is_standard = models.BooleanField(default=True)  # RFC 8291; else its fourth draft
    kinds = _kinds()
    policy = models.CharField(max_length=8, choices=Policy.choices, default=Policy.ALL)
    sealed_token = models.TextField(blank=True, default="")
    language = models.CharField(max_length=10, blank=True, default="")  # of who has chosen none
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
    """A notification on its way to a device. The notification may be gone when its turn comes."""

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
