"""The judge of follows: rows that contradict what people were told, and lists that were read meanwhile."""

import pytest

from tools.drill import follows
from tools.drill.facts import Facts
from tools.drill.history import OK, UNKNOWN, Operation
from tools.drill.verdict import Verdicts
from tools.drill.world import World

ANN, BOB, CARL = 1, 2, 3
INITIAL = {(ANN, BOB)}
LATER = 1000.0


def done(name, begin, *, actor=ANN, other=CARL, outcome=OK):
    return Operation(0, actor, name, begin, {"other": other}, begin + 1, outcome, 200)


def read(begin, ids, *, following=None):
    return Operation(
        7, ANN, "following", begin, {}, begin + 1, OK, 200, {"ids": ids, "next": following}
    )


def facts(*operations):
    return Facts(operations, World([], [], [], set(INITIAL)))


def judged(rows, *operations):
    verdict = Verdicts()["I31"]
    follows.judge(verdict, facts(*operations), INITIAL, set(rows), LATER)
    return verdict.violations, verdict.lost


def lists(*reads, operations=()):
    verdicts = Verdicts()
    follows.lists_read(verdicts, facts(*operations), INITIAL, [*operations, *reads])
    return verdicts["I31"].violations, verdicts["I31"].lost


@pytest.mark.parametrize(
    ("rows", "operations", "found"),
    [
        ([(ANN, BOB)], [], (0, 0)),
        ([(ANN, BOB), (ANN, CARL)], [done("follow", 100)], (0, 0)),
        ([(ANN, CARL)], [done("follow", 100), done("unfollow", 200, other=BOB)], (0, 0)),
        ([(ANN, BOB)], [done("follow", 100)], (1, 1)),
        ([], [], (1, 1)),
        ([(ANN, BOB)], [done("unfollow", 100, other=BOB)], (1, 0)),
        ([(ANN, BOB), (CARL, ANN)], [], (1, 0)),
        ([(ANN, BOB)], [done("block", 100, actor=BOB, other=ANN)], (1, 0)),
        ([(ANN, BOB)], [done("follow", 100, outcome=UNKNOWN)], (0, 0)),
        ([(ANN, BOB), (ANN, CARL)], [done("follow", 100, outcome=UNKNOWN)], (0, 0)),
    ],
)
def test_rows_are_what_people_were_told(rows, operations, found):
    assert judged(rows, *operations) == found


def test_a_list_has_everybody_and_nobody_else():
    assert lists(read(50, [BOB])) == (0, 0)
    assert lists(read(50, [])) == (1, 1)
    assert lists(read(50, [BOB, CARL])) == (1, 0)
    assert lists(read(50, [BOB, BOB])) == (1, 0)
    assert lists(read(50, [], following=9)) == (0, 0)  # one page of several


def test_a_list_that_is_read_during_a_change_may_have_it_or_not():
    change = [done("follow", 100)]
    for shown in ([BOB], [CARL, BOB]):
        assert lists(read(100.5, shown), operations=change) == (0, 0)
    assert lists(read(200, [CARL, BOB]), operations=change) == (0, 0)
    assert lists(read(200, [BOB]), operations=change) == (1, 1)
