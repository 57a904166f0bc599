"""Dry runs: what would have been caught yesterday, and what staff decided about it, without doing anything."""

import io
import json
from datetime import datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.errors import Invalid, NotAllowed
from apps.events.leases import State
from apps.moderation.actions import file_report, hide_post, resolve_report, suspend_user
from apps.moderation.models import Report
from apps.posts.actions.publish import delete_post
from apps.posts.models import Post
from apps.spam import dry_run, queries
from apps.spam.actions import remember, save_policy
from apps.spam.dry_run import MAX_PENDING, MAX_SHOWN, request_dry_run, run_due, try_on
from apps.spam.heuristics import available
from apps.spam.models import DryRun, Policy, Verdict
from apps.spam.queries import sample, yesterday
from apps.strikes.actions import decide, take_back
from apps.strikes.models import Strike
from tests.support.factories import deliver, make_user, moderator, publish, repost, seconds_ago
from tests.support.staff import MAX_QUERIES, browser_of, make_staff

pytestmark = pytest.mark.django_db
SPAM = "Buy https://pills.example/"
SETTINGS, LIST = "/admin/spam/dryrun/settings/", "/admin/spam/dryrun/"
SCORES = {"report_from": 60, "hide_from": None, "limit_from": None}


def at(hour, minute=0, *, days_ago=1):
    """Posts of that time, by default yesterday."""
    day = timezone.localdate() - timedelta(days=days_ago)
    then = datetime.combine(day, datetime.min.time(), timezone.get_default_timezone())
    then += timedelta(hours=hour, minutes=minute)
    return seconds_ago(timezone.now().timestamp() - then.timestamp())


def ran(heuristics=None, **scores):
    """The result of a dry run with all heuristics."""
    known = available()
    chosen = [known[one] for one in heuristics or known]
    return try_on(yesterday(), chosen, Policy(**{**SCORES, **scores}), lambda _done, _total: None)


def caught(result):
    return {post_id: outcome for post_id, _score, _reasons, outcome in result.posts}


@pytest.fixture
def posts(alice, bob, carol, blocked):
    """Three spam posts of yesterday, and what is not in a dry run."""
    with at(23, 59, days_ago=2):
        publish(carol, SPAM)
    with at(0):
        first = publish(alice, SPAM)
    with at(23, 59):
        last = publish(bob, SPAM)
    with at(12):
        third = publish(carol, SPAM)
        publish(carol, "Hello.")
        publish(carol, SPAM, visibility="followers")
        publish(moderator(), SPAM)
        repost(carol, first.pk)
        gone = publish(carol, SPAM)
    delete_post(gone.pk, by=carol)
    publish(carol, SPAM)
    return [first, last, third]


# --- what it finds --------------------------------------------------------------------------------


def test_the_open_posts_of_yesterday_are_examined_and_nothing_is_done_to_them(posts):
    result = ran(hide_from=70)
    assert (result.examined, result.caught, result.accounts) == (4, 3, 3)
    assert caught(result).keys() == {post.pk for post in posts}
    assert result.acts == {"report": 3, "hide": 3}
    assert result.heuristics["blocked_links"] == 3
    assert not result.is_partial
    assert not Verdict.objects.exists()
    assert not Report.objects.exists()
    assert not Post.objects.filter(hidden_at__isnull=False).exists()


def test_only_the_chosen_heuristics_and_scores_catch(posts):
    assert ran(["mentions", "same_text"]).caught == 0
    assert ran(["blocked_links"], report_from=101).caught == 0
    assert ran(["blocked_links"], report_from=100).caught == 3


def test_posts_of_yesterday_are_compared_with_those_before_them(aged):
    people = [aged(3) for _ in range(4)]
    for number, person in enumerate(people):
        with at(number):
            publish(person, "Buy my pills now, folks!")
    result = ran(["same_text"])
    assert [score for _id, score, _reasons, _outcome in result.posts] == [60]


@pytest.mark.slow
def test_staffs_decisions_about_caught_posts_are_counted(posts, mod):
    first, last, third = posts
    bad, fine = make_user("bad"), make_user("fine")
    with at(13):
        more = [publish(bad, SPAM), publish(fine, SPAM), publish(fine, "Not caught, but hidden.")]
    hide_post(first.pk, by=mod)
    report = file_report(moderator(), last.author, post_ids=[last.pk])
    decide(report, "", by=mod)  # dismissed
    file_report(moderator(), third.author, post_ids=[third.pk])  # waits
    suspend_user(bad, by=mod, reason="Spam.")
    hide_post(more[1].pk, by=mod)
    take_back(Strike.objects.get(post_id=more[1].pk), by=mod)
    hide_post(more[2].pk, by=mod)
    result = ran()
    assert caught(result) == {
        first.pk: "acted",
        last.pk: "dismissed",
        third.pk: "waiting",
        more[0].pk: "acted",
        more[1].pk: "dismissed",
    }
    assert result.outcomes == {"acted": 2, "dismissed": 2, "waiting": 1}
    assert result.decided == 4
    assert result.acted == 3  # one of them was not caught


@pytest.mark.long
@pytest.mark.usefixtures("blocked")
def test_a_measure_of_the_site_counts_once_staff_have_confirmed_it(alice, mod):
    save_policy(by=mod, switched_off=[], report_from=60, hide_from=60, limit_from=None)
    with at(12):
        post = publish(alice, SPAM)
    deliver()
    assert caught(ran()) == {post.pk: "waiting"}
    resolve_report(Report.objects.get(), by=mod, outcome="It is spam.")
    assert caught(ran()) == {post.pk: "acted"}
    take_back(Strike.objects.get(), by=mod)
    assert caught(ran()) == {post.pk: "dismissed"}


@pytest.mark.slow
@pytest.mark.usefixtures("blocked")
def test_posts_that_share_a_report_share_its_answer(alice, mod):
    with at(12):
        posts = [publish(alice, SPAM) for _ in range(2)]
    deliver()
    assert caught(ran()) == {post.pk: "waiting" for post in posts}
    decide(Report.objects.get(), "", by=mod)
    assert caught(ran()) == {post.pk: "dismissed" for post in posts}


@pytest.mark.slow
def test_without_strikes_closed_accounts_are_what_is_known(posts, mod, monkeypatch):
    suspend_user(posts[0].author, by=mod, reason="Spam.")
    monkeypatch.setattr("apps.spam.queries.apps.is_installed", lambda _name: False)
    assert caught(ran())[posts[0].pk] == "acted"
    assert caught(ran())[posts[1].pk] == "none"


def test_a_day_with_many_posts_is_sampled_in_each_half_hour(alice, monkeypatch):
    monkeypatch.setattr(queries, "PER_SLOT", 2)
    for hour, minute in ((0, 0), (5, 29), (5, 30), (23, 59)):
        with at(hour, minute):
            for _ in range(2):
                publish(alice)
    ids, is_partial = sample(yesterday())
    assert (len(ids), is_partial) == (8, False)
    with at(5, 10):
        publish(alice)
    ids, is_partial = sample(yesterday())
    assert (len(ids), is_partial) == (8, True)
    assert ids == sorted(ids)


@pytest.mark.slow
def test_a_sample_of_the_caught_posts_is_spread_over_the_scores(posts, monkeypatch):
    monkeypatch.setattr(dry_run, "MAX_SHOWN", 2)
    result = ran()
    assert (result.caught, len(result.posts)) == (3, 2)
    assert MAX_SHOWN > 2


def test_more_posts_than_a_batch_are_all_examined(posts, monkeypatch):
    whole = ran()
    monkeypatch.setattr(dry_run, "BATCH", 2)
    steps = []
    known = list(available().values())
    assert try_on(yesterday(), known, Policy(**SCORES), lambda *step: steps.append(step)) == whole
    assert [done for done, _total in steps] == [0, 2, 4, 5]


# --- the rows of work -----------------------------------------------------------------------------


def test_a_worker_runs_what_was_requested(posts, mod):
    row = request_dry_run(by=mod, heuristics=["blocked_links"], **SCORES)
    assert row.day == yesterday()
    assert run_due(limit=1) == 1
    row.refresh_from_db()
    assert (row.state, row.done, row.total) == (State.DONE, 5, 5)
    assert row.result["caught"] == 3
    assert "Buy" not in json.dumps(row.result)


@pytest.mark.slow
def test_a_worker_that_lost_its_lease_stops(posts, mod, monkeypatch):
    row = request_dry_run(by=mod, heuristics=["blocked_links"], **SCORES)

    def overtaken(found):
        DryRun.objects.filter(pk=row.pk).update(attempts=2)
        remember(found)

    monkeypatch.setattr(dry_run, "remember", overtaken)
    run_due(limit=1)
    row.refresh_from_db()
    assert (row.state, row.result) == (State.PENDING, {})


def test_what_cannot_be_tried_is_refused(mod):
    with pytest.raises(NotAllowed):
        request_dry_run(by=make_staff("spam.view_dryrun"), heuristics=["mentions"], **SCORES)
    with pytest.raises(Invalid):
        request_dry_run(by=mod, heuristics=[], **SCORES)
    with pytest.raises(Invalid):
        request_dry_run(by=mod, heuristics=["gone"], **SCORES)
    with pytest.raises(Invalid):
        request_dry_run(by=mod, heuristics=["mentions"], **{**SCORES, "report_from": None})
    for _ in range(MAX_PENDING):
        request_dry_run(by=mod, heuristics=["mentions"], **SCORES)
    with pytest.raises(Invalid):
        request_dry_run(by=mod, heuristics=["mentions"], **SCORES)


def test_dry_runs_are_deleted_after_a_week(mod):
    row = request_dry_run(by=mod, heuristics=["mentions"], **SCORES)
    dry_run.purge()
    assert DryRun.objects.filter(pk=row.pk).exists()
    DryRun.objects.update(created_at=timezone.now() - dry_run.RETENTION - timedelta(minutes=1))
    dry_run.purge()
    assert not DryRun.objects.exists()


# --- the pages ------------------------------------------------------------------------------------


def form(**fields):
    return {"act": "try", "heuristics": list(available()), "report_from": "60", **fields}


def test_staff_try_heuristics_and_read_what_they_would_have_caught(posts, mod):
    browser = browser_of(mod)
    hide_post(posts[0].pk, by=mod)
    waiting = browser.post(SETTINGS, form(), follow=True)
    assert "It has not begun yet." in waiting.text
    run_due(limit=1)
    page = browser.get(waiting.redirect_chain[0][0])
    for part in (
        "4 posts were examined.",
        "3 posts would have been caught.",
        "Different authors: 3.",
        "pills.example, which is blocked",
        "Caught posts that staff decided about: 1; with a measure: 1.",
    ):
        assert part in " ".join(page.text.split())
    assert page.text.count('<article class="post">') == 3
    assert not Policy.objects.exists()
    assert not Verdict.objects.exists()


def test_the_page_never_shows_a_post_that_is_not_for_everybody_or_is_gone(posts, mod):
    row = request_dry_run(by=mod, heuristics=["blocked_links"], **SCORES)
    run_due(limit=1)
    delete_post(posts[0].pk, by=posts[0].author)
    Post.objects.filter(pk=posts[1].pk).update(
        visibility="followers"
    )  # as no action of the site does
    page = browser_of(mod).get(f"{LIST}{row.pk}/change/")
    assert page.text.count('<article class="post">') == 1


def test_staff_save_what_happens(mod):
    browser = browser_of(mod)
    page = browser.post(
        SETTINGS, form(act="save", heuristics=["mentions"], hide_from="90"), follow=True
    )
    assert "Saved." in page.text
    row = Policy.objects.get()
    assert (row.report_from, row.hide_from) == (60, 90)
    assert row.limit_from is None
    assert set(row.switched_off) == available().keys() - {"mentions"}
    again = browser.get(SETTINGS)
    assert again.text.count(" checked") == 1
    assert 'value="90"' in again.text
    refused = browser.post(SETTINGS, form(act="save", hide_from="10"))
    assert "errorlist" in refused.text
    assert Policy.objects.get().hide_from == 90


@pytest.mark.parametrize("act", ["try", "save"])
def test_only_staff_with_the_permission_may(act, alice, page_of):
    viewer = make_staff("spam.view_dryrun")
    browser = browser_of(viewer)
    assert 'name="act"' not in browser.get(SETTINGS).text
    assert "errornote" in browser.post(SETTINGS, form(act=act)).text
    assert not DryRun.objects.exists()
    assert not Policy.objects.exists()
    assert browser_of(make_staff()).get(SETTINGS).status_code == 403
    assert page_of(alice).get(SETTINGS).status_code == 302


def test_a_dry_run_that_failed_says_so(mod):
    row = request_dry_run(by=mod, heuristics=["mentions"], **SCORES)
    DryRun.objects.update(state=State.DEAD, last_error="ZeroDivisionError: x")
    browser = browser_of(mod)
    assert "ZeroDivisionError: x" in browser.get(f"{LIST}{row.pk}/change/").text
    assert browser.get(f"{LIST}{row.pk + 1}/change/").status_code == 404
    assert browser.get(f"{LIST}x/change/").status_code == 404


def test_the_pages_take_a_bounded_number_of_queries(posts, mod, django_assert_max_num_queries):
    row = request_dry_run(by=mod, heuristics=list(available()), **SCORES)
    run_due(limit=1)
    browser = browser_of(mod)
    for path in (SETTINGS, f"{LIST}{row.pk}/change/"):
        browser.get(path)
        with django_assert_max_num_queries(MAX_QUERIES):
            browser.get(path)


def test_the_pages_are_in_chinese_too(posts, mod):
    mod.interface_language = "zh-hans"
    mod.save(update_fields=["interface_language"])
    row = request_dry_run(by=mod, heuristics=list(available()), **SCORES)
    run_due(limit=1)
    browser = browser_of(mod)
    assert "Try it" not in browser.get(SETTINGS).text
    page = browser.get(f"{LIST}{row.pk}/change/").text
    assert "would have been" not in page
    assert "which is blocked" not in page


# --- the command ----------------------------------------------------------------------------------


def said(*arguments):
    out = io.StringIO()
    call_command("spam", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_lists_heuristics_and_tries_them(posts):
    assert "blocked_links" in said("list")
    assert [one["id"] for one in json.loads(said("list", "--json"))] == list(available())
    text = said("try", "--heuristic", "blocked_links", "--report-from", "70")
    assert "3  would have been caught, of 3 accounts" in text
    assert "- It links to pills.example, which is blocked." in text
    assert json.loads(said("try", "--json"))["caught"] == 3
    assert not Verdict.objects.exists()
    assert not DryRun.objects.exists()
    with pytest.raises(CommandError):
        said("try", "--heuristic", "gone")
