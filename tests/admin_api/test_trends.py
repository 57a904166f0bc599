"""Trends for programs of staff: as visitors see them, and nobody reviews them."""

import pytest

from apps.engagement.actions import like_post
from apps.graph.actions import mute_user
from apps.moderation.actions import hide_post
from apps.search.trends import rank_posts
from apps.tags.trends import count_days
from tests.support.factories import publish
from tests.support.staff import make_staff

pytestmark = pytest.mark.django_db
TRENDS = "/api/v1/admin/trends"


@pytest.fixture
def liked(alice, bob):
    post = publish(alice, "Tea for all. #tea")
    like_post(bob, post.pk)
    rank_posts()
    count_days()
    return post


def test_trending_tags_and_posts(liked, program):
    (tag,) = program.get(f"{TRENDS}/tags").json()
    assert (tag["name"], tag["trendable"], tag["requires_review"]) == ("tea", True, False)
    (status,) = program.get(f"{TRENDS}/statuses").json()
    assert (status["id"], status["requires_review"]) == (str(liked.pk), False)
    assert program.get(f"{TRENDS}/tags?offset=1").json() == []
    assert program.get(f"{TRENDS}/statuses?limit=1&offset=1").json() == []
    assert program.get(f"{TRENDS}/statuses?offset=x").status_code == 400


def test_a_hidden_post_does_not_trend(liked, program):
    hide_post(liked.pk, by=make_staff(superuser=True))
    assert program.get(f"{TRENDS}/statuses").json() == []


def test_links_are_not_counted(program):
    assert program.get(f"{TRENDS}/links").json() == []
    assert program.get(f"{TRENDS}/links/publishers").json() == []


@pytest.mark.parametrize("kind", ["tags", "statuses", "links", "links/publishers"])
@pytest.mark.parametrize("act", ["approve", "reject"])
def test_reviews_are_refused(program, kind, act):
    answer = program.post(f"{TRENDS}/{kind}/1/{act}")
    assert (answer.status_code, answer.json()["code"]) == (422, "no_review")
    assert "not reviewed" in answer.json()["error"]


def test_posts_of_people_whom_the_moderator_has_muted_are_there(liked, alice, mod, program):
    mute_user(mod, alice)
    assert [one["id"] for one in program.get(f"{TRENDS}/statuses").json()] == [str(liked.pk)]
