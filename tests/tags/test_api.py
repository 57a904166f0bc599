"""The API's tags and their pages, as clients and browsers use them."""

import pytest

from apps.tags.trends import count_days
from tests.support.factories import publish
from tests.support.pages import EMPTY

pytestmark = pytest.mark.django_db


def test_a_tag_and_its_timeline(alice, carol, api_of):
    post = publish(alice, "A #Tea, #茶!")
    count_days()
    client = api_of(carol)
    tag = client.get("/api/v1/tags/TEA").json()
    assert (tag["name"], tag["following"], len(tag["history"])) == ("tea", False, 7)
    assert (tag["history"][0]["uses"], tag["history"][0]["accounts"]) == ("1", "1")
    assert tag["url"] == "http://testserver/tags/tea"
    [status] = client.get("/api/v1/timelines/tag/Tea").json()
    assert status["id"] == str(post.pk)
    assert status["tags"] == [
        {"name": "Tea", "url": "http://testserver/tags/tea"},
        {"name": "茶", "url": "http://testserver/tags/%E8%8C%B6"},
    ]
    assert 'href="http://testserver/tags/tea" rel="tag">#<span>Tea</span></a>' in status["content"]
    assert client.get("/api/v1/timelines/tag/茶").json() == [status]
    assert client.get("/api/v1/timelines/tag/tea?none[]=茶").json() == []
    assert client.get("/api/v1/timelines/tag/tea?remote=true").json() == []


def test_follow(alice, carol, api_of):
    client, post = api_of(carol), publish(alice, "#tea")
    assert client.post("/api/v1/tags/tea/follow").json()["following"] is True
    assert [one["name"] for one in client.get("/api/v1/followed_tags").json()] == ["tea"]
    assert [one["id"] for one in client.get("/api/v1/timelines/home").json()] == [str(post.pk)]
    assert client.post("/api/v1/tags/tea/unfollow").json()["following"] is False
    assert client.get("/api/v1/followed_tags").json() == []


def test_trends(alice, bob, api_of):
    publish(alice, "#tea")
    count_days()
    for address in ("trends/tags", "trends"):
        assert [one["name"] for one in api_of(None).get(f"/api/v1/{address}").json()] == ["tea"]


@pytest.mark.parametrize("name", ["1", "a b", "%00", "%FF", "x" * 101, "a-b", "😀"])
def test_what_is_no_tag(bob, api_of, name):
    for way in ("tags/{}", "timelines/tag/{}"):
        assert api_of(bob).get(f"/api/v1/{way.format(name)}").status_code in {400, 404}
    assert api_of(bob).post(f"/api/v1/tags/{name}/follow").status_code in {400, 404}


@pytest.mark.slow
def test_the_pages(alice, bob, page_of):
    post = publish(alice, "A #Tea <b>")
    count_days()
    page = page_of(None).get("/tags/tea").text
    assert f'id="p{post.pk}"' in page
    assert "1 post this week" in page
    assert '<a class="mention hashtag" href="/tags/tea" rel="tag">#<span>Tea</span></a>' in page
    assert EMPTY in page_of(None).get("/tags/milk").text
    assert page_of(None).get("/tags/1").status_code == 404
    browser = page_of(bob)
    assert EMPTY in browser.get("/tags").text
    answer = browser.post("/tags/tea/follow", {"next": "/tags/tea"})
    assert (answer.status_code, answer["Location"]) == (303, "/tags/tea")
    assert "Unfollow" in browser.get("/tags/tea").text
    assert "#tea" in browser.get("/tags").text
    chinese = browser.get("/tags", headers={"Accept-Language": "zh-hans"}).text
    assert "关注的话题" in chinese
    assert browser.post("/tags/tea/unfollow")["Location"] == "/tags/tea"
    assert EMPTY in browser.get("/tags").text
    assert page_of(None).post("/tags/tea/follow").status_code == 303
