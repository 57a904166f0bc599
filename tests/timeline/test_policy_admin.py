"""Policies in the admin and on the command line."""

import pytest
from django.core.management import CommandError, call_command

from apps.graph.actions import follow_user
from apps.timeline.models import AuthorPolicy, Backfill, PolicyChange, SitePolicy
from tests.support.factories import deliver, delivered, make_user, publish
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


def test_the_site_tries_a_policy_with_a_canary_and_then_with_everybody(chief, alice):
    publish(alice)
    percent = alice.pk % 100 % 50 + 1
    data = {
        "policy": "pull",
        "why": "A trial.",
        "try_canary": "x",
        "percent": str(percent),
        **YES,
    }
    refused = chief.post(f"{SITE}/change/", {**data, "percent": "51"}).content.decode()
    assert "errorlist" in refused
    assert not PolicyChange.objects.exists()
    page = chief.post(f"{SITE}/change/", data, follow=True)
    site = SitePolicy.objects.get()
    assert (site.policy, site.canary, site.canary_percent) == ("online", "pull", percent)
    page = chief.get(f"{SITE}/change/").content.decode()
    assert f"“pull at reading” for {percent} % of the authors" in page
    assert 'name="everybody"' in page
    chief.post(f"{SITE}/press/", {"end": "x"})
    assert SitePolicy.objects.get().canary_percent == 0
    chief.post(f"{SITE}/change/", data)
    done = chief.post(f"{SITE}/press/", {"everybody": "x"}, follow=True).content.decode()
    assert "messagelist" in done
    site = SitePolicy.objects.get()
    assert (site.policy, site.canary_percent, site.pulls_all) == ("pull", 0, True)
    chief.post(f"{SITE}/press/", {"back": "x"})
    assert SitePolicy.objects.get().policy == "online"


def test_one_press_leads_back_to_the_policy_before(chief, alice):
    change = f"{ROOT}/authorpolicy/{alice.pk}"
    chief.post(
        f"{ROOT}/authorpolicy/add/", {"handle": "alice", "policy": "pull", "why": "x", **YES}
    )
    assert 'name="back"' in chief.get(f"{change}/change/").content.decode()
    assert chief.get(f"{change}/press/").status_code == 302
    assert AuthorPolicy.objects.get().policy == "pull", "a link does nothing"
    chief.post(f"{change}/press/", {"everybody": "x"})
    assert AuthorPolicy.objects.get().policy == "pull", "not a press of authors"
    chief.post(f"{change}/press/", {"back": "x"})
    row = AuthorPolicy.objects.get()
    assert (row.policy, row.mode) == ("site", None)
    assert PolicyChange.objects.latest("pk").after == "site"


def test_the_pages_speak_chinese(chief, alice):
    chief.cookies["lang"] = "zh-hans"
    data = {"policy": "pull", "why": "x"}
    page = chief.post(f"{SITE}/change/", data).content.decode()
    for words in ("此切换的代价", "目前尚未切换", "先用灰度试行", "尚无可供比较的投递"):
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
    assert "@alice: pull (pull now, merged at reading): A celebrity." in printed
    assert "site: online (online now" in printed
    assert "@alice: auto (push now" in printed
    assert "auto would choose push: 1 followers" in printed
    assert "1 measured" in printed
    call_command("policy", "back", "@alice")
    call_command("policy", "canary", "pull", "--percent", "50")
    call_command("policy", "show")
    call_command("policy", "back", "site")
    printed = capsys.readouterr().out
    assert "@alice: pull" in printed
    assert "canary: pull for 50 % of the authors" in printed
    assert "canary: off (0 authors now)" in printed
    assert Backfill.objects.count() == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("set", "site", "site"), "no site above"),
        (("set", "@nobody", "pull"), "handle"),
        (("canary", "pull", "--percent", "51"), "1 to 50 %"),
        (("back", "site"), "no policy before"),
    ],
)
def test_the_command_says_in_one_line_why_not(words, said):
    with pytest.raises(CommandError, match=said):
        call_command("policy", *words)
