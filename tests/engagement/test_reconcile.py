"""Drift of counts, injected everywhere, is found, told of and repaired; beside writers, nothing else is."""

import json
from io import StringIO
from threading import Event as Flag

import pytest
from django.core.management import CommandError, call_command

from apps.accounts.cache import USER_COUNTS
from apps.accounts.models import UserCounts
from apps.accounts.queries import AccountCounts, user_counts
from apps.audit.tasks import reconcile_counts
from apps.engagement import reconcile
from apps.engagement.actions import bookmark_post, like_post, unlike_post
from apps.engagement.reconcile import POSTS, USERS, Drift
from apps.graph.actions import follow_user, unfollow_user
from apps.posts.actions.publish import delete_post
from apps.posts.cache import POST_COUNTS, count_reads
from apps.posts.models import PostCounts
from apps.posts.queries import post_counts
from feedcache.connections import counters
from feedcache.structures.counters import maintenance
from feedcache.structures.counters.records import Row
from tests.support.factories import make_user, publish, repost
from tests.support.faults import dead_redis
from tests.support.threads import together

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(maintenance, "GRACE_SECONDS", 0.02)


@pytest.fixture
def life(alice, bob, carol):
    """A little of everything that is counted."""
    posts = [publish(alice, f"post {number}") for number in range(4)]
    answer = publish(bob, reply_to_id=posts[0].pk)
    publish(carol, reply_to_id=answer.pk)
    delete_post(publish(carol, reply_to_id=posts[0].pk).pk, by=carol)
    repost(bob, posts[1].pk)
    publish(carol, "look", quote_of_id=posts[1].pk)  # a quote is not counted as a repost
    for user in (bob, carol):
        like_post(user, posts[2].pk)
        bookmark_post(user, posts[3].pk)
    unlike_post(bob, posts[2].pk)
    follow_user(carol, alice)
    return posts


def command(*args):
    """What the command says, and its exit code."""
    out = StringIO()
    try:
        call_command("counters", *args, stdout=out)
    except SystemExit as end:
        return out.getvalue(), end.code
    return out.getvalue(), 0


def drifts(*args):
    said, code = command("reconcile", "--json", *args)
    return {(one["in"], one["counts"]): one["worst"] for one in json.loads(said)["drift"]}, code


def test_what_the_actions_leave_is_right(life):
    assert drifts() == ({}, 0)
    said, code = command("reconcile")
    assert (said.strip(), code) == ("12 rows compared, 0 counts wrong, 0 repaired", 0)


def test_a_wrong_count_of_a_post_is_found_and_repaired_everywhere(life):
    pk, fields = life[0].pk, ("replies", "reposts", "likes", "bookmarks", "quotes")
    right = dict.fromkeys(fields, 0) | {"replies": 1}
    PostCounts.objects.filter(pk=pk).update(**dict.fromkeys(fields, 40))
    wrong = {
        (place, f"posts.{field}"): {"id": str(pk), "has": has, "should": should}
        for field, count in right.items()
        for place, has, should in (("PostgreSQL", 40, count), ("Redis", count, 40))
    }
    assert drifts() == (wrong, 1)
    assert set(counted(PostCounts, pk, fields).values()) == {40}
    found, code = drifts("--fix")
    assert {("PostgreSQL", f"posts.{field}") for field in fields} <= set(found)
    assert code == 0
    assert drifts() == ({}, 0)
    in_redis = post_counts([pk])[pk]
    assert {field: getattr(in_redis, field) for field in fields} == right
    assert counted(PostCounts, pk, fields) == right


def test_a_wrong_count_of_an_account_is_found_and_repaired_everywhere(life, alice):
    fields = ("followers", "following", "posts")
    right = counted(UserCounts, alice.pk, fields)
    wrong = dict.fromkeys(fields, 77)
    UserCounts.objects.filter(pk=alice.pk).update(**wrong, revision=900)
    maintenance.rebuild(USER_COUNTS)  # Redis has it, too
    assert drifts()[0] == {
        ("PostgreSQL", f"users.{field}"): {"id": str(alice.pk), "has": 77, "should": count}
        for field, count in right.items()
    }
    drifts("--fix")
    assert drifts() == ({}, 0)
    assert counted(UserCounts, alice.pk, fields) == right


def counted(model, pk, fields):
    """Counts as the table has them."""
    return model.objects.filter(pk=pk).values(*fields).get()


def nine_of_everything():
    """Wrong counts of a post, however many kinds there are."""
    return tuple(9 for _field in POST_COUNTS.store.schema.fields)


@pytest.mark.parametrize("revision", [0, 2, 40_000])
def test_wrong_records_in_redis_are_found_and_repaired_whatever_their_revision(life, revision):
    pk = life[2].pk
    key, name = POST_COUNTS.store.buckets.place(pk)
    record = POST_COUNTS.store.schema.pack(nine_of_everything(), revision).record
    counters().hset(POST_COUNTS.store.key(key), name, record)
    assert post_counts([pk])[pk].likes == 9
    assert drifts("--fix")[0]
    assert drifts() == ({}, 0)
    assert post_counts([pk])[pk].likes == 1


@pytest.mark.parametrize("garbage", [b"", b"\0\0\0", b"\5"])
def test_garbage_in_redis_is_found_and_repaired(life, garbage):
    for post in (life[2], life[0]):
        bucket, name = POST_COUNTS.store.buckets.place(post.pk)
        counters().hset(POST_COUNTS.store.key(bucket), name, garbage)
    said, code = command("reconcile")
    assert code == 1
    assert "has -1" in said or garbage == b""
    command("reconcile", "--fix")
    assert drifts() == ({}, 0)
    assert post_counts([life[2].pk])[life[2].pk].likes == 1


def test_lost_records_are_found_and_repaired(life):
    bucket, name = POST_COUNTS.store.buckets.place(life[2].pk)
    counters().hdel(POST_COUNTS.store.key(bucket), name)
    assert post_counts([life[2].pk])[life[2].pk].likes == 0
    said, code = command("reconcile")
    assert code == 1
    assert "posts.likes in Redis; worst:" in said
    command("reconcile", "--fix")
    assert drifts() == ({}, 0)
    assert post_counts([life[2].pk])[life[2].pk].likes == 1


def test_reads_that_only_redis_has_are_no_drift_and_survive_a_repair(life):
    count_reads([life[2].pk])
    PostCounts.objects.filter(pk=life[2].pk).update(likes=50)
    drifts("--fix")
    assert (
        post_counts([life[2].pk])[life[2].pk].likes,
        post_counts([life[2].pk])[life[2].pk].reads,
    ) == (1, 1)
    assert drifts() == ({}, 0)


def test_only_posts_of_the_last_days_are_compared_when_asked_so(life):
    PostCounts.objects.filter(pk=life[0].pk).update(likes=5)
    assert drifts("--since", "1")[1] == 1
    assert reconcile.start_id(POSTS, 10**6) == -1
    assert reconcile.start_id(POSTS, 1) < life[0].pk < reconcile.start_id(POSTS, -1)
    assert reconcile.start_id(USERS, 1) == -1


def test_a_store_that_is_not_whole_is_not_compared_but_rows_are(life):
    counters().flushdb()
    said, code = command("reconcile")
    assert "The counters of posts in Redis are being built" in said
    assert code == 0


def test_the_task_repairs_a_little_at_a_time(life, monkeypatch, caplog):
    monkeypatch.setattr(reconcile, "BATCH_SIZE", 2)
    PostCounts.objects.update(likes=5)
    report = reconcile.reconcile_next(days=7, seconds=0.0)
    assert report.compared == 0
    for _ in range(20):
        reconcile_counts()
    assert set(PostCounts.objects.exclude(pk=life[2].pk).values_list("likes", flat=True)) == {0}
    assert drifts() == ({}, 0)
    assert "posts.likes in PostgreSQL had drifted" in caplog.text


def test_a_walk_begins_again_at_its_end(life):
    reconcile.reconcile_next(days=7, seconds=5)
    assert maintenance.compared_until(POST_COUNTS.store) == -1
    PostCounts.objects.filter(pk=life[0].pk).update(likes=5)
    assert reconcile.reconcile_next(days=7, seconds=5).repaired


def test_a_row_that_is_gone_by_the_time_of_the_repair_is_left_alone(life):
    assert reconcile._recount(POSTS, 5) == []
    reconcile._overwrite(POSTS, 5, None)


def test_the_worst_case_is_named(life):
    report = reconcile.Report()
    report.note(POSTS, [Drift("Redis", n, "likes", n, 0) for n in (3, 9, 4)])
    (tally,) = report.tallies.values()
    assert (tally.number, tally.worst.id, report.drifts) == (3, 9, 3)


def come_and_go(one, author, posts):
    """Like, follow and answer again and again; in the end everything is liked, and the author followed."""
    for turn in range(6):
        for post in posts:
            like_post(one, post.pk)
            follow_user(one, author)
            if turn < 5:
                unlike_post(one, post.pk)
                unfollow_user(one, author)
        publish(one, reply_to_id=posts[turn % 3].pk)


@pytest.mark.long
def test_writers_beside_a_reconciliation_are_not_disturbed(transactional_db):
    author, crowd = make_user(), [make_user() for _ in range(5)]
    posts = [publish(author) for _ in range(3)]
    PostCounts.objects.filter(pk=posts[0].pk).update(likes=40, replies=7)
    done = Flag()

    def work(index):
        if index == 5:
            while not done.is_set():
                reconcile.reconcile_next(days=7, seconds=0.3)
            return
        try:
            come_and_go(crowd[index], author, posts)
        finally:
            if index == 0:
                done.set()

    together(6, work)
    reconcile.reconcile_next(days=7, seconds=5)
    found = post_counts([post.pk for post in posts])
    assert {counts.likes for counts in found.values()} == {5}
    assert {counts.replies for counts in found.values()} == {10}
    assert user_counts([author.pk])[author.pk] == AccountCounts(followers=5, posts=3)
    assert drifts() == ({}, 0)


# --- the command ------------------------------------------------------------------------------------


def test_a_rebuild_puts_everything_right_in_redis(life):
    before = post_counts([post.pk for post in life])
    POST_COUNTS.store.put([Row(life[0].pk, nine_of_everything(), 30_000)])
    said, code = command("rebuild")
    assert (code, said.startswith("The counters were built in")) == (0, True)
    assert post_counts([post.pk for post in life]) == before
    assert drifts() == ({}, 0)


def test_a_rebuild_waits_for_whoever_builds(life, monkeypatch):
    monkeypatch.setattr("apps.engagement.management.commands.counters.WAIT_SECONDS", 0.01)
    refusals = iter([False, False])
    rebuild = maintenance.rebuild
    monkeypatch.setattr(maintenance, "rebuild", lambda *args,
                        **options: next(refusals, None) is None and rebuild(*args, **options))  # fmt: skip
    assert command("rebuild")[1] == 0
    assert maintenance.state(POST_COUNTS.store).is_complete


def test_the_status_says_what_redis_holds(life):
    said, _code = command("status")
    assert "posts:" in said
    found = json.loads(command("status", "--json")[0])
    assert found["posts"]["records"] == 5
    assert found["users"]["complete"] == "yes"
    assert found["posts"]["buckets in compact form"] == "yes"
    counters().flushdb()
    assert json.loads(command("status", "--json")[0])["posts"]["complete"].startswith("no")


def test_the_command_says_when_redis_is_dead(life):
    with dead_redis(), pytest.raises(CommandError):
        command("rebuild")


def test_the_help_has_examples(capsys):
    with pytest.raises(SystemExit):
        call_command("counters", "--help")
    assert "reconcile --fix --since 7" in capsys.readouterr().out
