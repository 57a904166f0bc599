"""Policies in the admin and on the command line."""

import pytest
from django.core.management import CommandError, call_command

from apps.graph.actions import follow_user
from apps.timeline.models import AuthorPolicy, Backfill, PolicyChange, SitePolicy
from tests.support.factories import deliver, delivered, make_user
from tests.support.faults import dead_redis
from tests.support.staff import browser_of, make_staff

pytestmark = pytest.mark.django_db
ROOT = "/admin/timeline"
SITE = f"{ROOT}/sitepolicy/1"
YES = {"confirmed": "yes"}


def test_an_author_gets_a_policy_by_the_handle(chief, alice):
    data = {"handle": "@Alice", "policy": "pull", "why": "A celebrity."}
    asked = chief.post(f"{ROOT}/authorpolicy/add/", data).content.decode()
    assert 'name="confirmed"' in asked
    assert not AuthorPolicy.objects.exists()
    page = chief.post(f"{ROOT}/authorpolicy/add/", {**data, **YES}, follow=True).content.decode()
    assert "A celebrity." in page
    row = AuthorPolicy.objects.get(author=alice)
    assert (row.policy, row.mode) == ("pull", "pull")
    change = PolicyChange.objects.get()
    assert (change.author, change.before, change.after, change.made_by) == (alice, "site", "pull", "chief")  # fmt: skip
    data = {"handle": "", "policy": "online", "why": "No more."}
    chief.post(f"{ROOT}/authorpolicy/{alice.pk}/change/", {**data, **YES})
    row.refresh_from_db()
    assert row.mode == "online"
    history = chief.get(f"{ROOT}/policychange/").content.decode()
    assert "No more." in history


@pytest.mark.parametrize("data", [{"handle": "nobody-there", "why": "x"}, {"handle": "alice", "why": ""}])  # fmt: skip
def test_a_handle_and_a_reason_are_needed(chief, alice, data):
    page = chief.post(f"{ROOT}/authorpolicy/add/", {"policy": "pull", **data})
    assert page.status_code == 200
    assert not AuthorPolicy.objects.exists()


def test_the_site_has_one_row_and_its_policy_is_switched(chief):
    assert f"{ROOT}/sitepolicy/1/change/" in chief.get(f"{ROOT}/sitepolicy/").content.decode()
    data = {"policy": "pull", "why": "Redis is moved."}
    asked = chief.post(f"{ROOT}/sitepolicy/1/change/", data).content.decode()
    assert 'name="confirmed"' in asked
    assert SitePolicy.objects.get().policy == "online"
    chief.post(f"{ROOT}/sitepolicy/1/change/", {**data, **YES})
    row = SitePolicy.objects.get()
    assert (row.mode, row.pulls_all) == ("pull", True)
    refused = chief.post(f"{ROOT}/sitepolicy/1/change/", {"policy": "site", "why": "?"})
    assert "errorlist" in refused.content.decode()


def test_who_may_only_look_changes_nothing(alice):
    viewer = browser_of(make_staff("timeline.view_authorpolicy", "timeline.view_sitepolicy"))
    data = {"handle": "alice", "policy": "pull", "why": "x"}
    assert viewer.post(f"{ROOT}/authorpolicy/add/", data).status_code == 403
    assert viewer.get(f"{ROOT}/authorpolicy/").status_code == 200
    assert not AuthorPolicy.objects.exists()


def test_what_was_measured_is_shown_before_the_switch(chief, alice):
    follow_user(make_user(), alice)
    delivered(alice)
    data = {"handle": "alice", "policy": "auto", "why": "x"}
    asked = chief.post(f"{ROOT}/authorpolicy/add/", data).content.decode()
    assert "home caches of 0 of 1 followers, in" in asked
    assert "with up to 150 followers, everybody gets it" in asked, "what auto would choose, and why"
    asked = chief.post(f"{SITE}/change/", {"policy": "pull", "why": "x"}).content.decode()
    assert "home caches of 0 of 1 followers, in" in asked
    assert not PolicyChange.objects.exists()


def test_one_press_leads_the_site_back(chief):
    for policy in ("pull", "push"):
        chief.post(f"{SITE}/change/", {"policy": policy, "why": "x", **YES})
    chief.post(f"{SITE}/press/", {"back": "x"})
    assert SitePolicy.objects.get().policy == "pull"


def test_one_press_leads_back_to_the_policy_before(chief, alice):
    change = f"{ROOT}/authorpolicy/{alice.pk}"
    chief.post(
        f"{ROOT}/authorpolicy/add/", {"handle": "alice", "policy": "pull", "why": "x", **YES}
    )
    assert 'name="back"' in chief.get(f"{change}/change/").content.decode()
    assert chief.get(f"{change}/press/").status_code == 302
    assert AuthorPolicy.objects.get().policy == "pull", "a link does nothing"
    chief.post(f"{change}/press/", {"everything": "x"})
    assert AuthorPolicy.objects.get().policy == "pull", "no press of this name"
    chief.post(f"{change}/press/", {"back": "x"})
    row = AuthorPolicy.objects.get()
    assert (row.policy, row.mode) == ("site", None)
    assert PolicyChange.objects.latest("pk").after == "site"


def test_the_pages_speak_chinese(chief, alice):
    chief.cookies["lang"] = "zh-hans"
    data = {"policy": "pull", "why": "x"}
    page = chief.post(f"{SITE}/change/", data).content.decode()
    for words in ("切换之前", "目前尚未切换", "尚无已完成的投递"):
        assert words in page


def test_nobody_else_presses(chief, alice):
    chief.post(f"{SITE}/change/", {"policy": "pull", "why": "x", **YES})
    viewer = browser_of(make_staff("timeline.view_authorpolicy", "timeline.view_sitepolicy"))
    assert viewer.post(f"{SITE}/press/", {"back": "x"}).status_code == 403
    assert viewer.post(f"{SITE}/change/", {"policy": "push", "why": "x"}).status_code == 403
    assert 'name="back"' not in viewer.get(f"{SITE}/change/").content.decode()
    other = browser_of(make_staff("accounts.view_user"))
    for path in (f"{SITE}/press/", f"{SITE}/change/"):
        assert other.post(path, {"back": "x"}).status_code == 403
    assert SitePolicy.objects.get().policy == "pull"


def test_a_redis_that_does_not_answer_is_said(chief, alice):
    data = {"handle": "alice", "policy": "pull", "why": "x", **YES}
    with dead_redis():
        chief.post(f"{ROOT}/authorpolicy/add/", data)
    assert AuthorPolicy.objects.get().mode is None  # pushes go on until readers can be told


def test_hand_overs_are_listed_with_their_receipts(chief, alice, bob):
    call_command("policy", "set", "@alice", "pull")
    delivered(alice)
    call_command("policy", "set", "@alice", "online")
    page = chief.get(f"{ROOT}/backfill/").content.decode()
    assert '<td class="field-pending">1</td>' in page
    deliver()
    assert '<td class="field-pending">0</td>' in chief.get(f"{ROOT}/backfill/").content.decode()


def test_the_command_sets_shows_and_explains(alice, capsys):
    follow_user(make_user(), alice)
    call_command("policy", "set", "@alice", "pull", "--reason", "A celebrity.")
    call_command("policy", "set", "site", "online")
    call_command("policy", "set", "@alice", "auto")
    call_command("policy", "show")
    call_command("policy", "explain", "@alice")
    call_command("policy", "auto")
    printed = capsys.readouterr().out
    assert "@alice: pull (pull now, merged at read time): A celebrity." in printed
    assert "site: online (online now" in printed
    assert "@alice: auto (push now" in printed
    assert "auto would choose push: 1 followers" in printed
    assert "1 measured" in printed
    call_command("policy", "back", "@alice")
    assert "@alice: pull" in capsys.readouterr().out
    assert Backfill.objects.count() == 1


def test_the_command_tells_what_was_measured(alice, capsys):
    follow_user(make_user(), alice)
    call_command("policy", "explain", "site")
    printed = capsys.readouterr().out
    assert "site: online (online now" in printed
    assert "the last delivery of a post: There is no finished delivery yet." in printed
    delivered(alice)
    for target in ("site", "@alice"):
        call_command("policy", "explain", target)
        assert "home caches of 0 of 1 followers, in " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("set", "site", "site"), "Only authors can have"),
        (("set", "@nobody", "pull"), "handle"),
        (("back", "site"), "no previous policy"),
    ],
)
def test_the_command_says_in_one_line_why_not(words, said):
    with pytest.raises(CommandError, match=said):
        call_command("policy", *words)
