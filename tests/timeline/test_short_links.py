"""Short addresses of posts: the id in the article's base-36 form (source 004) leads to the page."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.graph.actions import block_user
from apps.posts.actions.publish import delete_post
from feedcache.ids import LAST_SECOND, MAX_AUTHOR_ID, compose, to_base36
from tests.support.factories import deliver, delivered, publish, repost

pytestmark = pytest.mark.django_db


def short(post):
    return f"/p/{to_base36(post.pk)}"


def test_it_leads_to_the_post(alice, bob, page_of):
    post = publish(alice)
    shared = repost(bob, post.pk)
    deliver()
    for asked, found in ((post, f"/@alice/{post.pk}"), (shared, f"/@bob/{shared.pk}")):
        answer = page_of(None).get(short(asked))
        assert (answer.status_code, answer.headers["Location"]) == (302, found)


def test_card_and_program_name_it(alice, bob, page_of, api_of):
    post = delivered(alice)
    assert f'<a href="{short(post)}" data-copy>' in page_of(bob).get(f"/@alice/{post.pk}").text
    found = api_of(bob).get(f"/api/v1/statuses/{post.pk}").json()
    assert found["feedsite"]["short_url"] == f"http://testserver{short(post)}"


def test_what_one_may_not_see_is_like_what_is_not_there(alice, bob, carol, page_of):
    posts = [publish(alice, visibility="followers"), publish(alice), publish(alice)]
    delete_post(posts[1].pk, by=alice)
    block_user(alice, carol)
    absent = f"/p/{to_base36(compose(LAST_SECOND, MAX_AUTHOR_ID, 15))}"
    for path in (*map(short, posts), absent):
        answer = page_of(carol).get(path)
        assert answer.status_code == 404, path
        assert "alice" not in answer.text
    assert page_of(bob).get(short(posts[0])).status_code == 302


@pytest.mark.parametrize(
    "text", ["0" * 14, "Z" * 14, "0" * 13, "A" * 15, "abcdefghijklmn", "/../login"]
)
def test_nonsense_is_not_found(client, text):
    assert client.get(f"/p/{text}").status_code == 404


@settings(suppress_health_check=list(HealthCheck))
@given(st.text(st.sampled_from("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"), min_size=14, max_size=14))
def test_no_text_of_fourteen_is_an_error(client, text):
    assert client.get(f"/p/{text}").status_code == 404
