"""The plan of `--shards`: a seed repeats it; shards go and come back, the replica is paused, then frozen."""

from collections import Counter
from itertools import product

import pytest

from tools.drill.__main__ import _parser
from tools.drill.faults import Kind
from tools.drill.shards import (
    LOCAL,
    LOGICAL_SHARDS,
    MOVED,
    REPLICA,
    SHARDS_A_MOVE,
    Move,
    Moved,
    plan,
    spread,
)

SERVERS = ["server2", "server3"]
PEOPLE = {number: number % 7 for number in range(LOGICAL_SHARDS)}


def moves(found):
    return [fault for fault in found if isinstance(fault, Move)]


def test_half_of_the_shards_lie_on_other_servers_at_the_start():
    for servers in (SERVERS[:1], SERVERS):
        places = Counter(spread(servers).values())
        assert places[LOCAL] == LOGICAL_SHARDS // 2
        assert {places[server] for server in servers} == {LOGICAL_SHARDS // 2 // len(servers)}


def test_a_seed_repeats_its_plan_and_another_has_another():
    assert plan(1, seconds=180, servers=SERVERS, people=PEOPLE) == plan(
        1, seconds=180, servers=SERVERS, people=PEOPLE
    )
    assert plan(1, seconds=180, servers=SERVERS, people=PEOPLE) != plan(
        2, seconds=180, servers=SERVERS, people=PEOPLE
    )


def test_shards_go_and_come_back_in_the_middle_of_the_load(subtests):
    for seed, seconds, servers in product(range(5), [30, 36, 60, 180, 600], [SERVERS[:1], SERVERS]):
        with subtests.test(seed=seed, seconds=seconds, servers=servers):
            check_moves(seed, seconds, servers)


def check_moves(seed, seconds, servers):
    places = spread(servers)
    found = moves(plan(seed, seconds=seconds, servers=servers, people=PEOPLE))
    assert len(found) >= 2
    assert len(found) % 2 == 0
    for move in found:
        assert seconds * 0.15 < move.at < seconds * 0.9
        assert len(move.numbers) == SHARDS_A_MOVE
        assert all(PEOPLE[number] > 3 for number in move.numbers)
        assert {places[number] for number in move.numbers}.isdisjoint({move.target})
        places |= dict.fromkeys(move.numbers, move.target)
    assert places == spread(servers)


@pytest.mark.parametrize("seconds", [30, 36, 180, 600])
def test_the_replica_is_paused_and_then_frozen_and_well_before_the_end(seconds):
    paused, frozen = (
        fault
        for fault in plan(1, seconds=seconds, servers=SERVERS, people=PEOPLE)
        if fault.target == REPLICA
    )
    assert (paused.kind, frozen.kind) == (Kind.PAUSE, Kind.FREEZE)
    assert 0 < paused.at + paused.seconds < frozen.at
    assert frozen.at + frozen.seconds < seconds


def test_the_report_says_what_was_moved_and_how_long_it_took():
    moved = Moved((3, 17), "server2", 1234, 5.04, 1)
    assert str(moved) == "shards 3, 17 to server2: 1,234 rows in 5.0 s"
    failed = Moved((3,), LOCAL, 0, 5.0, 3, "CommandError: busy")
    assert str(failed) == "shards 3 to local: 0 rows in 5.0 s, 3 tries, then: CommandError: busy"


def test_the_rows_are_those_that_the_command_reports():
    said = (
        "graph_followee_03: 1,117 rows from local to server2\n"
        "graph_follower_03: 2,000 changes meanwhile\n"
        "graph_follower_03: 90 rows from local to server2\n"
    )
    assert MOVED.findall(said) == ["1,117", "90"]


@pytest.mark.parametrize("wrong", ["0", "9", "-2", "two"])
def test_a_wrong_number_of_servers_is_refused(wrong, capsys):
    with pytest.raises(SystemExit):
        _parser().parse_args(["--shards", wrong])
    assert "--shards" in capsys.readouterr().err


def test_one_server_is_the_default_and_the_help_has_an_example():
    assert _parser().parse_args([]).shards == 1
    assert _parser().parse_args(["--shards", "2"]).shards == 2
    assert "./run drill --minutes 3 --shards 2" in _parser().format_help()
