"""What a drill says of people while a worker of Citus is away."""

from typing import Any

from tools.drill.citus import DRAINED, KILLED, SLACK_SECONDS, Deaths, judge, plan, told
from tools.drill.faults import Kind
from tools.drill.history import FAIL, OK, UNKNOWN, Operation
from tools.drill.pages import Pages
from tools.drill.verdict import Verdicts

HERS, OTHERS = 1, 2
AWAY, BACK = 100.0, 120.0
MIDDLE = 110.0


class Servers:
    workers = (None,) * 3

    def describe(self):
        return "Citus 1 on PostgreSQL 1"


def deaths():
    cluster: Any = Servers()
    return Deaths(
        cluster,
        [(AWAY, BACK)],
        shards=[[2, 2, 2], [2, 2, 2]],
        accounts={HERS},
        rows=[1200, 900, 1000],
        transactions=[70, 80, 90],
    )


def published(actor, status, outcome=OK, at=MIDDLE, **args):
    args = {"visibility": "public", "named": None, "circle": None, **args}
    return Operation(0, actor, "publish", at, args, at + 0.1, outcome, status)


def violations(*operations):
    verdicts = Verdicts()
    judge(verdicts, deaths(), operations)
    return verdicts["I34"].violations


def test_its_accounts_are_refused_and_the_others_publish():
    assert violations(published(HERS, 503, UNKNOWN), published(OTHERS, 200)) == 0
    assert violations(published(HERS, 200)) == 1
    assert violations(published(OTHERS, 503, UNKNOWN)) == 1
    assert violations(published(HERS, 500, UNKNOWN)) == 1


def test_what_needs_the_rows_of_others_may_be_refused_and_so_may_anybody_when_it_goes_and_comes():
    assert violations(published(OTHERS, 503, UNKNOWN, reply_to=7)) == 0
    assert violations(published(OTHERS, 503, UNKNOWN, visibility="private")) == 0
    assert violations(published(OTHERS, 503, UNKNOWN, at=AWAY + SLACK_SECONDS / 2)) == 0
    assert violations(published(OTHERS, 503, UNKNOWN, at=BACK)) == 0
    assert (
        violations(published(OTHERS, 500, UNKNOWN, at=BACK + SLACK_SECONDS + 1)) == 0
    )  # not its concern


def test_home_may_be_refused_meanwhile_only():
    def judged(at):
        verdicts = Verdicts()
        read = Operation(0, OTHERS, "home", at, {}, at + 0.1, FAIL, 503)
        facts: Any = None
        Pages(facts, {}, {}, verdicts, lacked_rows=deaths().overlap).judge([read])
        return verdicts["I5"].violations, verdicts["I5"].excused

    assert judged(MIDDLE) == (0, 1)
    assert judged(AWAY - 10) == (1, 0)


def test_the_report_says_what_each_side_was_answered():
    lines = told(deaths(), [published(HERS, 503, UNKNOWN), published(OTHERS, 200)])
    assert lines[0].startswith("Citus 1 on PostgreSQL 1: a coordinator and 3 workers")
    assert lines[1].startswith("rows of the workers: 1,200 + 900 + 1,000; ")
    assert lines[2].endswith("acts: 1 of its own 503, 1 of others answered")


def test_a_worker_is_killed_before_another_is_drained():
    killed, drained = plan(seconds=180)
    assert (killed.kind, killed.target) == (Kind.KILL, KILLED)
    assert (drained.kind, drained.target) == (Kind.DRAIN, DRAINED)
    assert killed.at + killed.seconds < drained.at
