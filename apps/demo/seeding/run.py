"""Lays a size of the demo in one transaction: an interrupted run leaves nothing behind but files it will write again."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from django.db import connection, transaction

from apps.demo.library import library
from apps.demo.models import SeedRun
from apps.demo.seeding.counts import add_counts
from apps.demo.seeding.finding import make_findable
from apps.demo.seeding.graph import make_follows
from apps.demo.seeding.news import make_news
from apps.demo.seeding.people import make_people
from apps.demo.seeding.posts import make_posts
from apps.demo.seeding.reactions import make_reactions
from apps.demo.seeding.world import SIZES, World
from apps.events.actions import record
from apps.search.trends import rank_posts
from apps.tags.counting import KEEP_DAYS, count_days

LOCK = 7_239_501  # any number of our own: two seedings wait for each other
_PREPARE = "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0"
_TABLES = (
    "accounts_user, accounts_usercounts, graph_followee, graph_follower, posts_post, posts_postcounts, "
    "posts_mention, posts_attachment, engagement_like, engagement_bookmark, notifications_notification"
)
CAST_ROWS = 6_500
Advance = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Laid:
    """What a run made; nothing when `earlier` tells of a run that was finished before."""

    accounts: int = 0
    follows: int = 0
    posts: int = 0
    likes: int = 0
    pictures: int = 0
    earlier: SeedRun | None = None


def seed(*, size: str, seed_number: int, advance: Advance, now: float | None = None) -> Laid:
    """Add a size of the demo unless it is there; Conflict when people of the cast exist and have written already."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
            cursor.execute(_PREPARE)
        if earlier := SeedRun.objects.filter(size=size).first():
            return Laid(earlier=earlier)
        world = World(
            library(),
            size,
            seed_number,
            now or time.time(),
            advance,
            lays_cast=not SeedRun.objects.exists(),
        )
        _lay(world)
        SeedRun.objects.create(size=size, seed=seed_number)
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {_TABLES}")
    return _report(world)


def _lay(world: World) -> None:
    make_people(world)
    make_follows(world)
    make_posts(world)
    make_reactions(world)
    make_findable(world)
    make_news(world)
    add_counts(world)
    count_days(days=KEEP_DAYS)
    rank_posts()
    # readers that were there before follow more accounts now: their windows are rebuilt
    known = [member.pk for member in world.cast.values() if not member.is_new]
    if known:
        record("graph_loaded", user_ids=known)


def _report(world: World) -> Laid:
    entries = [entry for entry in world.entries if entry.is_new]
    return Laid(
        accounts=sum(member.is_new for member in world.members),
        follows=world.follows,
        posts=len(entries),
        likes=world.likes,
        pictures=sum(len(entry.pictures) for entry in entries),
    )


def expected_rows(size: str) -> int:
    """About how many rows a size makes, for the bar."""
    one = SIZES[size]
    return (
        round(one.accounts * (1 + one.follows_each + one.posts_each * 1.3 + one.likes_each)) + 3_500
    )
