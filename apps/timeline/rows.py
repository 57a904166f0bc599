"""The tables of the second level and of replicas, which hold nothing that posts and follows do not say: all of it can be made anew.

Both keys begin with whose row it is and end with the post, so every read is one range of one index, and needs no table.
"""

from django.conf import settings
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.utils import timezone


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
