"""Pages deep down: right whichever way their ids are found,
in a fixed number of statements and round trips, cold and warm.
"""

import random
from collections import Counter
from functools import partial

import pytest
from django.db import connection

from apps.accounts.queries import user_by_id
from apps.audit.oracle import Oracle
from apps.engagement.cache import BOOKMARKS, LIKES
from apps.engagement.tasks import maintain_filters
from apps.graph.actions import follow_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Circle
from apps.pagination import Cursor
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.posts.cache import CACHED_POSTS
from apps.posts.models import OPEN, Post
from apps.second_level import older as filling
from apps.timeline.home import home_timeline
from apps.timeline.sources import older
from apps.timeline.sources import sql as pull
from feedcache.connections import timelines
from feedcache.memcached_tiers import tiers
from feedcache.structures import bloom
from tests.support import pages
from tests.support.factories import deliver, make_user, publish
from tests.support.waiting import wait_until
from tests.support.waves import relayed
from tests.support.windows import windows_of
from tests.timeline.outboxes import crowd, follow_all, fresh, reader_of, write

pytestmark = pytest.mark.django_db
PAGE = 20


@pytest.fixture
def authors(db):
    """Ten authors of 30 old posts each, at the same minutes."""
    made = [make_user() for _ in range(10)]
    for author in made:
        write(author, 30)
    return made


@pytest.fixture
def reader(authors):
    return reader_of(authors)


@pytest.fixture
def small_windows():
    """Windows of twenty ids, as of somebody who has read on."""
    with windows_of(PAGE):
        yield


@pytest.fixture
def far_apart(monkeypatch):
    """As of a reader whose followees write little among the many who write."""
    monkeypatch.setattr(pull, "home_ids_nearby", lambda *_asked: [])


@pytest.fixture
def rung(monkeypatch):
    """What workers were told to keep, of readers of very many."""
    told = []
    monkeypatch.setattr(
        filling, "enqueue", lambda name, *asked, expires: told.append((name, *asked))
    )
    return told


@pytest.fixture
def waves(settings):
    if not tiers().ping():
        pytest.skip("no memcached on this machine")
    with relayed(settings, apart=False) as found:
        wait_until(_filters_built, "the existence filters are built", seconds=60)
        yield found


def _filters_built():
    maintain_filters()
    return all(bloom.read_state(marks.name).live for marks in (LIKES, BOOKMARKS))


def ids_of(reader):
    return pull.home_ids(reader.pk, Cursor(), 10_000)


def walk(reader):
    return pages.walk(partial(home_timeline, reader), PAGE)


# --- ids ------------------------------------------------------------------------------------------


@pytest.fixture
def mixture(authors, reader):
    """Posts of every kind, for the reader and for others, by people who are followed or not."""
    chance, strangers = random.Random(3), [make_user() for _ in range(2)]
    people = [*authors[:4], *strangers, reader]
    owner = authors[2]
    follow_user(authors[0], reader)  # a friend
    for stranger in strangers:
        follow_user(stranger, owner)
    circle = create_group(Circle, owner, name="Ours", is_shared=True)
    add_members(Circle, owner, circle.pk, [reader.pk, *(one.pk for one in strangers)])
    members = {owner, reader, *strangers}
    for number in range(120):
        author = chance.choice(people)
        kind = chance.choice(
            ["public", "unlisted", "followers", "friends", "mentioned", "named", "circle"]
        )
        text = f"Number {number}" + (" for @reader" if kind == "named" else "")
        visibility = "mentioned" if kind == "named" else kind
        if kind == "circle" and author not in members:
            continue
        circle_id = circle.pk if kind == "circle" else None
        post = publish(author, text, visibility=visibility, circle_id=circle_id)
        if chance.random() < 0.1:
            delete_post(post.pk, by=author)
    deliver()
    return fresh(reader)


@pytest.mark.long
def test_every_way_to_find_a_page_gives_the_same_ids(mixture, rung):
    """Beside them a plain reading: what is open by the ORM, what is restricted by the inbox's own query."""
    pk = mixture.pk
    mine = [pk, *mixture_followees(pk)]
    opened = Post.objects.filter(author__in=mine, visibility__in=OPEN, deleted_at=None)
    restricted = pull.restricted_home_ids(pk, Cursor(), 1000)
    expected = sorted({*opened.values_list("pk", flat=True), *restricted}, reverse=True)
    assert len(restricted) > 20
    chance = random.Random(1)
    for _ in range(80):
        a, b = sorted(chance.sample(expected, 2))
        cursor = chance.choice(
            [Cursor(), Cursor(max_id=b), Cursor(max_id=b, since_id=a), Cursor(min_id=a)]
        )
        count = chance.choice([1, 7, 21, 41, 60])
        inside = sorted(filter(cursor.admits, expected), reverse=not cursor.ascending)[:count]
        assert pull.home_ids(pk, cursor, count) == inside, cursor
        assert pull.home_ids_nearby(pk, cursor, count) == inside, cursor
        assert older.home_ids(pk, cursor, count) == inside, cursor


def mixture_followees(reader_id):
    with connection.cursor() as sql:
        sql.execute("SELECT followee_id FROM graph_followee WHERE owner_id = %s", [reader_id])
        return [row[0] for row in sql.fetchall()]


@pytest.mark.long
def test_who_is_lost_among_the_many_is_found_by_what_each_followee_wrote(rung):
    """More posts of others than are looked through."""
    (author,), others = crowd(1), crowd(20)
    mine = write(author, 60)
    for one in others:
        write(one, pull.NEARBY // 20 + 80)
    reader = make_user()
    follow_all(reader, [author])
    assert pull.home_ids_nearby(reader.pk, Cursor(), PAGE) == []
    found = older.home_ids(reader.pk, Cursor(), PAGE)
    assert found == mine[::-1][:PAGE]
    among = pull.home_ids_nearby(reader.pk, Cursor(max_id=mine[30]), PAGE)
    assert among == mine[:30][::-1][: len(among)]  # a beginning, whatever is left out
    assert older.home_ids(reader.pk, Cursor(max_id=mine[30]), PAGE) == mine[10:30][::-1]


@pytest.mark.long
def test_a_walk_is_what_the_oracle_says_however_the_ids_are_found(
    small_windows, mixture, monkeypatch
):
    monkeypatch.setattr(filling, "enqueue", lambda *_told, **_more: None)
    truth = Oracle().home(mixture.pk)
    assert walk(mixture) == truth
    timelines().flushdb()
    monkeypatch.setattr(pull, "home_ids_nearby", lambda *_asked: [])
    assert walk(mixture) == truth


@pytest.mark.slow
def test_deep_pages_are_ranges_of_indexes(reader):
    with connection.cursor() as sql:
        sql.execute("ANALYZE posts_post, posts_mention, graph_followee, graph_circle")
    values = {"newest": 9, "oldest": 0, "reader": 1}
    for query, index in ((pull.home_nearby, "posts_post_pkey"), (pull.home, "post_outbox")):
        with connection.cursor() as sql:
            # small tables are scanned whole unless that is made dear; a missing index shows all the same
            sql.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off")
            sql.execute(f"EXPLAIN {pull.statement(query, Cursor(), 41)}", values)
            plan = "\n".join(row[0] for row in sql.fetchall())
        assert f"using {index}" in plan or f"Backward using {index}" in plan
        assert "Seq Scan on posts_post" not in plan


# --- what a page costs ----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_deep_page_is_four_statements_and_as_many_trips_as_the_first(
    small_windows, reader, authors, waves, rung, django_assert_num_queries
):
    """The second level, ids, contents; and likes, since no filter reaches back so far.

    Nobody has read it before.
    """
    viewer = user_by_id(reader.pk)
    ids = ids_of(viewer)
    for _ in range(2):
        home_timeline(viewer, Cursor())
    for start in (40, 140, 40):
        below = Cursor(max_id=ids[start - 1])
        with django_assert_num_queries(4), waves.counted() as sent:
            page = home_timeline(viewer, below)
        assert [item.id for item in page.items] == ids[start : start + PAGE]
        assert len(sent) == 2
        assert all(Counter(name for name, _ in wave)["MEMCACHED"] <= 1 for wave in sent)
    assert CACHED_POSTS.peek_many(ids[140:160]) == {}  # what many read stays in the caches


@pytest.mark.slow
def test_edits_and_deletes_show_on_a_deep_page_at_once(small_windows, reader, authors, rung):
    viewer = user_by_id(reader.pk)
    ids = ids_of(viewer)
    below = Cursor(max_id=ids[39])
    assert [item.id for item in home_timeline(viewer, below).items] == ids[40:60]
    edit_post(author := user_by_id(Post.objects.get(pk=ids[45]).author_id), ids[45], body="Anew.")
    delete_post(ids[50], by=user_by_id(Post.objects.get(pk=ids[50]).author_id))
    items = {item.id: item for item in home_timeline(viewer, below).items}
    assert list(items) == [one for one in ids[40:61] if one != ids[50]]
    assert items[ids[45]].post.body == "Anew."
    assert items[ids[45]].author == author
