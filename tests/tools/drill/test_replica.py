"""The plan of `--with-replica`: the replica is paused, and later frozen."""

import pytest

from tools.drill import replica
from tools.drill.__main__ import command_parser
from tools.drill.faults import Kind


@pytest.mark.parametrize("seconds", [30, 36, 180, 600])
def test_the_replica_is_paused_and_then_frozen_and_well_before_the_end(seconds):
    paused, frozen = replica.plan(seconds=seconds)
    assert (paused.kind, frozen.kind) == (Kind.PAUSE, Kind.FREEZE)
    assert {paused.target, frozen.target} == {replica.REPLICA}
    assert 0 < paused.at + paused.seconds < frozen.at
    assert frozen.at + frozen.seconds < seconds


def test_there_is_none_by_default_and_the_help_has_an_example():
    assert not command_parser().parse_args([]).with_replica
    assert command_parser().parse_args(["--with-replica"]).with_replica
    assert "./run drill --minutes 3 --with-replica" in command_parser().format_help()
