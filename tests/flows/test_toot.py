"""toot, unmodified: what people type."""

import json

import pytest

from apps.engagement.actions import like_post
from apps.search.indexing import index_new_people
from tests.flows.clients import Toot
from tests.support.factories import PASSWORD, deliver, delivered

pytestmark = pytest.mark.flows


@pytest.fixture
def toot(tmp_path):
    return Toot(tmp_path)


def test_somebody_logs_in_with_a_browser_and_looks_around(served, toot, alice, bob):
    delivered(alice, "What alice says.")
    assert "Successfully logged in" in toot.log_in(bob, served)
    assert "@bob" in toot("whoami")
    assert "bob@" in toot("auth")
    shown = json.loads(toot("post", "Typed by hand.", "--json"))
    assert shown["content"] == "<p>Typed by hand.</p>"
    home = toot("timeline", "-1")
    assert "What alice says." in home
    assert "Typed by hand." in home
    thread = toot("thread", shown["id"])
    assert "Typed by hand." in thread
    assert "Rill" in toot("instance")


def test_somebody_logs_in_with_a_password(served, toot, with_password):
    said = toot("login_cli", "-i", served, "-e", "alice@example.org", "-p", PASSWORD)
    assert "Successfully logged in" in said
    assert "@alice" in toot("whoami")


def test_somebody_follows_searches_and_hears_of_others(served, toot, alice, bob, carol):
    post = delivered(alice, "A cup of #tea by the river.")
    index_new_people()
    toot.log_in(carol, served)
    assert "You are now following alice" in toot("follow", "alice")
    deliver()
    assert "@alice" in toot("following", "carol")
    assert f"@alice/{post.pk}" in toot("search", "river")
    assert "@alice" in toot("search", "alice", "--type", "accounts")
    assert "#tea" in toot("search", "tea", "--type", "hashtags")
    assert "A cup of" in toot("timelines", "home")
    assert "A cup of" in toot("timelines", "public", "--local")
    assert "A cup of" in toot("timelines", "tag", "tea")
    assert "A cup of" in toot("timelines", "account", "alice")
    mine = json.loads(toot("post", "Hot or cold?", "--reply-to", str(post.pk), "--json"))
    like_post(bob, int(mine["id"]))
    deliver()
    answered = toot("thread", str(post.pk))
    assert answered.index("A cup of") < answered.index("Hot or cold?")
    heard = toot("notifications")
    assert "@bob" in heard
    assert "favourited" in heard
    assert "Hot or cold?" in heard
    assert [one["type"] for one in json.loads(toot("notifications", "--json"))] == ["favourite"]
    assert "No notification" not in toot("notifications", "--type", "favourite")
    assert toot("notifications", "--clear")
    assert json.loads(toot("notifications", "--json")) == []
    assert "no longer following" in toot("unfollow", "alice")
