"""Counts of posts as pages get them: from Redis, from PostgreSQL when Redis is lost, cold or dead; and reads."""

from time import time

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.engagement.actions import bookmark_post, like_post, unlike_post
from apps.events.models import Event
from apps.posts.actions.publish import delete_post
from apps.posts.cache import POST_COUNTS, count_reads
from apps.posts.models import Counts, PostCounts
from apps.posts.queries import post_counts, visible_posts
from apps.posts.tasks import evict_counts, maintain_counts, write_back_reads
from feedcache.connections import RedisError, counters
from feedcache.structures.counters import maintenance
from tests.support.factories import deliver, make_user, publish, repost
from tests.support.faults import dead_redis
from tests.support.threads import together

pytestmark = pytest.mark.django_db


def queries(read):
    """The queries for counts that a read makes."""
    with CaptureQueriesContext(connection) as captured:
        read()
    return [one["sql"] for one in captured.captured_queries if "posts_postcounts" in one["sql"]]


@pytest.fixture
def page(alice, bob, carol):
    """Eight posts, some of them liked, answered, reposted."""
    posts = [publish(alice, f"post {number}") for number in range(8)]
    for post in posts[:5:2]:
        like_post(bob, post.pk)
    like_post(carol, posts[0].pk)
    bookmark_post(carol, posts[0].pk)
    publish(bob, reply_to_id=posts[1].pk)
    repost(bob, posts[1].pk)
    return [post.pk for post in posts]


def in_sql(ids):
    rows = PostCounts.objects.filter(pk__in=ids)
    return {row.pk: Counts(**{name: getattr(row, name) for name in Counts._fields}) for row in rows}


def test_a_page_takes_its_counts_from_redis_in_one_trip(page, bob):
    visible_posts(bob.pk, page)
    counters().config_resetstat()
    assert queries(lambda: visible_posts(bob.pk, page)) == []
    stats = counters().info("commandstats")
    assert (
        stats["cmdstat_evalsha"]["calls"] == 2
    )  # of the posts, and of the relations to their authors
    assert visible_posts(bob.pk, page).counts == in_sql(page)


def test_a_flush_changes_no_page_and_no_query_is_made_after_the_rebuild(page, bob):
    before = visible_posts(bob.pk, page).counts
    counters().flushdb()
    assert visible_posts(bob.pk, page).counts == before
    assert len(queries(lambda: visible_posts(bob.pk, page))) == 1
    maintain_counts()
    assert queries(lambda: visible_posts(bob.pk, page)) == []
    assert visible_posts(bob.pk, page).counts == before == in_sql(page)


@pytest.mark.slow
def test_a_dead_redis_changes_no_page(page, bob):
    before = visible_posts(bob.pk, page).counts
    with dead_redis():
        assert visible_posts(bob.pk, page).counts == before
        like_post(bob, page[7])
        assert post_counts([page[7]])[page[7]].likes == 1
    assert post_counts([page[7]])[page[7]].likes == 1
    maintain_counts()
    deliver()
    assert post_counts(page) == in_sql(page)


@pytest.mark.slow
def test_a_like_that_redis_did_not_take_arrives_by_an_event(page, bob, monkeypatch):
    with monkeypatch.context() as deaf:
        deaf.setattr(POST_COUNTS.store.__class__, "_put", refused)
        like_post(bob, page[7])
    assert post_counts([page[7]])[page[7]].likes == 0
    assert Event.objects.get(name="counts_missed", subscriber__contains="posts").payload == {
        "kind": "posts",
        "ids": [page[7]],
    }
    deliver()
    assert post_counts([page[7]])[page[7]].likes == 1


def refused(*_args):
    raise RedisError("no")


def test_likes_of_many_at_once_are_in_redis_what_they_are_in_the_table(transactional_db):
    post, crowd = publish(make_user()), [make_user() for _ in range(6)]

    def busy(index):
        for _ in range(3):
            like_post(crowd[index], post.pk)
            unlike_post(crowd[index], post.pk)
        like_post(crowd[index], post.pk)

    together(6, busy)
    assert post_counts([post.pk])[post.pk] == in_sql([post.pk])[post.pk] == Counts(likes=6)


def test_posts_that_were_never_counted_take_nothing(alice):
    keys = counters().keys("c{posts}*")
    ids = [publish(alice).pk for _ in range(5)]
    assert counters().keys("c{posts}*") == keys
    assert queries(lambda: post_counts(ids)) == []
    assert set(post_counts(ids).values()) == {Counts()}


def test_a_deleted_answer_is_not_counted_any_more(alice):
    post = publish(alice)
    answer = publish(alice, reply_to_id=post.pk)
    assert post_counts([post.pk])[post.pk].replies == 1
    delete_post(answer.pk, by=alice)
    assert post_counts([post.pk])[post.pk].replies == 0


# --- reads ------------------------------------------------------------------------------------------


def test_reads_are_counted_in_redis_and_written_back(page):
    count_reads(page)
    count_reads(page[:2])
    assert [post_counts([post_id])[post_id].reads for post_id in (page[0], page[6])] == [2, 1]
    assert PostCounts.objects.get(pk=page[0]).reads == 0
    write_back_reads()
    assert post_counts(page) == in_sql(page)
    counters().flushdb()
    assert post_counts(page) == in_sql(page)
    maintain_counts()
    count_reads([page[0]])
    assert post_counts([page[0]])[page[0]].reads == 3


def test_reads_do_not_move_the_revision_and_likes_do_not_move_reads(page, bob):
    revision = PostCounts.objects.get(pk=page[7]).revision
    count_reads([page[7]])
    write_back_reads()
    assert PostCounts.objects.get(pk=page[7]).revision == revision
    like_post(bob, page[7])
    assert post_counts([page[7]])[page[7]] == Counts(likes=1, reads=1)


def test_reads_without_redis_are_counted_by_the_database(page):
    count_reads([page[0]])
    write_back_reads()
    with dead_redis():
        count_reads([page[0]])
        assert post_counts([page[0]])[page[0]].reads == 2
    maintain_counts()
    count_reads([page[0]])
    assert post_counts([page[0]])[page[0]].reads == 3


def test_reads_by_many_at_once_are_exact(transactional_db):
    ids = [publish(make_user()).pk for _ in range(5)]

    def read(_index):
        for _ in range(10):
            count_reads(ids)

    together(6, read)
    write_back_reads()
    assert {row.reads for row in in_sql(ids).values()} == {60}


def test_old_posts_cool_down_and_are_loaded_when_they_are_read(page, monkeypatch, settings):
    count_reads(page[:3])
    before = post_counts(page)
    later = time() + settings.COUNTERS_HOT_DAYS * 24 * 3600 + 7200
    monkeypatch.setattr("feedcache.structures.counters.service.time", lambda: later)
    evict_counts()
    assert PostCounts.objects.get(pk=page[0]).reads == 1
    assert len(queries(lambda: post_counts(page))) == 1
    assert queries(lambda: post_counts(page)) == []
    assert post_counts(page) == before


def test_cooling_with_a_limit_of_memory_keeps_all_counts(page, settings):
    before = post_counts(page)
    settings.COUNTERS_MEMORY_LIMIT_BYTES = 1
    evict_counts()
    assert maintenance.sample(POST_COUNTS, page[-1]).buckets <= 1
    assert post_counts(page) == before


def test_only_the_author_sees_how_many_read_a_post(alice, bob, page_of, api_of):
    post = publish(alice)
    address = f"/@alice/{post.pk}"
    assert "reader" not in page_of(alice).get(address).content.decode()
    count_reads([post.pk])
    number = post_counts([post.pk])[post.pk].reads
    shown = page_of(alice).get(address).content.decode()
    assert f"<b>{number}</b> reader" in shown
    assert "人阅读" in page_of(alice).get(address, headers={"accept-language": "zh-hans"}).content.decode()  # fmt: skip
    assert "reader" not in page_of(bob).get(address).content.decode()
    status = f"/api/v1/statuses/{post.pk}"
    assert (
        api_of(alice).get(status).json()["feedsite"]["reads_count"]
        == post_counts([post.pk])[post.pk].reads
    )
    assert api_of(bob).get(status).json()["feedsite"]["reads_count"] is None


def test_a_quote_is_counted_until_it_is_deleted_and_is_no_repost(alice, bob):
    post = publish(alice)
    quote = publish(bob, "look", quote_of_id=post.pk)
    publish(bob, "look here", quote_of_id=post.pk, reply_to_id=post.pk)
    assert (
        post_counts([post.pk])[post.pk] == in_sql([post.pk])[post.pk] == Counts(quotes=2, replies=1)
    )
    delete_post(quote.pk, by=bob)
    assert (
        post_counts([post.pk])[post.pk] == in_sql([post.pk])[post.pk] == Counts(quotes=1, replies=1)
    )
