"""Mastodon.py, unmodified: lists, tags, filters, search and trends as a program uses them."""

import pytest
from mastodon import MastodonNotFoundError

from apps.engagement.actions import like_post
from apps.search.indexing import index_new_people
from apps.search.trends import rank_posts
from apps.tags.trends import count_days
from tests.flows.clients import mastodon
from tests.support.factories import deliver, delivered, publish

pytestmark = pytest.mark.flows


def ids(statuses):
    return [int(status.id) for status in statuses]


def test_lists(served, alice, bob):
    program = mastodon(bob, served)
    tea = program.list_create("Tea", replies_policy="none", exclusive=True)
    assert (tea.title, tea.replies_policy, tea.exclusive) == ("Tea", "none", True)
    program.list_accounts_add(tea, [alice.pk])
    assert [one.acct for one in program.list_accounts(tea)] == ["alice"]
    assert [one.id for one in program.account_lists(alice.pk)] == [tea.id]
    posts = [publish(alice, f"number {number}").pk for number in range(25)][::-1]
    deliver()
    page = program.timeline_list(tea, limit=10)
    assert ids(program.fetch_remaining(page)) == posts
    assert program.timeline_home() == []
    assert program.list_update(tea, "Green", exclusive=False).title == "Green"
    assert len(program.timeline_home()) == 20
    program.list_accounts_delete(tea, [alice.pk])
    assert program.list_accounts(tea) == []
    program.list_delete(tea)
    with pytest.raises(MastodonNotFoundError):
        program.list(tea)


def test_tags(served, alice, carol):
    program = mastodon(carol, served)
    post = publish(alice, "A cup of #Tea")
    count_days()
    assert ids(program.timeline_hashtag("tea")) == [post.pk]
    assert program.timeline_home() == []
    assert program.tag_follow("tea").following is True
    assert [tag.name for tag in program.followed_tags()] == ["tea"]
    assert ids(program.timeline_home()) == [post.pk]
    assert program.tag_unfollow("tea").following is False
    assert program.tag("tea").history[0].uses in (1, "1")
    assert [tag.name for tag in program.trending_tags()] == ["tea"]
    assert program.featured_tags() == []


def test_filters(served, alice, bob):
    program = mastodon(bob, served)
    post = delivered(alice, "A cup of tea, 喝茶")
    made = program.create_filter_v2(
        "Quiet", ["home"], "warn", keywords_attributes=[{"keyword": "喝茶", "whole_word": True}]
    )
    [status] = program.timeline_home()
    assert status.filtered[0].keyword_matches == ["喝茶"]
    program.update_filter_v2(made.id, filter_action="hide")
    assert program.timeline_home() == []
    word = program.add_filter_keyword_v2(made.id, "coffee", whole_word=False)
    assert [one.keyword for one in program.filter_keywords_v2(made.id)] == ["喝茶", "coffee"]
    program.delete_filter_keyword_v2(word.id)
    named = program.add_filter_status_v2(made.id, post.pk)
    assert [one.id for one in program.filter_statuses_v2(made.id)] == [named.id]
    program.delete_filter_v2(made.id)
    assert program.filters_v2() == []
    assert ids(program.timeline_home()) == [post.pk]


def test_search_trends_and_suggestions(served, alice, bob, carol):
    program = mastodon(carol, served)
    post = publish(alice, "A cup of #tea, 喝茶")
    like_post(bob, post.pk)
    deliver()
    index_new_people()
    rank_posts()
    found = program.search("喝茶")
    assert ids(found.statuses) == [post.pk]
    assert program.search("tea", result_type="hashtags").hashtags[0].name == "tea"
    assert [one.acct for one in program.account_search("ali")] == ["alice"]
    assert ids(program.trending_statuses()) == [post.pk]
    assert program.trending_links() == []
    assert [one.acct for one in program.suggestions()] == ["alice"]
    program.suggestion_delete(alice.pk)
    assert program.suggestions() == []
