"""`manage counters move`: all steps of moving counters to another Redis, what it refuses, and how it goes on."""

import pytest
from django.core.management import CommandError, call_command

from apps.accounts.cache import USER_COUNTS
from apps.engagement.management.commands import counters as command
from apps.operations import actions
from apps.operations.queries import topology_in_force
from apps.posts.cache import POST_COUNTS
from feedcache import connections
from feedcache.connections import timelines
from feedcache.memcached_tiers import use_topology
from feedcache.servers.topology_listener import KEY, Listener, listener
from feedcache.structures.counters import maintenance, moves
from feedcache.topology import Range, Tenant, Topology
from tests.support import clusters
from tests.support.factories import publish
from tests.support.ports import free_port

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    with clusters.server(tmp_path_factory.mktemp("other")) as started:
        yield started


@pytest.fixture(autouse=True)
def _quick(other, monkeypatch):
    """Steps that the one other process takes at once; this process knows the topology of the database only."""
    other.ask("FLUSHALL")
    own, process, reason_to_wait = listener(), Listener(role="web"), actions.reason_to_wait
    before, own.topology = own.topology, Topology()
    monkeypatch.setattr(actions, "SETTLE_SECONDS", 0.2)
    monkeypatch.setattr(command, "SETTLE_POLL_SECONDS", 0.1)

    def look():
        actions.republish()
        process.look(timelines())
        return reason_to_wait()

    monkeypatch.setattr(actions, "reason_to_wait", look)
    yield
    own.topology = before
    use_topology(before)  # the tiers have followed
    timelines().delete(KEY)
    connections.forget_clients()


def counts_of(post):
    return POST_COUNTS.get_many([post.pk])[post.pk]


@pytest.mark.slow
def test_posts_from_a_day_on_move_and_come_back(alice, other, django_assert_num_queries, capsys):
    post = publish(alice, "Counted.")
    POST_COUNTS.change(post.pk, {"likes": 3})
    POST_COUNTS.count("reads", {post.pk: 5})
    expected = counts_of(post)
    assert expected[POST_COUNTS.store.schema.index("reads")] == 5
    call_command("counters", "move", "posts", other.url, "--from", "2020-01-01")
    first, moved = topology_in_force().counters["posts"]
    assert first == Range()
    assert moved.tenant == Tenant(other.url)
    said = capsys.readouterr().out
    for step in ("also written to redis://", "read from the other server", "is left"):
        assert step in said
    call_command("counters", "status")
    assert f"from {moved.low} on at {other.url}\n" in capsys.readouterr().out
    with django_assert_num_queries(0):
        assert counts_of(post) == expected
    key = POST_COUNTS.store.key(POST_COUNTS.store.bucket_of(post.pk))
    assert other.ask("EXISTS", key) == 1
    assert not connections.counters().exists(key)
    with pytest.raises(CommandError, match="are there already"):
        call_command("counters", "move", "posts", other.url, "--from", "2020-01-01")
    POST_COUNTS.count("reads", {post.pk: 1})
    call_command("counters", "move", "posts", "settings", "--from", "2020-01-01")
    with django_assert_num_queries(0):
        assert counts_of(post)[POST_COUNTS.store.schema.index("reads")] == 6
    assert other.ask("KEYS", "c{posts}:*") == []
    maintenance.write_back(POST_COUNTS)
    assert maintenance.is_complete(POST_COUNTS)


@pytest.mark.slow
def test_all_accounts_move(alice, bob, other, django_assert_num_queries):
    expected = USER_COUNTS.get_many([alice.pk, bob.pk])
    call_command("counters", "move", "users", other.url)
    assert topology_in_force().counters["users"] == (Range(0, Tenant(other.url)),)
    with django_assert_num_queries(0):
        assert USER_COUNTS.get_many([alice.pk, bob.pk]) == expected
    call_command("counters", "move", "users", "settings")
    assert USER_COUNTS.get_many([alice.pk, bob.pk]) == expected
    assert other.ask("KEYS", "c{users}:*") == []


def test_it_goes_on_where_it_was_interrupted(alice, other, monkeypatch):
    post = publish(alice, "Counted.")
    POST_COUNTS.count("reads", {post.pk: 2})

    def interrupted(*_arguments):
        raise KeyboardInterrupt

    for name in ("build", "hand_over"):
        with monkeypatch.context() as patched:
            patched.setattr(moves, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                call_command("counters", "move", "posts", other.url)
    with pytest.raises(CommandError, match="being moved"):
        call_command("counters", "move", "posts", f"redis://127.0.0.1:{other.port}/1")
    call_command("counters", "move", "posts", other.url)
    assert POST_COUNTS.count("reads", {post.pk: 1}) == {post.pk: 3}
    assert topology_in_force().counters["posts"] == (Range(0, Tenant(other.url)),)


def test_a_step_waits_for_every_process(other, monkeypatch):
    monkeypatch.setattr(
        actions, "reason_to_wait", lambda: "1 process has not finished the previous step yet."
    )
    monkeypatch.setattr(command, "SETTLE_SECONDS", 0.1)
    with pytest.raises(CommandError, match="1 process has not finished"):
        call_command("counters", "move", "posts", other.url)
    [one] = topology_in_force().counters["posts"]
    assert one.tenant == Tenant("", also=other.url), "the second step was not taken"


def test_what_is_refused():
    for url in ("10.0.0.1:1", "redis+cluster://a:1,b:2", "redis://me:secret@a:1/0"):
        with pytest.raises(CommandError, match="is not an address"):
            call_command("counters", "move", "posts", url)
    with pytest.raises(CommandError, match="neither an id nor a day"):
        call_command("counters", "move", "posts", "redis://a:1/0", "--from", "soon")
    with pytest.raises(CommandError, match="Specify the counts"):
        call_command("counters", "move", "posts")
    with pytest.raises(CommandError, match="are there already"):
        call_command("counters", "move", "posts", "settings")
    with pytest.raises(CommandError, match="does not answer"):
        call_command("counters", "move", "posts", f"redis://127.0.0.1:{free_port()}/0")
    assert topology_in_force().counters == {}
