"""Pages of who may follow, of follow requests, mutes and blocks."""

import pytest

from apps.accounts.actions import set_locked
from apps.accounts.models import User
from apps.graph.actions import block_user, follow_user, mute_user
from apps.graph.models import Followee, FollowRequest, Mute
from tests.support.factories import make_user

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


def test_the_tick_decides_whether_others_ask(alice, page_of):
    browser = page_of(alice)
    for said, expected in (({"is_locked": "on"}, True), ({}, False)):
        answer = browser.post("/settings/privacy", said)
        assert (answer.status_code, answer["Location"]) == (303, "/settings/privacy")
        assert User.objects.get(pk=alice.pk).is_locked is expected
        assert (" checked" in browser.get("/settings/privacy").text) is expected


def test_asking_is_a_button_that_says_so_and_takes_it_back(alice, carol, page_of):
    set_locked(alice, locked=True)
    browser = page_of(carol)
    assert "Requested" in browser.post("/@alice/follow", headers=HTMX).text
    assert "Requested" in browser.get("/@alice").text
    assert "Approves followers" in browser.get("/@alice").text
    assert "Requested" not in browser.post("/@alice/unfollow", headers=HTMX).text
    assert not FollowRequest.objects.exists()


@pytest.mark.parametrize(("verb", "follows"), [("approve", True), ("reject", False)])
def test_requests_are_answered_on_their_page(alice, carol, page_of, verb, follows):
    set_locked(alice, locked=True)
    follow_user(carol, alice)
    browser = page_of(alice)
    assert "1 follow request" in browser.get("/settings/privacy").text
    assert "/@carol/approve" in browser.get("/follow_requests").text
    answer = browser.post(f"/@carol/{verb}")
    assert (answer.status_code, answer["Location"]) == (303, "/follow_requests")
    assert Followee.objects.filter(owner=carol, followee=alice).exists() is follows
    assert "/@carol/approve" not in browser.get("/follow_requests").text
    assert browser.post(f"/@carol/{verb}").status_code == 404


@pytest.mark.slow
def test_requests_are_paged(alice, page_of):
    set_locked(alice, locked=True)
    for _ in range(21):
        follow_user(make_user(), alice)
    browser = page_of(alice)
    first = browser.get("/follow_requests").text
    assert first.count("/approve") == 20
    rest = first.split('<div class="older"><a href="')[1].split('"')[0]
    assert browser.get(f"/follow_requests{rest}").text.count("/approve") == 1


def test_a_mute_asks_for_how_long(alice, carol, page_of):
    browser = page_of(carol)
    assert "Mute @alice?" in browser.get("/@alice/mute?next=/public").text
    said = {"seconds": "3600", "keeps_notifications": "on", "next": "/public"}
    answer = browser.post("/@alice/mute", said)
    assert (answer.status_code, answer["Location"]) == (303, "/public")
    mute = Mute.objects.get()
    assert (mute.expires_at is not None, mute.hides_notifications) == (True, False)
    assert browser.post("/@alice/mute", {"seconds": "5"}).status_code == 422


def test_a_bare_mute_is_for_good(alice, carol, page_of):
    page_of(carol).post("/@alice/mute")
    mute = Mute.objects.get()
    assert (mute.expires_at, mute.hides_notifications) == (None, True)


@pytest.mark.parametrize(
    ("page", "verb", "act"), [("mutes", "unmute", mute_user), ("blocks", "unblock", block_user)]
)
def test_whom_one_does_not_read_is_listed_with_a_way_back(alice, carol, page_of, page, verb, act):
    browser = page_of(carol)
    assert "Nobody." in browser.get(f"/settings/{page}").text
    act(carol, alice)
    assert f"/@alice/{verb}" in browser.get(f"/settings/{page}").text
    answer = browser.post(f"/@alice/{verb}", {"next": f"/settings/{page}"})
    assert answer["Location"] == f"/settings/{page}"
    assert "Nobody." in browser.get(f"/settings/{page}").text


@pytest.mark.slow
def test_how_one_follows_is_changed_from_the_profile(alice, bob, page_of):
    browser = page_of(bob)
    for verb, field, expected in [("hide_reposts", "shows_reposts", False), ("show_reposts", "shows_reposts", True),
                                  ("watch", "notifies", True), ("unwatch", "notifies", False)]:  # fmt: skip
        assert f"/@alice/{verb}" in browser.get("/@alice").text
        assert browser.post(f"/@alice/{verb}").status_code == 303
        assert getattr(Followee.objects.get(owner=bob), field) is expected


def test_a_follower_is_removed_from_their_profile(alice, bob, page_of):
    browser = page_of(alice)
    assert "/@bob/remove_follower" in browser.get("/@bob").text
    browser.post("/@bob/remove_follower")
    assert not Followee.objects.exists()


@pytest.mark.parametrize("path", ["/settings/privacy", "/settings/mutes", "/settings/blocks", "/follow_requests",
                                  "/@alice/mute"])  # fmt: skip
def test_visitors_are_asked_to_log_in(alice, page_of, path):
    assert page_of(None).get(path)["Location"].startswith("/login?next=")


@pytest.mark.parametrize("path", ["/settings/mutes", "/settings/blocks", "/follow_requests"])
def test_a_bad_cursor(alice, page_of, path):
    assert page_of(alice).get(f"{path}?max_id=x").status_code == 400
