"""The delivery ledger, what fan-out owes and what it did; and the delivery policies with their history."""

from django.conf import settings
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.events.leases import LeasedRow, State
from apps.posts.models import Post

__all__ = [
    "FanoutChunk", "FanoutJob", "PostReplica", "ReplicaMark", "TimelineEntry", "TimelineSpan",
]  # fmt: skip


class Mode(models.TextChoices):
    """How a post reaches home timelines; what is restricted goes to inboxes in every mode."""

    PUSH = "push", _("push to everybody")
    ONLINE = "online", _("push to those online")
    PULL = "pull", _("pull at reading")


class FollowerScan(LeasedRow):
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


class FanoutJob(FollowerScan):
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


class Backfill(FollowerScan):
    """The posts of a pull period on their way to the windows of the author's followers, after the pull has ended.

    The author is merged at reading until all its chunks are done. The newest posts only, as many as a window holds.
    """

    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    post_ids = models.JSONField(_("posts"))

    class Meta:
        verbose_name, verbose_name_plural = _("backfill"), _("backfills")
        indexes = [
            models.Index(fields=["due_at"], condition=Q(state=State.PENDING), name="backfill_due")
        ]

    def __str__(self) -> str:
        return f"{self.author_id}: {len(self.post_ids)}"


class BackfillChunk(Chunk):
    job = models.ForeignKey(Backfill, models.CASCADE, related_name="chunks")

    class Meta:
        verbose_name, verbose_name_plural = _("backfill chunk"), _("backfill chunks")
        constraints = [
            models.UniqueConstraint("job", "first_edge", name="backfill_chunk_once"),
            models.CheckConstraint(
                condition=~Q(state=State.DONE) | Q(expected=F("delivered") + F("dormant")),
                name="backfill_chunk_adds_up",
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at", "id"],
                condition=Q(state=State.PENDING),
                name="backfill_chunk_due",
            )
        ]


class Policy(models.TextChoices):
    """What staff ask for: one of the modes, or the cheapest of them, chosen and chosen again by measurement."""

    PUSH = "push", _("push to everybody")
    ONLINE = "online", _("push to those online")
    PULL = "pull", _("pull at reading")
    AUTO = "auto", _("whichever costs least")
    SITE = "site", _("as the whole site")


class SitePolicy(models.Model):
    """The one row of the policy of the whole site; without it posts are pushed to those online.

    `mode` is how posts of authors without a mode of their own go out now. `pulls_all`: readers merge the outboxes of all
    whom they follow. `generation` is part of the home windows' keys: windows that have missed pushes are never looked at
    again. `version` grows with every change of what readers have to know.
    """

    policy = models.CharField(
        _("policy"), max_length=6, choices=Policy.choices, default=Policy.ONLINE
    )
    mode = models.CharField(_("mode"), max_length=6, choices=Mode.choices, default=Mode.ONLINE)
    pulls_all = models.BooleanField(_("merged at reading"), default=False)
    generation = models.PositiveIntegerField(_("generation"), default=0)
    version = models.PositiveBigIntegerField(_("version"), default=0)

    class Meta:
        verbose_name = verbose_name_plural = _("policy of the site")
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="site_policy_once")]

    def __str__(self) -> str:
        return self.policy


class AuthorPolicy(models.Model):
    """How the posts of one author go out.

    `mode` is in force now, none means that of the site. `merged_since`: readers merge the author's outbox, since then. It
    is set before pushes end, and goes only when all that was not pushed has been handed over. `reason` and `measured` say
    what `auto` saw.
    """

    author = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )
    policy = models.CharField(
        _("policy"), max_length=6, choices=Policy.choices, default=Policy.SITE
    )
    mode = models.CharField(_("mode"), max_length=6, choices=Mode.choices, null=True, blank=True)  # noqa: DJ001 -- none is not a mode
    merged_since = models.DateTimeField(_("merged at reading since"), null=True, blank=True)
    reason = models.TextField(_("why"), blank=True, default="")
    measured = models.JSONField(_("measured"), default=dict, blank=True)
    measured_at = models.DateTimeField(_("measured at"), null=True, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = _("policy of an author"), _("policies of authors")
        indexes = [
            models.Index(
                fields=["author"], condition=Q(merged_since__isnull=False), name="policy_merged"
            )
        ]

    def __str__(self) -> str:
        return f"{self.author_id}: {self.policy}"


class PolicyChange(models.Model):
    """One line of the history: who asked for which policy, of whom, and why. Without an author: of the site."""

    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", null=True, blank=True
    )
    before = models.CharField(_("before"), max_length=6)
    after = models.CharField(_("after"), max_length=6)
    reason = models.TextField(_("why"), blank=True, default="")
    made_by = models.CharField(_("made by"), max_length=150)
    made_at = models.DateTimeField(_("made at"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("change of policy"), _("changes of policies")

    def __str__(self) -> str:
        return f"{self.before} -> {self.after}"


class TimelineEntry(models.Model):
    """One open post in one reader's home timeline (source 001: the second level; source 004: the timeline table).

    `added_at` is when it was written last; it lives for so many days from then.
    """

    pk = models.CompositePrimaryKey("reader_id", "post_id")
    # no constraint: a chunk writes thousands, and what is left of an account that is gone ends by itself
    reader = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.CASCADE,
        related_name="+",
        db_index=False,
        db_constraint=False,
    )
    post_id = models.BigIntegerField()
    added_at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [BrinIndex(fields=["added_at"], name="entry_age")]

    def __str__(self) -> str:
        return f"{self.reader_id}: {self.post_id}"


class TimelineSpan(models.Model):
    """What may be said of a reader's entries: all open posts of the followees, and one's own, between two ids are there.

    Both bounds are exclusive; `floor` is 0 when nothing older exists. It holds for the followees of `graph_revision` only, and
    for as long as the entries live: those in it are never older than `filled_at`. `length` bounds its growth.
    """

    reader = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )
    ceiling = models.BigIntegerField()
    floor = models.BigIntegerField()
    graph_revision = models.PositiveIntegerField()
    length = models.PositiveIntegerField()
    filled_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.reader_id}: {self.floor}..{self.ceiling}"


class PostReplica(models.Model):
    """An open post of the last days, on the shard of those who may read it (source 004: post_rep)."""

    pk = models.CompositePrimaryKey("author_id", "post_id")
    author_id = models.BigIntegerField()
    post_id = models.BigIntegerField()
    is_reply = models.BooleanField()

    class Meta:
        indexes = [BrinIndex(fields=["post_id"], name="replica_age")]

    def __str__(self) -> str:
        return str(self.post_id)


class ReplicaMark(models.Model):
    """One row a shard: every open post above `oldest` is replicated here, or its event is not done yet."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    oldest = models.BigIntegerField()

    def __str__(self) -> str:
        return str(self.oldest)
