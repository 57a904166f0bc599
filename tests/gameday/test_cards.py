"""Report cards say what happened, and whether it was expected."""

from dataclasses import asdict

import pytest
from django.utils.translation import override

from apps.gameday.alerts import alerts
from apps.gameday.cards import ReportCard, judge, lines, outcome, requests_of
from apps.gameday.faults import AUTHOR, MEMBER, VISITOR, faults
from apps.gameday.probes import Answer
from tests.support.cases import each


def answers(who, *statuses, began=100.0, seconds=0.1):
    return [Answer(who, began + n, seconds, status) for n, status in enumerate(statuses)]


def card_of(name, *, failed=(), **fields):
    """A card about which everything is as expected, except for what is given."""
    fault = faults()[name]
    found = {}
    for who in (VISITOR, MEMBER, AUTHOR):
        statuses = [200] * 18 + [503 if who in failed else 200] * 2
        found[who] = requests_of(answers(who, *statuses), who, began=100, ended=200)
    given = {
        "seconds": 60.0, "accepted": 20, "lost": 0, "undelivered": 0, "recovery_seconds": 1.0,
        "failed_checks": [], "alert": outcome(alerts()[fault.alert], fault, [(1.0, True, False)], "/metrics"),
    }  # fmt: skip
    card = ReportCard(fault=name, requests=found, **(given | fields))
    judge(card, fault)
    return card


def outcome_of(*states):
    return outcome(alerts()["StoreDown"], faults()["redis_writes"], states, "/metrics")


def test_only_requests_during_the_fault_count():
    before = answers(MEMBER, 500, 500, began=90.0, seconds=9.0)
    during = answers(MEMBER, 200, 200, 200, 0)
    after = answers(MEMBER, 500, began=105.0)
    others = answers(VISITOR, 500)
    found = requests_of([*before, *during, *after, *others], MEMBER, began=100.0, ended=105.0)
    assert (found.number, found.failed, found.availability) == (4, 1, 0.75)
    assert (found.p95, found.p95_before) == (0.1, 9.0)
    assert requests_of([], MEMBER, began=0, ended=1).availability is None


def test_an_alert_fires_when_its_condition_has_held_without_a_break():
    assert outcome_of((0.0, False, False), (9.0, True, False)).held_after == 9.0
    broken = outcome_of(
        (0.0, True, False), (60.0, False, False), (61.0, True, False), (150.0, True, False)
    )
    assert (broken.held_after, broken.fired_after) == (0.0, None)
    assert outcome_of((5.0, True, False), (125.0, True, False)).fired_after == 125.0
    assert outcome_of((5.0, True, True)).fired_after == 5.0  # Prometheus says so
    assert outcome_of((0.0, False, False)).held_after is None


def test_a_card_passes_if_all_is_as_expected():
    assert card_of("redis_writes").passed
    assert card_of("posts_locked", failed=[AUTHOR]).passed
    assert AUTHOR not in card_of("posts_locked").expected


@each(
    "name, fields, missed",
    [
        ("redis_writes", {"lost": 1}, "lost"),
        ("redis_writes", {"undelivered": 1}, "delivered"),
        ("redis_writes", {"recovery_seconds": None}, "recovery"),
        ("redis_writes", {"failed": [MEMBER]}, MEMBER),
        ("posts_locked", {"failed": [AUTHOR, VISITOR]}, VISITOR),
        ("redis_writes", {"alert": outcome_of((16.0, True, False))}, "alert"),  # too late
        ("redis_writes", {"alert": outcome_of((1.0, False, False))}, "alert"),
    ],
)
def test_what_does_not_hold_fails_the_card(name, fields, missed):
    card = card_of(name, **fields)
    assert not card.passed
    assert [key for key, held in card.expected.items() if held is False] == [missed]
    assert [held for _sentence, held in lines(asdict(card))].count(False) == 1


def test_a_fault_that_was_too_short_says_nothing_about_its_alert():
    card = card_of("redis_writes", seconds=10.0, alert=outcome_of((9.0, False, False)))
    assert card.expected["alert"] is None
    assert card.passed


def test_sentences_stay_in_order_though_postgresql_stores_keys_in_another():
    card = asdict(card_of("redis_writes"))
    stored = card | {"expected": dict(sorted(card["expected"].items()))}
    assert list(stored["expected"]) != list(card["expected"])
    assert lines(stored) == lines(card)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_sentences_have_their_values(language):
    with override(language):
        sentences = [sentence for sentence, _held in lines(asdict(card_of("redis_writes")))]
    assert "StoreDown" in sentences[0]
    assert "15" in sentences[0]
