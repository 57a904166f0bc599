"""Lists that may be stale come from a real streaming replica: paused, killed, far behind, or no standby at all."""

import shutil
import sys
from contextlib import ExitStack, contextmanager

import pytest
from django.core.exceptions import MiddlewareNotUsed
from django.db import connections, transaction
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from apps import replicas
from apps.accounts.actions import issue_token
from apps.pagination import Cursor
from apps.timeline.profile import ProfileFilter, profile_timeline
from apps.timeline.public import TagQuery, tag_timeline
from apps.timeline.publishing import delete
from feedcache.connections import limits
from feedsite.middleware.read_your_writes import ReadYourWritesMiddleware
from tests.support.factories import publish
from tests.support.standby import (
    ask,
    catch_up,
    connected,
    frozen,
    paused,
    standby,
)
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.clusters]
ALIAS = "replica1"


@pytest.fixture(scope="module")
def server(django_db_setup, tmp_path_factory):
    with standby(tmp_path_factory.mktemp("standby")) as server:
        yield server


@pytest.fixture
def replica(server, transactional_db, settings, monkeypatch):
    """The replica is read, and asked at every read how far it is."""
    settings.REPLICA_DATABASES = [ALIAS]
    settings.REPLICA_MAX_LAG_SECONDS = 600
    monkeypatch.setattr(replicas, "CHECK_SECONDS", 0)
    replicas._replica.cache_clear()
    if not server.child.running():  # it replays what the tests of all processes write
        sys.stdout.write(f"The replica ended: {server.child.last_words()}\n")
        shutil.rmtree(server.data)
        server.start()
    with connected(server, ALIAS):
        catch_up(ALIAS)
        yield ALIAS


@contextmanager
def statements():
    """The statements of the primary and of the replica, without those that ask how far they are."""
    with ExitStack() as stack:
        names = ("default", ALIAS)
        captured = [stack.enter_context(CaptureQueriesContext(connections[one])) for one in names]
        found = {}
        yield found
        for name, queries in zip(names, captured, strict=True):
            found[name] = [one["sql"] for one in queries if "_lsn()" not in one["sql"]]


def tagged(viewer, name="rivers"):
    return [item.post.body for item in tag_timeline(viewer, TagQuery(name), Cursor()).items]


def known(user):
    """The replica has what a user has written so far, and this process knows it."""
    replicas.note_write(user.pk)
    catch_up(ALIAS)
    # other tests write to the same primary: the replica is fresh when it has what it lacked at the question before
    wait_until(lambda: replicas._replica(ALIAS).has(0), "the replica is used")


def test_ids_come_from_the_replica_and_everything_else_from_the_primary(replica, bob, alice):
    publish(alice, "Up the #rivers.")
    known(bob)
    with statements() as asked:
        assert tagged(bob) == ["Up the #rivers."]
    assert [("tags_taguse" in sql) for sql in asked[ALIAS]] == [True]
    assert not any("tags_taguse" in sql and "tag_id" in sql for sql in asked["default"])


def test_an_author_finds_what_the_replica_lacks_and_a_stranger_waits(replica, alice, carol):
    known(carol)
    with paused(replica):
        publish(alice, "Down the #rivers.")
        replicas.note_write(alice.pk)
        assert tagged(alice) == ["Down the #rivers."]
        assert tagged(carol) == []
    catch_up(replica)
    assert tagged(carol) == tagged(alice) == ["Down the #rivers."]


@pytest.mark.parametrize("program", [False, True])
def test_a_request_that_writes_notes_where_its_author_reads(replica, alice, program):
    """By form or by token, and read on the other one: the position is of the account."""
    page, api = Client(), APIClient()
    page.force_login(alice)
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {issue_token(alice, name='test')}")
    known(alice)
    form = {"body": "New #rivers", "visibility": "public", "pictures": "1"}
    with paused(replica):
        if program:
            assert api.post("/api/v1/statuses", {"status": "New #rivers"}).status_code == 200
            assert "New " in page.get("/tags/rivers").text
        else:
            assert page.post("/posts", form).status_code == 303
            [found] = api.get("/api/v1/timelines/tag/rivers").json()
            assert "New " in found["content"]


def test_who_has_no_position_reads_the_primary_once(replica, alice, carol):
    known(carol)
    with paused(replica):
        publish(alice, "Over the #rivers.")
        limits().flushdb()  # as after a loss of Redis
        assert tagged(carol) == ["Over the #rivers."]
    catch_up(replica)
    with statements() as asked:
        tagged(carol)
    assert asked[ALIAS]


def test_two_requests_that_end_in_another_order_do_not_lower_a_position(replica, alice):
    replicas.note_write(alice.pk)
    earlier = replicas._position_of(alice.pk) or 0
    publish(alice, "Once more.")
    replicas.note_write(alice.pk)
    later = replicas._position_of(alice.pk) or 0
    replicas._note(alice.pk, earlier)
    assert replicas._position_of(alice.pk) == later > earlier > 0


def test_a_replica_that_fell_behind_is_not_read(replica, alice, carol, settings):
    known(carol)
    with paused(replica):
        publish(alice, "Into the #rivers.")
        tagged(carol)  # from here on it is awaited
        settings.REPLICA_MAX_LAG_SECONDS = 0
        assert tagged(carol) == ["Into the #rivers."]


def test_what_is_deleted_or_restricted_is_decided_by_the_primary(replica, alice, bob, carol):
    gone = publish(alice, "Gone #rivers.")
    hidden = publish(alice, "For followers: #rivers.", visibility="followers")
    known(carol)
    with paused(replica):
        delete(gone.pk, by=alice)
        assert tagged(carol) == tagged(None) == []
        with statements() as asked:
            page = profile_timeline(alice, bob, Cursor(), ProfileFilter(reposts=False))
        assert [item.post.id for item in page.items] == [hidden.pk]
        assert asked[ALIAS] == []


def test_a_transaction_reads_what_it_has_not_committed(replica, alice):
    known(alice)
    with transaction.atomic():
        publish(alice, "Within the #rivers.")
        assert tagged(alice) == ["Within the #rivers."]


def test_a_replica_that_is_no_standby_is_not_read(replica, alice, settings):
    publish(alice, "At the #rivers.")
    settings.REPLICA_DATABASES = ["default"]
    assert not replicas._replica("default").has(0)
    assert tagged(None) == ["At the #rivers."]


def test_without_replicas_nothing_is_asked_and_nothing_noted(replica, alice, settings, bob):
    settings.REPLICA_DATABASES = []
    publish(alice, "By the #rivers.")
    with CaptureQueriesContext(connections["default"]) as captured:
        assert tagged(bob) == ["By the #rivers."]
    assert not any("_lsn()" in one["sql"] for one in captured)
    assert limits().keys("lsn:*") == []
    with pytest.raises(MiddlewareNotUsed):
        ReadYourWritesMiddleware(HttpResponse)


def test_a_frozen_replica_is_waited_for_once(replica, server, alice, carol):
    publish(alice, "Below the #rivers.")
    known(carol)
    assert tagged(carol) == ["Below the #rivers."]
    replicas._replica(replica)._next_check = float("inf")  # nobody asks it before the page does
    with frozen(server):
        with statements() as asked:
            assert tagged(carol) == ["Below the #rivers."]  # after the time-out, from the primary
        assert len(asked[ALIAS]) == 1
        with statements() as asked:
            assert tagged(carol) == ["Below the #rivers."]
        assert asked[ALIAS] == []
    connections[replica].close_if_unusable_or_obsolete()  # as after a request
    replicas._replica(replica)._next_check = 0.0
    wait_until(lambda: replicas._replica(replica).has(0), "the replica is used")
    with statements() as asked:
        assert tagged(carol) == ["Below the #rivers."]
    assert asked[ALIAS]


def test_a_killed_replica_is_left_out_in_the_middle_of_a_page(replica, server, alice, carol):
    publish(alice, "Beyond the #rivers.")
    known(carol)
    assert tagged(carol) == ["Beyond the #rivers."]
    assert ask(replica, "SELECT pg_is_in_recovery()")
    replicas._replica(replica)._next_check = float("inf")  # nobody asks it before the page does
    server.kill()
    try:
        assert tagged(carol) == ["Beyond the #rivers."]  # the statement failed, and was repeated
        assert not replicas._replica(replica).has(0)
        with statements() as asked:
            assert tagged(carol) == ["Beyond the #rivers."]
        assert asked[ALIAS] == []
    finally:
        connections[replica].close()
        server.stop()
        server.start()
