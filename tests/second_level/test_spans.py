"""Below the windows: every walk reaches the first post ever, whatever the second level has kept."""

import random
from datetime import timedelta
from itertools import permutations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts.models import UserCounts
from apps.audit.oracle import Oracle
from apps.events import actions as events
from apps.events.hooks import Hook
from apps.events.models import Event
from apps.graph.actions import block_user, follow_user, mute_user, unfollow_user
from apps.graph.models import Follower
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.second_level import older as filling
from apps.second_level import spans, tasks
from apps.second_level.spans import ENTRIES
from apps.second_level.stores import postgresql
from apps.timeline.home import home_timeline
from apps.timeline.models import TimelineEntry, TimelineSpan
from apps.timeline.sources import older, outbox
from apps.timeline.sources import sql as pull
from feedcache.connections import timelines
from feedcache.ids import author_of, first_id_at
from tests.support.cassandra import stored
from tests.support.factories import deliver, make_user, publish
from tests.support.windows import windows_of
from tests.timeline.outboxes import FIRST_SECOND, reader_of, write

LONG = pytest.mark.long
# backwards; the first one last; and all others
SHORT_ORDERS = [(2, 1, 0), (1, 2, 0)]
ORDERS = [
    order if order in SHORT_ORDERS else pytest.param(order, marks=LONG)
    for order in permutations(range(3))
]
IN_POSTGRESQL = pytest.mark.parametrize("store", ["postgresql"], indirect=True)
PRESENT = first_id_at(FIRST_SECOND + 60 * 60 * 24 * 30)  # above all that is written in bulk


@pytest.fixture
def authors(db):
    """Three authors of 60 old posts each, at the same minutes, some of them for followers only."""
    made = [make_user() for _ in range(3)]
    for author in made:
        write(author, 50)
        write(author, 10, start=50, visibility="followers")
    return made


@pytest.fixture
def reader(authors):
    return reader_of(authors)


@pytest.fixture(autouse=True)
def _far_apart(store, monkeypatch):
    """As of a reader of very many people who wrote little, and a worker who is quick; with each store."""
    monkeypatch.setattr(pull, "home_ids_nearby", lambda *_asked: [])
    monkeypatch.setattr(filling, "enqueue", lambda _name, *asked, expires: filling.fill(*asked))


@pytest.fixture
def small_windows():
    """Windows of twenty ids, as of somebody who has read on."""
    with windows_of(20):
        yield


def walk(reader, *, limit=20, source=None):
    """All candidates from the newest to the oldest, page by page."""
    found, cursor = [], Cursor(max_id=PRESENT, limit=limit)
    while ids := (source or older.home_ids)(reader.pk, cursor, limit):
        found += ids
        cursor = cursor.beyond(ids[-1])
    return found


def walk_home(reader):
    cursor = Cursor(limit=40)
    page, found = home_timeline(reader, cursor), []
    while page.items:
        found += [item.id for item in page.items]
        page = home_timeline(reader, cursor.beyond(page.older)) if page.older else type(page)()
    return found


def truth(reader):
    return pull.home_ids(reader.pk, Cursor(max_id=PRESENT), 10_000)


@pytest.fixture
def pulls(monkeypatch):
    """The ranges that were pulled to be kept."""
    made, open_home_ids = [], pull.open_home_ids

    def counted(reader_id, cursor, count):
        made.append(cursor.max_id)
        return open_home_ids(reader_id, cursor, count)

    monkeypatch.setattr(pull, "open_home_ids", counted)
    return made


# --- paging ---------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("is_on", [True, False])
@pytest.mark.parametrize("flushes", [False, True])
def test_a_walk_reaches_the_first_post_ever_and_shows_what_the_oracle_says(
    small_windows, reader, authors, monkeypatch, is_on, flushes
):
    if not is_on:
        monkeypatch.setattr(older, "STORED_TIMELINES", Hook())
    monkeypatch.setattr(filling, "FILL_COUNT", 25)
    publish(authors[0])
    deliver()
    for _again in range(2):
        assert walk_home(reader) == Oracle().home(reader.pk)
        if flushes:
            timelines().flushall()
    assert TimelineSpan.objects.exists() == is_on


def test_whoever_comes_back_is_answered_by_range_reads(reader, pulls, monkeypatch):
    monkeypatch.setattr(filling, "FILL_COUNT", 40)
    assert walk(reader) == truth(reader)
    assert len(pulls) == 4  # 150 open posts
    pulls.clear()
    assert walk(reader, limit=7) == truth(reader)
    assert pulls == []
    with CaptureQueriesContext(connection) as captured:
        older.home_ids(reader.pk, Cursor(max_id=PRESENT), 20)
    assert len(captured) == 2  # the range, and what is restricted


def test_paging_back_up_is_a_range_read_too(reader, pulls):
    ids = walk(reader)
    pulls.clear()
    monkey = Cursor(min_id=ids[100], max_id=ids[40])
    with CaptureQueriesContext(connection) as captured:
        assert older.home_ids(reader.pk, monkey, 20) == ids[80:100][::-1]
    assert len(captured) == 2
    assert older.home_ids(reader.pk, Cursor(min_id=ids[3]), 20) == ids[:3][::-1]
    assert pulls == []


def test_a_page_above_what_was_kept_joins_it_when_they_touch(reader, pulls, monkeypatch):
    ids = truth(reader)
    monkeypatch.setattr(filling, "FILL_COUNT", 30)
    assert older.home_ids(reader.pk, Cursor(max_id=ids[60]), 20) == ids[61:81]
    assert older.home_ids(reader.pk, Cursor(max_id=ids[40]), 20) == ids[41:61]
    pulls.clear()
    assert older.home_ids(reader.pk, Cursor(max_id=ids[40]), 40) == ids[41:81]
    assert pulls == []


def test_what_is_far_from_what_was_kept_takes_its_place(reader, monkeypatch):
    ids = truth(reader)
    monkeypatch.setattr(filling, "FILL_COUNT", 5)
    for place in (120, 20, 100, 0):
        assert older.home_ids(reader.pk, Cursor(max_id=ids[place]), 5) == ids[place + 1 : place + 6]
    assert TimelineSpan.objects.get().ceiling == ids[0]
    assert len(stored(reader.pk)) <= 5


@pytest.mark.long
def test_random_pages_are_those_of_postgresql(reader, authors, monkeypatch):
    monkeypatch.setattr(filling, "FILL_COUNT", 12)
    chance, ids = random.Random(5), truth(reader)
    for _ in range(150):
        a, b = chance.sample(ids, 2)
        cursor = chance.choice(
            [Cursor(max_id=a), Cursor(max_id=max(a, b), since_id=min(a, b)), Cursor(min_id=a)]
        )
        count = chance.choice([1, 10, 50])
        expected = pull.home_ids(reader.pk, cursor, count)
        assert older.home_ids(reader.pk, cursor, count) == expected, cursor
        if chance.random() < 0.1:
            act = chance.choice([follow_user, unfollow_user])
            act(reader, chance.choice(authors))
            if chance.random() < 0.5:
                deliver()


# --- what may be said -----------------------------------------------------------------------------


def test_ids_of_the_last_minutes_never_enter(reader, authors):
    young = [publish(author).pk for author in authors]
    ids = older.home_ids(reader.pk, Cursor(), 400)
    assert ids[:3] == sorted(young, reverse=True)
    older.home_ids(reader.pk, Cursor(max_id=max(young) + 1), 400)
    assert TimelineSpan.objects.count() == 0
    spans.fill(reader.pk, spans.revision_of(reader.pk), ids, ceiling=max(young) + 1, floor=0)
    assert 0 < stored(reader.pk)[0] < min(young)
    assert TimelineSpan.objects.get().ceiling < min(young)


def test_what_was_pulled_before_a_follow_is_not_kept_after_it(reader):
    before = spans.revision_of(reader.pk)
    ids = truth(reader)
    new = make_user()
    write(new, 5)
    follow_user(reader, new)
    spans.fill(reader.pk, before, ids, ceiling=PRESENT, floor=0)
    assert not TimelineSpan.objects.exists()
    assert walk(reader) == truth(reader)


def test_a_follow_brings_the_posts_into_the_span_and_an_unfollow_takes_them_out(
    reader, authors, pulls
):
    walk(reader)
    new = make_user()
    mine = write(new, 20)
    follow_user(reader, new)
    assert set(mine) < set(walk(reader, source=pull.home_ids))
    deliver()
    pulls.clear()
    assert walk(reader) == truth(reader)
    unfollow_user(reader, authors[0])
    deliver()
    assert walk(reader) == truth(reader)
    assert pulls == []
    left = {author_of(one) for one in stored(reader.pk)}
    assert left == {new.pk, authors[1].pk, authors[2].pk}


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("twice", [pytest.param(False, marks=LONG), True])
def test_in_whatever_order_changes_arrive_there_is_never_a_hole(reader, authors, order, twice):
    walk(reader)
    new = [make_user(), make_user()]
    for one in new:
        write(one, 20)
    follow_user(reader, new[0])
    unfollow_user(reader, authors[0])
    follow_user(reader, new[1])
    mine = "apps.second_level.handlers.update_span"
    due = list(Event.objects.filter(subscriber=mine, state="pending").order_by("pk"))
    assert len(due) == 3
    for place in order:
        events.run_due(limit=1, only=[due[place].pk])
        if twice:  # as if the message came again
            Event.objects.filter(pk=due[order[0]].pk).update(state="pending", due_at=timezone.now())
            events.run_due(limit=1, only=[due[order[0]].pk])
        # those of a former followee may stay until their turn: pages skip them
        left = [one for one in walk(reader) if author_of(one) != authors[0].pk]
        assert left == truth(reader)
        assert walk_home(reader) == Oracle().home(reader.pk)
    assert walk(reader) == truth(reader)


def test_a_span_of_other_follows_is_not_joined(reader):
    """Its events are on their way."""
    ids = walk(reader)
    new = make_user()
    write(new, 20, start=60)
    follow_user(reader, new)
    older.home_ids(reader.pk, Cursor(max_id=ids[60]), 20)  # fills below the new ones
    for _ in range(2):
        assert walk(reader) == truth(reader)


def test_a_follow_of_which_no_event_told_leaves_no_hole(reader):
    """The app was left out for a while, or one process had it and another not."""
    walk(reader)
    untold, told = make_user(), make_user()
    for one in (untold, told):
        write(one, 20)
        follow_user(reader, one)
        if one is untold:
            Event.objects.filter(subscriber__startswith="apps.second_level.").delete()
    deliver()
    assert walk(reader) == truth(reader)


@pytest.mark.slow
def test_other_changes_make_it_a_miss_and_lose_nothing(reader, authors, pulls):
    walk(reader)
    pulls.clear()
    mute_user(reader, authors[0])
    assert walk(reader) == truth(reader)
    assert pulls
    block_user(reader, authors[1])
    deliver()
    assert walk(reader) == truth(reader)
    assert walk_home(reader) == Oracle().home(reader.pk)


@pytest.mark.slow
def test_deleted_posts_are_dropped_by_reads_and_tidied(reader, authors):
    ids = walk(reader)
    rows = set(stored(reader.pk))
    gone = next(one for one in ids if author_of(one) == authors[0].pk and one in rows)
    delete_post(gone, by=authors[0])
    assert gone not in walk_home(reader)
    deliver()
    assert gone not in stored(reader.pk)
    assert walk(reader) == truth(reader)


def test_a_reader_who_follows_a_great_writer_begins_anew(reader, monkeypatch):
    monkeypatch.setattr(spans, "MAX_POSTS_OF_FOLLOWEE", 10)
    walk(reader)
    new = make_user()
    write(new, 11)
    follow_user(reader, new)
    deliver()
    assert not TimelineSpan.objects.exists()
    assert walk(reader) == truth(reader)


def test_a_span_that_is_long_enough_begins_anew_and_pages_go_on(reader, monkeypatch):
    monkeypatch.setattr(spans, "MAX_SPAN_ENTRIES", 30)
    monkeypatch.setattr(filling, "FILL_COUNT", 20)
    for _ in range(2):
        assert walk(reader) == truth(reader)
        assert 0 < len(stored(reader.pk)) <= 50


@pytest.mark.slow
def test_a_database_that_takes_no_writes_is_read_from(reader):
    with connection.cursor() as sql:
        sql.execute(
            "ALTER TABLE timeline_timelinespan ADD CONSTRAINT no_more CHECK (false) NOT VALID"
        )
    assert walk(reader) == truth(reader)
    assert not TimelineSpan.objects.exists()


@pytest.mark.parametrize("writes", ["update_or_create", "select_for_update"])
def test_a_crash_between_the_writes_leaves_what_nobody_reads_and_heals(
    reader, monkeypatch, writes, store
):
    class Killed(BaseException):
        pass

    def die(*_args, **_options):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(TimelineSpan.objects, writes, die)
        with pytest.raises(Killed):
            walk(reader)
    assert not TimelineSpan.objects.exists()
    assert store == "cassandra" or stored(reader.pk) == []  # of which nothing is said
    ENTRIES.push([reader.pk], truth(reader)[5:9])  # and rows of which nothing is said
    for _ in range(2):
        assert walk(reader) == truth(reader)
    assert TimelineSpan.objects.count() == 1


# --- life -----------------------------------------------------------------------------------------


@IN_POSTGRESQL
def test_what_is_older_than_sixty_days_is_not_served_and_is_purged(reader, pulls, settings):
    walk(reader)
    number = TimelineEntry.objects.count()
    long_ago = timezone.now() - timedelta(days=settings.TIMELINE_ENTRY_DAYS, seconds=1)
    TimelineEntry.objects.update(added_at=long_ago)
    TimelineSpan.objects.update(filled_at=long_ago)
    pulls.clear()
    assert ENTRIES.read(reader.pk, newest=PRESENT, oldest=0, count=9) is None
    tasks.purge()
    assert (number > 100, TimelineEntry.objects.count()) == (True, 0)
    assert walk(reader) == truth(reader)
    assert pulls


@IN_POSTGRESQL
def test_a_purge_takes_bounded_batches_and_leaves_the_rest(reader, monkeypatch, settings):
    walk(reader)
    number = TimelineEntry.objects.count()
    long_ago = timezone.now() - timedelta(days=settings.TIMELINE_ENTRY_DAYS + 1)
    old = list(TimelineEntry.objects.values_list("post_id", flat=True)[:50])
    TimelineEntry.objects.filter(post_id__in=old).update(added_at=long_ago)
    monkeypatch.setattr(postgresql, "PURGE_BATCH", 20)
    assert spans.purge(max_batches=2) == 40
    assert spans.purge() == 10
    assert TimelineEntry.objects.count() == number - 50


@pytest.mark.slow
@IN_POSTGRESQL
def test_rows_that_are_used_again_live_as_long_as_what_is_said_of_them(reader, monkeypatch):
    """A row may be older than the span that covers it: a delivery wrote it."""
    ids = [
        one
        for one in truth(reader)
        if one in set(outbox.ids_of_followees(reader.pk, Cursor(), 500))
    ]
    ENTRIES.push([reader.pk], ids)
    TimelineEntry.objects.update(added_at=timezone.now() - timedelta(days=59))
    walk(reader)
    span = TimelineSpan.objects.get()
    assert not TimelineEntry.objects.filter(added_at__lt=span.filled_at).exists()


# --- delivery -------------------------------------------------------------------------------------


@IN_POSTGRESQL
def test_a_chunk_is_written_for_all_its_followers_online_or_not(
    alice, bob, django_assert_num_queries
):
    crowd = [make_user() for _ in range(5)]
    for one in crowd:
        follow_user(one, alice)
    edges = list(Follower.objects.filter(owner=alice).order_by("id").values_list("id", "follower"))
    post = publish(alice)
    with django_assert_num_queries(1):
        assert spans.push(alice.pk, edges[1][0], edges[3][0], post.pk) == 3
    assert spans.push(alice.pk, edges[0][0], edges[-1][0], post.pk) == len(edges) - 3
    assert spans.push(alice.pk, edges[0][0], edges[-1][0], post.pk) == 0
    readers = TimelineEntry.objects.filter(post_id=post.pk).values_list("reader", flat=True)
    assert sorted(readers) == sorted(reader for _edge, reader in edges)


@pytest.mark.slow
@IN_POSTGRESQL
def test_reads_are_a_range_of_one_index(reader):
    walk(reader)
    TimelineEntry.objects.bulk_create(
        TimelineEntry(reader_id=other, post_id=post)
        for other in range(10_000, 10_020)
        for post in range(1, 200)
    )
    UserCounts.objects.filter(pk=reader.pk).update(posts=0)
    with connection.cursor() as sql:
        sql.execute("ANALYZE timeline_timelineentry, timeline_timelinespan")
        sql.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
    for read in (
        lambda: ENTRIES.read(reader.pk, newest=PRESENT, oldest=0, count=20),
        lambda: ENTRIES.read_up(reader.pk, newest=None, oldest=0, count=20),
    ):
        with CaptureQueriesContext(connection) as captured:
            read()
        with connection.cursor() as sql:
            sql.execute("EXPLAIN " + captured.captured_queries[0]["sql"])
            plan = "\n".join(row[0] for row in sql.fetchall())
        assert "Index Only Scan" in plan
        assert "timeline_timelineentry_pk" in plan
        assert "Sort" not in plan
