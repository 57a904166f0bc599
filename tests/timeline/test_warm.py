"""A warm home page: no SQL, two round trips, three where it shares posts that are new to the process."""

from collections import Counter

import pytest

from apps.accounts.queries import user_by_id
from apps.engagement import rebuild
from apps.engagement.actions import bookmark_post, like_post
from apps.engagement.cache import BOOKMARKS, LIKES
from apps.engagement.tasks import maintain_filters
from apps.graph.actions import follow_user, mute_user
from apps.pagination import Cursor
from apps.posts.queries import ViewerContext
from apps.timeline.home import home_timeline
from apps.timeline.pipeline.hydrate import Links, _links, hydrate, hydrate_for
from feedcache.structures import bloom
from tests.support.factories import deliver, make_user, publish, repost
from tests.support.waiting import wait_until
from tests.support.waves import redis_commands, relayed

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("memcached")]


@pytest.fixture(params=[False, True], ids=["one-redis", "four-redis"])
def waves(request, settings):
    with relayed(settings, apart=request.param) as found:
        build_filters()
        yield found


def build_filters():
    """Nobody has to be asked about likes and bookmarks of whoever has none."""
    with pytest.MonkeyPatch.context() as patch:
        # no other transaction marks anything: those of tests beside this one are in other databases
        patch.setattr(rebuild, "_wait_for_older", lambda _barrier: True)
        wait_until(
            _built, lambda: f"{[rebuild.maintain(marks, seconds=1) for marks in rebuild.MODELS]}"
        )


def _built():
    maintain_filters()
    return all(bloom.read_state(marks.name).live for marks in (LIKES, BOOKMARKS))


def page(viewer):
    return home_timeline(viewer, Cursor()).items


def warmed(user):
    """A reader whose page has been read before."""
    deliver()
    viewer = user_by_id(user.pk)
    for _ in range(2):
        page(viewer)
    return viewer


def trips(waves, viewer, queries, django_assert_num_queries):
    """The servers asked in each round trip of a page, and the page."""
    with django_assert_num_queries(queries), waves.counted() as sent:
        items = page(viewer)
    return [Counter(name for name, _request in wave) for wave in sent], items


@pytest.mark.parametrize("number", [1, 3, pytest.param(20, marks=pytest.mark.long)])
def test_a_page_is_two_round_trips_and_no_sql(alice, bob, waves, number, django_assert_num_queries):
    for _ in range(number):
        publish(alice)
    found, items = trips(waves, warmed(bob), 0, django_assert_num_queries)
    assert len(items) == number
    assert len(found) == 2
    assert all(asked["MEMCACHED"] == 1 for asked in found)  # one multi-get of posts and authors
    assert all(number == 1 for number in found[1].values())  # one pipeline for each server


@pytest.mark.long
@pytest.mark.parametrize("is_new", [False, True])
@pytest.mark.parametrize("number", [1, 3, pytest.param(20, marks=pytest.mark.long)])
def test_what_posts_share_and_answer_is_one_round_trip_more_for_posts_that_are_new_to_the_process(
    alice, bob, carol, waves, number, is_new, django_assert_num_queries
):
    for count in range(number):
        source = publish(carol, f"Number {count}.", reply_to_id=publish(make_user()).pk)
        quote = publish(make_user(), "Look.", quote_of_id=source.pk)
        for post in (source, quote) if number < 20 else (quote,):
            repost(alice, post.pk)
    viewer = warmed(bob)
    if is_new:
        _links.clear()
    found, items = trips(waves, viewer, 0, django_assert_num_queries)
    assert len(items) == min(20, 2 * number)
    assert all(item.source for item in items)
    assert all(item.source.quoted or item.source.reply_to_handle for item in items)
    assert len(found) == 2 + is_new


def test_a_wrong_memory_of_what_a_post_shares_does_no_harm(alice, bob, carol):
    """A hint only: everything in it is checked like any other id, and what it lacks is asked for."""
    hidden = publish(carol, "Not for bob.", visibility="mentioned")
    answered = publish(carol)
    wrapper = repost(alice, publish(make_user(), reply_to_id=answered.pk).pk)
    viewer = warmed(bob)
    expected = page(viewer)
    _links[wrapper.pk] = Links({hidden.pk}, {hidden.pk})
    assert page(viewer) == expected
    assert [item.id for item in expected] == [wrapper.pk]
    assert expected[0].source.reply_to_handle == "carol"


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("is_shared", [False, True])
def test_a_page_of_the_api_is_eleven_commands_to_redis(alice, bob, carol, waves, api_of, is_shared):
    """A script is one; it reads both windows, all buckets of counts, all chunks of filters. Tests have no rate limit.

    Two are the revision check of who asks (docs/decisions/0116).
    """
    follow_user(bob, carol)
    elsewhere = publish(make_user()).pk  # from now on there are filters to look into
    like_post(bob, elsewhere)
    bookmark_post(bob, elsewhere)
    for count in range(4):
        post = publish(alice, f"Number {count}.")
        if is_shared:
            repost(carol, post.pk)
    deliver()
    client, address = api_of(bob), "/api/v1/timelines/home"
    for _warm in range(2):
        client.get(address)
    with waves.counted() as sent:
        statuses = client.get(address).json()
    assert len(statuses) == (8 if is_shared else 4)
    assert any(status["reblog"] for status in statuses) == is_shared
    names = redis_commands(sent)
    assert len(names) == 11, Counter(names)


@pytest.mark.long
@pytest.mark.gate
def test_whatever_was_liked_and_kept_is_confirmed_in_one_query(
    alice, bob, carol, waves, django_assert_num_queries
):
    for _ in range(3):
        post = publish(alice)
        like_post(bob, post.pk)
        bookmark_post(bob, publish(carol).pk)
        like_post(bob, repost(alice, publish(carol).pk).pk)
    found, items = trips(waves, warmed(bob), 1, django_assert_num_queries)
    assert sum(item.shown.flags.liked for item in items) == 6
    assert len(found) == 2


@pytest.mark.slow
def test_restricted_posts_are_decided_by_postgresql_in_a_fixed_number_of_queries(
    alice, bob, waves, django_assert_num_queries
):
    for _ in range(3):
        publish(alice)
        publish(alice, "For you.", visibility="followers")
    # rows, who is named, how they stand; contents
    _found, items = trips(waves, warmed(bob), 4, django_assert_num_queries)
    assert len(items) == 6


def test_a_viewers_reposts_are_marked_without_sql(alice, bob, waves, django_assert_num_queries):
    posts = [publish(alice) for _ in range(3)]
    repost(bob, posts[1].pk)
    _found, items = trips(waves, warmed(bob), 0, django_assert_num_queries)
    reposted = {item.shown.id for item in items if item.shown.flags.reposted}
    assert reposted == {posts[1].pk}


def test_the_caches_and_postgresql_make_the_same_page(alice, bob, carol):
    build_filters()
    posts = [publish(alice, f"Hello @bob, number {number}.") for number in range(3)]
    like_post(bob, posts[0].pk)
    ids = [post.pk for post in posts]
    ids += [repost(carol, posts[1].pk).pk, publish(carol, quote_of_id=posts[2].pk).pk]
    ids += [repost(alice, ids[-1]).pk, publish(bob, reply_to_id=posts[0].pk).pk]
    ids += [publish(alice, visibility="followers").pk, publish(alice, visibility="mentioned").pk]
    for viewer in (alice, bob, carol, None):
        viewer_id = viewer and viewer.pk
        exact = hydrate_for(ViewerContext(viewer_id), ids)
        for _ in range(2):
            assert hydrate(viewer_id, ids).items == exact.items


# the ten steps of source 000 by their names here; `skeleton` is all that finds the ids, `total` the request
STAGES = [
    "relations",
    "inbox",
    "windows",
    "merge",
    "content",
    "people",
    "rules",
    "flags",
    "counts",
    "present",
]


@pytest.mark.parametrize("address", ["/", "/api/v1/timelines/home"])
def test_each_of_the_ten_stages_leaves_its_mark_on_one_page_and_is_timed(
    alice, bob, carol, page_of, api_of, address
):
    build_filters()
    for one in (carol, muted := make_user()):
        follow_user(bob, one)
    secret = publish(alice, "Only for followers.", visibility="followers")  # by the inbox
    wrapper = repost(carol, publish(make_user("dora"), "Shared.").pk)  # a source and its author
    hidden = publish(muted, "Never shown.")
    open_ = publish(alice, "For all.")
    like_post(bob, open_.pk)
    mute_user(bob, muted)
    deliver()
    items = {item.id: item for item in page(user_by_id(bob.pk))}
    assert list(items) == sorted([open_.pk, wrapper.pk, secret.pk], reverse=True)
    assert hidden.pk not in items
    assert (items[open_.pk].flags.liked, items[open_.pk].counts.likes) == (True, 1)
    shown = items[wrapper.pk].shown
    assert (shown.author.handle, shown.post.body) == ("dora", "Shared.")
    client = api_of(bob) if address.startswith("/api") else page_of(bob)
    assert "Server-Timing" not in client.get(address).headers
    bob.is_staff = True
    bob.save(update_fields=["is_staff"])
    response = client.get(address)
    timed = dict(part.split(";dur=") for part in response["Server-Timing"].split(", "))
    assert set(timed) == {*STAGES, "candidates", "total"}
    assert all(0 <= float(timed[name]) <= float(timed["total"]) for name in STAGES)


def test_a_whole_request_asks_postgresql_who_asks_and_what_stands_around_the_posts(
    alice, bob, page_of, api_of, django_assert_num_queries
):
    build_filters()
    for _ in range(4):
        publish(alice)
    deliver()
    # who asks is cached, and so is whom to follow; the badge
    for client, address, queries in (
        (api_of(bob), "/api/v1/timelines/home", 0),
        (page_of(bob), "/", 1),
    ):
        for _ in range(3):
            client.get(address)
        with django_assert_num_queries(queries):
            assert client.get(address).status_code == 200
