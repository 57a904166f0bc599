"""Heavy rank: the second inbox, scored after delivery, and right without any of it."""

import json
from typing import Any

import pytest
from celery.signals import before_task_publish

from apps.engagement.actions import like_post
from apps.graph.actions import block_user, follow_user, mute_user, unfollow_user, unmute_user
from apps.graph.groups.actions import add_members, create_group, remove_members
from apps.graph.models import Circle
from apps.pagination import Cursor
from apps.posts.actions.publish import delete_post
from apps.ranking import ordering, rank_timeline, tasks
from apps.ranking.algorithms import run, select, weights_of
from apps.ranking.models import FactorWeight
from apps.ranking.ordering import choose_algorithm, newest_scores, ranked_page
from apps.ranking.scoring import heavy
from apps.tags.actions import follow_tag
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk
from feedcache.connections import RedisError, timelines
from tests.support.factories import deliver, delivered, make_user, publish, repost
from tests.support.pages import ids

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader(bob, carol):
    """Bob, who follows Alice and Carol and reads heavy rank."""
    follow_user(bob, carol)
    choose_algorithm(bob, "heavy")
    return bob


def by_position(reader):
    """Ids and positions, the highest first."""
    found: Any = timelines().zrevrange(f"rt:{{{reader.pk}}}", 0, -1, withscores=True)
    return [(int(member), position) for member, position in found]


def prepared(reader):
    return {post_id for post_id, _position in by_position(reader)}


def state(reader):
    return by_position(reader), timelines().hgetall(f"rt:{{{reader.pk}}}:why")


def deliver_and_score():
    """What workers do: also the tasks that deliveries enqueue, each twice."""
    deliver()
    for chunk_id in FanoutChunk.objects.values_list("pk", flat=True):
        tasks.score_delivered(chunk_id)
        tasks.score_delivered(chunk_id)


@pytest.mark.slow
def test_two_readers_the_same_posts_another_order(alice, carol, reader):
    dora = make_user("dora")
    for followee in (alice, carol):
        follow_user(dora, followee)
    choose_algorithm(dora, "heavy")
    for number in range(3):
        like_post(reader, publish(alice, f"liked {number}").pk)
        like_post(dora, publish(carol, f"liked {number}").pk)
    ranked_page(reader, limit=1)
    ranked_page(dora, limit=1)
    of_alice, of_carol = publish(alice), publish(carol)
    deliver_and_score()
    places = []
    for who in (reader, dora):
        found = dict(by_position(who))
        places.append((found[of_alice.pk], found[of_carol.pk]))
    assert places[0][0] > places[1][0]
    assert places[0][1] < places[1][1]
    of_both = {of_alice.pk, of_carol.pk}
    for who, first in ((reader, of_alice), (dora, of_carol)):
        assert next(pk for pk in ids(ranked_page(who, limit=40)) if pk in of_both) == first.pk


def test_what_is_delivered_is_scored_before_anybody_reads(alice, reader, monkeypatch):
    ranked_page(reader, limit=1)
    post = delivered(alice)
    assert post.pk not in prepared(reader)
    deliver_and_score()
    assert post.pk in prepared(reader)
    calls = []

    def score_nothing(_algorithm, _viewer, items, _weights):
        calls.append(items)
        return []

    monkeypatch.setattr(rank_timeline, "score", score_nothing)
    assert ids(ranked_page(reader, limit=1)) == [post.pk]
    assert calls == [[]]  # the page has nothing to score


def test_each_delivery_asks_for_it(alice, reader):
    ranked_page(reader, limit=1)
    sent = []
    before_task_publish.connect(
        on_sent := lambda sender, body, **_: sent.append((sender, body[0], _["routing_key"]))
    )
    try:
        publish(alice)
        publish(alice, "for some", visibility="followers")
        deliver()
    finally:
        before_task_publish.disconnect(on_sent)
    chunks = FanoutChunk.objects.values_list("pk", flat=True)
    name = "apps.ranking.tasks.score_delivered"
    assert sorted(args for task, args, _queue in sent if task == name) == sorted(
        (pk,) for pk in chunks
    )
    assert {queue for task, _args, queue in sent if task == name} == {"fanout_bulk"}


def test_where_nobody_has_a_rank_timeline_no_delivery_asks_for_it(alice, reader, monkeypatch):
    asked = []
    monkeypatch.setattr(rank_timeline, "enqueue", lambda *names, **_queue: asked.append(names[0]))
    home_timeline(reader, Cursor())
    delivered(alice)
    assert asked == []
    ranked_page(reader, limit=1)
    lives = [
        timelines().ttl(key) for key in (rank_timeline.SCORED, *rank_timeline.keys_of(reader.pk))
    ]
    assert max(lives) - min(lives) <= 1
    assert min(lives) > 0
    delivered(alice)
    assert asked == ["apps.ranking.tasks.score_delivered"]


def test_only_who_is_online_and_reads_it_is_scored(alice, bob, carol, reader):
    light_reader, away = make_user(), make_user()
    for who in (light_reader, away):
        follow_user(who, alice)
        home_timeline(who, Cursor())
    choose_algorithm(away, "heavy")
    publish(alice)
    deliver_and_score()
    assert timelines().keys("rt:*") == []
    ranked_page(reader, limit=1)
    ranked_page(light_reader, limit=1)
    publish(alice)
    deliver_and_score()
    keys = timelines().keys("rt:*")
    assert sorted(map(str, keys)) == sorted(
        str(key.encode()) for key in rank_timeline.keys_of(reader.pk)
    )
    choose_algorithm(reader, "light")
    assert timelines().keys("rt:*") == []


def test_scoring_twice_leaves_what_scoring_once_leaves(alice, carol, reader):
    ranked_page(reader, limit=1)
    for author in (alice, carol):
        publish(author)
    deliver()
    for chunk_id in FanoutChunk.objects.values_list("pk", flat=True):
        tasks.score_delivered(chunk_id)
    once = state(reader)
    deliver_and_score()
    assert state(reader) == once
    assert len(once[0]) == 2


@pytest.mark.long
def test_it_is_what_scoring_everything_now_gives(alice, carol, reader):
    """Scored in pieces after deliveries, or at once when it was lost."""
    follow_tag(reader, "tea")
    for number in range(3):
        ranked_page(reader, limit=1)
        publish(alice, f"{number} #tea")
        shared = publish(carol, f"{number}")
        repost(alice, shared.pk)
        deliver_and_score()
    pieces = ranked_page(reader, limit=40)
    at_once, _items = run(heavy, reader, weights_of(heavy))
    assert ids(pieces) == [scored.post_id for scored in at_once]
    timelines().flushdb()
    again = ranked_page(reader, limit=40)
    assert ids(again) == ids(pieces)
    assert [entry.scored for entry in again.entries] == [entry.scored for entry in pieces.entries]


@pytest.mark.long
@pytest.mark.parametrize(
    "loss",
    [
        lambda client, keys: client.flushdb(),
        lambda client, keys: client.delete(keys[0]),
        lambda client, keys: client.delete(keys[1]),
        lambda client, keys: client.zremrangebyrank(keys[0], 0, 1),
        lambda client, keys: client.hdel(keys[1], *client.hkeys(keys[1])[:2]),
        lambda client, keys: client.set(keys[0], "garbage"),
        lambda client, keys: client.hset(keys[1], client.zrange(keys[0], 0, 0)[0], "garbage"),
        lambda client, keys: client.hset(keys[1], client.zrange(keys[0], 0, 0)[0], "[1]"),
    ],
    ids=[
        "everything",
        "positions",
        "explanations",
        "some positions",
        "some explanations",
        "another type",
        "no JSON",
        "other values",
    ],
)
def test_whatever_is_lost_the_order_is_the_same(alice, carol, reader, loss):
    for number in range(4):
        publish(alice, f"post {number}")
        publish(carol, f"post {number}")
    deliver()
    before, whole = ids(ranked_page(reader, limit=40)), state(reader)
    assert len(before) == 8
    loss(timelines(), rank_timeline.keys_of(reader.pk))
    assert ids(ranked_page(reader, limit=40)) == before
    assert state(reader) == whole


def test_without_redis_the_page_is_there(alice, reader, monkeypatch):
    posts = [publish(alice, f"post {number}") for number in range(3)]
    deliver()

    def fail():
        raise RedisError("away")

    monkeypatch.setattr(rank_timeline, "_pipeline", fail)
    assert set(ids(ranked_page(reader, limit=9))) == {post.pk for post in posts}


def test_values_of_other_factors_are_inconsistent(alice, reader):
    publish(alice)
    deliver()
    ranked_page(reader, limit=1)
    assert rank_timeline.is_consistent(reader.pk) is True
    _key, reasons = rank_timeline.keys_of(reader.pk)
    timelines().hset(reasons, rank_timeline.VERSION, '["heavy", {}]')
    assert rank_timeline.is_consistent(reader.pk) is False


@pytest.mark.slow
def test_it_is_bounded(alice, reader, settings):
    settings.RANK_CANDIDATES, settings.RANK_ITEMS_PER_RUN = 5, 2
    ranked_page(reader, limit=1)
    posts = [publish(alice, f"post {number}").pk for number in range(9)]
    deliver()
    chunk_id = FanoutChunk.objects.latest("pk").pk
    tasks.score_delivered(chunk_id)
    assert prepared(reader) == set(posts[-2:])
    settings.RANK_ITEMS_PER_RUN = 9
    tasks.score_delivered(chunk_id)
    assert prepared(reader) == set(posts[-5:])
    timelines().delete(*rank_timeline.keys_of(reader.pk))
    page = ranked_page(reader, limit=9)
    assert set(ids(page)) == prepared(reader) == set(posts[-5:])
    fields = timelines().hkeys(f"rt:{{{reader.pk}}}:why")
    assert len(fields) == 6  # and the version
    later = publish(alice).pk
    deliver_and_score()
    assert prepared(reader) == {later, *posts[-4:]}
    ranked_page(reader, limit=1)
    assert len(timelines().hkeys(f"rt:{{{reader.pk}}}:why")) == 6
    for key in rank_timeline.keys_of(reader.pk):
        assert 0 < timelines().ttl(key) <= settings.RANK_TIMELINE_SECONDS


@pytest.mark.slow
def test_many_readers_are_several_tasks(alice, reader, settings, monkeypatch):
    settings.RANK_READERS_PER_TASK = 2
    readers = [reader, *(make_user() for _ in range(4))]
    for who in readers[1:]:
        follow_user(who, alice)
        choose_algorithm(who, "heavy")
    for who in readers:
        ranked_page(who, limit=1)
    post = delivered(alice)
    asked = []
    monkeypatch.setattr(rank_timeline, "enqueue", lambda _name, *args: asked.append(args))
    chunk_id, done = FanoutChunk.objects.get().pk, []
    asked.append((chunk_id, 0))
    while asked:
        tasks.score_delivered(*asked.pop())
        done.append(sum(post.pk in prepared(who) for who in readers))
    assert done == [2, 4, 5]


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("act", ["delete", "mute", "block", "unfollow"])
def test_what_may_not_be_seen_any_more_is_left_out_at_the_next_read(alice, carol, reader, act):
    posts = [publish(author, f"{n}") for n in range(3) for author in (alice, carol)]
    deliver_and_score()
    page = ranked_page(reader, limit=1)
    shown = page.items[0].author
    other = carol if shown == alice else alice
    hidden = {post.pk for post in posts if post.author == other}
    before = prepared(reader)
    assert hidden < before
    if act == "delete":
        for post_id in hidden:
            delete_post(post_id, by=other)
    else:
        {"mute": mute_user, "block": block_user, "unfollow": unfollow_user}[act](reader, other)
    assert prepared(reader) == before  # the cache knows nothing of it
    later = ranked_page(reader, session_id=page.session, after=page.after, limit=40)
    assert not hidden & set(ids(later))
    assert not hidden & set(ids(ranked_page(reader, limit=40)))


@pytest.mark.slow
def test_the_cache_lets_nobody_see_a_restricted_post(alice, bob, carol, reader):
    """Left in the rank timeline, and even written into that of a stranger."""
    circle = create_group(Circle, alice, name="Ours")
    add_members(Circle, alice, circle.pk, [reader.pk])
    secret = publish(alice, "for some", visibility="circle", circle_id=circle.pk)
    deliver_and_score()
    assert ids(ranked_page(reader, limit=9)) == [secret.pk]
    assert secret.pk in prepared(reader)
    stranger = make_user()
    follow_user(stranger, alice)
    choose_algorithm(stranger, "heavy")
    ranked_page(stranger, limit=9)
    kept: Any = timelines().hgetall(f"rt:{{{reader.pk}}}:why")
    timelines().hset(f"rt:{{{stranger.pk}}}:why", mapping=kept)
    timelines().zadd(f"rt:{{{stranger.pk}}}", {str(secret.pk): 1e9})
    assert ids(ranked_page(stranger, limit=9)) == []
    remove_members(Circle, alice, circle.pk, [reader.pk])
    assert ids(ranked_page(reader, limit=9)) == []


@pytest.mark.slow
def test_pages_keep_their_order_while_new_posts_are_scored(alice, carol, reader):
    posts = {publish(author, f"{n}").pk for n in range(4) for author in (alice, carol)}
    deliver_and_score()
    page = ranked_page(reader, limit=3)
    read = ids(page)
    while page.after is not None:
        like_post(reader, publish(alice, "news").pk)
        deliver_and_score()
        timelines().flushdb()
        page = ranked_page(reader, session_id=page.session, after=page.after, limit=3)
        read += ids(page)
    assert (len(read), set(read)) == (len(posts), posts)


def test_another_weight_scores_anew(alice, reader):
    like_post(reader, publish(alice).pk)
    deliver_and_score()
    before = ranked_page(reader, limit=1).entries[0].scored
    FactorWeight.objects.create(name="heavy.affinity", weight=100)
    after = ranked_page(reader, limit=1).entries[0].scored
    assert after.score > before.score > 0
    version = timelines().hget(f"rt:{{{reader.pk}}}:why", "version")
    assert json.loads(version or b"")[1]["affinity"] == 100


def test_a_post_that_comes_back_is_scored(alice, reader):
    post = publish(alice)
    mute_user(reader, alice)
    deliver_and_score()
    assert ids(ranked_page(reader, limit=9)) == []
    unmute_user(reader, alice)
    assert ids(ranked_page(reader, limit=9)) == [post.pk]


def test_a_post_is_there_although_its_repost_is_hidden(alice, carol, reader):
    post = publish(alice)
    shared = repost(carol, post.pk)
    deliver_and_score()
    assert ids(ranked_page(reader, limit=9)) == [shared.pk]
    mute_user(reader, carol)
    assert ids(ranked_page(reader, limit=9)) == [post.pk]


def test_the_explanation_says_why(alice, reader):
    follow_tag(reader, "tea")
    like_post(reader, publish(alice, "first").pk)
    post = publish(alice, "#tea")
    deliver_and_score()
    ranked_page(reader, limit=1)
    scored = newest_scores(reader)[post.pk]
    assert {part.factor.name: part.adds > 0 for part in scored.parts} == {
        "affinity": True,
        "topics": True,
        "engagement": False,
    }
    assert scored.score == pytest.approx(sum(part.adds for part in scored.parts))
    assert select(heavy, [scored]) == [scored]
    assert ordering.algorithm_of(reader) is heavy
