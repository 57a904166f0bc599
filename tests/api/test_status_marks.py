"""Pins, muted threads, versions, and who did what with a post."""

import re

import pytest

from apps.api.entities.status import StatusEditJson, StatusSourceJson
from apps.engagement.actions import like_post
from apps.graph.actions import block_user, mute_user
from apps.posts.actions.edit import edit_post
from tests.support.factories import make_user, publish, repost, suspend
from tests.support.pages import answered_ids as ids

pytestmark = pytest.mark.django_db

STATUSES = "/api/v1/statuses"


def linked(answer, rel):
    return {
        name: url for url, name in re.findall(r'<([^>]*)>; rel="(\w+)"', answer.headers["Link"])
    }[rel]


def test_the_history_and_the_source_have_their_fields(alice, bob, api_of):
    post = publish(alice, "One", content_warning="cw")
    edit_post(alice, post.pk, body="Two", sensitive=True)
    shared = repost(bob, post.pk)
    for number in (post.pk, shared.pk):
        history = api_of(None).get(f"{STATUSES}/{number}/history").json()
        assert [one["content"] for one in history] == ["<p>One</p>", "<p>Two</p>"]
        assert [set(one) for one in history] == [StatusEditJson.__required_keys__] * 2
    source = api_of(alice).get(f"{STATUSES}/{post.pk}/source").json()
    assert set(source) == StatusSourceJson.__required_keys__
    assert (source["text"], source["spoiler_text"]) == ("Two", "cw")


def test_sensitive_is_a_flag_of_its_own(alice, api_of):
    api = api_of(alice)
    made = api.post(STATUSES, {"status": "hello", "sensitive": "1"}).json()
    assert (made["sensitive"], made["spoiler_text"]) == (True, "")
    edited = api.put(f"{STATUSES}/{made['id']}", {"status": "hello", "sensitive": "0"}).json()
    assert edited["sensitive"] is False


def test_several_posts_come_in_the_order_asked_without_those_one_may_not_see(
    alice, bob, carol, api_of
):
    first, second = publish(alice).pk, publish(alice).pk
    hidden = publish(alice, visibility="followers").pk
    query = f"{STATUSES}?id[]={second}&id[]={hidden}&id[]=5&id[]={first}"
    assert ids(api_of(carol).get(query)) == [second, first]
    assert ids(api_of(bob).get(query)) == [second, hidden, first]
    assert ids(api_of(None).get(f"{STATUSES}?id={first}")) == [first]
    assert ids(api_of(None).get(STATUSES)) == []
    assert api_of(None).get(f"{STATUSES}?id[]=x").status_code == 400
    many = "&".join(f"id[]={number}" for number in range(1, 190))
    assert ids(api_of(None).get(f"{STATUSES}?{many}")) == []


def test_pinned_posts_are_listed_the_last_pinned_first(alice, bob, api_of):
    api, path = api_of(alice), f"/api/v1/accounts/{alice.pk}/statuses?pinned=true"
    old, young, rest = (
        publish(alice, visibility="followers").pk,
        publish(alice).pk,
        publish(alice).pk,
    )
    assert api.post(f"{STATUSES}/{young}/pin").json()["pinned"] is True
    assert api.post(f"{STATUSES}/{old}/pin").json()["pinned"] is True
    assert ids(api.get(path)) == ids(api_of(bob).get(path)) == [old, young]
    assert ids(api_of(None).get(path)) == [young]
    assert api_of(bob).get(f"{STATUSES}/{young}").json()["pinned"] is False  # not the viewer's pin
    assert api.post(f"{STATUSES}/{old}/unpin").json()["pinned"] is False
    assert ids(api.get(path)) == [young]
    assert api_of(bob).post(f"{STATUSES}/{rest}/pin").status_code == 404


def test_a_muted_thread_is_marked_on_every_page(alice, bob, api_of):
    api = api_of(bob)
    root, other = publish(alice), publish(alice)
    answer = publish(alice, reply_to_id=root.pk)
    assert api.post(f"{STATUSES}/{answer.pk}/mute").json()["muted"] is True
    home = {int(one["id"]): one["muted"] for one in api.get("/api/v1/timelines/home").json()}
    assert home == {root.pk: True, answer.pk: True, other.pk: False}
    assert api_of(alice).get(f"{STATUSES}/{root.pk}").json()["muted"] is False
    assert api.post(f"{STATUSES}/{root.pk}/unmute").json()["muted"] is False
    assert api.get(f"{STATUSES}/{answer.pk}").json()["muted"] is False


@pytest.mark.slow
def test_who_likes_and_who_reposted(alice, bob, carol, api_of):
    post, enemy, gone = publish(alice), make_user(), make_user()
    for user in (bob, carol, enemy, gone):
        like_post(user, post.pk)
        repost(user, post.pk)
    block_user(enemy, bob)
    suspend(gone)
    mute_user(alice, carol)
    for list_name in ("favourited_by", "reblogged_by"):
        path = f"{STATUSES}/{post.pk}/{list_name}"
        assert ids(api_of(None).get(path)) == [enemy.pk, carol.pk, bob.pk]
        assert ids(api_of(bob).get(path)) == [carol.pk, bob.pk]
        assert ids(api_of(alice).get(path)) == [enemy.pk, bob.pk]
        found, answer = [], api_of(bob).get(f"{path}?limit=1")
        while "Link" in answer.headers:
            found += ids(answer)
            if 'rel="next"' not in answer.headers["Link"]:
                break
            answer = api_of(bob).get(linked(answer, "next"))
        assert found == [carol.pk, bob.pk]


def test_quotes_are_listed_as_far_as_one_may_see_them(alice, bob, carol, api_of):
    post = publish(alice)
    first = publish(bob, "Look.", quote_of_id=post.pk).pk
    publish(bob, "Look, you.", quote_of_id=post.pk, visibility="followers")
    third = publish(carol, "Look!", quote_of_id=post.pk).pk
    path = f"{STATUSES}/{post.pk}/quotes"
    assert ids(api_of(carol).get(path)) == [third, first]
    assert ids(api_of(carol).get(f"{path}?max_id={third}")) == [first]
    block_user(carol, bob)
    assert ids(api_of(carol).get(path)) == [third]


def test_favourites_are_listed_newest_like_first(alice, bob, api_of):
    first, second = publish(alice).pk, publish(alice).pk
    for number in (second, first):
        like_post(bob, number)
    answer = api_of(bob).get("/api/v1/favourites?limit=1")
    assert ids(answer) == [first]
    assert ids(api_of(bob).get(linked(answer, "next"))) == [second]
    block_user(alice, bob)
    assert ids(api_of(bob).get("/api/v1/favourites")) == []


def test_an_account_narrows_its_posts(alice, bob, api_of):
    path = f"/api/v1/accounts/{alice.pk}/statuses"
    plain = publish(alice, "one #Wind").pk
    theirs = publish(bob).pk
    answer = publish(alice, "two #windy", reply_to_id=theirs).pk
    shared = repost(alice, theirs).pk
    direct = publish(alice, "@bob psst #WIND", visibility="mentioned").pk

    def narrowed(query):
        return ids(api_of(bob).get(f"{path}?{query}"))

    assert narrowed("") == [direct, shared, answer, plain]
    assert narrowed("exclude_reblogs=true") == [direct, answer, plain]
    assert narrowed("exclude_reblogs=True&exclude_replies=1") == [direct, plain]
    assert narrowed("exclude_direct=1") == [shared, answer, plain]
    assert narrowed("tagged=wind") == [direct, plain]
    assert narrowed("tagged=%23wind&exclude_direct=1") == [plain]
    assert narrowed("only_media=1") == []
    assert narrowed("exclude_reblogs=false&only_media=0") == [direct, shared, answer, plain]
    assert narrowed(f"exclude_reblogs=1&max_id={direct}&limit=1") == [answer]
    assert narrowed(f"exclude_reblogs=1&min_id={plain}&limit=1") == [answer]
    assert ids(api_of(None).get(f"{path}?exclude_reblogs=1")) == [answer, plain]
