"""The judge of pages: told of a leak, a hole, a repetition or a step back, it says which invariant that is."""

import pytest

from feedcache.ids import EPOCH
from tools.drill.facts import Facts
from tools.drill.history import FAIL, OK, Operation
from tools.drill.pages import Pages
from tools.drill.verdict import INVARIANTS, Verdicts
from tools.drill.world import World

ANN, BOB, CARL = 1, 2, 3
SINCE = EPOCH + 100.0  # the small ids here are of the first second there is


def post(post_id, author, *, visibility="public", kind="text", source=None):
    row = {"id": post_id, "author_id": author, "visibility": visibility, "kind": kind}
    return row | {"source_id": source, "circle_id": None}


POSTS = {one["id"]: one for one in (post(10, BOB), post(20, BOB), post(30, BOB), post(40, ANN),
                                    post(50, CARL), post(60, BOB, visibility="followers"))}  # fmt: skip
SETTLED = dict.fromkeys(POSTS, 100.0)


def page(
    ids, *, name="home", begin=200, status=200, following=None, viewer=ANN, outcome=OK, **args
):
    found = {"ids": ids, "degraded": False, "next": following}
    return Operation(1, viewer, name, begin, args, begin + 1, outcome, status, found)


def published():
    return [
        Operation(0, row["author_id"], "publish", 90, {}, 91, OK, 200, one)
        for one, row in POSTS.items()
    ]


def done(name, begin, *, actor=ANN, **args):
    return Operation(0, actor, name, begin, args, begin + 1, OK, 200, None)


def judged(*operations, settled=SETTLED, posts=POSTS):
    """The invariants that are violated."""
    verdicts = verdicts_of(*operations, settled=settled, posts=posts)
    return {name for name in INVARIANTS if verdicts[name].violations}


def verdicts_of(*operations, settled=SETTLED, away=(), posts=POSTS):
    history = [*published(), *operations]
    verdicts = Verdicts()
    facts = Facts(history, World([], [], [], {(ANN, BOB)}))
    Pages(facts, posts, settled, verdicts, away=away).judge(history)
    return verdicts


WHOLE = [60, 40, 30, 20, 10]


def test_a_right_page_is_right():
    assert judged(page(WHOLE)) == set()
    assert judged(page([60, 40, 30], following=30)) == set()
    assert judged(page([20, 10], max_id=30)) == set()


@pytest.mark.parametrize("missing", [60, 30, 20, 10])
def test_a_hole_is_a_half_built_page(missing):
    assert judged(page([one for one in WHOLE if one != missing])) == {"I7"}


@pytest.mark.parametrize(("name", "violated"), [("home_html", set()), ("home", {"I7"})])
def test_a_repost_may_be_on_the_card_of_a_newer_one_where_pages_group_them(name, violated):
    posts = POSTS | {70: post(70, BOB, kind="repost", source=50)}
    posts |= {80: post(80, ANN, kind="repost", source=50)}
    settled = dict.fromkeys(posts, 100.0)
    assert judged(page([80, *WHOLE], name=name), settled=settled, posts=posts) == violated
    assert judged(page([70, *WHOLE], name=name), settled=settled, posts=posts) == {"I7"}


def test_what_was_not_delivered_yet_may_be_missing():
    late = {**SETTLED, 60: 500.0}
    assert judged(page([40, 30, 20, 10]), settled=late) == set()


def test_an_author_misses_nothing_of_their_own_from_the_acknowledgement_on():
    late = {**SETTLED, 40: 500.0}
    assert judged(page([60, 30, 20, 10]), settled=late) == {"I12"}


def test_what_redis_was_away_for_is_counted_apart():
    """A known gap: the windows get such a post with its delivery, and until then the page lacks it."""
    late = {**SETTLED, 40: 500.0}
    found = verdicts_of(page([60, 30, 20, 10]), settled=late, away=[(150, SINCE)])["I12"]
    assert (found.violations, found.excused) == (0, 1)
    found = verdicts_of(page([60, 30, 20, 10]), settled=late, away=[(300, SINCE)])["I12"]
    assert (found.violations, found.excused) == (1, 0)
    found = verdicts_of(page([60, 40, 20, 10]), away=[(150, SINCE)])["I7"]
    assert (found.violations, found.excused) == (1, 0)


def test_the_page_of_a_tag_has_what_its_reader_published():
    """A replica that is behind must not be read for them."""
    tagged = Operation(0, ANN, "publish", 90, {"tag": "drill"}, 91, OK, 200, 40)
    assert judged(tagged, page([60, 40, 30], name="tag")) == set()
    assert judged(tagged, page([60, 30], name="tag", begin=90)) == set()  # meanwhile
    assert judged(tagged, page([60], name="tag", following=60)) == set()  # further down
    assert judged(tagged, page([60, 30], name="tag")) == {"I12"}
    for verb in ("edit", "delete"):
        assert judged(tagged, done(verb, 150, post=40), page([60, 30], name="tag")) == set()
    found = verdicts_of(tagged, page([60, 30], name="tag"), away=[(150, SINCE)])["I12"]
    assert (found.violations, found.excused) == (0, 1)
    assert judged(page([99], name="tag")) == {"I2"}


def test_nobody_goes_back_in_time():
    late = {**SETTLED, 60: 500.0}
    assert judged(page(WHOLE), page([40, 30, 20, 10], begin=210), settled=late) == {"I12"}


def test_a_page_of_a_walk_that_lacks_something_is_an_omission():
    first, second = (
        page([60, 40], following=40, walk=9),
        page([20, 10], begin=202, walk=9, max_id=40),
    )
    assert judged(first, second) == {"I3"}


def test_a_walk_that_gives_something_twice_is_noticed():
    first, second = page([60, 40], following=40, walk=9), page([40, 30, 20, 10], begin=202, walk=9)
    assert "I3" in judged(first, second)


def test_what_was_deleted_is_not_shown_and_not_missed():
    delete = done("delete", 150, actor=BOB, post=20)
    assert judged(delete, page(WHOLE)) == {"I9"}
    assert judged(delete, page([60, 40, 30, 10])) == set()
    assert judged(delete, page([], name="show", post=20)) == set()
    assert judged(delete, page([20], name="show", post=20)) == {"I9"}


@pytest.mark.parametrize("verb", ["block", "unfollow", "mute"])
def test_relations_act_on_the_next_page(verb):
    relation = done(verb, 150, other=BOB)
    assert "I10" in judged(relation, page(WHOLE))
    assert judged(relation, page([40])) == set()


def test_a_restricted_post_is_for_followers():
    assert judged(page([60], name="profile", other=BOB)) == set()
    assert judged(page([60], name="profile", other=BOB, viewer=CARL)) == {"I2"}
    assert judged(page([99], name="public")) == {"I2"}


def test_a_home_page_that_fails_is_a_violation_and_a_busy_profile_is_not():
    assert judged(page(None, status=503, outcome=FAIL)) == {"I5"}
    assert judged(page(None, name="home_html", status=500, outcome=FAIL)) == {"I5"}
    assert judged(page(None, name="profile", status=503, outcome=FAIL, other=BOB)) == set()
    assert judged(page(None, name="profile", status=500, outcome=FAIL, other=BOB)) == {"I5"}


@pytest.mark.parametrize(
    ("end", "use", "violated"),
    [
        (done("end_token", 210, token=1), done("use_token", 212, token=1), True),
        (done("end_token", 210, token=1), done("use_token", 210.5, token=1), False),  # meanwhile
        (done("end_token", 210, token=1), done("use_token", 212, token=2), False),
        (
            Operation(0, ANN, "end_token", 210, {"token": 1}, 211, FAIL, 429, None),
            done("use_token", 212, token=1),
            False,
        ),
        (
            done("end_token", 210, token=1),
            Operation(0, ANN, "use_token", 212, {"token": 1}, 213, FAIL, 401, None),
            False,
        ),
    ],
)
def test_an_ended_token_must_not_work(end, use, violated):
    assert ("I23" in judged(end, use)) is violated
