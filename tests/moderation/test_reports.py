"""Reports: what members may say, what staff see and do."""

import pytest
from django.contrib.admin.models import LogEntry

from apps.accounts.queries import user_by_id
from apps.api.entities.account import ReportJson
from apps.errors import Invalid, NotAllowed, NotFound, TooMany
from apps.graph.actions import block_user
from apps.moderation.actions import MAX_POSTS, file_report, reopen_report, resolve_report
from apps.moderation.models import Report
from apps.strikes.models import Strike
from tests.support.cases import each
from tests.support.factories import make_user, publish
from tests.support.staff import confirm, make_staff

pytestmark = pytest.mark.django_db

REPORTS = "/api/v1/reports"


def posts_of(report):
    return set(report.posts.values_list("post_id", flat=True))


def test_a_report_keeps_who_whom_why_and_which_posts(alice, carol):
    one, other = publish(alice), publish(alice)
    report = file_report(
        carol, alice, category="spam", comment=" buy 买 this ", post_ids=[one.pk, other.pk, one.pk]
    )
    assert (report.reporter, report.target, report.category) == (carol, alice, "spam")
    assert report.comment == "buy 买 this"
    assert posts_of(report) == {one.pk, other.pk}


def test_only_posts_that_are_theirs_and_that_the_reporter_sees_are_kept(alice, carol):
    shown, hidden, foreign = publish(alice), publish(alice, visibility="followers"), publish(carol)
    asked = [shown.pk, hidden.pk, foreign.pk, 999]
    assert posts_of(file_report(carol, alice, post_ids=asked)) == {shown.pk}


def test_so_many_posts_and_no_more(alice, carol):
    posts = [publish(alice, str(number)) for number in range(MAX_POSTS + 1)]
    report = file_report(carol, alice, post_ids=[post.pk for post in posts])
    assert report.posts.count() == MAX_POSTS


def test_who_is_blocked_may_report(alice, carol):
    block_user(alice, carol)
    assert posts_of(file_report(carol, alice, post_ids=[publish(alice).pk])) == set()


@pytest.mark.parametrize("said", [{"category": "x"}, {"comment": "x" * 1001}])
def test_what_cannot_be_is_refused(alice, carol, said):
    with pytest.raises(Invalid):
        file_report(carol, alice, **said)
    with pytest.raises(Invalid):
        file_report(carol, user_by_id(carol.pk))
    assert not Report.objects.exists()


def test_reports_in_bulk_are_refused(alice, carol, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "report": (1, 3600)}
    file_report(carol, alice)
    with pytest.raises(TooMany):
        file_report(carol, alice)


def test_only_staff_resolve(alice, carol):
    report, staff = file_report(carol, alice), make_staff("moderation.change_report")
    with pytest.raises(NotAllowed):
        resolve_report(report, by=alice, outcome="Nothing.")
    resolve_report(report, by=staff, outcome="Talked to them.")
    assert (report.resolved_by, report.outcome) == (staff, "Talked to them.")
    reopen_report(report, by=staff)
    assert Report.objects.get().resolved_at is None


# --- for programs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["json", "multipart"])
def test_programs_report(alice, carol, api_of, form):
    post = publish(alice)
    said = {"account_id": alice.pk, "comment": "spam", "category": "spam", "forward": "1"}
    said["status_ids" if form == "json" else "status_ids[]"] = [str(post.pk)]
    body = api_of(carol).post(REPORTS, said, format=form).json()
    assert set(body) == ReportJson.__required_keys__
    assert (body["status_ids"], body["category"], body["action_taken"]) == (
        [str(post.pk)],
        "spam",
        False,
    )
    assert body["target_account"]["acct"] == "alice"


@pytest.mark.slow
@each(
    ("said", "status"),
    [({}, 422), ({"account_id": "x"}, 422), ({"account_id": "9" * 19}, 422), ({"account_id": "99999999"}, 404),
     ({"status_ids": "x"}, 422), ({"status_ids": ["x"]}, 422), ({"status_ids": [{}]}, 422), ({"category": "rude"}, 422),
     ({"comment": "x" * 1001}, 422), ({"comment": "a\0b"}, 400), ({"status_ids": ["9" * 19]}, 422)],
)  # fmt: skip
def test_what_is_no_report_is_refused(alice, carol, api_of, said, status):
    body = {"account_id": str(alice.pk), **said} if said else {}
    answer = api_of(carol).post(REPORTS, body, format="json")
    assert answer.status_code == status
    assert not Report.objects.exists()


# --- for people -------------------------------------------------------------------------------------


def test_the_page_asks_and_files(alice, carol, page_of):
    post, browser = publish(alice), page_of(carol)
    asked = browser.get(f"/@alice/report?post={post.pk}&next=/public").text
    assert 'name="category"' in asked
    said = {"category": "legal", "comment": "no", "post": post.pk, "next": "/public"}
    answer = browser.post("/@alice/report", said)
    assert (answer.status_code, answer["Location"]) == (303, "/public")
    assert "The staff will look at it." in browser.get("/public").text
    assert posts_of(Report.objects.get()) == {post.pk}


def test_the_page_says_what_is_wrong(alice, carol, page_of):
    browser = page_of(carol)
    assert browser.post("/@alice/report", {"category": "x"}).status_code == 422
    assert browser.get("/@alice/report?post=x").status_code == 400
    assert browser.get("/@nobody/report").status_code == 404
    assert page_of(None).get("/@alice/report").status_code == 302


def test_profiles_and_posts_lead_to_it_but_not_ones_own(alice, carol, page_of):
    post = publish(alice)
    assert "/@alice/report" in page_of(carol).get("/@alice").text
    assert f"/@alice/report?post={post.pk}" in page_of(carol).get(f"/@alice/{post.pk}").text
    assert "/@alice/report" not in page_of(alice).get("/@alice").text


# --- for staff --------------------------------------------------------------------------------------

ADMIN = "/admin/moderation/report/"


def act(browser, name, report, **more):
    data = {"action": name, "_selected_action": [report.pk], **more}
    return browser.post(ADMIN, data, follow=True)


def test_staff_see_reports_and_find_them(alice, carol, page_of):
    file_report(carol, alice, comment="look at this", post_ids=[publish(alice).pk])
    browser = page_of(make_staff(superuser=True))
    page = browser.get(ADMIN).text
    assert "look at this" in page
    assert "/admin/moderation/report/" in page
    assert "look at this" in browser.get(f"{ADMIN}?q=alice").text
    assert "look at this" not in browser.get(f"{ADMIN}?q=carol").text
    assert "look at this" not in browser.get(f"{ADMIN}?resolved=yes").text


def test_staff_resolve_with_a_reason_and_reopen(alice, carol, page_of):
    report, browser = file_report(carol, alice), page_of(make_staff(superuser=True))
    assert "Resolve 1 report?" in act(browser, "resolve", report).text
    act(browser, "resolve", report, confirmed="yes", reason="Talked to them.")
    report.refresh_from_db()
    assert (report.resolved_at is not None, report.outcome) == (True, "Talked to them.")
    act(browser, "reopen", report)
    report.refresh_from_db()
    assert report.resolved_at is None


def test_staff_suspend_who_is_reported(alice, carol, page_of):
    report, browser = file_report(carol, alice), page_of(make_staff(superuser=True))
    act(browser, "suspend", report, confirmed="yes", reason="Spam.")
    report.refresh_from_db()
    assert report.resolved_at is not None
    with pytest.raises(NotFound):
        user_by_id(alice.pk)


@pytest.mark.slow
def test_staff_suspend_an_account_with_several_reports_once(alice, bob, carol, page_of):
    reports = [file_report(carol, alice), file_report(bob, alice)]
    chief = page_of(make_staff(superuser=True))
    confirm(chief, ADMIN, "suspend", reports, reason="Spam.")
    assert Strike.objects.get().measure == "suspend"
    assert not Report.objects.filter(resolved_at=None).exists()
    reopen_report(reports[0], by=make_staff(superuser=True))
    confirm(chief, ADMIN, "suspend", reports, reason="Again.")
    assert Strike.objects.count() == 1
    assert [row.outcome for row in Report.objects.order_by("pk")] == ["Again.", "Spam."]


def test_what_a_colleague_has_done_already_is_not_done_again(alice, carol, page_of):
    report, mod = file_report(carol, alice), make_staff("moderation.change_report")
    other, browser = file_report(alice, carol), page_of(make_staff(superuser=True))
    resolve_report(report, by=mod, outcome="Talked to them.")
    log = LogEntry.objects.count()
    confirm(browser, ADMIN, "resolve", [report], reason="Nothing.")
    confirm(browser, ADMIN, "suspend", [report], reason="Nothing.")
    act(browser, "reopen", other)
    reopen_report(other, by=mod)
    report.refresh_from_db()
    assert (report.resolved_by, report.outcome) == (mod, "Talked to them.")
    assert user_by_id(alice.pk)
    assert LogEntry.objects.count() == log


def test_members_see_no_reports(alice, carol, page_of):
    file_report(carol, alice)
    assert page_of(make_user()).get(ADMIN).status_code in {302, 403}
