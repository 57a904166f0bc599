"""Pages of the graph."""

import re

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.graph.actions import block_user, follow_user
from apps.graph.queries import relations
from tests.support.factories import make_user, publish

HTMX = {"HX-Request": "true"}


def test_people_pages(alice, bob, page_of):
    for viewer in (None, alice, bob):
        browser = page_of(viewer)
        for tab in ("followers", "following"):
            response = browser.get(f"/@alice/{tab}")
            assert response.status_code == 200
            assert ("/@bob" in response.text) == (tab == "followers" or viewer == bob)


def test_the_address_has_one_form(alice):
    response = Client().get("/@Alice/followers")
    assert (response.status_code, response["Location"]) == (301, "/@alice/followers")


def test_nobody(db):
    assert Client().get("/@nobody/followers").status_code == 404


def test_more_people_than_a_page(alice, page_of):
    for _ in range(3):
        follow_user(make_user(), alice)
    first = Client().get("/@alice/followers?limit=2").text
    assert first.count('class="who"') == 2
    older = first.split("?max_id=")[1].split('"')[0]
    assert Client().get(f"/@alice/followers?max_id={older}").text.count('class="who"') == 1


def test_follow_and_unfollow_lead_back(alice, carol, page_of):
    browser = page_of(carol)
    response = browser.post("/@alice/follow", {"next": "/public"})
    assert (response.status_code, response["Location"]) == (303, "/public")
    assert relations(carol.pk, [alice.pk]).following == {alice.pk}
    assert browser.post("/@alice/unfollow")["Location"] == "/@alice"
    assert not relations(carol.pk, [alice.pk]).following


def test_for_htmx_only_the_button_comes_back(alice, carol, page_of):
    response = page_of(carol).post("/@alice/follow", headers=HTMX)
    assert response.status_code == 200
    assert response.text.strip().startswith(
        '<button class="btn sm ghost" form="act" formaction="/@alice/unfollow"'
    )


def test_follows_are_limited(alice, bob, carol, page_of, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "follow": (1, 60)}
    browser = page_of(carol)
    assert browser.post("/@alice/follow").status_code == 303
    assert browser.post("/@bob/follow").status_code == 429


def test_visitors_are_sent_to_the_login_and_back_to_a_page(alice):
    response = Client().post("/@alice/follow", {"next": "/@alice"})
    assert (response.status_code, response["Location"]) == (303, "/login?next=%2F%40alice")


def test_visitors_with_htmx_get_a_redirect_of_the_whole_page(alice):
    response = Client().post("/@alice/follow", headers=HTMX)
    assert response["HX-Redirect"] == "/login?next=%2F"


def test_oneself_cannot_be_followed(alice, page_of):
    assert page_of(alice).post("/@alice/follow").status_code == 422


def test_acts_are_no_pages(alice, carol, page_of):
    browser = page_of(carol)
    for verb in ("follow", "unfollow", "unblock", "unmute", "approve", "remove_follower",
                 "hide_reposts", "watch"):  # fmt: skip
        assert browser.get(f"/@alice/{verb}").status_code == 405, verb


def test_changing_a_follow_that_has_ended_follows_nobody(alice, carol, page_of):
    browser = page_of(carol)
    for verb in ("hide_reposts", "show_reposts", "watch", "unwatch"):
        assert browser.post(f"/@alice/{verb}").status_code == 404, verb
    assert not relations(carol.pk, [alice.pk]).following


def test_block_asks_first(alice, bob, page_of):
    browser = page_of(bob)
    asked = browser.get("/@alice/block?next=/public")
    assert "Block @alice?" in asked.text
    assert relations(bob.pk, [alice.pk]).following
    response = browser.post("/@alice/block", {"next": "/public"})
    assert (response.status_code, response["Location"]) == (303, "/public")
    assert relations(bob.pk, [alice.pk]).blocking == {alice.pk}
    assert "@alice is blocked." in browser.get("/public").text


def test_a_blocked_account_can_be_unblocked_on_its_page(alice, bob, page_of):
    block_user(bob, alice)
    browser = page_of(bob)
    assert "/@alice/unblock" in browser.get("/@alice").text
    browser.post("/@alice/unblock")
    assert not relations(bob.pk, [alice.pk]).blocking


def test_mute_and_unmute(alice, bob, page_of):
    browser = page_of(bob)
    browser.post("/@alice/mute")
    assert "Unmute @alice" in browser.get("/@alice").text
    browser.post("/@alice/unmute")
    assert "Unmute @alice" not in browser.get("/@alice").text


# --- followed by people one follows --------------------------------------------------------------


@pytest.fixture
def friends(alice, carol):
    """Whom carol follows, and who follow alice."""
    friends = [
        make_user(name, display_name=name.title()) for name in ("dora", "emil", "fritz", "gina")
    ]
    for number, friend in enumerate(friends):
        follow_user(carol, friend)
        for _ in range(len(friends) - number):
            follow_user(make_user(), friend)  # the first one is the best known
    return friends


def line_of(page):
    """The text about people one follows; None when there is none."""
    if 'familiar"' not in page:
        return None
    inside = page.split('familiar">')[1].split("</p>")[0]
    return " ".join(re.sub(r"<svg.*?</svg>|<[^>]+>", "", inside).split())


# by one follower more in each line
FAMILIAR = [
    ("Followed by Dora", "你关注的 Dora 也关注了"),
    ("Followed by Dora and Emil", "你关注的 Dora 和 Emil 也关注了"),
    ("Followed by Dora, Emil and 1 other you follow", "你关注的 Dora、Emil 和另外 1 人也关注了"),
    ("Followed by Dora, Emil and 2 others you follow", "你关注的 Dora、Emil 和另外 2 人也关注了"),
]


@pytest.mark.long
def test_a_profile_names_those_who_follow_it_too(alice, carol, friends, page_of):
    english, chinese = page_of(carol), page_of(carol)
    chinese.cookies["lang"] = "zh-hans"
    assert line_of(english.get("/@alice").text) is None
    assert line_of(chinese.get("/@alice").text) is None
    for friend, lines in zip(friends, FAMILIAR, strict=True):
        follow_user(friend, alice)
        found = [line_of(browser.get("/@alice").text) for browser in (english, chinese)]
        assert found == list(lines)


@pytest.mark.slow
def test_the_names_are_links_and_text(alice, carol, friends, page_of):
    User.objects.filter(pk=friends[0].pk).update(display_name="<b>Dora</b> & co")
    follow_user(friends[0], alice)
    page = page_of(carol).get("/@alice").text
    assert '<a href="/@dora"><bdi' in page.split('familiar"')[1]
    assert "&lt;b&gt;Dora&lt;/b&gt; &amp; co" in page
    assert "<b>Dora</b>" not in page


@pytest.mark.slow
def test_visitors_and_oneself_are_told_nothing(alice, carol, friends, page_of):
    for friend in friends:
        follow_user(friend, alice)
        follow_user(friend, carol)
    assert line_of(page_of(None).get("/@alice").text) is None
    assert line_of(page_of(carol).get("/@carol").text) is None


@pytest.mark.slow
def test_many_are_said_to_be_more(alice, carol, friends, page_of, monkeypatch):
    monkeypatch.setattr("apps.graph.familiar_followers.MAX_FAMILIAR", 3)
    for friend in friends:
        follow_user(friend, alice)
    line = line_of(page_of(carol).get("/@alice").text)
    assert line == "Followed by Dora, Emil and 1+ other you follow"


def test_a_block_from_a_post_s_page_leads_to_its_author(alice, bob, page_of):
    post = publish(alice, "Rude.")
    browser = page_of(bob)
    answer = browser.post(f"/@alice/block?next=/@alice/{post.pk}", {"next": f"/@alice/{post.pk}"})
    assert answer["Location"] == "/@alice"
    assert browser.get("/@alice").status_code == 200
