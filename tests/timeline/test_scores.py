"""Why a window's order is that of its members and not of scores made from times (sources 001;
datastructures of ours).
"""

from apps.timeline.sources.home_cache import HOME
from feedcache.connections import timelines
from feedcache.ids import compose, second_of

SECOND = 1_666_850_112


def scored(second, post_id):
    """The article's trick: the id as the decimals of the time."""
    return float(f"{second}.{post_id}")


def test_the_articles_fractional_scores_collide_and_misorder():
    assert scored(SECOND, 1) == scored(SECOND, 10)
    assert scored(SECOND, 11) == scored(SECOND, 110)
    assert scored(SECOND, 9) > scored(SECOND, 10)
    assert len({scored(SECOND, 7_000_000 + n) for n in range(20)}) < 20
    assert float(compose(SECOND, 5, 1)) == float(
        compose(SECOND, 5, 2)
    )  # the id itself is no score either


def test_five_hundred_posts_of_one_second_keep_the_order_of_their_ids():
    ids = [compose(SECOND, author, n) for author in range(1, 101) for n in range(5)]
    token = HOME.begin(1)
    assert token is not None
    assert HOME.swap(1, token, sorted(ids, reverse=True)[250:], complete=True)
    HOME.push([1], ids)
    found = HOME.ids(1)
    assert found == sorted(ids, reverse=True)
    assert {second_of(one) for one in found} == {SECOND}
    key = next(timelines().scan_iter("home:*"))
    members = timelines().lrange(key, 0, -1)
    assert members == sorted(set(members)), "no repeat; the time is in the id"
