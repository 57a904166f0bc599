"""After the database went back, or the nodes changed, nothing counts that was cached before."""

from dataclasses import replace
from unittest.mock import Mock

import pytest
from django.db import connection, transaction

from apps.operations import epoch, tasks
from apps.operations.models import CacheEpoch, Reason
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from feedcache.connections import RedisError, configuration, configured_topology
from feedcache.memcached_tiers import tiers
from feedcache.servers.topology_listener import published_epoch
from tests.support import memory
from tests.support.factories import deliver, delivered
from tests.support.faults import dead_redis

pytestmark = pytest.mark.django_db


def begun():
    return list(CacheEpoch.objects.order_by("pk").values_list("reason", flat=True))


def use(value):
    """As every process does when it hears of the epoch."""
    memory.forget(replace(configured_topology(), epoch=value))


@pytest.fixture
def first():
    return epoch.current_epoch()


def test_the_first_start_begins_an_epoch_and_later_ones_keep_it(first):
    assert first == epoch.current_epoch() == epoch.watch() == published_epoch() == 0
    assert begun() == [Reason.INSTALLED]


def test_other_nodes_in_the_settings_begin_one_each_time(first, settings):
    two = settings.MEMCACHED_URLS
    settings.MEMCACHED_URLS = two[:1]
    narrow = epoch.current_epoch()
    assert epoch.current_epoch() == narrow
    settings.MEMCACHED_URLS = two
    wide = epoch.current_epoch()
    assert len({first, narrow, wide}) == 3
    assert begun() == [Reason.INSTALLED, Reason.NODES, Reason.NODES]


def test_a_process_without_memcached_begins_none(first, settings):
    settings.MEMCACHED_URLS = []
    assert epoch.current_epoch() == first


def test_the_nodes_of_a_first_start_without_memcached_are_learned(settings):
    urls, settings.MEMCACHED_URLS = settings.MEMCACHED_URLS, []
    first = epoch.current_epoch()
    settings.MEMCACHED_URLS = urls
    assert epoch.current_epoch() == first
    settings.MEMCACHED_URLS = urls[:1]
    assert epoch.current_epoch() != first


def test_a_new_database_below_old_caches_begins_one():
    configuration().set(epoch.BEATS, 1_000)
    assert epoch.watch() != 0
    assert begun() == [Reason.INSTALLED, Reason.WENT_BACK]


def test_a_database_that_beats_is_where_it_was(first):
    assert [epoch.watch() for _ in range(3)] == [first] * 3
    assert CacheEpoch.objects.get().beats == 4


def test_beats_of_others_while_a_worker_pauses_are_no_return(first, monkeypatch):
    read = epoch._current

    def read_and_pause():
        newest = read()
        monkeypatch.setattr(epoch, "_current", read)
        for _beat in range(2):
            epoch.watch()
        return newest

    monkeypatch.setattr(epoch, "_current", read_and_pause)
    assert epoch.watch() == first
    assert begun() == [Reason.INSTALLED]


def test_a_database_with_fewer_beats_went_back(first):
    before = transaction.savepoint()
    for _beat in range(3):
        tasks.watch_database()
    transaction.savepoint_rollback(before)
    after = epoch.watch()
    assert after != first
    assert begun() == [Reason.INSTALLED, Reason.WENT_BACK]
    assert published_epoch() == after
    assert [epoch.watch() for _ in range(2)] == [after] * 2


def test_a_database_from_before_the_epoch_that_is_told_went_back(first):
    before = transaction.savepoint()
    told = epoch.begin_by_hand()
    transaction.savepoint_rollback(before)
    configuration().delete(epoch.BEATS)
    assert epoch.watch() not in {first, told}
    assert begun()[-1] == Reason.WENT_BACK


@pytest.mark.parametrize("server", [("another", 1), (None, 7)])
def test_another_server_or_timeline_begins_one(first, monkeypatch, server):
    system, timeline, table = epoch._server()
    there = server[0] or system, server[1] or timeline, table
    monkeypatch.setattr(epoch, "_server", lambda: there)
    assert epoch.watch() != first
    assert begun() == [Reason.INSTALLED, Reason.OTHER_SERVER]
    assert len({epoch.watch() for _ in range(2)}) == 1


def test_a_restore_from_a_dump_is_noticed_though_redis_was_emptied(first):
    """And within five seconds of the dump: the table of epochs is another one."""
    epoch.watch()
    configuration().flushdb()
    with connection.cursor() as sql:
        sql.execute("CREATE TABLE restored (LIKE operations_cacheepoch INCLUDING ALL)")
        sql.execute("INSERT INTO restored SELECT * FROM operations_cacheepoch")
        sql.execute(
            "SELECT setval(pg_get_serial_sequence('restored', 'id'), max(id)) FROM restored"
        )
        sql.execute("DROP TABLE operations_cacheepoch")
        sql.execute("ALTER TABLE restored RENAME TO operations_cacheepoch")
    after = epoch.watch()
    assert after != first
    assert begun() == [Reason.INSTALLED, Reason.WENT_BACK]
    assert [epoch.watch() for _ in range(2)] == [after] * 2


def test_the_table_of_a_row_of_an_older_release_is_learned(first):
    CacheEpoch.objects.update(table=0)
    assert epoch.watch() == first
    assert CacheEpoch.objects.get().table > 0


def test_what_redis_lost_is_told_again_and_nothing_begins(first):
    epoch.watch()
    configuration().flushdb()
    assert epoch.watch() == published_epoch() == first
    assert begun() == [Reason.INSTALLED]


def test_data_that_could_not_be_deleted_is_deleted_later(first, monkeypatch):
    deleted = []
    with monkeypatch.context() as broken:
        broken.setattr(epoch, "delete_everything", Mock(side_effect=RedisError))
        value = epoch.begin_by_hand()
    monkeypatch.setattr(epoch, "delete_everything", lambda: deleted.append(1))
    assert [epoch.watch() for _ in range(3)] == [value] * 3
    assert deleted == [1]


def test_a_process_that_died_before_it_deleted_anything_is_replaced(first, monkeypatch):
    with monkeypatch.context() as dying:
        dying.setattr(epoch, "_forget_everything", lambda _epoch: None)
        second = epoch.begin_by_hand()
        epoch.publish_epoch(second)
        third = epoch.begin_by_hand()
    deleted = []
    monkeypatch.setattr(epoch, "delete_everything", lambda: deleted.append(1))
    assert [epoch.watch() for _ in range(2)] == [third] * 2
    assert (deleted, published_epoch()) == ([1], third)


def test_without_redis_nothing_is_decided(first):
    with dead_redis():
        tasks.watch_database()
    assert epoch.watch() == first


def test_one_of_many_who_notice_begins_it(first):
    before = CacheEpoch.objects.get(value=first)
    assert epoch._begin(Reason.ASKED, after=before) == epoch._begin(Reason.ASKED, after=before)
    assert begun() == [Reason.INSTALLED, Reason.ASKED]


@pytest.mark.usefixtures("memcached")
def test_nothing_of_another_epoch_is_read(first):
    use(first)
    assert tiers().set_many({"a": b"1"}, ttl_seconds=60)
    use(epoch.begin_by_hand())
    assert tiers().get_many(["a"]) == {}
    use(first)
    assert tiers().get_many(["a"]) == {"a": b"1"}


@pytest.fixture
def world(alice, bob, first, api_of):
    """`world()`: what bob and a visitor see of alice's posts; the database can be put back below them."""
    use(first)
    kept, deleted = delivered(alice, "kept"), delivered(alice, "deleted after the dump")

    def seen():
        deliver()
        reader, visitor = api_of(bob), api_of(None)
        home = [post["content"] for post in reader.get("/api/v1/timelines/home").json()]
        address = f"/api/v1/accounts/{alice.pk}/statuses"
        profile = [post["content"] for post in visitor.get(address).json()]
        return home, profile, visitor.get(f"/api/v1/statuses/{deleted.pk}").status_code

    seen()
    return seen, kept, deleted


@pytest.mark.slow
@pytest.mark.usefixtures("memcached")
def test_no_ghost_no_old_text_and_nothing_hidden_after_the_database_went_back(alice, world):
    seen, kept, deleted = world
    right = (["<p>deleted after the dump</p>", "<p>kept</p>"],) * 2
    assert seen() == (*right, 200)

    dump = transaction.savepoint()
    ghost = delivered(alice, "a ghost")
    edit_post(alice, kept.pk, body="edited after the dump")
    delete_post(deleted.pk, by=alice)
    for _beat in range(2):
        tasks.watch_database()
    later = ["<p>a ghost</p>", "<p>edited after the dump</p>"]
    assert seen() == (later, later, 404)

    transaction.savepoint_rollback(dump)
    assert seen() != (*right, 200)  # what the caches say
    use(epoch.watch())
    assert seen() == (*right, 200)
    assert ghost.pk not in {kept.pk, deleted.pk}


def test_people_are_told_that_the_database_went_back(first, page_of):
    page = page_of(None)
    sentence = "restored to an earlier state"
    assert sentence not in page.get("/status").text
    epoch._begin(Reason.WENT_BACK, after=CacheEpoch.objects.get(value=first))
    assert sentence in page.get("/status").text
    assert sentence in page.get("/audit").text


def test_ids_of_the_lost_time_are_not_given_out_again(first, alice):
    """A program that asks for what is newer than the last number it saw would miss what gets a lower one."""

    def last():
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT last_value FROM pg_sequences WHERE sequencename = 'events_event_id_seq'"
            )
            return cursor.fetchone()[0] or 0

    delivered(alice)
    before = last()
    epoch.begin_by_hand()
    skipped = last()
    assert skipped >= before + 1000
    delivered(alice)
    assert last() > skipped
    epoch.watch()
    assert last() < skipped + 1000  # once
