"""The lists of posts and people are range scans of one index, without a sort: page 1,000 costs as page 1."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User, UserCounts
from apps.feeds import timeline as feeds
from apps.feeds.actions import create_feed
from apps.graph.models import Followee, Follower
from apps.graph.queries import followers_page, following_page
from apps.pagination import Cursor
from apps.posts.models import Post
from apps.posts.queries import visible_posts
from apps.search.suggestions import suggested_people
from apps.sql import rows_of
from apps.tags.actions import feature_tag
from apps.tags.queries import _own_uses as own_uses
from apps.timeline.sources import sql as pull
from feedcache.ids import compose
from tests.support.factories import publish

pytestmark = pytest.mark.long

CURSOR = Cursor(max_id=1_800_000_000_000_000_000)


def populate():
    """Enough rows, and fresh statistics: what earlier tests left of those would decide otherwise."""
    crowd = User.objects.bulk_create(User(handle=f"crowd{n}", password="!") for n in range(60))
    Post.objects.bulk_create(
        Post(
            id=compose(1_750_000_000 + n, author.pk, 0),
            author=author,
            thread_id=0,
            visibility="followers" if n % 8 else "public",
        )
        for n in range(40)
        for author in crowd
    )
    pairs = [(one, other) for one in crowd for other in crowd[:20] if one != other]
    Followee.objects.bulk_create(Followee(owner=one, followee=other) for one, other in pairs)
    Follower.objects.bulk_create(Follower(owner=other, follower=one) for one, other in pairs)
    with connection.cursor() as sql:
        sql.execute("ANALYZE posts_post, posts_mention, graph_followee, graph_follower")


@pytest.fixture
def plan_of(alice, bob):
    publish(alice)
    populate()

    def plan(read):
        with connection.cursor() as sql:
            # small tables are scanned whole unless that is made dear; a missing index shows all the same
            sql.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
        with CaptureQueriesContext(
            connection,
        ) as captured:
            read()
        with connection.cursor() as sql:
            sql.execute("EXPLAIN " + captured.captured_queries[0]["sql"])
            return "\n".join(row[0] for row in sql.fetchall())

    return plan


@pytest.mark.gate
def test_a_profile_is_a_range_of_the_authors_outbox(plan_of, alice, bob):
    plan = plan_of(
        lambda: pull.author_ids(alice.pk, alice.pk, follows=False, cursor=CURSOR, count=21)
    )
    assert "Index Only Scan using post_outbox" in plan
    assert "Sort" not in plan


@pytest.mark.gate
def test_what_an_author_said_to_some_is_a_range_of_what_is_restricted(plan_of, alice, bob):
    for reader in (alice, bob):
        plan = plan_of(
            lambda reader_id=reader.pk: pull.restricted_ids(
                alice.pk, reader_id, cursor=CURSOR, count=21, replies=False
            )
        )
        assert "using post_restricted" in plan
        assert "Sort" not in plan


@pytest.mark.gate
def test_the_public_timeline_is_a_range_of_public_posts(plan_of):
    plan = plan_of(lambda: pull.public_ids(CURSOR, 21))
    assert "using post_public" in plan
    assert "Sort" not in plan


@pytest.mark.gate
def test_a_home_pull_is_one_bounded_range_per_followee(plan_of, bob):
    plan = plan_of(lambda: pull.home_ids(bob.pk, CURSOR, 21))
    assert "using post_outbox" in plan
    assert "followee_" in plan  # the reader's own list of followees


def test_a_feed_by_rules_is_one_bounded_range_per_person_and_tag(plan_of, bob):
    feed = create_feed(bob, name="Mine", include_people=["alice"], include_tags=["tea"])
    plan = plan_of(lambda: rows_of(*feeds._statement(feed, CURSOR, is_own=True)))
    assert "using post_outbox" in plan
    assert "using tag_use_public" in plan


def test_the_tags_of_a_profile_are_counted_in_its_owner_s_own_uses(plan_of, alice):
    feature_tag(alice, "tea")
    plan = plan_of(lambda: list(own_uses(alice.pk)))
    assert "using tag_use_author" in plan


READS = {
    "all": pull.home_ids,
    "restricted": pull.restricted_home_ids,
}


@pytest.mark.parametrize("kind", ["restricted", "all"])
def test_circles_are_one_bounded_range_each(plan_of, bob, kind):
    plan = plan_of(lambda: READS[kind](bob.pk, CURSOR, 21))
    assert "using post_circle" in plan


@pytest.mark.gate
def test_an_inbox_is_one_bounded_range_per_followee(plan_of, bob):
    plan = plan_of(lambda: pull.restricted_home_ids(bob.pk, CURSOR, 21))
    assert "using post_restricted" in plan
    assert "followee_" in plan


def test_two_thousand_followees_who_say_little_to_some_cost_a_probe_each(alice):
    """The planner's own choice on a table it knows: what is read is what is restricted, not what was said at all."""
    reader, followees = make_reader_of(2000, posts_each=25)
    said = [publish(alice, visibility="followers")]  # by nobody the reader follows
    restrict = Post.objects.filter(author__in=followees[:3]).order_by("author", "-pk")
    few = [row.pk for row in restrict if row.pk % 5 == 0]
    Post.objects.filter(pk__in=few).update(visibility="followers")
    with connection.cursor() as sql:
        sql.execute("ANALYZE posts_post, graph_followee, graph_circle, graph_circlemember")
    with CaptureQueriesContext(connection) as captured:
        found = pull.restricted_home_ids(reader.pk, Cursor(), 400)
    assert found == sorted(few, reverse=True)
    assert said[0].pk not in found
    with connection.cursor() as sql:
        sql.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + captured.captured_queries[0]["sql"])
        nodes = list(nodes_of(sql.fetchone()[0][0]["Plan"]))
    probes = [node for node in nodes if node.get("Index Name") == "post_restricted"]
    assert [round(node["Actual Loops"]) for node in probes] == [
        2001
    ]  # the followees and the reader
    looked_at = sum(
        node["Actual Loops"] * (node["Actual Rows"] + node.get("Rows Removed by Filter", 0))
        for node in nodes
        if node.get("Relation Name") == "posts_post"
    )
    assert looked_at < 100  # of 50,000 posts; PostgreSQL rounds the average of 2,001 probes


@pytest.mark.gate
def test_the_gate_reads_what_it_is_asked_for_and_nothing_else(alice, bob):
    """The planner's own choice on a table it knows: posts and their sources by key, whatever else was ever said."""
    with connection.cursor() as sql:  # statistics of a day on which there were but a few posts
        sql.execute("ANALYZE posts_post, accounts_user")
    make_reader_of(200, posts_each=25)
    asked = [publish(alice).pk, publish(bob).pk]
    with CaptureQueriesContext(connection) as captured:
        assert set(visible_posts(alice.pk, asked).posts) == set(asked)
    statements = next(
        one["sql"] for one in captured.captured_queries if "suspended_at" in one["sql"]
    )
    gate, _revision = statements.split(";")
    with connection.cursor() as sql:
        sql.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + gate)
        nodes = list(nodes_of(sql.fetchone()[0][0]["Plan"]))
    of_posts = [node for node in nodes if node.get("Relation Name") == "posts_post"]
    assert of_posts
    # few keys are looked up one by one or as a bitmap, as the planner likes
    by_key = ("Index Scan", "Index Only Scan", "Bitmap Heap Scan")
    assert {node["Node Type"] for node in of_posts} <= set(by_key)
    assert all(node["Actual Loops"] == 1 for node in of_posts)


def nodes_of(plan):
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes_of(child)


def make_reader_of(number, *, posts_each):
    """Somebody who follows many, each of whom has said much to all."""
    reader, *crowd = User.objects.bulk_create(
        User(handle=f"many{n}", password="!") for n in range(number + 1)
    )
    UserCounts.objects.bulk_create(UserCounts(user=one) for one in (reader, *crowd))
    Followee.objects.bulk_create(Followee(owner=reader, followee=one) for one in crowd)
    Post.objects.bulk_create(
        (
            Post(id=compose(1_750_000_000 + n, author.pk, 0), author=author, thread_id=0)
            for n in range(posts_each)
            for author in crowd
        ),
        batch_size=5000,
    )
    return reader, crowd


@pytest.mark.parametrize(
    ("page", "index"), [(followers_page, "follower_list"), (following_page, "followee_list")]
)
def test_lists_of_people_are_ranges_of_their_owners_list(plan_of, alice, page, index):
    plan = plan_of(lambda: page(alice, None, Cursor(max_id=10**12)))
    assert f"using {index}" in plan
    assert "Sort" not in plan
    assert "Aggregate" not in plan


def test_whom_to_follow_is_the_top_of_the_most_followed(plan_of, alice):
    people = User.objects.filter(counts=None)
    UserCounts.objects.bulk_create(UserCounts(user=one, posts=1) for one in people)
    with connection.cursor() as sql:
        sql.execute("ANALYZE accounts_user, accounts_usercounts")
    plan = plan_of(lambda: suggested_people(alice, limit=5))
    assert "using counts_most_followed" in plan
    assert "Sort" not in plan
    # all whom the reader knows are one list: of several PostgreSQL believes that they leave nobody, and reads on with
    # helpers
    assert "SubPlan 1" in plan
    assert "SubPlan 2" not in plan
