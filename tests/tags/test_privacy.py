"""A tag that no visible public post bears is not told from one that nobody ever wrote."""

import re

import pytest

from apps.graph.groups.actions import create_group
from apps.graph.models import Circle
from apps.moderation.actions import hide_post, restore_user, show_post
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.privacy.erasure import delete_account
from apps.search.indexing import index_posts
from apps.tags.models import TagDay
from apps.tags.trends import cached_trending_tags, count_days
from tests.support.factories import PASSWORD, moderator, publish, suspend

pytestmark = pytest.mark.django_db

SECRET, NEVER = "mergerxacme", "nobodyeverx"
ADDRESSES = [
    "/api/v2/search?q={}",
    "/api/v2/search?type=hashtags&q={}",
    "/search?q={}",
    "/search?type=hashtags&q={}",
    "/api/v1/tags/{}",
    "/api/v1/timelines/tag/{}",
    "/tags/{}",
    "/tags/{}.atom",
    "/tags/{}.rss",
    "/tags/{}.json",
]
LISTS = ["/api/v1/trends/tags", "/api/v1/trends", "/explore/tags", "/search", "/public"]

# of forms, scripts and feeds: another for each answer
_TOKEN = re.compile(r'[A-Za-z0-9]{64}|nonce="[^"]+"|<(updated|lastBuildDate)>.*?</\1>')


def answers(client, name):
    """What a client gets for a name, and for a part of it, with the name itself taken out."""
    found = []
    for address in ADDRESSES:
        for part in (name, name[:6]) if "search" in address else (name,):
            answer = client.get(address.format(part))
            text = _TOKEN.sub("", answer.content.decode())
            text = text.replace(name, "NAME").replace(part, "PART")
            found.append((address, answer.status_code, text))
    return found


def assert_unknown(*clients):
    """To programs and, at the addresses of pages, to browsers."""
    for client in clients:
        for got, expected in zip(answers(client, SECRET), answers(client, NEVER), strict=True):
            assert got == expected
        for address in LISTS:
            assert SECRET not in client.get(address).content.decode()


def shown_tags(client, text):
    return [one["name"] for one in client.get(f"/api/v2/search?type=hashtags&q={text}").json()["hashtags"]]  # fmt: skip


@pytest.mark.long
@pytest.mark.gate
def test_the_tags_of_restricted_posts_are_nobody_s_business(alice, bob, carol, api_of):
    circle = create_group(Circle, alice, name="Us").pk
    for visibility in ("mentioned", "followers", "circle", "unlisted"):
        more = {"circle_id": circle} if visibility == "circle" else {}
        publish(alice, f"@bob about #{SECRET}, keep quiet", visibility=visibility, **more)
    count_days()
    assert_unknown(api_of(None), api_of(carol))
    tag = api_of(None).get(f"/api/v1/tags/{SECRET}").json()
    assert (tag["id"], tag["history"][0]["uses"]) == (None, "0")


def test_who_follows_such_a_tag_learns_nothing_either(alice, carol, api_of):
    publish(alice, f"@bob #{SECRET}", visibility="mentioned")
    client = api_of(carol)
    for name in (SECRET, NEVER):
        tag = client.post(f"/api/v1/tags/{name}/follow").json()
        assert (tag["id"], tag["following"]) == (None, True)
    assert [
        (one["id"], one["following"]) for one in client.get("/api/v1/followed_tags").json()
    ] == [(None, True)] * 2
    assert shown_tags(client, SECRET) == []


@pytest.mark.slow
def test_the_tags_of_a_deleted_post_vanish_with_it(alice, bob, page_of, api_of):
    post = publish(alice, f"#{SECRET} #tea")
    publish(bob, "#tea")
    index_posts([post.pk])
    count_days()
    assert SECRET in [known.tag.name for known in cached_trending_tags()]
    assert shown_tags(api_of(None), SECRET[:5]) == [SECRET]
    for address in LISTS:
        assert SECRET in page_of(None).get(address).content.decode()
    delete_post(post.pk, by=alice)
    index_posts([post.pk])
    assert_unknown(api_of(None))
    assert [known.tag.name for known in cached_trending_tags()] == ["tea"]


@pytest.mark.slow
def test_a_tag_that_is_edited_away_vanishes(alice, page_of, api_of):
    post = publish(alice, f"#{SECRET}")
    count_days()
    assert SECRET in page_of(None).get("/public").content.decode()
    edit_post(alice, post.pk, body="nothing")
    index_posts([post.pk])
    assert SECRET not in [known.tag.name for known in cached_trending_tags()]
    assert_unknown(api_of(None))


@pytest.mark.long
@pytest.mark.gate
def test_the_tags_of_a_hidden_post_vanish_and_come_back(alice, bob, page_of, api_of):
    post = publish(alice, "#tea")
    quiet = publish(alice, "#quiet", visibility="unlisted")
    publish(bob, "#tea")
    edit_post(alice, post.pk, body=f"#{SECRET} #tea")
    count_days()
    assert SECRET in page_of(None).get("/public").content.decode()
    hide_post(post.pk, by=moderator())
    assert_unknown(api_of(None))
    assert [known.tag.name for known in cached_trending_tags()] == ["tea"]
    edit_post(alice, post.pk, body=f"#{SECRET} #tea #latelyadded")
    count_days()
    assert_unknown(api_of(None))
    assert shown_tags(api_of(None), "latelyadded") == []
    assert TagDay.objects.get(tag__name="tea").uses == 1
    for one in (quiet, post):
        hide_post(one.pk, by=moderator())
        show_post(one.pk, by=moderator())
    count_days()
    assert TagDay.objects.get(tag__name="tea").uses == 2
    assert shown_tags(api_of(None), SECRET) == [SECRET]
    assert shown_tags(api_of(None), "latelyadded") == ["latelyadded"]
    assert shown_tags(api_of(None), "quiet") == []


@pytest.mark.slow
def test_the_tags_of_a_suspended_author_vanish_and_come_back(alice, bob, page_of, api_of):
    publish(alice, f"#{SECRET} #tea")
    publish(bob, "#tea")
    count_days()
    assert shown_tags(api_of(None), SECRET) == [SECRET]
    assert SECRET in page_of(None).get("/public").content.decode()
    suspend(alice)
    assert_unknown(api_of(None))
    count_days()
    tea, gone = (TagDay.objects.get(tag__name=name) for name in ("tea", SECRET))
    assert ((tea.uses, tea.accounts), gone.uses) == ((1, 1), 0)
    restore_user(alice, by=moderator(), reason="A test.")
    count_days()
    assert shown_tags(api_of(None), SECRET) == [SECRET]
    assert SECRET in [known.tag.name for known in cached_trending_tags()]


@pytest.mark.long
def test_the_tags_of_a_deleted_account_vanish(alice, page_of, api_of):
    publish(alice, f"#{SECRET}")
    count_days()
    assert SECRET in page_of(None).get("/public").content.decode()
    delete_account(alice, password=PASSWORD)
    assert_unknown(api_of(None))


def test_what_is_public_is_found_as_before(alice, bob, api_of):
    publish(alice, "@bob #teatime", visibility="mentioned")
    publish(bob, "#Tea and #teapot")
    client = api_of(None)
    assert shown_tags(client, "tea") == ["tea", "teapot"]
    assert client.get("/api/v1/tags/tea").json()["id"] is not None
