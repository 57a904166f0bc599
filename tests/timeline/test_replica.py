"""Posts are written once per shard of readers, and a pull is one query on one shard."""

import time
from contextlib import ExitStack, contextmanager
from functools import partial

import pytest
from django.db import OperationalError, connection, connections
from django.test.utils import CaptureQueriesContext

from apps.events import actions as events
from apps.events.actions import subscribers
from apps.events.leases import MAX_ATTEMPTS
from apps.events.models import Event
from apps.graph.actions import follow_user
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.posts.models import Post, PostCounts
from apps.timeline.models import PostReplica, ReplicaMark
from apps.timeline.sources import outbox, replica
from apps.timeline.sources import sql as pull
from apps.timeline.sources.outbox import Outboxes
from apps.timeline.tasks import maintain_replicas
from feedcache.ids import compose, first_id_at
from tests.support.factories import deliver, delivered, make_user, publish
from tests.timeline.outboxes import crowd, follow_all, truth

pytestmark = pytest.mark.django_db(transaction=True)

SHARDS = ("default", "shard_b", "shard_c")
DAY = 24 * 3600


@pytest.fixture(scope="module")
def databases(django_db_setup, django_db_blocker):
    """Two databases beside the first one, on the same server, with the tables of replicas only.

    They are for all tests: a database is dropped after a checkpoint, which takes seconds on a busy server.
    """
    aliases = SHARDS[1:]
    with django_db_blocker.unblock():
        for alias in aliases:
            execute(f'DROP DATABASE IF EXISTS "{name_of(alias)}"')
            execute(f'CREATE DATABASE "{name_of(alias)}" TEMPLATE template0')
            with connected(alias), connections[alias].schema_editor() as editor:
                editor.create_model(PostReplica)
                editor.create_model(ReplicaMark)
        yield
        for alias in aliases:
            execute(f'DROP DATABASE "{name_of(alias)}"')


@pytest.fixture
def shards(databases, settings):
    """The aliases of three databases without posts."""
    with ExitStack() as stack:
        for alias in SHARDS[1:]:
            stack.enter_context(connected(alias))
            for model in (PostReplica, ReplicaMark):
                model.objects.using(alias).all().delete()
        settings.TIMELINE_SHARDS = list(SHARDS)
        yield SHARDS


def name_of(alias):
    return f"{connections.databases['default']['NAME']}_{alias}"


def execute(statement):
    """On the first database, however long it waits for a checkpoint."""
    with connection.cursor() as sql:
        sql.execute("SET statement_timeout = 0")
        sql.execute(statement)
        sql.execute("RESET statement_timeout")


@contextmanager
def connected(alias):
    first = connections.databases["default"]
    options = {key: value for key, value in first["OPTIONS"].items() if key != "pool"}
    connections.databases[alias] = {**first, "NAME": name_of(alias), "OPTIONS": options}
    try:
        connections[alias].connect()  # what was not there before a test may not connect by itself
        yield
    finally:
        connections[alias].close()
        del connections[alias], connections.databases[alias]


@contextmanager
def away(alias):
    """A shard that takes nothing."""

    def refuse(*_args):
        raise OperationalError("the shard is away")

    with connections[alias].execute_wrapper(refuse):
        yield


def recent(author, number, *, days=1, visibility="public"):
    """Posts of the last days, written in bulk: no event tells of them."""
    start = int(time.time()) - days * DAY
    posts = [
        Post(
            id=compose(start + 60 * n, author.pk, 0),
            author=author,
            thread_id=0,
            visibility=visibility,
        )
        for n in range(number)
    ]
    Post.objects.bulk_create(posts)
    PostCounts.objects.bulk_create(PostCounts(post=post) for post in posts)
    return [post.pk for post in posts]


def ids_on(alias):
    return sorted(PostReplica.objects.using(alias).values_list("post_id", flat=True))


def marks():
    return {alias: ReplicaMark.objects.using(alias).get().oldest for alias in SHARDS}


def late():
    """Do again now what failed a moment ago."""
    Event.objects.filter(state="pending").update(due_at="2020-01-01T00:00:00Z")
    deliver()


@pytest.mark.slow
def test_a_post_is_written_once_per_shard_and_not_once_per_follower(shards):
    alice = make_user()
    for _ in range(5):
        follow_user(make_user(), alice)
    post = publish(alice)
    publish(alice, visibility="followers")
    mine = Event.objects.get(subscriber=replica.SUBSCRIBER, payload__post_id=post.pk)
    with (
        CaptureQueriesContext(connections["shard_b"]) as b,
        CaptureQueriesContext(connections["shard_c"]) as c,
    ):
        for _twice in range(2):
            events.run_due(limit=1, only=[mine.pk])
    deliver()
    assert [sum("INSERT" in one["sql"] for one in shard) for shard in (b, c)] == [1, 1]
    assert [ids_on(alias) for alias in shards] == [[post.pk]] * 3
    answer = publish(alice, reply_to_id=post.pk)
    late()
    found = (
        PostReplica.objects.using("shard_c").order_by("post_id").values_list("post_id", "is_reply")
    )
    assert list(found) == [(post.pk, False), (answer.pk, True)]


def test_the_subscriber_it_waits_for_exists(shards):
    assert replica.SUBSCRIBER in subscribers("post_published")


def test_a_site_without_shards_has_no_replicas(settings, monkeypatch):
    assert settings.TIMELINE_SHARDS == []
    alice, reader = make_user(), make_user()
    follow_user(reader, alice)
    post = publish(alice)
    assert not Event.objects.filter(subscriber=replica.SUBSCRIBER).exists()
    monkeypatch.setattr(outbox, "MIN_AUTHORS", 1)
    monkeypatch.setattr(outbox, "_are_mostly_missing", None)  # nobody asks
    assert outbox.newest_ids_of_followees(reader.pk, 9) == [post.pk]
    maintain_replicas()
    delete_post(post.pk, by=alice)
    deliver()
    assert not PostReplica.objects.exists()
    assert not ReplicaMark.objects.exists()


def test_what_was_recorded_when_there_were_shards_ends_without_them(shards, settings):
    post = publish(make_user())
    settings.TIMELINE_SHARDS = []
    deliver()
    event = Event.objects.get(subscriber=replica.SUBSCRIBER, payload__post_id=post.pk)
    assert event.state == "done"


def test_a_refresh_is_one_query_on_one_shard_where_naive_pull_asks_them_all(shards):
    authors, readers = crowd(30), crowd(len(shards))
    for reader in readers:
        follow_all(reader, authors)
    for author in authors:
        recent(author, 5, days=author.pk % 20 + 1)
    maintain_replicas()
    ids = [one.pk for one in authors]

    def naive():
        """The posts of each author are on the author's shard."""
        found = []
        for number, alias in enumerate(shards):
            here = [one for one in ids if one % len(shards) == number]
            rows = PostReplica.objects.using(alias).filter(author_id__in=here)
            found += rows.order_by("-post_id").values_list("post_id", flat=True)[:40]
        return sorted(found, reverse=True)[:40]

    def asked(read):
        contexts = {alias: CaptureQueriesContext(connections[alias]) for alias in shards[1:]}
        whole = CaptureQueriesContext(connection)
        with whole, contexts["shard_b"], contexts["shard_c"]:
            found = read()
        counts = {alias: len(context) for alias, context in contexts.items()}
        about = [one for one in whole if "timeline_postreplica" in one["sql"]]
        return found, {"default": len(about), **counts}

    wanted = truth(ids)[:40]
    assert asked(naive) == (wanted, dict.fromkeys(shards, 1))
    for reader in readers:
        mine = shards[reader.pk % len(shards)]
        found, queries = asked(partial(replica.newest, reader.pk, ids, Cursor(), 40))
        assert (found, queries) == (wanted, {**dict.fromkeys(shards, 0), mine: 1})
    assert len({replica.shard_of(reader.pk) for reader in readers}) == len(shards)


@pytest.mark.slow
def test_vectors_replicas_and_sql_give_the_same_ids(shards, monkeypatch):
    authors, reader = crowd(12), make_user()
    follow_all(reader, authors)
    for author in authors:
        recent(author, 30, days=author.pk % 9 + 1)
        recent(author, 2, days=15, visibility="followers")
    maintain_replicas()
    everyone = [*(one.pk for one in authors), reader.pk]
    newest = max(truth(everyone))
    for cursor in (Cursor(), Cursor(max_id=newest - 10**13), Cursor(since_id=newest - 10**14)):
        for count in (1, 20, 200):
            by_sql = pull.open_ids(everyone, cursor, count)
            assert replica.newest(reader.pk, everyone, cursor, count) == by_sql
            assert outbox.ids_of_followees(reader.pk, cursor, count) == by_sql
            with monkeypatch.context() as patch:  # and when most vectors are gone
                patch.setattr(outbox, "MIN_AUTHORS", 13)
                patch.setattr(outbox, "SAMPLE", 12)
                patch.setattr(Outboxes, "peek_many", lambda *_args: {})
                patch.setattr(outbox, "_first_of_groups", None)
                assert outbox.ids_of_followees(reader.pk, cursor, count) == by_sql


def test_what_a_shard_missed_is_added_and_brought_later(shards):
    alice, reader = make_user(), make_user()
    follow_user(reader, alice)
    deliver()
    maintain_replicas()
    mine = replica.shard_of(reader.pk)
    with away(mine) if mine != "default" else away("shard_b"):
        post = delivered(alice)
        for _attempt in range(MAX_ATTEMPTS):  # a long outage
            late()
    missing = [alias for alias in shards if post.pk not in ids_on(alias)]
    assert len(missing) == 1  # the others have it
    for other in range(reader.pk, reader.pk + 3):  # readers of all shards
        assert replica.newest(other, [alice.pk], Cursor(), 1) == [post.pk]
    late()
    assert [ids_on(alias) for alias in shards] == [[post.pk]] * 3


def test_pages_do_without_the_shard_of_their_reader(shards, monkeypatch):
    alice = make_user()
    reader = next(one for one in crowd(len(shards)) if replica.shard_of(one.pk) != "default")
    follow_all(reader, [alice])
    post = delivered(alice)
    maintain_replicas()
    monkeypatch.setattr(outbox, "MIN_AUTHORS", 2)
    monkeypatch.setattr(outbox, "SAMPLE", 2)
    monkeypatch.setattr(Outboxes, "peek_many", lambda *_args: {})
    assert replica.newest(reader.pk, [alice.pk], Cursor(), 1) == [post.pk]
    with away(replica.shard_of(reader.pk)):
        assert replica.newest(reader.pk, [alice.pk], Cursor(), 1) is None
        assert outbox.newest_ids_of_followees(reader.pk, 9) == [post.pk]


def test_a_deleted_post_leaves_and_a_late_event_does_not_bring_it_back(shards):
    alice = make_user()
    post, doomed = publish(alice), publish(alice)
    maintain_replicas()
    due = {
        event.name: event.pk
        for event in Event.objects.filter(payload__post_id=doomed.pk, subscriber=replica.SUBSCRIBER)
    }
    delete_post(doomed.pk, by=alice)
    deliver()
    assert replica.newest(alice.pk, [alice.pk], Cursor(), 1) == [post.pk]
    Event.objects.filter(pk__in=due.values()).update(state="pending", due_at="2020-01-01T00:00:00Z")
    deliver()
    assert [ids_on(alias) for alias in shards] == [[post.pk]] * 3


def test_marks_go_down_while_older_posts_are_filled_in_and_nothing_is_said_before(
    shards, monkeypatch
):
    monkeypatch.setattr(replica, "BATCH_SIZE", 10)
    alice = make_user()
    assert replica.newest(alice.pk, [alice.pk], Cursor(), 5) is None  # no mark yet
    old = recent(alice, 35, days=50)
    ancient = recent(alice, 5, days=70)
    replica.maintain(max_batches=2)
    assert ids_on("shard_b") == old[15:]
    assert replica.newest(alice.pk, [alice.pk], Cursor(), 20) == old[15:][::-1]
    assert replica.newest(alice.pk, [alice.pk], Cursor(), 21) is None
    replica.maintain(max_batches=9)
    assert ids_on("shard_c") == old
    assert replica.newest(alice.pk, [alice.pk], Cursor(), 36) is None  # what is older is not here
    assert replica.newest(alice.pk, [alice.pk], Cursor(since_id=old[0] - 1), 99) == old[::-1]
    assert not set(ancient) & set(ids_on("default"))


def test_the_window_moves_on_and_what_it_leaves_is_purged(shards, settings):
    alice = make_user()
    old, young = recent(alice, 5, days=50), recent(alice, 5, days=5)
    replica.maintain()
    settings.TIMELINE_ENTRY_DAYS = 40
    replica.maintain()
    assert [ids_on(alias) for alias in shards] == [young] * 3
    bound = first_id_at(int(time.time()) - 40 * DAY)
    assert all(0 <= bound - mark < (DAY + 10) * 2**32 for mark in marks().values())
    assert replica.newest(alice.pk, [alice.pk], Cursor(), 6) is None
    assert not set(old) & set(ids_on("default"))


@pytest.mark.slow
def test_a_pull_is_a_bounded_range_of_the_key_per_author(shards):
    reader, authors = make_user(), crowd(40)
    for author in authors:
        recent(author, 30, days=author.pk % 30 + 1)
    maintain_replicas()
    with connection.cursor() as sql:
        sql.execute("VACUUM ANALYZE timeline_postreplica")
    ids = [one.pk for one in authors]
    with CaptureQueriesContext(connections[replica.shard_of(reader.pk)]) as captured:
        replica.newest(reader.pk, ids, Cursor(), 20)
    statement = next(one["sql"] for one in captured if "postreplica" in one["sql"])
    with connection.cursor() as sql:
        sql.execute("SET enable_seqscan = off")
        sql.execute("EXPLAIN " + statement)
        plan = "\n".join(row[0] for row in sql.fetchall())
        sql.execute("RESET enable_seqscan")
    assert "Index Only Scan" in plan
    assert "timeline_postreplica_pk" in plan
