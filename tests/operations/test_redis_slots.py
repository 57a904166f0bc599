"""The command about slots of a Redis Cluster. How they move: tests/feedcache/test_cluster.py."""

import pytest
from django.core.management import CommandError, call_command


def test_a_slot_is_moved(on_cluster, capsys):
    [slot, target] = a_slot_and_another_node(on_cluster)
    call_command("redis_slots", "migrate", str(slot), "--to", target.address)
    assert "keys moved" in capsys.readouterr().out
    assert (slot, target) != tuple(a_slot_and_another_node(on_cluster))


def a_slot_and_another_node(nodes):
    """The first slot of the first row, and a node that does not own it."""
    first, _last, owner, *_replicas = nodes[0].ask("CLUSTER", "SLOTS")[0]
    return first, next(node for node in nodes if node.port != owner[1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["migrate", "16384", "--to", "127.0.0.1:1"], "slots are 0 to 16383"),
        (["migrate", "5", "--to", "127.0.0.1:1"], "no master at 127.0.0.1:1"),
    ],
)
def test_a_move_that_makes_no_sense_is_refused(on_cluster, words, message):
    with pytest.raises(CommandError, match=message):
        call_command("redis_slots", *words)


def test_the_command_shows_who_owns_what(on_cluster, capsys):
    call_command("redis_slots", "--of", "existence", "show")
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.split()[0] for line in lines) == sorted(one.address for one in on_cluster)
    assert sum(int(line.split()[1].replace(",", "")) for line in lines) == 16_384


def test_one_server_has_no_slots():
    with pytest.raises(CommandError, match="not on a Redis Cluster"):
        call_command("redis_slots", "show")
