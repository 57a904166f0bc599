"""Scores, on values."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.posts.models import Counts
from apps.ranking.algorithms import Part, Scored, best_first, by_score, select, varied
from apps.ranking.scoring import (
    affinity,
    chronological,
    discussed,
    engagement,
    heavy,
    light,
    newer_by_score,
    recency,
)
from feedcache.ids import compose

BUILT_IN = [chronological, light, discussed, heavy]
NOON = 1_790_000_000


def post(hours_ago, author_id=1):
    return compose(NOON - round(hours_ago * 3600), author_id, 0)


def scored(post_id, algorithm, *values):
    parts = (
        Part(factor, value, factor.weight)
        for factor, value in zip(algorithm.factors, values, strict=True)
    )
    return Scored(post_id, post_id, tuple(parts))


def of_light(algorithm, hours_ago, author_id, *, reactions=0, likes=0, replies=0, reposts=0):
    counts = Counts(replies=replies, reposts=reposts, likes=likes)
    values = recency(hours_ago), engagement(counts), affinity(reactions)
    return scored(post(hours_ago, author_id), algorithm, *values)


def authors(algorithm, scores):
    return [one.post_id for one in select(algorithm, scores)]


def test_newest_first_is_by_age():
    some = [scored(post(hours), chronological, recency(hours)) for hours in (9, 2, 20_000, 20_001)]
    assert authors(chronological, some) == [post(hours) for hours in (2, 9, 20_000, 20_001)]


def test_most_discussed_puts_talk_above_age():
    old, new = of_light(discussed, 20, 1, replies=40), of_light(discussed, 0.1, 2)
    assert authors(discussed, [new, old]) == [old.post_id, new.post_id]


def test_a_reply_counts_more_than_a_repost_and_that_more_than_a_like():
    assert engagement(Counts(replies=10)) > engagement(Counts(reposts=10))
    assert engagement(Counts(reposts=10)) > engagement(Counts(likes=10)) > engagement(Counts())


def test_whom_the_reader_reacts_to_comes_first_among_equals():
    stranger, friend = of_light(light, 1, 2), of_light(light, 1, 1, reactions=3)
    assert authors(light, [stranger, friend]) == [friend.post_id, stranger.post_id]


def test_nobody_fills_the_page():
    loud = [of_light(light, 1 + number / 100, 7, likes=9) for number in range(5)]
    other = of_light(light, 1, 9, likes=5)
    assert authors(light, [*loud, other]).index(other.post_id) < 3


def test_a_post_for_the_reader_stands_hours_higher_and_stays_there():
    friend, stranger = scored(post(10, 1), heavy, 1.0, 0.0, 0.0), scored(post(1, 2), heavy, 0, 0, 0)
    assert friend.score == 24
    assert authors(heavy, [stranger, friend]) == [friend.post_id, stranger.post_id]
    older = scored(post(26, 1), heavy, 1.0, 0.0, 0.0)
    assert authors(heavy, [stranger, older]) == [stranger.post_id, older.post_id]
    assert newer_by_score(friend) - newer_by_score(stranger) == pytest.approx(24 - 9)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)  # of a loaded machine
@given(
    st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(1, 4), *[st.floats(0, 1)] * 3),
        max_size=30,
        unique_by=lambda one: one[:2],
    ),
    st.sampled_from([varied, best_first]),
    st.sampled_from([by_score, newer_by_score]),
)
def test_every_candidate_is_there_once_and_best_first(drawn, selector, position):
    some = [scored(compose(NOON + at, by, 0), light, *values) for at, by, *values in drawn]
    found = selector(some, position)
    assert sorted(one.post_id for one in found) == sorted(one.post_id for one in some)
    positions = [position(one) for one in found]
    assert positions == sorted(positions, reverse=True)
    assert all(0 <= one.score <= 1.0001 for one in found)


def test_of_several_reposts_only_the_newest():
    source = post(9)
    some = [Scored(post(hours, 3), source, (Part(light.factors[0], 1, 1),)) for hours in (5, 2, 7)]
    assert authors(light, some) == [post(2, 3)]


@pytest.mark.parametrize("algorithm", [light, discussed, chronological])
def test_weights_add_up_to_1(algorithm):
    assert sum(factor.weight for factor in algorithm.factors) == pytest.approx(1)


def test_the_reason_is_what_adds_most():
    talked = of_light(light, 40, 1, replies=300)
    assert talked.main_part is not None
    assert talked.main_part.factor.name == "engagement"
    assert "reply" in talked.reason("alice")
    assert "@alice" in of_light(light, 90, 1, reactions=9).reason("alice")
    assert scored(post(1), heavy, 0, 0, 0).main_part is None
    assert "time" in scored(post(1), heavy, 0, 0, 0).reason("alice")


@pytest.mark.parametrize("algorithm", BUILT_IN)
def test_every_factor_has_words(algorithm):
    assert str(algorithm.label)
    assert str(algorithm.description)
    assert all(str(one.label) and str(one.reason) for one in algorithm.factors)
