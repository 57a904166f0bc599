"""A warm home page of 20 posts, compared with the naive query for the newest posts of the reader's followees.

That query is fast while followees post often, since PostgreSQL walks the newest posts backwards and soon has 20; it is
slow for a reader whose followees have been silent while others wrote.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.tasks import maintain_counts as tend_user_counts
from apps.engagement.models import Bookmark, Like
from apps.engagement.tasks import maintain_filters
from apps.graph.models import Followee
from apps.pagination import Cursor
from apps.posts.models import OPEN, Attachment, Kind, Mention, Post
from apps.posts.tasks import maintain_counts
from apps.timeline.home import home_timeline
from feedcache.read_through import Batch
from tools.bench.measure import Spread, compare
from tools.bench.population import make_reader, write_posts
from tools.bench.report import Line

LIMIT, POSTS_EACH, NOISE_POSTS = 20, 50, 100
FOLLOWEES = (500, 2000)
SECONDS_APART = 97
TRIPS_MOST = 2  # none of the posts is a repost


def run(_directory: Path) -> list[Line]:
    """Readers with 500 and 2,000 followees, who post now or who last posted before a crowd of others did."""
    now = int(timezone.now().timestamp())
    age = POSTS_EACH * SECONDS_APART + SECONDS_APART
    for maximum in FOLLOWEES:
        write_posts(
            f"dormant{maximum}x", maximum, POSTS_EACH, begin=now - 4 * age, apart=SECONDS_APART
        )
        write_posts(f"active{maximum}x", maximum, POSTS_EACH, begin=now - age, apart=SECONDS_APART)
    write_posts("othersx", FOLLOWEES[-1], NOISE_POSTS, begin=now - 2 * age, apart=SECONDS_APART)
    with connection.cursor() as sql:
        sql.execute("ANALYZE posts_post, accounts_user, graph_followee")
    for tend in (maintain_counts, tend_user_counts, maintain_filters):
        tend()
    return [_line(kind, maximum) for maximum in FOLLOWEES for kind in ("active", "dormant")]


def _line(kind: str, maximum: int) -> Line:
    viewer = make_reader(f"reader_{kind}{maximum}", f"{kind}{maximum}x")

    def ours() -> Any:
        return home_timeline(viewer, Cursor(limit=LIMIT)).items

    def pull() -> Any:
        return _pulled(viewer)

    for _warm in range(3):
        ours()
    queries, trips = _cost(ours)
    assert [item.id for item in ours()] == [post.pk for post in pull()]
    taken = compare({"ours": ours, "pull": pull})
    mine, theirs = _milliseconds(taken["ours"]), _milliseconds(taken["pull"])
    return Line(
        f"warm home page of {LIMIT} posts; {maximum:,} {kind} followees",
        "ms",
        mine,
        {f"pull in SQL, with the ORM, {_cost(pull)[0]} queries": theirs},
        f"0 SQL, at most {TRIPS_MOST} trips",
        queries == 0 and trips <= TRIPS_MOST,
        f"{queries} SQL, {trips} trips, {1000 / mine.median:,.0f} pages/s per core; pull: {1000 / theirs.median:,.0f}",
    )


def _pulled(viewer: User) -> list[Post]:
    """The same page with the naive query."""
    followees = Followee.objects.filter(owner=viewer).values("followee")
    posts = list(
        Post.objects.filter(
            author__in=followees, deleted_at=None, visibility__in=OPEN, author__suspended_at=None
        )
        .exclude(kind=Kind.REPOST)
        .select_related("author", "author__counts")
        .order_by("-pk")[:LIMIT]
    )
    ids = [post.pk for post in posts]
    list(Attachment.objects.filter(post__in=ids))
    list(Mention.objects.filter(post__in=ids).select_related("user"))
    set(Like.objects.filter(user=viewer, post__in=ids).values_list("post", flat=True))
    set(Bookmark.objects.filter(user=viewer, post__in=ids).values_list("post", flat=True))
    return posts


def _cost(read: Callable[[], Any]) -> tuple[int, int]:
    """The queries and the round trips of a page; a round trip is one wait for requests sent together."""
    with (
        patch.object(Batch, "execute", autospec=True, side_effect=Batch.execute) as execute,
        CaptureQueriesContext(connection) as seen,
    ):
        read()
    return len(seen), execute.call_count


def _milliseconds(taken: Spread) -> Spread:
    return Spread(taken.median / 1000, taken.low / 1000, taken.high / 1000)
