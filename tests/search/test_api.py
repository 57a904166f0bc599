"""Search as clients and browsers use it."""

import pytest

from apps.engagement.actions import like_post
from apps.search import queries
from apps.search.indexing import index_new_people
from apps.search.trends import rank_posts
from tests.support.cases import each
from tests.support.factories import deliver, publish
from tests.support.pages import EMPTY

pytestmark = pytest.mark.django_db


@pytest.fixture
def said(alice, bob):
    post = publish(alice, "A cup of #tea, 喝茶吗？")
    like_post(bob, post.pk)
    deliver()
    index_new_people()
    rank_posts()
    return post


def test_three_groups(carol, said, api_of):
    client = api_of(carol)
    found = client.get("/api/v2/search", {"q": "tea"}).json()
    assert (found["accounts"], found["hashtags"][0]["name"]) == ([], "tea")
    assert [status["id"] for status in found["statuses"]] == [str(said.pk)]
    people = client.get("/api/v2/search", {"q": "alice", "type": "accounts", "resolve": "true"})
    assert [user["acct"] for user in people.json()["accounts"]] == ["alice"]
    assert people.json()["statuses"] == people.json()["hashtags"] == []
    address = f"http://testserver/@alice/{said.pk}"
    pasted = client.get("/api/v2/search", {"q": address, "type": "statuses"}).json()
    assert [status["id"] for status in pasted["statuses"]] == [str(said.pk)]
    assert client.get("/api/v2/search", {"q": "喝茶", "offset": 1}).json()["statuses"] == []


def test_accounts(carol, said, api_of):
    answer = api_of(carol).get("/api/v1/accounts/search", {"q": "ALICE", "resolve": "True"})
    assert [user["acct"] for user in answer.json()] == ["alice"]


def test_trends_and_suggestions(alice, carol, said, api_of):
    client = api_of(carol)
    assert [one["id"] for one in client.get("/api/v1/trends/statuses").json()] == [str(said.pk)]
    [first] = client.get("/api/v2/suggestions").json()
    assert (first["source"], first["account"]["acct"]) == ("global", "alice")
    assert [one["acct"] for one in client.get("/api/v1/suggestions").json()] == ["alice"]
    assert client.delete(f"/api/v1/suggestions/{alice.pk}").json() == {}
    assert client.get("/api/v2/suggestions").json() == []


@pytest.mark.slow
@each(
    ("query", "status"),
    [
        ("", 200),
        ("q=%00", 400),
        ("q=x&type=things", 400),
        ("q=x&offset=-1", 400),
        ("q=x&offset=999999", 200),
        ("q=x&limit=abc", 400),
        ("q=x&account_id=x", 400),
        ("q=x&account_id=9223372036854775807", 200),
        ("q=" + "x" * 5000, 200),
        ("q='%20%7C%20%26%20!%20%3A*%20%5C", 200),
        ("q=%25_%25", 200),
    ],
)
def test_odd_questions(carol, api_of, query, status):
    assert api_of(carol).get(f"/api/v2/search?{query}").status_code == status


def test_there_is_a_limit(carol, api_of, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "search": (2, 60)}
    client = api_of(carol)
    codes = [client.get("/api/v2/search?q=x").status_code for _ in range(3)]
    assert codes == [200, 200, 429]


@pytest.mark.django_db(transaction=True)
def test_a_search_that_takes_too_long_ends_and_says_what_helps(
    carol, said, api_of, page_of, settings, monkeypatch
):
    """As with two words that stand in most posts, and never beside each other."""
    monkeypatch.setattr(queries, "_WORDS", f"{queries._WORDS} AND pg_sleep(60) IS NOT NULL")
    settings.SEARCH_SECONDS = 0.05
    answer = api_of(carol).get("/api/v2/search", {"q": "tea", "type": "statuses"})
    assert answer.status_code == 422
    assert (answer.json()["code"], "rarer words" in answer.json()["error"]) == ("too_slow", True)
    page = page_of(carol).get("/search", {"q": "tea", "type": "statuses"})
    assert page.status_code == 422
    assert "rarer words" in page.text


def test_the_page(bob, said, page_of):
    assert "Trending tags" not in page_of(None).get("/search").text  # not counted yet
    assert f'id="p{said.pk}"' in page_of(None).get("/explore").text
    page = page_of(bob).get("/search?q=tea").text
    assert f'id="p{said.pk}"' in page
    assert "#tea" in page
    assert 'href="/@alice"' in page_of(bob).get("/search?q=alice&type=accounts").text
    assert EMPTY in page_of(None).get("/search?q=zebra").text
    escaped = page_of(None).get("/search?q=%3Cscript%3E%22").text
    assert "<script>" not in escaped.split("<main")[1]
    assert "搜索" in page_of(None).get("/search", headers={"Accept-Language": "zh-hans"}).text
