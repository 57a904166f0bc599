"""The delivery ledger: what fan-out owes and what it did, in PostgreSQL."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.events.leases import LeasedRow, State
from apps.posts.models import Post


class FanoutJob(models.Model):
    """The delivery of one post to the followers its author had when it was published, or to those it is addressed to.

    Of a chunk that is done, `expected = delivered + dormant`: dormant readers have no window and rebuild on return.
    """

    post = models.OneToOneField(Post, models.CASCADE, primary_key=True, related_name="fanout")
    created_at = models.DateTimeField(_("created at"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("fan-out job"), _("fan-out jobs")

    def __str__(self) -> str:
        return str(self.post_id)


class FanoutChunk(LeasedRow):
    """One piece of the follower list, by edge ids, with its receipt; 0..0 for all whom a post is addressed to."""

    job = models.ForeignKey(FanoutJob, models.CASCADE, related_name="chunks")
    first_edge = models.BigIntegerField(_("first edge"))
    last_edge = models.BigIntegerField(_("last edge"))
    expected = models.PositiveIntegerField(_("followers"))
    delivered = models.PositiveIntegerField(_("delivered"), default=0)
    dormant = models.PositiveIntegerField(_("dormant"), default=0)

    class Meta:
        verbose_name, verbose_name_plural = _("fan-out chunk"), _("fan-out chunks")
        constraints = [models.UniqueConstraint("job", "first_edge", name="chunk_once")]
        indexes = [
            models.Index(
                fields=["due_at", "id"], condition=models.Q(state=State.PENDING), name="chunk_due"
            )
        ]

    def __str__(self) -> str:
        return f"{self.job_id}: {self.first_edge}..{self.last_edge}"
