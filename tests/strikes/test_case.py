"""The page of a report: what staff read there, and what they decide, each by permission and on record."""

from collections.abc import Callable
from functools import partial
from io import BytesIO

import pytest
from django.contrib.admin.models import LogEntry
from django.core.files.base import ContentFile

from apps.accounts.models import User
from apps.accounts.queries import user_by_id
from apps.errors import Conflict, NotAllowed, NotFound
from apps.moderation.actions import (
    assign_report,
    file_report,
    freeze_user,
    hide_post,
    mark_sensitive,
    reopen_report,
    resolve_report,
)
from apps.moderation.models import Measure, Report
from apps.posts.actions.attachments import PictureChange
from apps.posts.actions.drafts import NewPicture, PollDraft
from apps.posts.actions.publish import delete_post
from apps.posts.actions.uploads import upload_picture
from apps.posts.models import Post
from apps.strikes.actions import answer_appeal, appeal, decide, take_back
from apps.strikes.models import Note, Strike
from apps.timeline.publishing import edit
from tests.support.cases import each
from tests.support.factories import moderator, publish, repost
from tests.support.pictures import picture as picture_file
from tests.support.staff import MAX_QUERIES, browser_of, make_staff
from tests.support.threads import together

pytestmark = pytest.mark.django_db
LIST, QUEUE = "/admin/moderation/report/", "/admin/moderation/report/queue/"
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


def post_ids(report):
    return [row.post_id for row in report.posts.order_by("post")]


def press(browser, report, act, text="", **fields) -> str:
    """Press a button; by default for all posts, as the page proposes."""
    data = {"act": act, "text": text, "post": post_ids(report), **fields}
    return str(browser.post(page(report), data, follow=True).text)


def on_record():
    rows = LogEntry.objects.order_by("pk").select_related("user")
    return [(row.user.handle, row.object_id, row.change_message) for row in rows]


# --- what is read -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_page_has_the_texts_the_rules_and_the_history(report, mod, alice, carol):
    older = file_report(carol, alice, category="spam")
    resolve_report(older, by=mod, outcome="Talked to them.")
    text = browser_of(mod).get(page(report)).text
    for part in ("You are all fools.", "Fools, I say.", "They insult people.", "Be civil.", "@carol"):  # fmt: skip
        assert part in text
    assert "Talked to them." in text
    assert page(older) in text
    assert "2 times, 1 open" in text


def test_pictures_and_polls_are_shown(alice, carol, mod):
    post = publish(alice, "Look.", pictures=[picture(alt="a red square")])
    poll = publish(alice, "Which?", poll=PollDraft(["Tea", "Coffee"], 3600))
    report = file_report(carol, alice, post_ids=[post.pk, poll.pk])
    text = browser_of(mod).get(page(report)).text
    assert 'alt="a red square"' in text
    assert post.attachments.get().file.url in text
    assert "Coffee" in text


def test_what_was_changed_after_the_report_is_shown_as_it_was(report, mod, alice):
    first, _second = post_ids(report)
    edit(alice, first, body="I never said that.")
    edit(alice, first, body="Nor this.")
    text = browser_of(mod).get(page(report)).text
    assert text.count("Its text when it was reported:") == 1
    assert "You are all fools." in text
    assert "Nor this." in text
    assert "I never said that." not in text


def test_descriptions_of_pictures_are_shown_as_they_were(alice, carol, mod, settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)
    upload = upload_picture(alice, BytesIO(picture_file()), alt="A fool.")
    post = publish(alice, "Look.", media_ids=[upload.pk])
    report = file_report(carol, alice, post_ids=[post.pk])
    edit(alice, post.pk, body="Look.", pictures=[PictureChange(upload.pk, alt="A friend.")])
    text = browser_of(mod).get(page(report)).text
    assert text.count('alt="A fool."') == text.count('alt="A friend."') == 1


def test_what_was_changed_before_the_report_is_shown_once(alice, carol, mod):
    post = publish(alice, "An old text.")
    edit(alice, post.pk, body="A new text.")
    report = file_report(carol, alice, post_ids=[post.pk])
    text = browser_of(mod).get(page(report)).text
    assert "Its text when it was reported:" not in text
    assert "An old text." not in text


@pytest.mark.slow
def test_what_was_deleted_after_the_report_is_shown_as_it_was(report, mod, alice, carol):
    poll = publish(alice, "Which?", content_warning="Fools", poll=PollDraft(["Tea", "Coffee"], 3600))  # fmt: skip
    second = file_report(carol, alice, post_ids=[poll.pk])
    for post_id in (*post_ids(report), poll.pk):
        delete_post(post_id, by=alice)
    text = browser_of(mod).get(page(report)).text
    assert "You are all fools." in text
    assert text.count("Its text when it was reported:") == 2
    text = browser_of(mod).get(page(second)).text
    for part in ("Which?", "Fools", "Coffee"):
        assert part in text


@pytest.mark.slow
def test_restricted_posts_are_read_by_permission_and_on_record(alice, bob, mod):
    post = publish(alice, "For few.", visibility="followers")
    report = file_report(bob, alice, post_ids=[post.pk])
    assert "For few." not in browser_of(mod).get(page(report)).text
    assert on_record() == []
    reader = make_staff(SEES, "posts.read_restricted_post", handle="reader")
    assert "For few." in browser_of(reader).get(page(report)).text
    assert on_record() == [("reader", str(post.pk), "Read.")]
    delete_post(post.pk, by=alice)
    assert "For few." not in browser_of(mod).get(page(report)).text
    assert "For few." in browser_of(reader).get(page(report)).text


@pytest.mark.long
@pytest.mark.gate
@each("permissions, status", [((), 403), (("accounts.view_user",), 403), ((SEES,), 200), ((ACTS,), 200)])  # fmt: skip
def test_who_may_look(report, permissions, status):
    for address in (page(report), QUEUE, "/admin/moderation/report/appeals/"):
        assert browser_of(make_staff(*permissions)).get(address).status_code == status, address


@pytest.mark.slow
@each("number", ["0", "999999", "x", "9" * 30])
def test_there_is_no_other_report(mod, number):
    assert browser_of(mod).get(f"{LIST}{number}/change/").status_code == 404


@pytest.mark.long
def test_who_only_looks_has_no_buttons_and_changes_nothing(report):
    browser = browser_of(make_staff(SEES))
    assert 'name="act"' not in browser.get(page(report)).text
    for act in ("take_on", "reopen", "note", *(f"decide:{one}" for one in ("", *Measure.values))):
        assert '<li class="error">' in press(browser, report, act, "because", note="because")
    report.refresh_from_db()
    assert (report.assignee, report.resolved_at) == (None, None)
    assert on_record() == []
    assert not Strike.objects.exists()
    assert not Note.objects.exists()


@pytest.mark.slow
def test_queries_do_not_grow_with_what_is_reported(alice, carol, mod, django_assert_max_num_queries):  # fmt: skip
    posts = [publish(alice, f"No. {number}", pictures=[picture()]).pk for number in range(6)]
    for _time in range(3):
        report = file_report(carol, alice, post_ids=posts)
    browser = browser_of(mod)
    browser.get(page(report))
    with django_assert_max_num_queries(MAX_QUERIES + 18):
        browser.get(page(report))


# --- what is done -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_report_is_taken_on_and_given_back(report, mod):
    browser = browser_of(mod)
    press(browser, report, "take_on")
    assert Report.objects.get().assignee == mod
    press(browser, report, "give_back")
    assert Report.objects.get().assignee is None
    assert [said for _by, _what, said in on_record()] == ["Assigned to @mod.", "Unassigned."]


@pytest.mark.slow
def test_one_press_hides_the_chosen_post_and_closes_the_report(report, mod, alice):
    first, second = post_ids(report)
    press(browser_of(mod), report, "decide:hide", "An insult.", post=[first])
    assert [pk for pk in (first, second) if Post.objects.get(pk=pk).hidden_at] == [first]
    report.refresh_from_db()
    assert (report.resolved_by, report.outcome) == (mod, "An insult.")
    strike = Strike.objects.get()
    assert (strike.user, strike.by, strike.report) == (alice, mod, report)
    assert (strike.measure, strike.post_id, strike.text) == ("hide", first, "An insult.")
    assert strike.evidence["body"] == "You are all fools."
    assert strike.rules == ["Be civil. Argue about what is said, not about who says it."]
    assert on_record() == [
        ("mod", str(alice.pk), f"Post {first} hidden: An insult."),
        ("mod", str(report.pk), "Resolved: An insult."),
    ]


@pytest.mark.long
@pytest.mark.gate
@each("measure", Measure.values)
def test_every_measure_is_taken_without_a_word_and_taken_back(report, mod, alice, measure):
    browser = browser_of(mod)
    press(browser, report, f"decide:{measure}")
    strikes = Strike.objects.order_by("pk")
    assert {strike.measure for strike in strikes} == {measure}
    assert len(strikes) == (2 if measure in {"hide", "sensitive"} else 1)
    changed = state_of(alice)
    assert (changed == state_of(None)) == (measure == "warn")
    text = browser.get(page(report)).text
    for strike in strikes:
        assert f"take_back:{strike.pk}" in text
        press(browser, report, f"take_back:{strike.pk}", "A mistake.")
    assert not Strike.objects.filter(undone_at=None).exists()
    assert set(strikes.values_list("undone_by", flat=True)) == {mod.pk}
    assert state_of(alice) == state_of(None)


def state_of(user):
    """What measures change; None: what nobody has touched."""
    if user is None:
        return True, None, None, [(None, False)] * 2
    user = User.objects.get(pk=user.pk)
    posts = Post.objects.filter(author=user).order_by("pk")
    return (
        user.is_active,
        user.limited_at,
        user.suspended_at,
        list(posts.values_list("hidden_at", "is_marked_sensitive")),
    )


@pytest.mark.long
def test_a_measure_that_is_in_force_is_not_taken_twice(report, mod, alice):
    browser = browser_of(mod)
    for measure in ("hide", "sensitive", "limit", "freeze"):
        for _time in range(2):
            press(browser, report, f"decide:{measure}")
            press(browser, report, "reopen")
    press(browser, report, "decide:suspend")
    press(browser, report, "reopen")
    press(browser, report, "decide:freeze")
    measures = sorted(Strike.objects.values_list("measure", flat=True))
    expected = ["freeze", "hide", "hide", "limit", "sensitive", "sensitive", "suspend"]
    assert measures == expected


def test_a_measure_that_is_in_force_needs_its_permission_too(report, alice):
    """Because it closes all reports about the account."""
    freeze_user(alice, by=moderator())
    with pytest.raises(NotAllowed):
        decide(report, "freeze", by=make_staff(ACTS))
    assert Report.objects.get(pk=report.pk).resolved_at is None
    assert decide(report, "freeze", by=make_staff(ACTS, "accounts.change_user")) == 1


@pytest.mark.long
def test_a_resolved_report_is_reopened_before_it_is_decided_again(report, mod):
    browser = browser_of(mod)
    press(browser, report, "decide:warn", "An insult.")
    text = browser.get(page(report)).text
    assert "decide:" not in text
    assert "reopen" in text
    for measure in ("", *Measure.values):  # an old page still has the buttons
        assert "has been resolved already" in press(browser, report, f"decide:{measure}", "No.")
    assert Report.objects.get().outcome == "An insult."
    assert Strike.objects.get().measure == "warn"


@pytest.mark.django_db(transaction=True)
def test_of_two_decisions_at_once_the_first_one_counts(report, mod, bob):
    second = file_report(bob, report.target, post_ids=post_ids(report))

    def both(measure, *reports):
        def one(number):
            try:
                decide(reports[number], measure, by=mod, post_ids=post_ids(report))
            except Conflict:
                return 1
            return 0

        return sum(together(2, one))

    assert both(Measure.WARN, report, report) == 1
    assert Strike.objects.get().measure == "warn"
    for row in (report, second):
        row.refresh_from_db()
        reopen_report(row, by=mod)
    assert both(Measure.HIDE, report, second) == 1
    assert Strike.objects.filter(measure="hide").count() == 2  # one for each post
    together(2, lambda _number: mark_sensitive(post_ids(report)[0], by=mod))
    assert Strike.objects.filter(measure="sensitive").count() == 1


@pytest.mark.long
@pytest.mark.gate
@each("measure, closed", [
    ("", {"report"}),
    ("warn", {"report", "part", "same"}),
    ("hide", {"report", "part"}),
    ("sensitive", {"report", "part"}),
    ("limit", {"report", "part", "same"}),
    ("freeze", {"report", "part", "same", "more", "none"}),
])  # fmt: skip
def test_a_decision_closes_what_it_answers(report, mod, alice, bob, measure, closed):
    first, second = post_ids(report)
    made = {
        "report": report,
        "part": file_report(bob, alice, post_ids=[first]),
        "same": file_report(bob, alice, post_ids=[first, second]),
        "more": file_report(bob, alice, post_ids=[first, publish(alice, "Another.").pk]),
        "none": file_report(bob, alice),
    }
    other = file_report(alice, bob)
    text = press(browser_of(mod), report, f"decide:{measure}", post=[first])
    assert f"{len(closed)} report" in text
    open_ones = set(Report.objects.filter(resolved_at=None))
    assert open_ones == {other, *(row for name, row in made.items() if name not in closed)}


@pytest.mark.slow
def test_a_repost_and_a_deleted_post_do_not_hinder_a_decision(report, mod, alice, carol):
    first, second = post_ids(report)
    shared = repost(alice, publish(carol).pk)
    mixed = file_report(carol, alice, post_ids=[first, second, shared.pk])
    browser = browser_of(mod)
    assert f'name="post" value="{first}"' in browser.get(page(mixed)).text
    assert f'name="post" value="{shared.pk}"' not in browser.get(page(mixed)).text
    assert "Choose a post." in press(browser, mixed, "decide:hide", post=[shared.pk])
    delete_post(second, by=alice)
    press(browser, mixed, "decide:hide")
    assert [row.post_id for row in Strike.objects.all()] == [first]
    mixed.refresh_from_db()
    assert mixed.resolved_by == mod


def test_enter_in_a_field_decides_nothing(report, mod):
    text = browser_of(mod).get(page(report)).text
    form = text[text.index('<form method="post" class="case">') :]
    assert form[form.index("<button") :].startswith("<button disabled hidden></button>")


@pytest.mark.slow
def test_a_decision_leads_to_the_next_report_of_the_list_and_at_last_to_the_list(mod, alice, carol):
    posts = [publish(alice, f"No. {number}").pk for number in range(3)]
    one, two, three = (file_report(carol, alice, post_ids=[post_id]) for post_id in posts)
    browser = browser_of(mod)
    asked = {"act": "decide:", "text": ""}
    answer = browser.post(f"{page(two)}?state=open", asked)
    assert answer.headers["Location"] == f"{page(three)}?state=open"
    answer = browser.post(answer.headers["Location"], asked)
    assert answer.headers["Location"] == f"{QUEUE}?state=open"
    answer = browser.post(f"{page(one)}?state=open", asked)
    assert answer.headers["Location"] == f"{QUEUE}?state=open"


def test_a_measure_about_posts_needs_one(report, mod):
    assert "Choose a post." in press(browser_of(mod), report, "decide:hide", post=[])
    report.refresh_from_db()
    assert report.resolved_at is None


@pytest.mark.long
def test_only_posts_of_the_report_are_hidden(report, mod, carol):
    other = publish(carol)
    for number in (str(other.pk), "x", "", "9" * 19, "9" * 30):
        press(browser_of(mod), report, "decide:hide", post=[number])
    assert not Post.objects.exclude(hidden_at=None).exists()
    assert on_record() == []


@pytest.mark.slow
def test_an_account_is_suspended(report, mod, alice):
    press(browser_of(mod), report, "decide:suspend", "Spam.")
    with pytest.raises(NotFound):
        user_by_id(alice.pk)
    assert "Suspended: Spam." in browser_of(mod).get(page(report)).text


@pytest.mark.slow
def test_a_report_is_dismissed_and_reopened(report, mod):
    browser = browser_of(mod)
    press(browser, report, "decide:", "No rule is broken.")
    assert Report.objects.get().outcome == "No rule is broken."
    assert not Strike.objects.exists()
    press(browser, report, "reopen")
    assert Report.objects.get().resolved_at is None


@pytest.mark.slow
@each("act", ["", "x", "decide:x", "decide:delete", "__class__"])
def test_there_are_no_other_acts(report, mod, act):
    assert browser_of(mod).post(page(report), {"act": act}).status_code == 400
    assert on_record() == []


@pytest.mark.long
@each("value", ["", "x", "0", "999999"])
def test_only_strikes_of_the_account_are_taken_back(report, mod, carol, value):
    assert "There is no such decision." in press(browser_of(mod), report, f"take_back:{value}")


@pytest.mark.long
@pytest.mark.gate
def test_nobody_decides_about_superusers(carol, mod):
    chief = make_staff(superuser=True, handle="boss")
    report = file_report(carol, chief, post_ids=[publish(chief).pk])
    for measure in Measure.values:
        assert "You do not have permission to do this." in press(
            browser_of(mod), report, f"decide:{measure}"
        )
    assert on_record() == []


def test_nobody_decides_about_themselves(carol, mod):
    post = publish(mod)
    report = file_report(carol, mod, post_ids=[post.pk])
    hide_post(post.pk, by=make_staff(superuser=True), report=report)
    strike = Strike.objects.get()
    row, before = appeal(strike, text="It was a quotation."), on_record()
    refused: list[Callable[[], object]] = [
        lambda: resolve_report(report, by=mod, outcome=""),
        lambda: reopen_report(report, by=mod),
        lambda: assign_report(report, by=mod, to=mod),
        lambda: take_back(strike, by=mod),
        lambda: answer_appeal(row, by=mod, is_accepted=True),
        *(partial(decide, report, one, by=mod, post_ids=[post.pk]) for one in ("", *Measure)),
    ]
    for act in refused:
        with pytest.raises(NotAllowed, match="to your own account"):
            act()
    assert on_record() == before
    assert Strike.objects.get().undone_at is None


def test_nobody_reads_who_reported_them(carol, mod):
    report, browser = file_report(carol, mod), browser_of(mod)
    assert browser.get(page(report)).status_code == 404
    assert browser.post(page(report), {"act": "decide:"}).status_code == 404
    for address in (QUEUE, LIST):
        assert "@carol" not in browser.get(address).text
        assert "@carol" in browser_of(make_staff(SEES)).get(address).text


def test_the_buttons_are_those_of_the_permissions(report):
    few = browser_of(make_staff(ACTS)).get(page(report)).text
    assert "decide:warn" in few
    for measure in ("hide", "sensitive", "limit", "freeze", "suspend"):
        assert f"decide:{measure}" not in few


@pytest.mark.slow
def test_notes_are_of_the_account_and_for_staff_only(report, mod, alice, carol, page_of):
    browser = browser_of(mod)
    press(browser, report, "note", note="  Third time this week.  ")
    other = file_report(carol, alice)
    assert "Third time this week." in browser.get(page(other)).text
    assert "Third time" not in page_of(alice).get("/settings/strikes").text
    assert "Write something." in press(browser, report, "note", note="  ")
    assert Note.objects.get().by == mod
