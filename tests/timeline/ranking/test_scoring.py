"""Scores, on values."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.timeline.ranking.reasons import Factor, contributions, reason
from apps.timeline.ranking.scoring import WEIGHTS, Candidate, Preset, ranked


def candidate(number, **fields):
    known = {"author_id": number, "age_hours": 1.0, "replies": 0, "reposts": 0, "likes": 0, "reactions": 0}  # fmt: skip
    return Candidate(number, **{**known, **fields})


def order(candidates, preset):
    return [one.post_id for one in ranked(candidates, preset)]


def test_newest_first_is_by_age_whatever_is_said_about_it():
    some = [candidate(1, age_hours=9, likes=500, reactions=30), candidate(2), candidate(3)]
    assert order(some, Preset.NEWEST) == [3, 2, 1]


def test_most_discussed_puts_talk_above_age():
    some = [candidate(1, age_hours=20, replies=40), candidate(2, age_hours=0.1)]
    assert order(some, Preset.DISCUSSED) == [1, 2]
    assert order(some, Preset.NEWEST) == [2, 1]


def test_a_reply_counts_more_than_a_repost_and_that_more_than_a_like():
    some = [candidate(1, likes=10), candidate(2, reposts=10), candidate(3, replies=10)]
    assert order(some, Preset.BALANCED) == [3, 2, 1]


def test_whom_the_reader_reacts_to_comes_first_among_equals():
    assert order([candidate(1, reactions=3), candidate(2)], Preset.BALANCED) == [1, 2]


def test_nobody_fills_the_page():
    loud = [candidate(number, author_id=7, likes=9) for number in range(1, 6)]
    assert order([*loud, candidate(9, likes=5)], Preset.BALANCED).index(9) < 3


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # of a loaded machine
@given(
    st.lists(
        st.builds(
            Candidate,
            st.integers(1, 10**6), st.integers(1, 4), st.floats(-1, 1e6), st.integers(0, 10**9), st.integers(0, 10**9),
            st.integers(0, 10**9), st.integers(0, 10**6),
        ),
        max_size=30,
        unique_by=lambda one: one.post_id,
    ),
    st.sampled_from(Preset),
)  # fmt: skip
def test_every_candidate_is_there_once_and_scores_stay_between_0_and_1(candidates, preset):
    found = ranked(candidates, preset)
    assert sorted(one.post_id for one in found) == sorted(one.post_id for one in candidates)
    assert all(0 <= one.score <= 1.0001 for one in found)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


@pytest.mark.parametrize("preset", Preset)
def test_the_parts_add_up_to_the_score(preset):
    (found,) = ranked([candidate(1, likes=30, reactions=4)], preset)
    assert sum(one.adds for one in contributions(found, preset)) == pytest.approx(found.score)
    weights = WEIGHTS[preset]
    assert weights.recency + weights.engagement + weights.affinity == pytest.approx(1)


def test_the_reason_is_what_adds_most():
    (talked,) = ranked([candidate(1, age_hours=40, replies=300)], Preset.BALANCED)
    assert reason(talked, Preset.BALANCED) == Factor.ENGAGEMENT
