"""Strikes as the person sees them, and appeals: once, in time, answered once, both told."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.core import signing
from django.db import connection, transaction
from django.utils import timezone
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from apps.accounts.authentication.second_factor import new_codes
from apps.accounts.models import User
from apps.errors import Invalid, NotAllowed, NotFound
from apps.moderation.actions import (
    file_report,
    freeze_user,
    hide_post,
    restore_user,
    suspend_user,
    unfreeze_user,
)
from apps.notifications.kinds import NotificationKind
from apps.notifications.models import Notification
from apps.posts.actions.publish import delete_post
from apps.posts.models import Post
from apps.strikes import actions, queries
from apps.strikes.actions import add_note, answer_appeal, appeal, take_back, warn
from apps.strikes.models import Appeal, Evidence, Note, Strike
from tests.support.cases import each
from tests.support.factories import PASSWORD, make_user, moderator, publish
from tests.support.staff import browser_of, confirm, make_staff
from tests.support.threads import together

pytestmark = pytest.mark.django_db
OWN, APPEALS = "/settings/strikes", "/admin/moderation/report/appeals/"


@pytest.fixture
def mod():
    permissions = ("moderation.change_report", "posts.delete_post", "accounts.change_user")
    return make_staff(*permissions, handle="mod")


@pytest.fixture
def strike(alice, carol, mod):
    post = publish(alice, "You are all fools.")
    report = file_report(carol, alice, rule_ids=[1], post_ids=[post.pk])
    hide_post(post.pk, by=mod, reason="An insult.", report=report)
    return Strike.objects.get()


def told(user):
    """The newest notification of the moderators, by its number."""
    rows = Notification.objects.filter(user=user, kind=NotificationKind.STRIKE)
    return rows.values_list("pk", flat=True).first()


# --- what the person reads --------------------------------------------------------------------------


@pytest.mark.slow
def test_the_person_is_told_and_reads_it_in_their_language(strike, alice, page_of):
    browser = page_of(alice)
    assert OWN in browser.get("/notifications").text
    text = browser.get(OWN).text
    for part in ("One of your posts is hidden.", "Be civil.", "An insult.", "You are all fools."):
        assert part in text
    assert "@mod" not in text
    User.objects.filter(pk=alice.pk).update(interface_language="zh-hans")
    alice.refresh_from_db()
    text = page_of(alice).get(OWN).text
    assert "One of your posts" not in text
    assert "Be civil." not in text
    assert "An insult." in text


def test_there_is_one_notification_which_every_decision_renews(strike, alice, mod):
    first = told(alice)
    warn(alice, by=mod, reason="Again.")
    assert told(alice) > first
    assert Notification.objects.filter(user=alice).count() == 1


def test_the_api_names_it_as_mastodon_does(strike, alice, api_of):
    [row] = api_of(alice).get("/api/v1/notifications").json()
    assert (row["type"], row["account"]["acct"]) == ("moderation_warning", "alice")
    warning = row["moderation_warning"]
    assert (warning["action"], warning["text"]) == ("delete_statuses", "An insult.")
    assert warning["status_ids"] == [str(strike.post_id)]
    assert (warning["target_account"]["acct"], warning["appeal"]) == ("alice", None)
    appeal(strike, text="It was a quotation.")
    [group] = api_of(alice).get("/api/v2/notifications").json()["notification_groups"]
    expected = {"text": "It was a quotation.", "state": "pending"}
    assert group["moderation_warning"]["appeal"] == expected


def test_others_see_nothing_of_it(strike, bob, page_of):
    assert "An insult." not in page_of(bob).get(OWN).text
    with pytest.raises(NotFound):
        queries.own_strike(bob, strike.pk)
    answer = page_of(bob).post(OWN, {"strike": strike.pk, "text": "Let me."})
    assert answer.status_code == 404
    assert page_of(None).get(OWN).status_code == 302


# --- appeals ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_accepted_appeal_takes_the_decision_back(strike, alice, mod, page_of):
    browser = page_of(alice)
    answer = browser.post(OWN, {"strike": strike.pk, "text": " It was a quotation. "}, follow=True)
    assert "It was a quotation." in answer.text
    assert "It is waiting for an answer." in answer.text
    before, row = told(alice), Appeal.objects.get()
    staff = browser_of(mod)
    text = staff.get(APPEALS).text
    for part in ("It was a quotation.", "An insult.", "You are all fools.", "@alice"):
        assert part in text
    assert "1 appeal is waiting" in browser_of(moderator()).get("/admin/").text
    staff.post(APPEALS, {"act": f"accept:{row.pk}", f"text-{row.pk}": "You are right."})
    assert Post.objects.get(pk=strike.post_id).hidden_at is None
    text = browser.get(OWN).text
    assert "It was accepted." in text
    assert "You are right." in text
    assert told(alice) > before
    assert "No appeals are waiting" in staff.get(APPEALS).text


def test_an_accepted_appeal_is_told_even_if_the_measure_was_taken_back_before(strike, alice, mod):
    row = appeal(strike, text="It was a quotation.")
    take_back(strike, by=mod)
    before = told(alice)
    answer_appeal(row, by=mod, is_accepted=True)
    assert told(alice) > before


def test_a_rejected_appeal_changes_nothing_and_is_told(strike, alice, mod, page_of):
    row, before = appeal(strike, text="It was a quotation."), told(alice)
    browser_of(mod).post(APPEALS, {"act": f"reject:{row.pk}", f"text-{row.pk}": "It was not."})
    assert Post.objects.get(pk=strike.post_id).hidden_at is not None
    text = page_of(alice).get(OWN).text
    assert "It was rejected." in text
    assert "It was not." in text
    assert told(alice) > before


def test_there_is_one_appeal_for_each_strike_and_one_answer(strike, mod):
    row = appeal(strike, text="It was a quotation.")
    with pytest.raises(NotAllowed):
        appeal(Strike.objects.get(), text="And again.")
    with pytest.raises(NotAllowed):  # as of somebody else's moment ago
        appeal(Strike.objects.defer("text").get(), text="And again.")
    answer_appeal(row, by=mod, is_accepted=False)
    with pytest.raises(NotAllowed):
        answer_appeal(row, by=mod, is_accepted=True)
    assert Strike.objects.get().undone_at is None


def test_the_time_to_appeal_ends(strike, alice, page_of):
    bound = timedelta(days=settings.APPEAL_DAYS)
    assert settings.APPEAL_DAYS == 20
    for age, status in ((bound - timedelta(minutes=1), 303), (bound, 422)):
        Appeal.objects.all().delete()
        Strike.objects.update(created_at=timezone.now() - age)
        answer = page_of(alice).post(OWN, {"strike": strike.pk, "text": "It was a quotation."})
        assert answer.status_code == status
    assert "It is too late to appeal." in page_of(alice).get(OWN).text


def test_what_was_taken_back_cannot_be_appealed_against(strike, mod):
    take_back(strike, by=mod)
    with pytest.raises(NotAllowed):
        appeal(Strike.objects.get(), text="Why?")


@each("text", ["", "   ", "x" * 1001])
def test_an_appeal_says_something_short(strike, alice, page_of, text):
    with pytest.raises(Invalid):
        appeal(strike, text=text)
    answer = page_of(alice).post(OWN, {"strike": strike.pk, "text": text})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text


@pytest.mark.slow
@each("number", ["", "x", "0", "9" * 30])
def test_there_is_no_other_strike(alice, page_of, number):
    assert page_of(alice).post(OWN, {"strike": number, "text": "Why?"}).status_code == 404


def test_an_answer_is_short_and_kept_whole(strike, mod):
    row = appeal(strike, text="It was a quotation.")
    with pytest.raises(Invalid, match="At most 1000 characters"):
        answer_appeal(row, by=mod, is_accepted=False, text="x" * 1001)
    answer_appeal(row, by=mod, is_accepted=False, text="x" * 1000)
    assert Appeal.objects.get().answer == "x" * 1000


@pytest.mark.slow
@each("act", ["", "x:1", "accept:x", "accept:999999"])
def test_there_are_no_other_answers(strike, mod, act):
    assert browser_of(mod).post(APPEALS, {"act": act}).status_code == 400


def test_answers_ask_for_the_permissions(strike):
    row = appeal(strike, text="It was a quotation.")
    for by in (make_staff("moderation.view_report"), make_staff("moderation.change_report")):
        with pytest.raises(NotAllowed):
            answer_appeal(row, by=by, is_accepted=True)
    row.refresh_from_db()
    assert row.decided_at is None  # also where only the second permission was missing
    with pytest.raises(NotAllowed):
        add_note(strike.user, by=make_staff("moderation.view_report"), text="A note.")
    with pytest.raises(NotAllowed):
        warn(strike.user, by=make_staff("moderation.view_report"))


def test_appeals_come_in_pages(mod, alice, monkeypatch):
    monkeypatch.setattr(queries, "PER_PAGE", 2)
    for number in range(3):
        warn(alice, by=mod)
        appeal(Strike.objects.latest("pk"), text=f"No. {number}")
    staff = browser_of(mod)
    first = staff.get(APPEALS)
    second = staff.get(APPEALS + first.context["older"])
    found = [row.text for page in (first, second) for row in page.context["appeals"]]
    assert found == ["No. 0", "No. 1", "No. 2"]
    assert second.context["older"] == ""


@pytest.mark.django_db(transaction=True)
def test_an_answer_does_not_wait_for_other_writes_of_the_account(alice, mod):
    """Publishing locks the account's row in a weaker way, after its counts: the other order would be a deadlock."""
    warn(alice, by=mod)
    row = appeal(Strike.objects.get(), text="It was a quotation.")

    def answer(_number):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '1s'")
            answer_appeal(row, by=mod, is_accepted=True)

    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=alice.pk)
        together(1, answer)
    assert Strike.objects.get().undone_by == mod


@pytest.mark.slow
def test_restricted_texts_are_read_by_permission_and_on_record(alice, bob, mod):
    post = publish(alice, "For few.", visibility="followers")
    hide_post(post.pk, by=mod)
    strike = Strike.objects.get()
    appeal(strike, text="It was a quotation.")
    chief = make_staff(superuser=True)
    LogEntry.objects.all().delete()
    change = f"/admin/strikes/strike/{strike.pk}/change/"
    for reader in (mod, make_staff("moderation.view_report", "strikes.view_strike"), chief):
        assert "For few." not in browser_of(reader).get(change).text
    for reader in (mod, make_staff("moderation.view_report")):
        text = browser_of(reader).get(APPEALS).text
        assert "It was a quotation." in text
        assert "For few." not in text
    assert not LogEntry.objects.exists()
    assert "For few." in browser_of(chief).get(APPEALS).text
    entry = LogEntry.objects.get()
    assert (entry.user, entry.object_id, entry.change_message) == (chief, str(post.pk), "Read.")


@pytest.mark.long
def test_strikes_are_taken_back_from_their_list(alice, mod, chief):
    for number in range(12):
        hide_post(publish(alice, f"No. {number}").pk, by=mod)
    freeze_user(alice, by=mod)
    chosen, address = Strike.objects.all(), "/admin/strikes/strike/"
    reader = browser_of(make_staff("strikes.view_strike"))
    confirm(reader, address, "take_back", chosen, reason="A mistake.")
    assert Strike.objects.filter(undone_at=None).count() == 13
    page = confirm(chief, address, "take_back", chosen, reason="A mistake.")
    assert "13 strikes taken back." in page.text
    assert not Strike.objects.filter(undone_at=None).exists()
    assert not Post.objects.exclude(hidden_at=None).exists()
    assert User.objects.get(pk=alice.pk).is_active
    few = browser_of(make_staff("strikes.view_strike", "moderation.change_report"))
    freeze_user(alice, by=mod)
    page = confirm(few, address, "take_back", chosen.filter(undone_at=None), reason="A mistake.")
    assert "You do not have permission to do this." in page.text
    assert not User.objects.get(pk=alice.pk).is_active


# --- the post is gone, the account is closed --------------------------------------------------------


def test_a_strike_ends_though_its_author_has_deleted_the_post(strike, alice, mod):
    delete_post(strike.post_id, by=alice)
    row = appeal(strike, text="It was a quotation.")
    answer_appeal(row, by=mod, is_accepted=True)
    assert Strike.objects.get().undone_by == mod
    assert Post.objects.get(pk=strike.post_id).deleted_at is not None


def log_in(browser, user, password=PASSWORD):
    return browser.post("/login", {"username": user.handle, "password": password})


@pytest.mark.slow
@each("close", [freeze_user, suspend_user])
def test_the_owner_of_a_closed_account_reads_why_and_appeals(alice, mod, page_of, close):
    publish(alice, "Hello.")
    close(alice, by=mod, reason="You sell things.")
    browser = page_of(None)
    assert log_in(browser, alice, "a wrong passphrase").status_code == 422
    answer = log_in(browser, alice)
    assert answer.status_code == 303
    page = browser.get(answer.url)
    assert "You sell things." in page.text
    assert browser.get("/settings/strikes").status_code == 302  # not logged in
    strike = Strike.objects.get()
    answer = browser.post(answer.url, {"strike": strike.pk, "text": "I do not."}, follow=True)
    assert "I do not." in answer.text
    answer_appeal(Appeal.objects.get(), by=mod, is_accepted=True)
    assert log_in(page_of(None), alice).url == "/"


def test_an_account_that_was_frozen_before_it_was_suspended_is_open_after_it_was_restored(alice, mod):  # fmt: skip
    freeze_user(alice, by=mod)
    suspend_user(alice, by=mod, reason="")
    with pytest.raises(NotAllowed):
        unfreeze_user(alice, by=mod)
    restore_user(alice, by=mod, reason="")
    assert not Strike.objects.filter(undone_at=None).exists()
    assert User.objects.get(pk=alice.pk).is_active


def test_a_frozen_account_keeps_its_posts_and_loses_sessions_and_tokens(alice, bob, mod, page_of, api_of):  # fmt: skip
    post, browser, program = publish(alice, "Hello."), page_of(alice), api_of(alice)
    assert program.get("/api/v1/accounts/verify_credentials").status_code == 200
    freeze_user(alice, by=mod)
    assert program.get("/api/v1/accounts/verify_credentials").status_code == 401
    assert browser.get("/settings/account").status_code == 302
    assert api_of(bob).get(f"/api/v1/statuses/{post.pk}").status_code == 200
    unfreeze_user(alice, by=mod)
    assert log_in(page_of(None), alice).url == "/"


def test_a_link_is_good_for_one_closed_account_and_a_day(alice, mod, page_of, monkeypatch):
    freeze_user(alice, by=mod)
    token = queries.token_of(alice)
    assert queries.owner_of(token) == alice
    for wrong in ("x", token[:-1], f"{token}x", signing.dumps(alice.pk, salt="other")):
        assert page_of(None).get(f"/strikes/{wrong}").status_code == 404
    monkeypatch.setattr(queries, "TOKEN_SECONDS", -1)
    assert page_of(None).get(f"/strikes/{token}").status_code == 404


def test_a_link_ends_with_the_password_and_when_the_account_is_open_again(alice, mod, page_of):
    freeze_user(alice, by=mod)
    address = log_in(page_of(None), alice).url
    assert page_of(None).get(address).status_code == 200
    unfreeze_user(alice, by=mod)
    assert page_of(None).get(address).status_code == 404
    freeze_user(alice, by=mod)
    alice.set_password("another passphrase")
    alice.save()
    assert page_of(None).get(address).status_code == 404


@pytest.mark.slow
def test_the_password_alone_opens_no_page_of_an_account_with_a_second_factor(alice, mod, page_of):
    TOTPDevice.objects.create(user=alice, name="app", confirmed=True)
    codes = new_codes(alice)
    freeze_user(alice, by=mod, reason="You sell things.")
    strike, browser = Strike.objects.get(), page_of(None)
    address = log_in(browser, alice).url
    assert "You sell things." not in browser.get(address).text
    for sent in ({"code": "00000000"}, {"strike": strike.pk, "text": "I do not."}):
        answer = browser.post(address, sent)
        assert answer.status_code == 422
        assert "You sell things." not in answer.text
    assert not Appeal.objects.exists()
    StaticDevice.objects.update(throttling_failure_timestamp=None, throttling_failure_count=0)
    assert browser.post(address, {"code": codes[0]}).url == address
    assert "You sell things." in browser.get(address).text
    browser.post(address, {"strike": strike.pk, "text": "I do not."})
    assert Appeal.objects.get().text == "I do not."
    assert "You sell things." not in page_of(None).get(address).text


def test_without_a_strike_a_closed_account_gets_the_answer_of_a_wrong_password(alice, mod, page_of):
    warn(alice, by=mod)  # says nothing about why
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert log_in(page_of(None), alice).status_code == 422


@each("measure, now, then", [
    ("warn", "You have been warned.", "You were warned."),
    ("hide", "One of your posts is hidden.", "One of your posts was hidden."),
    ("sensitive", "that you cannot remove.", "were hidden behind a button."),
    ("limit", "Your account is limited.", "Your account was limited."),
    ("freeze", "Your account is frozen.", "Your account was frozen."),
    ("suspend", "Your account is suspended.", "Your account was suspended."),
])  # fmt: skip
def test_what_was_taken_back_is_told_as_of_the_past(strike, measure, now, then):
    Strike.objects.update(measure=measure)
    assert now in queries.own_strikes(strike.user)[0].what
    Strike.objects.update(undone_at=timezone.now())
    assert then in queries.own_strikes(strike.user)[0].what


# --- what is kept -----------------------------------------------------------------------------------


def test_what_posts_said_goes_when_nobody_has_to_decide_any_more(strike, alice, carol, mod):
    open_report = file_report(carol, alice, post_ids=[publish(alice, "Another.").pk])
    old = timezone.now() - actions.EVIDENCE_KEPT - timedelta(days=1)
    strike.report.resolved_at = old
    strike.report.save()
    Strike.objects.update(created_at=old)
    row = Appeal.objects.create(strike=strike, text="Please.")
    actions.purge()
    assert Evidence.objects.count() == 2
    assert Strike.objects.get().evidence["body"] == "You are all fools."
    Appeal.objects.filter(pk=row.pk).update(decided_at=old)
    actions.purge()
    actions.purge()
    assert [one.report for one in Evidence.objects.all()] == [open_report]
    assert Strike.objects.get().evidence == {}
    assert Strike.objects.get().text == "An insult."


def test_young_evidence_stays(strike):
    strike.report.resolved_at = timezone.now()
    strike.report.save()
    actions.purge()
    assert Evidence.objects.count() == 1
    assert Strike.objects.get().evidence


@pytest.mark.slow
def test_notes_and_strikes_outlive_those_who_wrote_them(strike, alice, mod):
    add_note(alice, by=mod, text="Third time.")
    mod.delete()
    assert Strike.objects.get().by is None
    assert Note.objects.get().by is None


def test_other_accounts_have_nothing_of_it(strike, alice):
    assert queries.own_strikes(make_user()) == []
    assert [one.strike for one in queries.own_strikes(alice)] == [strike]
