"""The second level in a real Cassandra: what it loses, how long it has it, and a site whose node is away."""

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from apps.audit.oracle import Oracle
from apps.graph.actions import follow_user, unfollow_user
from apps.graph.models import Follower
from apps.pagination import Cursor
from apps.second_level import older as filling
from apps.second_level import spans
from apps.second_level.checks import check_timeline_store
from apps.second_level.spans import ENTRIES
from apps.timeline.home import home_timeline
from apps.timeline.models import TimelineSpan
from apps.timeline.sources import older
from apps.timeline.sources import sql as pull
from tests.second_level.test_spans import PRESENT, truth, walk, walk_home
from tests.support.cassandra import connection, in_cassandra, server, stored
from tests.support.factories import deliver, make_user, publish
from tests.support.waiting import wait_until
from tests.support.windows import windows_of
from tests.timeline.outboxes import reader_of, write

pytestmark = [pytest.mark.clusters, pytest.mark.django_db, pytest.mark.clusters]
PAGE = 10


@pytest.fixture
def node(cassandra_node):
    with in_cassandra(cassandra_node):
        yield cassandra_node


@pytest.fixture
def authors(db):
    made = [make_user() for _ in range(2)]
    for author in made:
        write(author, 25)
        write(author, 5, start=25, visibility="followers")
    return made


@pytest.fixture
def reader(authors):
    return reader_of(authors)


@pytest.fixture(autouse=True)
def _quick_worker(monkeypatch):
    monkeypatch.setattr(filling, "enqueue", lambda _name, *asked, expires: filling.fill(*asked))


@pytest.fixture
def small_windows():
    with windows_of(PAGE):
        yield


def below(reader):
    return ENTRIES.read(reader.pk, newest=PRESENT, oldest=0, count=PAGE)


def session():
    return connection().session


def test_rows_end_by_themselves_and_what_has_ended_is_not_believed(node, reader, settings):
    settings.TIMELINE_ENTRY_DAYS = 4 / 86_400
    walk(reader)
    settings.TIMELINE_ENTRY_DAYS = 60  # PostgreSQL's span would be good for long
    assert TimelineSpan.objects.filter(reader=reader.pk).exists()
    wait_until(lambda: not stored(reader.pk), "the rows are gone")
    assert below(reader) is None
    assert walk(reader) == truth(reader)
    assert below(reader) is not None


def test_a_table_has_the_life_of_the_article(node):
    row = session().execute(
        "SELECT default_time_to_live FROM system.schema_columnfamilies"
        " WHERE keyspace_name = 'feedsite' AND columnfamily_name = 'following_timeline'"
    )
    assert row.one()[0] == 60 * 24 * 60 * 60


def test_a_store_that_lost_its_rows_is_a_miss(node, reader, authors):
    walk(reader)
    assert below(reader) is not None
    session().execute("TRUNCATE following_timeline", timeout=60)
    assert below(reader) is None
    follow_user(reader, new := make_user())
    write(new, 5)
    deliver()  # does not mend a span whose rows are gone
    assert below(reader) is None
    assert walk(reader) == truth(reader)
    unfollow_user(reader, new)
    deliver()
    assert below(reader) is not None
    assert walk(reader) == truth(reader)


def test_a_span_of_one_store_proves_nothing_in_the_other(node, reader, settings):
    walk(reader)
    settings.TIMELINE_STORE = "postgresql"
    assert below(reader) is None
    assert walk(reader) == truth(reader)
    assert below(reader) is not None
    settings.TIMELINE_STORE = node.url
    assert below(reader) is None
    assert walk(reader) == truth(reader)


def test_what_is_written_after_it_was_removed_is_there(node, reader, authors):
    """Times are PostgreSQL's: removing and adding again within a moment leaves the rows."""
    walk(reader)
    for _time in range(5):
        unfollow_user(reader, authors[0])
        deliver()
        follow_user(reader, authors[0])
        deliver()
    assert below(reader) is not None
    assert walk(reader) == truth(reader)


def test_a_chunk_is_written_for_all_its_followers(node, alice):
    crowd = [make_user() for _ in range(3)]
    for one in crowd:
        follow_user(one, alice)
    edges = list(Follower.objects.filter(owner=alice).order_by("id").values_list("id", flat=True))
    post = publish(alice)
    for _twice in range(2):
        assert spans.push(alice.pk, edges[0], edges[-1], post.pk) == len(edges)
    assert all(stored(one.pk) == [post.pk] for one in crowd)


def test_a_stopped_node_costs_no_page_and_comes_back(
    tmp_path, reader, authors, small_windows, settings
):
    with server(tmp_path / "node") as node, in_cassandra(node):
        client = Client()
        client.force_login(reader)
        assert walk_home(reader) == Oracle().home(reader.pk)
        assert below(reader) is not None
        node.stop()
        settings.CASSANDRA_TIMEOUT_SECONDS = 0.25
        for _page in range(3):
            assert client.get("/").status_code == 200
        assert walk_home(reader) == Oracle().home(reader.pk)
        assert below(reader) is None
        publish(authors[0])
        deliver()
        follow_user(reader, new := make_user())
        write(new, 5)
        deliver()
        assert walk_home(reader) == Oracle().home(reader.pk)
        [message] = check_timeline_store()
        assert (message.id, message.is_serious()) == ("feedsite.W030", False)
        node.start()
        settings.CASSANDRA_TIMEOUT_SECONDS = 5
        wait_until(
            lambda: walk(reader) == truth(reader) and below(reader) is not None,
            "the node is used again",
            seconds=60,
        )
        assert home_timeline(reader, Cursor()).items


@pytest.mark.parametrize(
    "url", ["mysql://x/y", "cassandra:///feedsite", "cassandra://a:1,b:2/feedsite"]
)
def test_addresses_that_are_refused(settings, url):
    settings.TIMELINE_STORE = url
    [message] = check_timeline_store()
    assert message.id == "feedsite.E030"


def test_a_keyspace_without_the_table_is_refused_until_the_command_has_made_it(
    node, settings, capsys
):
    settings.TIMELINE_STORE = node.url.replace("/feedsite", "/another")
    [message] = check_timeline_store()
    assert (message.id, message.hint) == ("feedsite.E032", "manage cassandra creates it.")
    for _twice in range(2):
        call_command("cassandra")
    assert "another.following_timeline" in capsys.readouterr().out
    assert check_timeline_store() == []
    settings.TIMELINE_STORE = "postgresql"
    assert check_timeline_store() == []
    with pytest.raises(CommandError, match="is not a Cassandra address"):
        call_command("cassandra")


def test_a_missing_driver_is_refused(settings, monkeypatch):
    monkeypatch.setattr("apps.second_level.checks.find_spec", lambda _name: None)
    settings.TIMELINE_STORE = "cassandra://127.0.0.1/feedsite"
    [message] = check_timeline_store()
    assert message.id == "feedsite.E031"


def test_pages_far_down_ask_it_first(node, reader, monkeypatch):
    ids = walk(reader)
    monkeypatch.setattr(pull, "home_ids_nearby", None)
    monkeypatch.setattr(pull, "home_ids", None)
    assert older.home_ids(reader.pk, Cursor(max_id=ids[9]), PAGE) == ids[10 : 10 + PAGE]
