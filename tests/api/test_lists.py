"""Walking lists by their `Link` headers, as clients do."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

from apps.engagement.actions import bookmark_post, like_post
from tests.support.factories import deliver, make_follow, make_user, publish

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(alice, bob):
    """Eleven of everything."""
    for number in range(11):
        fan = make_user()
        make_follow(fan, alice)
        make_follow(bob, fan)
        post = publish(alice, f"post {number}")
        like_post(fan, post.pk)
        bookmark_post(bob, post.pk)
    deliver()


LISTS = {
    "home": ("bob", "timelines/home"),
    "public": (None, "timelines/public"),
    "account": (None, "accounts/{alice}/statuses"),
    "bookmarks": ("bob", "bookmarks"),
    "followers": (None, "accounts/{alice}/followers"),
    "following": (None, "accounts/{bob}/following"),
    "notifications": ("alice", "notifications"),
}


@pytest.fixture
def listings(world, alice, bob, api_of):
    """(client, address) of each kind of list, by its name."""
    clients = {"alice": api_of(alice), "bob": api_of(bob), None: api_of(None)}
    return {
        name: (clients[viewer], "/api/v1/" + address.format(alice=alice.pk, bob=bob.pk))
        for name, (viewer, address) in LISTS.items()
    }


def links(answer):
    """rel -> address; read as strictly as toot does."""
    header = answer.headers.get("Link", "")
    if "next" in header:
        assert re.match(r'<([^>]+)>; rel="next"', header)
    return {rel: url for url, rel in re.findall(r'<([^>]+)>; rel="(next|prev)"', header)}


def ids(answer):
    assert answer.status_code == 200
    return [one["id"] for one in answer.json()]


@pytest.mark.long
def test_walks_by_links_give_everything_once_down_and_up_and_end(listings, subtests):
    for name, (client, address) in listings.items():
        with subtests.test(name):
            check_walks(client, address)


def check_walks(client, address):
    everything = ids(client.get(address, {"limit": 40}))
    assert len(everything) == len(set(everything)) >= 11
    for limit in (2, len(everything), 40):
        answer = client.get(address, {"limit": limit})
        down = ids(answer)
        while "next" in links(answer):
            answer = client.get(links(answer)["next"])
            assert len(answer.json()) <= limit
            down += ids(answer)
        up = ids(answer)
        while "prev" in links(answer):
            answer = client.get(links(answer)["prev"])
            up = ids(answer) + up
        assert (limit, down, up) == (limit, everything, everything)


@pytest.mark.long
def test_links_are_sound_whatever_the_parameters_and_ids_sort_as_numbers(listings, subtests):
    for name, (client, address) in listings.items():
        with subtests.test(name):
            check_links(client, address)


def check_links(client, address):
    for url in links(
        client.get(address, {"limit": 3, "exclude_replies": "false", "x": "a b&c"})
    ).values():
        parts = urlsplit(url)
        assert (parts.scheme, parts.netloc, parts.path) == ("http", "testserver", address)
        query = parse_qs(parts.query)
        assert (query["limit"], query["x"]) == (["3"], ["a b&c"])
    header = client.get(address, {"limit": 3, "x": '>; rel="next", <http://evil.example'}).headers[
        "Link"
    ]
    assert header.count("<") == header.count(">") == header.count("rel=")
    assert "http://evil" not in header
    found = ids(client.get(address))
    assert all(isinstance(one, str) and one.isdecimal() for one in found)
    if address.endswith(("home", "public", "statuses", "notifications")):
        assert found == sorted(found, key=int, reverse=True)
