"""`manage cache`."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from apps.operations.management.commands.cache import EXAMPLES, place_of
from apps.operations.models import TopologyVersion
from apps.operations.queries import topology_in_force
from feedcache.connections import timelines
from feedcache.servers import topology_listener
from feedcache.topology import Place, Pool
from tests.support.cases import each
from tests.support.faults import stopped
from tests.support.services import running

pytestmark = pytest.mark.django_db


def cache(*words):
    out = StringIO()
    call_command("cache", *words, stdout=out)
    return out.getvalue()


def test_topology_names_every_node(settled):
    text = cache("topology")
    for _place, node in settled.places():
        assert node.url in text


def test_check_is_content_when_all_is_well(settled):
    assert "All is well." in cache("check")


def test_without_nodes_it_says_that_the_tiers_are_absent(settings):
    settings.MEMCACHED_URLS = settings.MEMCACHED_BACKUP_URLS = []
    settings.MEMCACHED_L1_URLS = []
    assert "the tiers L1, Main and Backup are absent" in cache("check")


def test_check_names_a_dead_node_and_fails(settled):
    server = running().memcached[1]
    out = StringIO()
    with stopped(server), pytest.raises(SystemExit) as left:
        call_command("cache", "check", stdout=out)
    assert left.value.code == 1
    assert f"Wrong: Main, slot 1 ({server.address})" in out.getvalue()


def test_check_names_processes_that_lag(settled):
    topology_listener.Listener(settled, role="web").look(timelines())
    cache("flush", "content")
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command("cache", "check", stdout=out)
    assert f"Wrong: web {topology_listener.own_name()} runs version 0, not 1." in out.getvalue()


def test_every_change(settled, spare):
    first, second = spare(), spare(64)
    assert "Version 1: L1 group of" in cache("add-l1", first.address)
    assert topology_in_force().l1[0][0].megabytes == 128 // 8
    cache("replace", "main:0", second.address, "--megabytes", "60")
    assert topology_in_force().main[0].megabytes == 60
    cache("drain", "main:1")
    assert not topology_in_force().main[1].is_read
    cache("drain", "l1:0")
    assert topology_in_force().l1 == ()
    cache("flush", "outbox")
    assert topology_in_force().epoch_of("outbox") == 5
    cache("rollback", "0")
    assert [node.url for node in topology_in_force().main] == [node.url for node in settled.main]
    assert TopologyVersion.objects.filter(made_by__startswith="command line (").count() == 6


@each(
    ("words", "named"),
    [
        (("add-l1", "nowhere"), "nowhere"),
        (("add-l1", "127.0.0.1:1"), "127.0.0.1:1"),
        (("replace", "main", "a:1"), "main"),
        (("replace", "main:x", "a:1"), "main:x"),
        (("replace", "l1:0", "a:1"), "l1:0"),
        (("drain", "side:0"), "side:0"),
        (("drain", "main:7"), "topology"),
        (("drain", "l1:0"), "topology"),
        (("rollback", "77"), "77"),
        (("flush", "all"), "invalid choice"),
        ((), "required"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(settled, words, named):
    with pytest.raises(CommandError, match=named):
        cache(*words)
    assert not TopologyVersion.objects.exists()


def test_places():
    assert place_of("main:1") == Place(Pool.MAIN, 1)
    assert place_of("backup:0") == Place(Pool.BACKUP, 0)
    assert place_of("l1:2:1") == Place(Pool.L1, 1, 2)


def test_the_help_has_an_example_of_every_verb():
    for verb in ("topology", "check", "add-l1", "replace", "drain", "flush", "rollback"):
        assert f"cache {verb}" in EXAMPLES
