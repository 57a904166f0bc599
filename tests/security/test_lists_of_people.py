"""Who is blocked reads no list of people of who blocked them: by page, by API, and without a trace of who is in it."""

import pytest

from apps.accounts.queries import user_by_id
from apps.graph.actions import block_user, endorse_user, follow_user, unblock_user
from apps.graph.familiar_followers import common_followers
from feedcache.connections import graph
from tests.support.cases import each
from tests.support.factories import deliver, make_user
from tests.support.faults import dead_redis
from tests.support.pages import EMPTY

pytestmark = pytest.mark.django_db
LISTS = ["followers", "following", "friends", "endorsements"]


@pytest.fixture
def people(alice, carol):
    """Two who follow alice and are followed by her; carol, who is blocked, follows one of them."""
    made = [make_user("friend_one"), make_user("friend_two")]
    for one in made:
        follow_user(one, alice)
        follow_user(alice, one)
        endorse_user(alice, one)
    follow_user(carol, made[0])
    deliver()
    return made


def by_api(program, alice, name, **more):
    base = "/api/x" if name == "friends" else "/api/v1"
    answer = program.get(f"{base}/accounts/{alice.pk}/{name}", more)
    return answer.status_code, [one["acct"] for one in answer.json()], answer.headers.get("Link")


@pytest.mark.long
@pytest.mark.gate
@each("name", LISTS)
def test_programs_of_the_blocked_get_an_empty_list(alice, carol, people, api_of, name):
    everybody = ["friend_two", "friend_one"]
    program = api_of(carol)
    assert by_api(program, alice, name)[:2] == (200, everybody)
    block_user(alice, carol)
    for more in ({}, {"limit": 1}, {"min_id": "0", "limit": 1}):
        assert by_api(program, alice, name, **more) == (200, [], None)
    assert by_api(api_of(None), alice, name)[:2] == (200, everybody)
    unblock_user(alice, carol)
    assert by_api(program, alice, name)[:2] == (200, everybody)


@pytest.mark.slow
@each("name", LISTS)
def test_who_blocks_goes_on_reading(alice, carol, people, api_of, name):
    block_user(carol, alice)
    assert len(by_api(api_of(carol), alice, name)[1]) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["followers", "following"])
def test_pages_name_nobody_to_the_blocked_and_do_not_say_why(alice, carol, people, page_of, name):
    browser = page_of(carol)
    assert "friend_one" in browser.get(f"/@alice/{name}").text
    block_user(alice, carol)
    text = browser.get(f"/@alice/{name}").text.partition("<main")[2].partition("</main")[0]
    assert EMPTY in text
    assert "friend_" not in text
    assert "block" not in text.lower()


def test_an_account_without_anybody_is_said_to_have_none(carol, page_of):
    text = page_of(None).get("/@carol/followers").text
    assert EMPTY in text
    assert page_of(carol).get("/@carol/followers").text.count(EMPTY) == 1


@pytest.mark.long
@pytest.mark.parametrize("kept", [0, 10_000])
def test_neither_do_lists_that_redis_keeps(alice, carol, people, api_of, settings, kept):
    settings.GRAPH_LIST_FROM = kept
    program = api_of(carol)
    for name in ("followers", "following"):
        assert len(by_api(program, alice, name)[1]) == 2  # now they are warm
    block_user(alice, carol)
    for name in ("followers", "following"):
        assert by_api(program, alice, name)[1] == []
        graph().flushdb()
        assert by_api(program, alice, name)[1] == []


@pytest.mark.slow
def test_nor_without_redis(alice, carol, people, api_of):
    block_user(alice, carol)
    program = api_of(carol)
    with dead_redis():
        for name in LISTS:
            assert by_api(program, alice, name)[1] == []


def test_nor_do_followers_one_has_in_common(alice, carol, people, api_of):
    asked = "/api/v1/accounts/familiar_followers"
    program = api_of(carol)
    [found] = program.get(asked, {"id": alice.pk}).json()
    assert [one["acct"] for one in found["accounts"]] == ["friend_one"]
    block_user(alice, carol)
    assert program.get(asked, {"id": alice.pk}).json()[0]["accounts"] == []
    viewer, other = user_by_id(carol.pk), user_by_id(alice.pk)
    assert common_followers(viewer, [other], limit=5)[alice.pk].people == []


def test_counts_are_as_everybody_sees_them(alice, carol, people, api_of):
    """As with Mastodon: the numbers on the profile say nothing of who it is."""
    block_user(alice, carol)
    seen = [api_of(who).get(f"/api/v1/accounts/{alice.pk}").json() for who in (carol, None)]
    assert seen[0] == seen[1]
    assert (seen[0]["followers_count"], seen[0]["following_count"]) == (2, 2)
