"""Writes the demo's delivery ledger, so that `/explain` can show how each post reached its readers."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import timedelta

from django.conf import settings

from apps.demo.seeding.world import Entry, World, batches, moment_of
from apps.events.leases import State
from apps.graph.models import Follower
from apps.posts.visibility import Audience, delivered_to
from apps.timeline.fanout.receipts import pack, seal_loaded
from apps.timeline.models import FanoutChunk, FanoutJob
from feedcache.ids import second_of

ONLINE_SHARE = (
    0.3  # of the demo accounts that cannot log in; those that can log in all count as online
)
DELIVERED_AFTER = timedelta(seconds=1)
FOR_FOLLOWERS = delivered_to(Audience.FOLLOWERS)
Edge = tuple[int, float, int]  # row id, Unix time, follower


def make_deliveries(world: World) -> None:
    """Insert a job for each new post, with chunks and receipts for its author's followers at the time of the post."""
    rng = world.rng("online")
    online = {
        member.pk
        for member in world.members
        if (member.person and member.person.fixed) or rng.random() < ONLINE_SHARE
    }
    edges: dict[int, list[Edge]] = defaultdict(list)
    authors = {entry.author.pk for entry in world.entries if entry.is_new}
    rows = Follower.objects.filter(owner__in=authors).order_by("pk")
    for owner, pk, since, follower in rows.values_list("owner", "pk", "created_at", "follower"):
        edges[owner].append((pk, since.timestamp(), follower))
    for batch in batches([entry for entry in world.entries if entry.is_new]):
        chunks = {entry.pk: list(_chunks(entry, edges[entry.author.pk], online)) for entry in batch}
        FanoutJob.objects.bulk_create(_job(entry, chunks[entry.pk]) for entry in batch)
        FanoutChunk.objects.bulk_create(chunk for made in chunks.values() for chunk in made)
        seal_loaded(list(chunks))


def _job(entry: Entry, chunks: Sequence[FanoutChunk]) -> FanoutJob:
    at = moment_of(second_of(entry.pk))
    return FanoutJob(
        post_id=entry.pk,
        state=State.DONE,
        attempts=1,
        created_at=at,
        due_at=at,
        finished_at=at + DELIVERED_AFTER,
        scanned_to=chunks[-1].last_edge if chunks else 0,
        followers=sum(chunk.expected for chunk in chunks),
        parts=len(chunks),
        receipts=len(chunks),
    )


def _chunks(entry: Entry, edges: Sequence[Edge], online: set[int]) -> Iterator[FanoutChunk]:
    if entry.visibility not in FOR_FOLLOWERS:
        return
    second = second_of(entry.pk)
    present = [edge for edge in edges if edge[1] <= second]
    size = settings.FANOUT_CHUNK_SIZE
    for number, start in enumerate(range(0, len(present), size), start=1):
        part = present[start : start + size]
        reached = [follower for _pk, _since, follower in part if follower in online]
        at = moment_of(second)
        yield FanoutChunk(
            job_id=entry.pk,
            first_edge=part[0][0],
            last_edge=part[-1][0],
            expected=len(part),
            delivered=len(reached),
            dormant=len(part) - len(reached),
            reached=pack(reached),
            number=number,
            state=State.DONE,
            attempts=1,
            created_at=at,
            due_at=at,
            finished_at=at + DELIVERED_AFTER,
        )
