"""The oracle of one viewer: the article's query, bounded, from one moment."""

import threading

import pytest
from django.db import connection

from apps.audit.oracle import Oracle, pull, rows, snapshot
from apps.graph.actions import follow_user, mute_user
from apps.graph.groups.actions import add_members, create_group
from apps.graph.models import Circle
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.timeline.home import home_timeline
from apps.timeline.sources.home_cache import HOME, INBOX
from feedcache.connections import timelines
from tests.support.factories import deliver, make_user, publish, repost

# Its times are of a second, and so are those in our ids; inside a second the id decides.
ARTICLE = """
SELECT id FROM posts_post WHERE author_id IN (SELECT followee_id FROM graph_followee WHERE owner_id = %(viewer)s)
ORDER BY date_trunc('second', created_at) DESC, id DESC LIMIT 10
"""


def shown(viewer, **bounds):
    return [item.id for item in home_timeline(viewer, Cursor(**bounds)).items]


@pytest.fixture
def reader(db):
    """Follows three accounts who said four things each."""
    reader, authors = make_user("reader"), [make_user() for _ in range(3)]
    for author in authors:
        follow_user(reader, author)
    for number in range(4):
        for author in authors:
            publish(author, f"number {number}")
    deliver()
    return reader


def push(reader):
    home_timeline(reader, Cursor())


def rebuild(reader):
    HOME.drop(reader.pk)
    INBOX.drop(reader.pk)


def sql_alone(reader):
    timelines().config_set("maxmemory", "1")  # nothing can be built: pages come from PostgreSQL
    timelines().config_set("maxmemory-policy", "noeviction")
    rebuild(reader)


@pytest.fixture
def _memory():
    yield
    timelines().config_set("maxmemory", "0")


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.usefixtures("_memory")
@pytest.mark.parametrize("way", [push, rebuild, sql_alone])
def test_every_way_of_making_a_page_finds_what_the_articles_query_finds(reader, way):
    way(reader)
    found = [row["id"] for row in rows(ARTICLE, {"viewer": reader.pk})]
    assert len(found) == 10
    assert shown(reader, limit=10) == found
    assert Oracle.of_viewer(reader.pk, maximum=10).home(reader.pk) == found


@pytest.mark.slow
def test_the_plan_of_the_articles_query_sorts_all_that_it_finds(reader):
    """Why it is the oracle and not the read path."""
    with connection.cursor() as sql:
        sql.execute(f"EXPLAIN {ARTICLE}", {"viewer": reader.pk})
        plan = "\n".join(line for (line,) in sql.fetchall())
    assert "Sort" in plan


@pytest.mark.slow
def test_it_reads_no_more_than_it_may_and_says_how_far_it_answers(reader):
    everything = Oracle.of_viewer(reader.pk).home(reader.pk)
    some = Oracle.of_viewer(reader.pk, maximum=7)
    assert some.home(reader.pk) == everything[:7]
    assert some.answers_above == everything[6] - 1
    between = Oracle.of_viewer(reader.pk, above=everything[9], below=everything[2])
    assert between.home(reader.pk) == everything[3:9]


@pytest.mark.long
@pytest.mark.gate
def test_it_knows_circles_mutes_reposts_and_what_is_gone(reader):
    friend, stranger = make_user(), make_user()
    for one in (friend, stranger):
        follow_user(reader, one)
    circle = create_group(Circle, friend, name="Ours", is_shared=False)
    add_members(Circle, friend, circle.pk, [reader.pk])
    in_circle = publish(friend, "for some", visibility="circle", circle_id=circle.pk)
    shared = repost(friend, publish(stranger, "shared").pk)
    gone = repost(friend, (doomed := publish(stranger, "doomed")).pk)
    delete_post(doomed.pk, by=stranger)
    quiet = publish(stranger, "muted in a moment")
    seen = set(Oracle.of_viewer(reader.pk).home(reader.pk))
    assert {in_circle.pk, shared.pk, quiet.pk} <= seen
    assert gone.pk not in seen
    mute_user(reader, stranger)
    seen = set(Oracle.of_viewer(reader.pk).home(reader.pk))
    assert in_circle.pk in seen
    assert {shared.pk, quiet.pk}.isdisjoint(seen)


def test_all_reads_are_of_one_moment(transactional_db):
    author = make_user()
    before = publish(author).pk
    with snapshot():
        assert [row["id"] for row in rows("SELECT id FROM posts_post")] == [before]

        def say():
            publish(author)
            connection.close()

        other = threading.Thread(target=say)
        other.start()
        other.join()
        assert [row["id"] for row in rows("SELECT id FROM posts_post")] == [before]
    values = {"viewer": author.pk, "above": 0, "below": 2**63 - 1, "maximum": 10}
    assert len(rows(pull(), values)) == 2
