"""Makes a demo at a fixed time, and tells what was made."""

from typing import Any

from django.db.models import Count, Max

from apps.accounts.models import User, UserCounts
from apps.demo.actions import SeedResult, seed
from apps.demo.models import SeedRun
from apps.engagement.models import Bookmark, Like
from apps.graph.models import Followee, Follower
from apps.graph.queries import mirror_faults
from apps.posts.models import OPEN, Attachment, Kind, Mention, Post, PostCounts

NOW = 1_790_000_000.0
TABLES = (
    User, UserCounts, Followee, Follower, Post, PostCounts, Mention, Attachment, Like, Bookmark, SeedRun,
)  # fmt: skip


def make_demo(size: str = "small", seed_number: int = 1) -> SeedResult:
    return seed(size=size, seed_number=seed_number, advance=lambda _what, _number: None, now=NOW)


def sizes() -> dict[str, int]:
    return {model.__name__: model.objects.count() for model in TABLES}


def described() -> tuple[list[Any], ...]:
    """What was made, without the ids that depend on what was in the tables before."""
    posts = Post.objects.order_by("created_at", "author__handle", "body")
    follows = Followee.objects.order_by("owner__handle", "followee__handle")
    return (
        list(posts.values_list("author__handle", "body", "created_at", "kind", "counts__likes")),
        list(follows.values_list("owner__handle", "followee__handle", "created_at")),
        list(User.objects.order_by("handle").values_list("handle", "display_name", "created_at")),
    )


def assert_counts_equal_rows() -> None:
    """Counters equal the number of rows, the mirrors agree, and no id can come twice."""
    assert not any(mirror_faults().values())
    for column, model, field in (
        ("posts", Post.objects.filter(visibility__in=OPEN), "author"),
        ("followers", Follower.objects, "owner"),
        ("following", Followee.objects, "owner"),
    ):
        truth = dict(model.values_list(field).annotate(Count("pk")).order_by())
        counts = dict(UserCounts.objects.values_list("pk", column))
        assert counts == {pk: truth.get(pk, 0) for pk in counts}
    sources = {
        "replies": Post.objects.filter(visibility__in=OPEN)
        .exclude(reply_to=None)
        .values_list("reply_to"),
        "reposts": Post.objects.filter(kind=Kind.REPOST).values_list("source"),
        "quotes": Post.objects.filter(kind=Kind.QUOTE, visibility__in=OPEN).values_list("source"),
        "likes": Like.objects.values_list("post"),
        "bookmarks": Bookmark.objects.values_list("post"),
    }
    for column, rows in sources.items():
        truth = dict(rows.annotate(Count("pk")).order_by())
        counts = dict(PostCounts.objects.values_list("pk", column))
        assert counts == {pk: truth.get(pk, 0) for pk in counts}
        assert any(counts.values())
    newest = dict(Post.objects.values_list("author").annotate(Max("pk")).order_by())
    assert (
        dict(UserCounts.objects.filter(last_post_id__gt=0).values_list("pk", "last_post_id"))
        == newest
    )
    shown = (
        Post.objects.filter(visibility__in=OPEN)
        .values_list("author")
        .annotate(Max("pk"))
        .order_by()
    )
    assert dict(
        UserCounts.objects.filter(posts__gt=0).values_list("pk", "last_open_post_id")
    ) == dict(shown)
