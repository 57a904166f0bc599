"""Reports for programs of staff: what they read, change, and what is on record of both."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission

from apps.moderation.actions import file_report, hide_post, resolve_report
from apps.posts.actions.drafts import PollDraft
from apps.posts.actions.publish import delete_post
from apps.strikes.models import Strike
from tests.admin_api.conftest import SCOPES
from tests.support.factories import make_user, publish
from tests.support.staff import make_staff

pytestmark = pytest.mark.django_db
REPORTS = "/api/v1/admin/reports"


def ids(program, query=""):
    answer = program.get(f"{REPORTS}?{query}")
    assert answer.status_code == 200, answer.json()
    return [int(one["id"]) for one in answer.json()]


def post(program, report, act):
    return program.post(f"{REPORTS}/{report.pk}/{act}")


def log():
    rows = LogEntry.objects.order_by("pk").select_related("user")
    return [(row.user.handle, row.object_id, row.change_message) for row in rows]


def test_a_report_as_staff_see_it(report, program, alice, carol):
    body = program.get(f"{REPORTS}/{report.pk}").json()
    assert body["id"] == str(report.pk)
    assert (body["category"], body["comment"]) == ("violation", "They insult people.")
    assert (body["action_taken"], body["action_taken_at"], body["forwarded"]) == (
        False,
        None,
        False,
    )
    assert body["account"]["username"] == body["account"]["account"]["acct"] == "carol"
    assert body["target_account"]["email"] == "alice@example.org"
    assert (body["assigned_account"], body["action_taken_by_account"]) == (None, None)
    assert [rule["id"] for rule in body["rules"]] == ["1"]
    assert [one["content"] for one in body["statuses"]] == [
        "<p>You are all fools.</p>",
        "<p>Fools, I say.</p>",
    ]
    assert log() == []


def test_hidden_posts_and_polls_are_shown_and_deleted_ones_are_not(alice, carol, program):
    hidden, gone = publish(alice, "Hidden."), publish(alice, "Gone.")
    poll = publish(alice, "Which?", poll=PollDraft(["Tea", "Coffee"], 3600))
    report = file_report(carol, alice, post_ids=[hidden.pk, gone.pk, poll.pk])
    hide_post(hidden.pk, by=make_staff(superuser=True))
    delete_post(gone.pk, by=alice)
    shown = program.get(f"{REPORTS}/{report.pk}").json()["statuses"]
    assert [int(one["id"]) for one in shown] == [hidden.pk, poll.pk]
    assert [option["title"] for option in shown[1]["poll"]["options"]] == ["Tea", "Coffee"]


def test_restricted_posts_are_read_by_right_and_that_is_on_record(alice, bob, mod, api_of):
    private = publish(alice, "For my followers.", visibility="followers")
    report = file_report(bob, alice, post_ids=[private.pk])
    program, address = api_of(mod, SCOPES), f"{REPORTS}/{report.pk}"
    assert program.get(address).json()["statuses"] == []
    assert log() == []
    right = Permission.objects.get(codename="read_restricted_post")
    mod.user_permissions.add(right)
    program = api_of(mod, SCOPES)
    assert [one["visibility"] for one in program.get(address).json()["statuses"]] == ["private"]
    assert log() == [("mod", str(private.pk), "Read.")]
    # neither a list nor the answer to an act shows them
    assert program.get(REPORTS).json()[0]["statuses"] == []
    assert program.post(f"{address}/assign_to_self").json()["statuses"] == []
    assert [message for *_who, message in log()] == ["Read.", "Assigned to @mod."]


def test_the_list_has_the_open_ones_and_filters(alice, bob, carol, report, mod, program):
    other = file_report(alice, carol)
    closed = file_report(bob, alice)
    resolve_report(closed, by=mod, outcome="")
    assert ids(program) == [other.pk, report.pk]
    assert ids(program, "resolved=false") == [other.pk, report.pk]
    assert ids(program, "resolved=true") == [closed.pk]
    assert ids(program, f"account_id={alice.pk}") == [other.pk]
    assert ids(program, f"target_account_id={alice.pk}") == [report.pk]
    assert ids(program, f"target_account_id={alice.pk}&account_id={bob.pk}&resolved=1") == [
        closed.pk
    ]
    assert ids(program, "by_target_domain=mastodon.example") == []
    assert program.get(f"{REPORTS}?resolved=perhaps").status_code == 400
    assert program.get(f"{REPORTS}?account_id=x").status_code == 400


def test_pages_follow_each_other(alice, program):
    made = [file_report(make_user(), alice).pk for _each in range(3)]
    answer = program.get(f"{REPORTS}?limit=2&resolved=false")
    assert [int(one["id"]) for one in answer.json()] == made[:0:-1]
    following = answer.headers["Link"].partition(">")[0].removeprefix("<")
    assert "resolved=false" in following
    assert [int(one["id"]) for one in program.get(following).json()] == made[:1]


def test_a_list_takes_the_same_queries_for_one_and_for_many(
    alice, bob, mod, program, django_assert_max_num_queries
):
    def one_more():
        owner = make_user()
        posts = [publish(owner, "Said."), publish(owner, "?", poll=PollDraft(["A", "B"], 3600))]
        row = file_report(make_user(), owner, post_ids=[one.pk for one in posts])
        row.assignee = mod
        row.save()

    one_more()
    program.get(REPORTS)
    with django_assert_max_num_queries(12) as few:
        assert len(program.get(REPORTS).json()) == 1
    for _each in range(4):
        one_more()
    with django_assert_max_num_queries(len(few)):
        answer = program.get(REPORTS).json()
    assert [len(report["statuses"]) for report in answer] == [2] * 5


def test_a_report_is_taken_on_and_given_back(report, mod, program):
    assert post(program, report, "assign_to_self").json()["assigned_account"]["username"] == "mod"
    report.refresh_from_db()
    assert report.assignee == mod
    assert post(program, report, "unassign").json()["assigned_account"] is None
    assert [message for *_who, message in log()] == ["Assigned to @mod.", "Unassigned."]


def test_a_report_is_resolved_once_and_reopened(report, mod, program):
    body = post(program, report, "resolve").json()
    assert body["action_taken"] is True
    assert body["action_taken_by_account"]["username"] == "mod"
    assert body["updated_at"] == body["action_taken_at"]
    second = make_staff("moderation.change_report", handle="second")
    report.refresh_from_db()
    assert post(program, report, "resolve").json()["action_taken_at"] == body["action_taken_at"]
    assert second not in {row.user for row in LogEntry.objects.all()}
    body = post(program, report, "reopen").json()
    assert (body["action_taken"], body["action_taken_by_account"]) == (False, None)
    assert post(program, report, "reopen").status_code == 200
    assert [message for *_who, message in log()] == ["Resolved: ", "Reopened."]
    assert Strike.objects.count() == 0


def test_category_and_rules_are_corrected(report, program):
    address = f"{REPORTS}/{report.pk}"
    body = program.put(address, {"category": "spam"}, format="json").json()
    assert (body["category"], [rule["id"] for rule in body["rules"]]) == ("spam", ["1"])
    changed = {"category": "violation", "rule_ids": ["3", "2", "3"]}
    body = program.put(address, changed, format="json").json()
    assert [rule["id"] for rule in body["rules"]] == ["2", "3"]
    body = program.put(address, {"rule_ids": []}, format="json").json()
    assert (body["category"], body["rules"]) == ("violation", [])
    assert [message for *_who, message in log()] == [
        "Category: spam; rules: 1.",
        "Category: violation; rules: 2, 3.",
        "Category: violation; rules: none.",
    ]
    for wrong in ({"category": "rude"}, {"rule_ids": ["99"]}, {"rule_ids": ["x"]}):
        assert program.put(address, wrong, format="json").status_code == 422


def test_nobody_reads_or_decides_reports_about_themselves(mod, carol, program):
    own = file_report(carol, mod)
    assert ids(program) == []
    assert program.get(f"{REPORTS}/{own.pk}").status_code == 404
    for act in ("assign_to_self", "unassign", "resolve", "reopen"):
        assert post(program, own, act).status_code == 404
    own.refresh_from_db()
    assert (own.resolved_at, own.assignee) == (None, None)


def test_a_report_that_is_not_there(program):
    assert program.get(f"{REPORTS}/1").status_code == 404
    assert program.put(f"{REPORTS}/1", {}, format="json").status_code == 404
    assert program.get(f"{REPORTS}/{10**30}").status_code == 404
