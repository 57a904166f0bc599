"""What the site does about a post, by its score and as staff have chosen: as itself, on record, and undoable."""

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.staff import is_permitted
from apps.errors import Invalid, NotAllowed
from apps.moderation.actions import hide_post, resolve_report, suspend_user
from apps.moderation.models import Report
from apps.posts.actions.publish import delete_post
from apps.posts.models import Post
from apps.spam.actions import (
    FINGERPRINT_RETENTION,
    VERDICT_RETENTION,
    examine,
    file_waiting,
    purge,
    save_policy,
    site_account,
)
from apps.spam.models import Fingerprint, Policy, Verdict
from apps.strikes.actions import take_back
from apps.strikes.models import Strike
from apps.timeline.publishing import edit
from tests.support.cases import each
from tests.support.factories import deliver, make_user, moderator, publish, seconds_ago
from tests.support.staff import browser_of, make_staff

pytestmark = pytest.mark.django_db
SPAM = "Buy https://pills.example/"  # 130 points of a new account, 100 of others


def choose(report_from=60, hide_from=None, limit_from=None, switched_off=()):
    scores = {"report_from": report_from, "hide_from": hide_from, "limit_from": limit_from}
    save_policy(by=moderator(), switched_off=switched_off, **scores)


def log_of(user):
    rows = LogEntry.objects.filter(user=user).order_by("pk")
    return [(row.object_id, row.change_message) for row in rows]


# --- the default: only a report -------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("blocked")
def test_a_worker_reports_a_post_after_it_is_published_and_does_nothing_else(aged):
    author = aged()
    post = publish(author, SPAM)
    assert not Report.objects.exists()  # not in the request
    deliver()
    report = Report.objects.get()
    assert (report.target, report.category, report.resolved_at) == (author, "spam", None)
    assert report.reporter.handle == "site"
    assert [row.post_id for row in report.posts.all()] == [post.pk]
    for part in ("130", "It links to pills.example, which is blocked.", "0 hours old"):
        assert part in report.comment
    verdict = Verdict.objects.get()
    assert (verdict.post_id, verdict.score, verdict.acts, verdict.report) == (
        post.pk,
        130,
        ["report"],
        report,
    )
    post.refresh_from_db()
    author.refresh_from_db()
    assert (post.hidden_at, author.limited_at) == (None, None)
    assert not Strike.objects.exists()


@pytest.mark.usefixtures("blocked")
def test_a_post_that_is_examined_twice_is_reported_once(alice):
    post = publish(alice, SPAM)
    examine(post.pk)
    resolve_report(Report.objects.get(), by=moderator(), outcome="It is a joke.")
    examine(post.pk)
    edit(alice, post.pk, body=f"{SPAM} Really.")
    deliver()
    assert Report.objects.count() == Verdict.objects.count() == 1


@pytest.mark.usefixtures("blocked")
def test_a_post_is_examined_again_when_it_is_edited(alice):
    post = publish(alice, "Hello.")
    deliver()
    assert not Verdict.objects.exists()
    edit(alice, post.pk, body=SPAM)
    deliver()
    assert Verdict.objects.get().post_id == post.pk


@pytest.mark.usefixtures("blocked")
def test_further_posts_of_an_account_share_its_open_report(alice):
    for _ in range(3):
        publish(alice, SPAM)
    deliver()
    assert Verdict.objects.filter(report=Report.objects.get()).count() == 3
    resolve_report(Report.objects.get(), by=moderator(), outcome="Talked to them.")
    publish(alice, SPAM)
    deliver()
    assert Report.objects.count() == 2


@pytest.mark.slow
@pytest.mark.usefixtures("blocked")
@each("visibility", ["followers", "friends", "mentioned"])
def test_posts_for_few_people_are_not_examined(visibility, alice):
    publish(alice, f"@bob {SPAM}", visibility=visibility)
    deliver()
    assert not Verdict.objects.exists()
    assert not Fingerprint.objects.exists()


@pytest.mark.usefixtures("blocked")
def test_posts_below_the_lowest_score_and_of_staff_have_no_verdict(aged):
    publish(aged(), "https://fine.example/")  # 30 points
    publish(moderator(), SPAM)
    deliver()
    assert not Verdict.objects.exists()
    choose(report_from=30)
    publish(aged(), "https://fine.example/")
    deliver()
    assert Verdict.objects.get().score == 30


@pytest.mark.usefixtures("blocked")
def test_nothing_happens_once_staff_have_switched_it_off(alice, aged):
    choose(report_from=None)
    publish(aged(), SPAM)
    deliver()
    choose(switched_off=["blocked_links"])
    publish(aged(), SPAM)
    deliver()
    assert not Verdict.objects.exists()


@pytest.mark.usefixtures("blocked")
def test_without_heuristics_no_event_is_recorded(alice, settings):
    settings.SPAM_HEURISTICS = []
    publish(alice, SPAM)
    deliver()
    assert not Verdict.objects.exists()


@pytest.mark.slow
@pytest.mark.usefixtures("blocked")
def test_posts_that_are_gone_and_suspended_authors_are_left_alone(alice, bob):
    gone, last = publish(alice, SPAM), publish(bob, SPAM)
    delete_post(gone.pk, by=alice)
    suspend_user(bob, by=moderator(), reason="Spam.")
    deliver()
    examine(last.pk)
    assert not Verdict.objects.exists()


# --- measures -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("blocked")
def test_measures_are_strikes_of_the_site_that_staff_undo_and_people_appeal(alice):
    choose(hide_from=90, limit_from=100)
    post = publish(alice, SPAM)
    deliver()
    site, report = site_account(), Report.objects.get()
    post.refresh_from_db()
    alice.refresh_from_db()
    assert post.is_hidden
    assert alice.limited_at
    strikes = list(Strike.objects.order_by("pk"))
    assert [(one.measure, one.by_id, one.report, one.may_be_appealed) for one in strikes] == [
        (measure, site.pk, report, True) for measure in ("hide", "limit")
    ]
    assert report.resolved_at is None  # somebody checks it
    assert "It links to pills.example, which is blocked." in strikes[0].text
    acts = [text.partition(":")[0] for _object, text in log_of(site)]
    assert acts == [f"Post {post.pk} hidden", "Limited"]
    mod = make_staff("posts.delete_post", "accounts.change_user", "moderation.change_report")
    for strike in strikes:
        take_back(strike, by=mod, reason="It is a joke.")
    assert not Post.objects.get(pk=post.pk).is_hidden
    assert User.objects.get(pk=alice.pk).limited_at is None


@pytest.mark.usefixtures("blocked")
def test_only_the_score_of_a_measure_leads_to_it(alice, bob):
    choose(hide_from=131, limit_from=130)
    post = publish(alice, SPAM)
    deliver()
    assert [one.measure for one in Strike.objects.all()] == ["limit"]
    publish(alice, SPAM)  # limited already
    deliver()
    assert Strike.objects.count() == 1
    assert not Post.objects.get(pk=post.pk).is_hidden


@pytest.mark.slow
@pytest.mark.usefixtures("blocked")
def test_without_strikes_the_site_only_reports(alice, monkeypatch):
    choose(hide_from=60)
    monkeypatch.setattr("apps.spam.actions.has_measures", lambda: False)
    post = publish(alice, SPAM)
    deliver()
    assert Verdict.objects.get().acts == ["report"]
    assert not Post.objects.get(pk=post.pk).is_hidden
    with pytest.raises(Invalid):
        choose(hide_from=60)


@pytest.mark.usefixtures("blocked")
def test_the_person_reads_the_reasons_in_their_language(alice):
    choose(hide_from=60)
    alice.interface_language = "zh-hans"
    alice.save(update_fields=["interface_language"])
    publish(alice, SPAM)
    deliver()
    text = Strike.objects.get().text
    assert "pills.example" in text
    assert "The site did this" not in text


# --- the site's account ---------------------------------------------------------------------------


def test_the_sites_account_is_made_once_and_nobody_can_use_or_see_it(alice, page_of, client):
    site = site_account()
    assert site == site_account()
    assert User.objects.filter(handle="site").count() == 1
    row = User.objects.get(pk=site.pk)
    assert (row.is_active, row.is_staff, row.is_superuser, row.has_usable_password()) == (
        False,
        False,
        False,
        False,
    )
    assert not is_permitted(row, "posts.delete_post")  # only as the actor of this app
    assert is_permitted(site, "posts.delete_post")
    assert not is_permitted(site, "moderation.change_report")
    assert page_of(alice).get("/@site").status_code in {404, 410}
    assert client.post("/login", {"handle": "site", "password": ""}).status_code != 303


def test_a_member_who_has_the_handle_already_is_not_the_sites_account():
    member = make_user("site")
    site = site_account()
    assert site != member
    assert site.handle.startswith("site_")


def test_the_site_does_not_act_on_superusers():
    admin = moderator()
    post = publish(admin)
    with pytest.raises(NotAllowed):
        hide_post(post.pk, by=site_account())


# --- the limit of reports -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("blocked")
def test_reports_beyond_the_limit_are_filed_later(settings, aged):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "report": (1, 3600)}
    choose(hide_from=60)
    posts = [publish(aged(), SPAM) for _ in range(4)]
    deliver()
    assert Report.objects.count() == 1
    assert [one.report for one in Strike.objects.order_by("pk")][1:] == [None] * 3  # taken anyway
    file_waiting()
    assert Report.objects.count() == 1
    assert Verdict.objects.filter(is_waiting=True).count() == 3
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "report": (100, 3600)}
    delete_post(posts[1].pk, by=posts[1].author)
    suspend_user(posts[2].author, by=moderator(), reason="Spam.")
    file_waiting()
    assert Verdict.objects.filter(is_waiting=True).count() == 0
    assert [one.target_id for one in Report.objects.order_by("pk")] == [
        posts[0].author_id,
        posts[3].author_id,
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("blocked")
def test_a_report_that_is_filed_later_has_the_hidden_post_and_the_measures(settings, alice, bob):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "report": (1, 3600)}
    choose(hide_from=60, limit_from=60)
    publish(alice, SPAM)
    post = publish(bob, SPAM)
    deliver()
    strikes = Strike.objects.filter(user=bob).order_by("pk")
    assert [(one.measure, one.report) for one in strikes] == [("hide", None), ("limit", None)]
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "report": (100, 3600)}
    file_waiting()
    report = Report.objects.get(target=bob)
    assert [row.post_id for row in report.posts.all()] == [post.pk]
    assert [one.report for one in strikes.all()] == [report] * 2


# --- the policy -----------------------------------------------------------------------------------


@each("scores", [
    {"hide_from": 50},  # below the report
    {"report_from": None, "limit_from": 80},
    {"report_from": 0},
    {"report_from": 1001},
])  # fmt: skip
def test_scores_that_cannot_work_are_refused(scores):
    with pytest.raises(Invalid):
        choose(**scores)
    assert not Policy.objects.filter(hide_from__isnull=False).exists()


def test_staff_switch_on_only_what_they_may_do_themselves():

    def save(by, hide_from=None, limit_from=None):
        scores = {"report_from": 60, "hide_from": hide_from, "limit_from": limit_from}
        save_policy(by=by, switched_off=["mentions"], **scores)

    with pytest.raises(NotAllowed):
        save(make_staff())
    mod = make_staff("spam.change_policy", "posts.delete_post")
    save(mod, hide_from=80)
    with pytest.raises(NotAllowed):
        save(mod, hide_from=80, limit_from=90)
    assert Policy.objects.get().limit_from is None
    [(_object, text)] = log_of(mod)
    assert text == "Report from 60, hide from 80, limit from None; switched off: mentions."


# --- how long it is kept --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("blocked")
def test_old_verdicts_and_fingerprints_are_deleted(aged):
    author = aged(4)
    with seconds_ago(FINGERPRINT_RETENTION.total_seconds() + 60):
        old = publish(author, "A text that is long enough.")
    with seconds_ago(FINGERPRINT_RETENTION.total_seconds() - 60):
        new = publish(author, "A text that is long enough.")
    for _ in range(2):
        publish(author, SPAM)
    deliver()
    first, second = Verdict.objects.order_by("pk")
    past = timezone.now() - VERDICT_RETENTION - timedelta(minutes=1)
    Verdict.objects.filter(pk=first.pk).update(created_at=past)
    assert Fingerprint.objects.filter(post_id=old.pk).exists()
    purge()
    assert list(Verdict.objects.all()) == [second]
    assert not Fingerprint.objects.filter(post_id=old.pk).exists()
    assert Fingerprint.objects.filter(post_id=new.pk).exists()


# --- the lists of staff ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("blocked")
def test_staff_see_the_verdicts_in_a_list_and_with_the_report(alice):
    publish(alice, SPAM)
    deliver()
    browser = browser_of(moderator())
    text = browser.get("/admin/spam/verdict/?q=alice").text
    assert "It links to pills.example, which is blocked." in text
    assert "Report" in text
    page = f"/admin/moderation/report/{Report.objects.get().pk}/change/"
    reason = "It links to pills.example, which is blocked."
    assert browser.get(page).text.count(reason) == 2  # in the comment, and with the verdict
    chinese = browser.get(page, headers={"accept-language": "zh-hans"}).text
    assert chinese.count(reason) == 1
    assert "pills.example" not in browser.get("/admin/spam/verdict/?q=bob").text
