"""The delivery ledger: what fan-out owes and what it did, in PostgreSQL."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from apps.events.leases import LeasedRow, State
from apps.posts.models import Post


class Mode(models.TextChoices):
    """How a post reaches home timelines; what is restricted goes to inboxes in every mode."""

    PUSH = "push", _("push to everybody")
    ONLINE = "online", _("push to those online")
    PULL = "pull", _("pull at reading")


class Walk(LeasedRow):
    """A follower list that is being cut into chunks, as a row of work: pending until it is cut to its end.

    `cut_to` is the last edge that was cut, so a dispatcher that dies goes on where it was. `followers` is how many the
    account had at the beginning, for the estimate of how much is left.
    """

    cut_to = models.BigIntegerField(_("cut up to edge"), default=0)
    followers = models.PositiveIntegerField(_("followers at the beginning"), default=0)

    class Meta:
        abstract = True


class Chunk(LeasedRow):
    """One piece of a follower list, by edge ids, with its receipt. The subclass names its `job`.

    Done: `expected = delivered + dormant`; dormant readers have no window and rebuild on return. Until then, all are owed.
    """

    first_edge = models.BigIntegerField(_("first edge"))
    last_edge = models.BigIntegerField(_("last edge"))
    expected = models.PositiveIntegerField(_("followers"))
    delivered = models.PositiveIntegerField(_("delivered"), default=0)
    dormant = models.PositiveIntegerField(_("dormant"), default=0)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.pk}: {self.first_edge}..{self.last_edge}"


class FanoutJob(Walk):
    """The delivery of one post to the followers its author had when it was published, or to those it is addressed to.

    `mode` is how it was delivered, whatever its author's policy is later; a pulled post has no chunks.
    """

    post = models.OneToOneField(Post, models.CASCADE, primary_key=True, related_name="fanout")
    mode = models.CharField(_("mode"), max_length=6, choices=Mode.choices, default=Mode.ONLINE)

    class Meta:
        verbose_name, verbose_name_plural = _("fan-out job"), _("fan-out jobs")
        indexes = [
            models.Index(fields=["due_at"], condition=Q(state=State.PENDING), name="fanout_due")
        ]

    def __str__(self) -> str:
        return str(self.post_id)


class FanoutChunk(Chunk):
    """One piece of a delivery; 0..0 for all whom a post is addressed to."""

    job = models.ForeignKey(FanoutJob, models.CASCADE, related_name="chunks")

    class Meta:
        verbose_name, verbose_name_plural = _("fan-out chunk"), _("fan-out chunks")
        constraints = [
            models.UniqueConstraint("job", "first_edge", name="chunk_once"),
            models.CheckConstraint(
                condition=~Q(state=State.DONE) | Q(expected=F("delivered") + F("dormant")),
                name="chunk_adds_up",
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at", "id"], condition=Q(state=State.PENDING), name="chunk_due"
            )
        ]
