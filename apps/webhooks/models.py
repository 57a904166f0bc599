"""Endpoints that messages are sent to, and the messages."""

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from oauth2_provider.models import AccessToken as ProgramToken

from apps.accounts.models import AccessToken
from apps.events.leases import LeasedRow, State

ADDRESS_MAX_CHARACTERS = 2000
TEST = "test"


class Kind(models.TextChoices):
    """The kinds of messages that an endpoint can get, by their `type`."""

    NOTIFICATION = "notification.created", _("I get a notification")
    CREATED = "status.created", _("I publish a post or repost one")
    UPDATED = "status.updated", _("I edit a post")
    DELETED = "status.deleted", _("I delete a post")


class Off(models.TextChoices):
    """The reason why nothing is sent to an endpoint; empty if it is on."""

    OWNER = "owner", _("You switched it off.")
    FAILING = "failing", _("It was switched off because it has failed for three days.")
    GONE = "gone", _("It was switched off because its server answered 410: gone.")
    STAFF = "staff", _("The staff of this site switched it off.")


class Failure(models.TextChoices):
    """The reason why an attempt failed; stored in `Delivery.last_error`."""

    STATUS = "status", _("The server did not accept the message")
    TIMEOUT = "timeout", _("The server took too long")
    UNREACHABLE = "unreachable", _("The server could not be reached")
    CERTIFICATE = "certificate", _("The certificate of the server is not valid")
    NOT_PUBLIC = "not_public", _("The server is not on the public internet")
    ENDPOINT_OFF = "off", _("The webhook was switched off before the message was sent")
    INTERNAL = "internal", _("This site could not send the message")


class Outcome(models.TextChoices):
    """The outcome of a message."""

    WAITING = "waiting", _("waiting")
    SENT = "sent", _("sent")
    WITHDRAWN = "withdrawn", _("not sent: you can no longer see what it was about")
    FAILED = "failed", _("failed")


def _token(model: type[models.Model]) -> Any:
    """A field for the token with which a program made an endpoint. When the token ends, the endpoint is deleted.

    Without a constraint in the database, tokens can be deleted while this app is not installed but its rows exist.
    """
    return models.ForeignKey(
        model, models.CASCADE, null=True, blank=True, related_name="+", db_constraint=False
    )


class Endpoint(models.Model):
    """An address that messages are sent to. If it has no token, the owner made it on the settings page.

    The secrets are encrypted (`messages.signing.seal`); the former secret also signs until `former_until`. A worker
    that sends to the endpoint leases it until `leased_until`, so that messages arrive one after another.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    personal_token = _token(AccessToken)
    program_token = _token(ProgramToken)
    address = models.CharField(_("address"), max_length=ADDRESS_MAX_CHARACTERS)
    # without `choices`, so that a new kind needs no migration
    kinds = ArrayField(models.CharField(max_length=24), verbose_name=_("kinds"))
    sealed_secret = models.TextField()
    sealed_former = models.TextField(blank=True, default="")
    former_until = models.DateTimeField(null=True, blank=True)
    off = models.CharField(_("switched off"), max_length=8, blank=True, default="")
    # the time of the first failed attempt after the last success
    failing_since = models.DateTimeField(_("failing since"), null=True, blank=True)
    leased_until = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("webhook"), _("webhooks")
        indexes = [
            models.Index(
                fields=["leased_until"],
                condition=Q(leased_until__isnull=False),
                name="webhooks_endpoint_leased",
            )
        ]

    def __str__(self) -> str:
        return f"{self.owner_id}: {self.pk}"

    @property
    def why_off(self) -> str:
        return str(Off(self.off).label) if self.off else ""


class Delivery(LeasedRow):
    """A message to an endpoint. Its content is made when it is sent, and is not stored.

    `subject_id` is the id of the notification or post, and `version` distinguishes the edits of a post. `status` is
    from the last response. A message that is done without a status was not sent, because the endpoint's owner can no
    longer see the post or notification, or no longer use the site.
    """

    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=24)
    subject_id = models.BigIntegerField()
    version = models.BigIntegerField(default=0)
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    tried_at = models.DateTimeField(null=True, blank=True)
    is_scheduled_by_people = True  # people do not choose `due_at`, but it may be hours ahead

    class Meta:
        constraints = [
            models.UniqueConstraint(
                "endpoint", "kind", "subject_id", "version", name="webhooks_delivery_once"
            )
        ]
        indexes = [
            models.Index(fields=["endpoint", "id"], name="webhooks_delivery_listed"),
            models.Index(
                fields=["endpoint", "due_at"],
                condition=Q(state=State.PENDING),
                name="webhooks_delivery_waiting",
            ),
            models.Index(
                fields=["due_at"], condition=Q(state=State.PENDING), name="webhooks_delivery_due"
            ),
            models.Index(
                fields=["finished_at"],
                condition=Q(finished_at__isnull=False),
                name="webhooks_delivery_finished",
            ),
        ]

    def __str__(self) -> str:
        return f"webhook message {self.pk}"

    @property
    def message_id(self) -> str:
        """The id of the message, the same at every attempt."""
        return f"msg_{self.pk}"

    @property
    def outcome(self) -> Outcome:
        if self.state == State.PENDING:
            return Outcome.WAITING
        if self.state == State.DEAD:
            return Outcome.FAILED
        return Outcome.WITHDRAWN if self.status is None else Outcome.SENT

    @property
    def failure(self) -> str:
        """The reason why the last attempt failed, in words; empty if it succeeded."""
        return str(Failure(self.last_error).label) if self.last_error else ""
