"""Policies in the admin and on the command line."""

import pytest
from django.core.management import CommandError, call_command

from apps.graph.actions import follow_user
from apps.timeline.models import AuthorPolicy, Backfill, PolicyChange, SitePolicy
from tests.support.factories import deliver, make_user, publish
from tests.support.faults import dead_redis
from tests.support.staff import browser_of, make_staff

pytestmark = pytest.mark.django_db
ROOT = "/admin/timeline"


def test_an_author_gets_a_policy_by_the_handle(chief, alice):
    data = {"handle": "@Alice", "policy": "pull", "why": "A celebrity."}
    page = chief.post(f"{ROOT}/authorpolicy/add/", data, follow=True).content.decode()
    assert "A celebrity." in page
    row = AuthorPolicy.objects.get(author=alice)
    assert (row.policy, row.mode) == ("pull", "pull")
    change = PolicyChange.objects.get()
    assert (change.author, change.before, change.after, change.made_by) == (alice, "site", "pull", "chief")  # fmt: skip
    chief.post(f"{ROOT}/authorpolicy/{alice.pk}/change/", {"policy": "online", "why": "No more."})
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
    assert "push to those online" in chief.get(f"{ROOT}/sitepolicy/").content.decode()
    chief.post(f"{ROOT}/sitepolicy/1/change/", {"policy": "pull", "why": "Redis is moved."})
    row = SitePolicy.objects.get()
    assert (row.mode, row.pulls_all) == ("pull", True)
    refused = chief.post(f"{ROOT}/sitepolicy/1/change/", {"policy": "site", "why": "?"})
    assert "The site has no site above it." in refused.content.decode()


def test_who_may_only_look_changes_nothing(alice):
    viewer = browser_of(make_staff("timeline.view_authorpolicy", "timeline.view_sitepolicy"))
    data = {"handle": "alice", "policy": "pull", "why": "x"}
    assert viewer.post(f"{ROOT}/authorpolicy/add/", data).status_code == 403
    assert viewer.get(f"{ROOT}/authorpolicy/").status_code == 200
    assert not AuthorPolicy.objects.exists()


def test_a_redis_that_does_not_answer_is_said(chief, alice):
    data = {"handle": "alice", "policy": "pull", "why": "x"}
    with dead_redis():
        chief.post(f"{ROOT}/authorpolicy/add/", data)
    assert AuthorPolicy.objects.get().mode is None  # pushes go on until readers can be told


def test_hand_overs_are_listed_with_their_receipts(chief, alice, bob):
    call_command("policy", "set", "@alice", "pull")
    publish(alice)
    deliver()
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
    assert Backfill.objects.count() == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [(("set", "site", "site"), "no site above"), (("set", "@nobody", "pull"), "no account")],
)
def test_the_command_says_in_one_line_why_not(words, said):
    with pytest.raises(CommandError, match=said):
        call_command("policy", *words)
