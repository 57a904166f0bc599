"""Home without what was read, as its reader chooses; the ranked order and recommendations always."""

import pytest

from apps.accounts.queries import user_by_id
from apps.audit.comparison.pages import Sample, differences
from apps.audit.explain import assembly, explain
from apps.engagement.actions import like_post, mark_post_read
from apps.engagement.queries import recommended_earlier
from apps.graph.actions import follow_user, mute_user
from apps.pagination import Cursor
from apps.posts.models import Post
from apps.ranking.ordering import choose_algorithm, ranked_page
from apps.search.trends import rank_posts, recommended_posts
from apps.timeline.history.unread import get_activity
from apps.timeline.home import home_timeline
from apps.timeline.pipeline.reasons import Reason
from apps.timeline.pipeline.sampling import pop_samples
from tests.support.factories import deliver, delivered, make_user, publish, repost
from tests.support.faults import dead_redis
from tests.support.pages import EMPTY, ids

pytestmark = pytest.mark.django_db
HOME_API = "/api/v1/timelines/home"


@pytest.fixture
def posts(alice, bob):
    """Six posts on Bob's home page, of which he has read the second and the fourth; the newest first."""
    made = [publish(alice, f"post {number}") for number in range(6)][::-1]
    deliver()
    for post in (made[1], made[3]):
        mark_post_read(bob, post.pk)
    return [post.pk for post in made]


def unread(posts):
    return [posts[0], posts[2], posts[4], posts[5]]


def shown(answer):
    return [int(status["id"]) for status in answer.json()]


def test_home_shows_everything_until_its_reader_chooses_otherwise(bob, posts, page_of):
    browser = page_of(bob)
    assert 'aria-pressed="false"' in browser.get("/").text
    assert ids(home_timeline(bob, Cursor())) == posts
    assert [item.flags.read for item in home_timeline(bob, Cursor()).items][:4] == [0, 1, 0, 1]
    answer = browser.post("/home/read", {"hides_read": "on"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/")
    page = browser.get("/").text
    assert [f'id="p{post}"' in page for post in posts] == [True, False, True, False, True, True]
    assert ids(home_timeline(user_by_id(bob.pk), Cursor())) == unread(posts)
    browser.post("/home/read", {"hides_read": "off"})
    assert ids(home_timeline(user_by_id(bob.pk), Cursor())) == posts
    assert browser.post("/home/read", {"hides_read": "maybe"}).status_code == 400
    assert page_of(None).post("/home/read", {"hides_read": "on"}).status_code in {302, 303}


def test_the_choice_is_on_the_page_of_settings_too(bob, posts, page_of):
    browser = page_of(bob)
    browser.post("/settings/reading", {"density": "comfortable", "hides_read": "on"})
    assert user_by_id(bob.pk).hides_read
    browser.post("/settings/reading", {"density": "comfortable"})
    assert not user_by_id(bob.pk).hides_read


def test_pages_keep_their_size_and_a_walk_meets_everything_unread_once(bob, posts):
    first = home_timeline(bob, Cursor(limit=2), exclude_read=True)
    second = home_timeline(bob, Cursor(limit=2, max_id=first.older), exclude_read=True)
    assert (ids(first), ids(second), second.older) == (unread(posts)[:2], unread(posts)[2:], None)


def test_programs_say_it_by_a_parameter_else_as_chosen(bob, posts, api_of):
    client = api_of(bob)
    assert shown(client.get(HOME_API)) == posts
    assert shown(client.get(f"{HOME_API}?exclude_read=true")) == unread(posts)
    answer = client.get(f"{HOME_API}?exclude_read=true&limit=2")
    assert "exclude_read=true" in answer.headers["Link"]
    user = user_by_id(bob.pk)
    user.hides_read = True
    user.save(update_fields=["hides_read"])
    client = api_of(user)
    assert shown(client.get(HOME_API)) == unread(posts)
    assert shown(client.get(f"{HOME_API}?exclude_read=false")) == posts
    refused = client.get(f"{HOME_API}?exclude_read=perhaps")
    assert (refused.status_code, refused.json()["code"]) == (400, "bad_parameter")


def test_a_repost_of_what_was_read_is_left_out_and_ones_own_posts_never(alice, bob, carol):
    source, own = publish(make_user()), publish(bob)
    follow_user(bob, carol)
    repost(carol, source.pk)
    deliver()
    mark_post_read(bob, source.pk)
    mark_post_read(bob, own.pk)
    assert ids(home_timeline(bob, Cursor(), exclude_read=True)) == [own.pk]


def test_without_redis_nothing_counts_as_read(bob, posts):
    with dead_redis():
        assert ids(home_timeline(bob, Cursor(), exclude_read=True)) == posts


def test_the_page_says_that_all_is_read(alice, bob, page_of):
    post = delivered(alice)
    browser = page_of(bob)
    browser.get(f"/@alice/{post.pk}")
    browser.post("/home/read", {"hides_read": "on"})
    page = browser.get("/").text
    assert EMPTY in page
    assert "data-until-followed" not in page
    assert EMPTY in browser.get("/ranked").text


def test_the_auditor_compares_such_pages_too(bob, posts, settings):
    settings.AUDIT_SAMPLE_RATE = 1
    page = home_timeline(bob, Cursor(), exclude_read=True)
    [sample] = pop_samples(5)
    assert (sample["exclude_read"], differences(Sample(**sample))) == (True, [])
    an_hour_later = Post.objects.get(pk=posts[0]).created_at.timestamp() + 3600
    lacking = Sample.of_page(
        bob.pk, an_hour_later, Cursor(), page.with_items(page.items[1:]), exclude_read=True
    )
    assert [one.post_id for one in differences(lacking)] == [posts[0]]


def test_it_is_explained(bob, posts):
    bob.hides_read = True
    assert explain(bob, posts[1]).reason == Reason.READ
    assert explain(bob, posts[0]).on_home
    dropped = {row.item.id for row in assembly(bob, Cursor()).rows if not row.is_on_page}
    assert dropped == {posts[1], posts[3]}


def test_what_is_unread_leaves_out_what_was_read(bob, posts):
    bob.hides_read = True
    assert [item.id for item in get_activity(bob).items] == unread(posts)


@pytest.mark.parametrize("algorithm", ["light", "heavy"])
def test_a_new_order_leaves_out_what_was_read_and_a_frozen_one_stays(bob, posts, algorithm):
    choose_algorithm(bob, algorithm)
    first = ranked_page(bob, limit=2)
    rest = ranked_page(bob, session_id=first.session, after=first.after, limit=40)
    assert {*ids(first), *ids(rest)} == set(unread(posts))
    for post in posts:
        mark_post_read(bob, post)
    again = ranked_page(bob, session_id=first.session, after=first.after, limit=40)
    assert ids(again) == ids(rest)
    assert ids(ranked_page(bob, limit=40)) == []


@pytest.fixture
def popular(bob):
    """Five posts of strangers that somebody likes, the newest first."""
    made = [publish(make_user(), f"popular {number}") for number in range(5)]
    for post in made:
        like_post(make_user(), post.pk)
    rank_posts()
    return {post.pk for post in made}


def test_everything_is_recommended_once(bob, carol, popular, page_of, api_of):
    first = [item.id for item in recommended_posts(bob, limit=2)]
    assert len(first) == 2
    assert recommended_earlier(bob.pk, popular) == set(first)
    second = shown(api_of(bob).get("/api/x/recommended?limit=2"))
    assert len(second) == 2
    page = page_of(bob).get("/ranked").text
    third = {post for post in popular if f'id="p{post}"' in page}
    assert 'id="recommended"' in page
    assert (set(first) | set(second) | third, len(third)) == (popular, 1)
    assert shown(api_of(bob).get("/api/x/recommended")) == []
    assert len(recommended_posts(carol, limit=9)) == 5  # of another reader nothing is known


def test_what_is_known_or_unwanted_is_not_recommended(bob, popular):
    followed, read, liked, muted, new = sorted(popular)
    follow_user(bob, Post.objects.get(pk=followed).author)
    mark_post_read(bob, read)
    like_post(bob, liked)
    mute_user(bob, Post.objects.get(pk=muted).author)
    assert [item.id for item in recommended_posts(bob, limit=9)] == [new]


def test_without_redis_recommendations_are_only_not_remembered(bob, popular):
    with dead_redis():
        assert len(recommended_posts(bob, limit=9)) == 5
    assert len(recommended_posts(bob, limit=9)) == 5
