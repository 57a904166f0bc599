"""Adds the demo data of one size in a single transaction.

An interrupted run leaves only media files, which the next run of this size overwrites.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from django.db import connection, transaction
from django.utils.module_loading import import_string

from apps.accounts.models import User
from apps.demo.content.loader import load_content
from apps.demo.hooks import SEEDING
from apps.demo.models import SeedRun
from apps.demo.seeding.counts import add_counts
from apps.demo.seeding.deliveries import make_deliveries
from apps.demo.seeding.follows import make_follows
from apps.demo.seeding.notifications import make_notifications
from apps.demo.seeding.people import make_people
from apps.demo.seeding.posts import make_posts
from apps.demo.seeding.reactions import make_reactions
from apps.demo.seeding.starter_packs import make_starter_packs
from apps.demo.seeding.world import SIZES, World, batches
from apps.engagement.marks import ROW_MARKS
from apps.events.actions import record
from apps.search.indexing import BATCH, index_people, index_posts
from apps.search.trends import rank_posts
from apps.tags.trends import KEEP_DAYS, count_days

LOCK = 7_239_501  # key of the advisory lock that allows one seeding at a time
_WITHOUT_TIMEOUTS = (
    "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0"
)
_TABLES = (
    "accounts_user, accounts_usercounts, graph_followee, graph_follower, posts_post, posts_postcounts, "
    "posts_mention, posts_attachment, notifications_notification, timeline_fanoutjob, timeline_fanoutchunk, "
    + ", ".join(mark.table for mark in ROW_MARKS)
)
ReportProgress = Callable[[str, int], None]  # takes a kind of rows, and the number of rows added


@dataclass(frozen=True, slots=True)
class SeedResult:
    """The numbers of rows added. `earlier` is an earlier run of the same size; if there is one, nothing was added."""

    accounts: int = 0
    follows: int = 0
    posts: int = 0
    likes: int = 0
    pictures: int = 0
    earlier: SeedRun | None = None


def seed(
    *, size: str, seed_number: int, advance: ReportProgress, now: float | None = None
) -> SeedResult:
    """Add the demo data of one size, unless they exist.

    The first run of any size raises Conflict if an account with a handle of the cast has posted.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
            cursor.execute(_WITHOUT_TIMEOUTS)
        if earlier := SeedRun.objects.filter(size=size).first():
            return SeedResult(earlier=earlier)
        world = World(
            load_content(),
            size,
            seed_number,
            now or time.time(),
            advance,
            makes_cast=not SeedRun.objects.exists(),
        )
        _make(world)
        SeedRun.objects.create(size=size, seed=seed_number)
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {_TABLES}")
    return _report(world)


def _make(world: World) -> None:
    make_people(world)
    make_follows(world)
    make_posts(world)
    make_deliveries(world)
    make_reactions(world)
    _index(world)
    make_notifications(world)
    add_counts(world)
    make_starter_packs(world)
    for name in SEEDING:
        import_string(name)(world)
    count_days(days=KEEP_DAYS)
    rank_posts()
    # existing users may follow more accounts now, so their home caches have to be rebuilt
    user_ids = [member.pk for member in world.cast.values() if not member.is_new]
    if user_ids:
        record("graph_loaded", user_ids=user_ids)


def _index(world: World) -> None:
    posts = [entry.pk for entry in world.entries if entry.is_new and not entry.is_repost]
    for batch in batches(posts, BATCH):
        index_posts(batch)
    people = [member.pk for member in world.members if member.is_new]
    for batch in batches(people, BATCH):
        index_people(list(User.objects.filter(pk__in=batch)))


def _report(world: World) -> SeedResult:
    entries = [entry for entry in world.entries if entry.is_new]
    return SeedResult(
        accounts=sum(member.is_new for member in world.members),
        follows=world.follows,
        posts=len(entries),
        likes=world.likes,
        pictures=sum(len(entry.pictures) for entry in entries),
    )


def expected_rows(size: str) -> int:
    """The approximate number of rows that a size adds, for the progress bar."""
    per_account = SIZES[size]
    posts = per_account.posts_each * 1.3  # including reposts
    rows = 1 + per_account.follows_each + posts + per_account.likes_each
    return round(per_account.accounts * rows) + 2_000  # 2,000 for the cast
