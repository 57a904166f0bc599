"""The page of a report: what staff read there, and what they do, each by permission and on record."""

import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.base import ContentFile

from apps.accounts.queries import user_by_id
from apps.errors import NotFound
from apps.graph.actions import block_user
from apps.moderation.actions import file_report, resolve_report
from apps.moderation.models import Report
from apps.notifications.models import Conversation
from apps.posts.actions.drafts import NewPicture
from apps.posts.models import Post, Visibility
from apps.timeline.publishing import edit
from tests.support.cases import each
from tests.support.factories import deliver, publish
from tests.support.staff import MAX_QUERIES, browser_of, make_staff

pytestmark = pytest.mark.django_db
LIST = "/admin/moderation/report/"
SEES, ACTS = "moderation.view_report", "moderation.change_report"


@pytest.fixture
def report(alice, carol):
    posts = [publish(alice, "You are all fools.").pk, publish(alice, "Fools, I say.").pk]
    return file_report(carol, alice, comment="They insult people.", rule_ids=[1], post_ids=posts)


@pytest.fixture
def mod():
    permissions = (SEES, ACTS, "posts.delete_post", "posts.view_post", "accounts.change_user")
    return make_staff(*permissions, handle="mod")


def picture(alt="") -> NewPicture:
    return NewPicture(ContentFile(b"RIFF", name="a.webp"), width=4, height=3, alt=alt)


def page(report) -> str:
    return f"{LIST}{report.pk}/change/"


def press(browser, report, act, reason="") -> str:
    answer = browser.post(page(report), {"act": act, "reason": reason}, follow=True)
    return str(answer.text)


def on_record():
    rows = LogEntry.objects.order_by("pk").select_related("user")
    return [(row.user.handle, row.object_id, row.change_message) for row in rows]


# --- what is read -----------------------------------------------------------------------------------


def test_the_page_has_the_texts_the_rules_and_the_history(report, mod, alice, carol):
    older = file_report(carol, alice, category="spam")
    resolve_report(older, by=mod, outcome="Talked to them.")
    text = browser_of(mod).get(page(report)).text
    for part in ("You are all fools.", "Fools, I say.", "They insult people.", "Be civil.", "@carol"):  # fmt: skip
        assert part in text
    assert "Talked to them." in text
    assert page(older) in text
    assert page(report) not in text


def test_pictures_are_shown_with_their_descriptions(alice, carol, mod):
    post = publish(alice, "Look.", pictures=[picture(alt="a red square")])
    report = file_report(carol, alice, post_ids=[post.pk])
    text = browser_of(mod).get(page(report)).text
    assert 'alt="a red square"' in text
    assert post.attachments.get().file.url in text


def test_what_was_changed_after_the_report_is_shown_as_it_was(report, mod, alice):
    first, second = report.posts.order_by("post")
    edit(alice, first.post_id, body="I never said that.")
    edit(alice, first.post_id, body="Nor this.")
    text = browser_of(mod).get(page(report)).text
    assert text.count("When it was reported it said:") == 1
    assert "You are all fools." in text
    assert "Nor this." in text
    assert "I never said that." not in text
    assert second.post_id


def test_what_was_changed_before_the_report_is_shown_once(alice, carol, mod):
    post = publish(alice, "An old text.")
    edit(alice, post.pk, body="A new text.")
    report = file_report(carol, alice, post_ids=[post.pk])
    text = browser_of(mod).get(page(report)).text
    assert "When it was reported it said:" not in text
    assert "An old text." not in text


def test_restricted_posts_are_read_by_permission_and_on_record(alice, bob, mod):
    post = publish(alice, "For few.", visibility="followers")
    report = file_report(bob, alice, post_ids=[post.pk])
    assert report.posts.count() == 1
    assert "For few." not in browser_of(mod).get(page(report)).text
    assert on_record() == []
    reader = make_staff(SEES, "posts.read_restricted_post", handle="reader")
    assert "For few." in browser_of(reader).get(page(report)).text
    assert on_record() == [("reader", str(post.pk), "Read.")]


@each("permissions, status", [((), 403), (("accounts.view_user",), 403), ((SEES,), 200), ((ACTS,), 200)])  # fmt: skip
def test_who_may_look(report, permissions, status):
    assert browser_of(make_staff(*permissions)).get(page(report)).status_code == status


@each("number", ["0", "999999", "x", "9" * 30])
def test_there_is_no_other_report(mod, number):
    assert browser_of(mod).get(f"{LIST}{number}/change/").status_code == 404


def test_who_only_looks_has_no_buttons_and_changes_nothing(report):
    browser = browser_of(make_staff(SEES))
    assert 'name="act"' not in browser.get(page(report)).text
    for act in ("take_on", "dismiss", "warn", "suspend", f"delete:{report.posts.first().post_id}"):
        assert '<li class="error">' in press(browser, report, act, "because")
    report.refresh_from_db()
    assert (report.assignee, report.resolved_at) == (None, None)
    assert Post.objects.filter(deleted_at=None).count() == 2
    assert on_record() == []


def test_queries_do_not_grow_with_what_is_reported(alice, carol, mod, django_assert_max_num_queries):  # fmt: skip
    posts = [publish(alice, f"No. {number}", pictures=[picture()]).pk for number in range(6)]
    for _time in range(3):
        report = file_report(carol, alice, post_ids=posts)
    browser = browser_of(mod)
    browser.get(page(report))
    with django_assert_max_num_queries(MAX_QUERIES + 6):
        browser.get(page(report))


def test_the_list_names_who_took_a_report_on(report, mod):
    press(browser_of(mod), report, "take_on")
    text = browser_of(mod).get(LIST).text
    assert "@mod" in text
    assert page(report) in text


# --- what is done -----------------------------------------------------------------------------------


def test_a_report_is_taken_on_and_given_back(report, mod):
    browser = browser_of(mod)
    press(browser, report, "take_on")
    assert Report.objects.get().assignee == mod
    press(browser, report, "give_back")
    assert Report.objects.get().assignee is None
    assert [said for _by, _what, said in on_record()] == ["Taken on by @mod.", "Given back."]


@each("act", ["dismiss", "warn", "suspend", "delete"])
def test_nothing_is_done_without_a_reason(report, mod, act):
    named = f"{act}:{report.posts.first().post_id}" if act == "delete" else act
    assert "A reason is needed." in press(browser_of(mod), report, named, "   ")
    report.refresh_from_db()
    assert report.resolved_at is None
    assert on_record() == []


def test_a_post_is_taken_down_and_the_report_stays_open(report, mod):
    first, second = (row.post_id for row in report.posts.order_by("post"))
    text = press(browser_of(mod), report, f"delete:{first}", "An insult.")
    assert "This post has been deleted." in text
    assert list(Post.objects.filter(deleted_at=None).values_list("pk", flat=True)) == [second]
    report.refresh_from_db()
    assert report.resolved_at is None
    assert on_record() == [
        ("mod", str(first), "Deleted."),
        ("mod", str(report.pk), f"Post {first} taken down: An insult."),
    ]


def test_only_posts_of_the_report_are_taken_down(report, mod, carol):
    other = publish(carol)
    for number in (str(other.pk), "x", "", "9" * 30):
        press(browser_of(mod), report, f"delete:{number}", "Because.")
    assert Post.objects.filter(deleted_at=None).count() == 3


def test_a_warning_is_a_message_that_is_no_request(report, mod, alice):
    press(browser_of(mod), report, "warn", "Please be civil.")
    deliver()
    message = Post.objects.get(author=mod)
    assert (message.visibility, message.body) == (Visibility.MENTIONED, "@alice Please be civil.")
    talk = Conversation.objects.get(user=alice)
    assert (talk.last_post_id, talk.is_unread, talk.is_request) == (message.pk, True, False)
    report.refresh_from_db()
    assert (report.resolved_by, report.outcome) == (mod, "Please be civil.")
    assert on_record() == [
        ("mod", str(alice.pk), "Warned: Please be civil."),
        ("mod", str(report.pk), "Resolved: Please be civil."),
    ]


def test_whom_a_warning_does_not_reach_is_not_warned(report, mod, alice):
    block_user(alice, mod)
    text = press(browser_of(mod), report, "warn", "Please be civil.")
    assert "t write to this account." in text
    report.refresh_from_db()
    assert report.resolved_at is None
    assert on_record() == []


def test_an_account_is_suspended(report, mod, alice):
    press(browser_of(mod), report, "suspend", "Spam.")
    report.refresh_from_db()
    assert report.outcome == "Spam."
    with pytest.raises(NotFound):
        user_by_id(alice.pk)
    assert "Suspended: Spam." in browser_of(mod).get(page(report)).text


def test_a_report_is_dismissed_and_reopened(report, mod):
    browser = browser_of(mod)
    press(browser, report, "dismiss", "No rule is broken.")
    assert Report.objects.get().outcome == "No rule is broken."
    press(browser, report, "reopen")
    assert Report.objects.get().resolved_at is None


@each("act", ["", "x", "delete", "__class__"])
def test_there_are_no_other_acts(report, mod, act):
    press(browser_of(mod), report, act, "Because.")
    assert on_record() == []


def test_nobody_but_superusers_acts_on_a_superuser(carol, mod):
    chief = make_staff(superuser=True, handle="boss")
    report = file_report(carol, chief)
    for act in ("warn", "suspend"):
        assert "You may not do this." in press(browser_of(mod), report, act, "Because.")
    assert on_record() == []


# --- the page of an account -------------------------------------------------------------------------


def test_an_account_has_its_reports_posts_sessions_and_what_staff_did(report, mod, alice, page_of):
    page_of(alice)
    press(browser_of(mod), report, "warn", "Please be civil.")
    address = f"/admin/accounts/user/{alice.pk}/change/"
    text = browser_of(mod).get(address).text
    for part in ("Warned: Please be civil.", page(report), "You are all fools.", "Where it is logged in"):  # fmt: skip
        assert part in text
    few = browser_of(make_staff("accounts.view_user")).get(address).text
    assert "Warned: Please be civil." in few
    assert "You are all fools." not in few
    assert page(report) not in few


def test_texts_for_few_are_not_on_the_page_of_an_account(mod, alice):
    publish(alice, "For few.", visibility="followers")
    text = browser_of(mod).get(f"/admin/accounts/user/{alice.pk}/change/").text
    assert "For few." not in text
    assert "(not for everybody)" in text


def test_permissions_are_there_and_folded(chief, alice):
    text = chief.get(f"/admin/accounts/user/{alice.pk}/change/").text
    assert 'name="user_permissions"' in text
    assert "<details" in text[: text.index('name="user_permissions"')]
