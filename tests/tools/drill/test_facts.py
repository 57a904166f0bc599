"""What was true when: acknowledged operations decide, unanswered ones leave both open."""

import pytest

from tools.drill.facts import Facts, Register
from tools.drill.history import FAIL, OK, UNKNOWN, UNKNOWN_SECONDS, Operation
from tools.drill.world import World

ANN, BOB, CARL = 1, 2, 3


def operation(name, begin, end, *, actor=ANN, outcome=OK, found=None, **args):
    return Operation(0, actor, name, begin, args, end, outcome, 200, found)


def world(follows=(), circles=None, members=None):
    return World([], [], [], set(follows), circles or {}, members or {})


def register(*writes, initial=False):
    made = Register(initial)
    for begin, end, value, outcome in writes:
        made.write(operation("x", begin, end, outcome=outcome), value=value)
    return made


def test_an_acknowledged_write_holds_from_then_on():
    follows = register((10, 11, True, OK))
    assert follows.possible(1, 9) == {False}
    assert follows.possible(12, 13) == {True}


def test_while_a_write_is_under_way_both_are_possible():
    follows = register((10, 11, True, OK))
    assert follows.possible(9, 10.5) == {False, True}
    assert follows.possible(10.2, 10.4) == {False, True}


def test_a_write_without_an_answer_leaves_both_open_until_another_one_is_acknowledged():
    follows = register((10, 18, True, UNKNOWN))
    assert follows.possible(20, 21) == {False, True}
    assert follows.possible(1000, 1001) == {False, True}  # it may never have happened
    follows = register((10, 18, True, UNKNOWN), (60, 61, False, OK))
    assert follows.possible(70, 71) == {False}


def test_a_late_request_may_overtake_one_that_was_acknowledged_meanwhile():
    follows = register((10, 18, True, UNKNOWN), (19, 20, False, OK))
    assert follows.possible(25, 26) == {False, True}
    assert UNKNOWN_SECONDS > 26 - 10


def test_a_block_ends_both_follows_and_parts_circles():
    facts = Facts(
        [operation("block", 10, 11, other=BOB)],
        world([(ANN, BOB), (BOB, ANN)], {ANN: 7}, {7: {BOB, CARL}}),
    )
    assert facts.may_follow(BOB, ANN, 1, 9)
    assert not facts.may_follow(BOB, ANN, 12, 13)
    assert not facts.may_follow(ANN, BOB, 12, 13)
    assert facts.surely_blocked(BOB, ANN, 12, 13)
    assert facts.may_belong(7, BOB, 1, 9)
    assert not facts.may_belong(7, BOB, 12, 13)
    assert facts.may_belong(7, CARL, 12, 13)
    assert not facts.may_belong(7, 99, 12, 13)


@pytest.mark.parametrize(("outcome", "expected"), [(OK, True), (UNKNOWN, False), (FAIL, False)])
def test_a_delete_is_sure_only_when_it_was_acknowledged(outcome, expected):
    facts = Facts([operation("delete", 10, 11, post=5, outcome=outcome)], world())
    assert facts.surely_deleted(5, 12, 13) is expected
    assert facts.may_be_deleted(5, 13) is (outcome != FAIL)


def test_follows_from_the_start_count_until_anybody_changes_anything():
    facts = Facts([operation("mute", 10, 11, other=BOB)], world([(ANN, BOB), (ANN, CARL)]))
    assert facts.always_follows(ANN, BOB, 9)
    assert not facts.always_follows(ANN, BOB, 12)
    assert facts.always_follows(ANN, CARL, 12)
    assert facts.surely_muted(ANN, BOB, 12, 13)
