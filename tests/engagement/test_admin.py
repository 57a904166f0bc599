"""Likes in the admin."""

import pytest
from django.contrib import admin

from apps.engagement.actions import like_post
from apps.engagement.models import Bookmark, Like
from apps.posts.models import PostCounts
from tests.support.factories import make_user, publish
from tests.support.staff import MAX_QUERIES, choose, confirm

pytestmark = pytest.mark.django_db
LIKES = "/admin/engagement/like/"


def test_list_in_few_queries(chief, alice, django_assert_max_num_queries):
    post = publish(alice)
    for _ in range(3):
        like_post(make_user(), post.pk)
    with django_assert_max_num_queries(MAX_QUERIES):
        text = chief.get(LIKES).content.decode()
    assert text.count(f">{post.pk}</a>") == 3


def test_search_by_account_and_post(chief, alice, carol):
    post = publish(alice)
    like_post(carol, post.pk)
    for query, there in {"carol": True, str(post.pk): True, "alice": False, "12": False}.items():
        assert (">@carol</a>" in chief.get(LIKES, {"q": query}).content.decode()) == there, query


def test_remove_takes_the_like_out_of_the_count(chief, alice, carol):
    post = publish(alice)
    like_post(carol, post.pk)
    assert "Remove 1 like?" in choose(chief, LIKES, "remove", Like.objects.all()).content.decode()
    confirm(chief, LIKES, "remove", Like.objects.all())
    assert not Like.objects.exists()
    assert PostCounts.objects.get(pk=post.pk).likes == 0


def test_bookmarks_are_nobody_elses_business():
    assert not admin.site.is_registered(Bookmark)
