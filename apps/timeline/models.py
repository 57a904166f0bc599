"""Deliveries and their chunks (the ledger), the delivery policies with their history, and stored timelines."""

from django.conf import settings
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.events.leases import LeasedRow, State
from apps.posts.models import Post


class Mode(models.TextChoices):
    """How a post reaches home timelines. Restricted posts are pushed to inboxes in every mode."""

    PUSH = "push", _("push to everybody")
    ONLINE = "online", _("push to those online")
    PULL = "pull", _("pull at read time")


class FollowerScan(LeasedRow):
    """A follower list that is split into chunks; pending until all of it is split. Virtual followers come last.

    `scanned_to` is the edge (the id of a follow) up to which the list is split, and `virtual_scanned_to` the same for
    virtual follows; another dispatcher can continue from there. `followers` is the number of followers and virtual
    followers at the start; those who are in no chunk are still to be split. `parts` is the number of chunks created.
    """

    scanned_to = models.BigIntegerField(_("split as far as edge"), default=0)
    virtual_scanned_to = models.BigIntegerField(_("split as far as virtual edge"), default=0)
    followers = models.PositiveIntegerField(_("followers at the beginning"), default=0)
    parts = models.PositiveIntegerField(_("chunks"), default=0)

    class Meta:
        abstract = True
        indexes = [
            models.Index(fields=["due_at"], condition=Q(state=State.PENDING), name="%(class)s_due"),
            models.Index(fields=["due_at"], condition=Q(state=State.DEAD), name="%(class)s_dead"),
        ]


class Chunk(LeasedRow):
    """A range of edges (ids of follows) in a follower list, with its receipt. Subclasses define `job`.

    `is_virtual`: the edges are virtual follows. When done, `expected = delivered + dormant + lost`. Dormant readers
    have no home cache until they return, when one is built. Lost readers are those of a chunk that staff gave up.
    """

    first_edge = models.BigIntegerField(_("first edge"))
    last_edge = models.BigIntegerField(_("last edge"))
    is_virtual = models.BooleanField(_("virtual follows"), default=False)
    expected = models.PositiveIntegerField(_("followers"))
    delivered = models.PositiveIntegerField(_("delivered"), default=0)
    dormant = models.PositiveIntegerField(_("dormant"), default=0)
    lost = models.PositiveIntegerField(_("given up"), default=0)

    class Meta:
        abstract = True
        constraints = [
            models.UniqueConstraint("job", "first_edge", "is_virtual", name="%(class)s_once"),
            models.CheckConstraint(
                condition=~Q(state=State.DONE)
                | Q(expected=F("delivered") + F("dormant") + F("lost")),
                name="%(class)s_adds_up",
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at", "id"], condition=Q(state=State.PENDING), name="%(class)s_due"
            ),
            # health checks and the auditor often look for dead letters in all deliveries
            models.Index(fields=["due_at"], condition=Q(state=State.DEAD), name="%(class)s_dead"),
        ]

    def __str__(self) -> str:
        return f"{self.pk}: {self.first_edge}..{self.last_edge}"


class FanoutJob(FollowerScan):
    """The delivery of one post to its author's followers at the time of publication, or to its addressees.

    `mode` is the mode at the time of delivery, even if the author's policy changes later. A pulled post has no chunks.

    `receipts` is the number of chunks with a receipt. Each receipt has a hash of itself and the receipt before; `seal`
    is the newest of these (`fanout.receipts`). `lost` counts the followers who were not yet in a chunk when staff gave
    up the job.

    `first_read_at`: when a follower first opened the post; null for addressed posts and for authors with few followers
    (`fanout.author_receipts.read_post`).
    """

    post = models.OneToOneField(Post, models.CASCADE, primary_key=True, related_name="fanout")
    mode = models.CharField(_("mode"), max_length=6, choices=Mode.choices, default=Mode.ONLINE)
    receipts = models.PositiveIntegerField(_("receipts"), default=0)
    seal = models.BinaryField(_("seal"), default=b"")
    lost = models.PositiveIntegerField(_("given up"), default=0)
    first_read_at = models.DateTimeField(_("first read by a follower"), null=True)

    class Meta(FollowerScan.Meta):
        verbose_name, verbose_name_plural = _("fan-out job"), _("fan-out jobs")

    def __str__(self) -> str:
        return str(self.post_id)


class FanoutChunk(Chunk):
    """A chunk of a delivery; for the addressees of a post, its edges are 0..0.

    `number` is the position of its receipt among the receipts of its job. `reached` contains the packed ids of the
    readers who got the post (`fanout.receipts`); null after `RECEIPT_DAYS`, when only their `digest` remains.
    """

    job = models.ForeignKey(FanoutJob, models.CASCADE, related_name="chunks")
    number = models.PositiveIntegerField(_("receipt number"), default=0)
    reached = models.BinaryField(_("readers reached"), null=True)
    digest = models.BinaryField(_("digest"), default=b"")
    seal = models.BinaryField(_("seal"), default=b"")

    class Meta(Chunk.Meta):
        verbose_name, verbose_name_plural = _("fan-out chunk"), _("fan-out chunks")
        indexes = [
            *Chunk.Meta.indexes,
            models.Index(
                fields=["finished_at"],
                condition=Q(reached__isnull=False),
                name="fanoutchunk_reached",
            ),
        ]


class Backfill(FollowerScan):
    """The push of the newest posts of a pull period, up to the length of a home window, after a switch to push.

    Readers pull the author until all its chunks are done.
    """

    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    post_ids = models.JSONField(_("posts"))

    class Meta(FollowerScan.Meta):
        verbose_name, verbose_name_plural = _("backfill"), _("backfills")

    def __str__(self) -> str:
        return f"{self.author_id}: {len(self.post_ids)}"


class BackfillChunk(Chunk):
    job = models.ForeignKey(Backfill, models.CASCADE, related_name="chunks")

    class Meta(Chunk.Meta):
        verbose_name, verbose_name_plural = _("backfill chunk"), _("backfill chunks")


class Policy(models.TextChoices):
    """A mode, `auto` (repeated measurements determine the cheapest mode), or `site` (the policy of the site)."""

    PUSH = "push", _("push to everybody")
    ONLINE = "online", _("push to those online")
    PULL = "pull", _("pull at read time")
    AUTO = "auto", _("whichever costs least")
    SITE = "site", _("the site's policy")


class SitePolicy(models.Model):
    """The site's policy, in a single row. If the row is missing, posts are pushed to readers who are online.

    `mode` applies to authors without a mode of their own. `pulls_all`: readers pull all their followees. `generation`
    is part of the keys of home windows; it grows when the site stops pulling, so that windows that missed pushes in the
    meantime are never read again. `version` grows with every change that readers must notice.
    """

    policy = models.CharField(
        _("policy"), max_length=6, choices=Policy.choices, default=Policy.ONLINE
    )
    mode = models.CharField(_("mode"), max_length=6, choices=Mode.choices, default=Mode.ONLINE)
    pulls_all = models.BooleanField(_("merged at read time"), default=False)
    generation = models.PositiveIntegerField(_("generation"), default=0)
    version = models.PositiveBigIntegerField(_("version"), default=0)

    class Meta:
        verbose_name = verbose_name_plural = _("site policy")
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="site_policy_once")]

    def __str__(self) -> str:
        return self.policy


class AuthorPolicy(models.Model):
    """The delivery policy of one author.

    `mode` is in force now; null means the site's mode. `pulled_since` is the time from which readers pull the author;
    it is set before pushes end, and cleared only after the backfill. `reason` comes from staff or `auto`, `measured`
    from `auto`.
    """

    author = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )
    policy = models.CharField(
        _("policy"), max_length=6, choices=Policy.choices, default=Policy.SITE
    )
    mode = models.CharField(_("mode"), max_length=6, choices=Mode.choices, null=True, blank=True)  # noqa: DJ001 -- null means the site's mode
    pulled_since = models.DateTimeField(_("merged at read time since"), null=True, blank=True)
    reason = models.TextField(_("why"), blank=True, default="")
    measured = models.JSONField(_("measured"), default=dict, blank=True)
    measured_at = models.DateTimeField(_("measured at"), null=True, blank=True)

    class Meta:
        verbose_name, verbose_name_plural = _("author policy"), _("author policies")
        indexes = [
            models.Index(
                fields=["author"], condition=Q(pulled_since__isnull=False), name="policy_pulled"
            )
        ]

    def __str__(self) -> str:
        return f"{self.author_id}: {self.policy}"


class PolicyChange(models.Model):
    """A change of an author's policy or, without `author`, of the site's policy."""

    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", null=True, blank=True
    )
    before = models.CharField(_("before"), max_length=6)
    after = models.CharField(_("after"), max_length=6)
    reason = models.TextField(_("why"), blank=True, default="")
    made_by = models.CharField(_("made by"), max_length=150)
    made_at = models.DateTimeField(_("made at"), default=timezone.now)

    class Meta:
        verbose_name, verbose_name_plural = _("policy change"), _("policy changes")

    def __str__(self) -> str:
        return f"{self.before} -> {self.after}"


class TimelineEntry(models.Model):
    """An open post in a reader's home timeline (source 001: the second level; source 004: the timeline table).

    `added_at` is the time of the last write; the entry expires `TIMELINE_ENTRY_DAYS` later.
    """

    pk = models.CompositePrimaryKey("reader_id", "post_id")
    # no constraint, because a chunk writes thousands of rows; rows of deleted accounts expire
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
    """The range in which a reader's entries are complete: they include all open posts of the followees and the reader.

    Both bounds are exclusive; `floor` is 0 if nothing older exists. A span is valid only at `graph_revision`, and until
    its entries expire; no entry was written before `filled_at`. `length` counts the entries that were filled in.
    `stamp` identifies the last write of rows in Cassandra; NULL if they are in PostgreSQL. `newest_follow` and
    `newest_virtual_follow` are the ids of the newest follow and virtual follow at that revision.
    """

    reader = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+"
    )
    ceiling = models.BigIntegerField()
    floor = models.BigIntegerField()
    graph_revision = models.PositiveIntegerField()
    length = models.PositiveIntegerField()
    filled_at = models.DateTimeField(default=timezone.now)
    stamp = models.BigIntegerField(null=True)
    newest_follow = models.BigIntegerField(default=0, db_default=0)
    newest_virtual_follow = models.BigIntegerField(default=0, db_default=0)

    def __str__(self) -> str:
        return f"{self.reader_id}: {self.floor}..{self.ceiling}"


class PostReplica(models.Model):
    """An open post of the last days, in every database of `TIMELINE_SHARDS` (source 004: post_rep)."""

    pk = models.CompositePrimaryKey("author_id", "post_id")
    author_id = models.BigIntegerField()
    post_id = models.BigIntegerField()
    is_reply = models.BooleanField()

    class Meta:
        indexes = [BrinIndex(fields=["post_id"], name="replica_age")]

    def __str__(self) -> str:
        return str(self.post_id)


class ReplicaMark(models.Model):
    """How far back a database of `TIMELINE_SHARDS` reaches: it has every open post whose id is above `oldest`, unless
    the event that writes it is pending.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    oldest = models.BigIntegerField()

    def __str__(self) -> str:
        return str(self.oldest)
