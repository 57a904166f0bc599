"""The public page of the auditor and its JSON: what they count, and that they name nobody."""

import json
import re
import subprocess
from datetime import UTC, timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from apps.audit import report
from apps.audit.auditor import run_once
from apps.audit.models import AuditDay, AuditFinding, AuditRun, Kind
from apps.audit.own_page.code_version import code_hash
from apps.audit.report import KEEP_DAYS, audit_report, history, keep_days
from apps.events.leases import State
from apps.pagination import Cursor
from apps.timeline.home import home_timeline
from apps.timeline.models import FanoutChunk
from apps.web.plots import bars
from tests.support.factories import deliver, delivered, make_follow, make_user, publish

pytestmark = pytest.mark.django_db
PAGE, PROGRAM = "/audit", "/api/x/audit"


@pytest.fixture(autouse=True)
def _uncached():
    report._reports.clear()
    yield
    report._reports.clear()


def ago(**time):
    return timezone.now() - timedelta(**time)


@pytest.fixture
def found(alice):
    """Two runs of today and one of the day before yesterday, with two findings."""
    AuditRun.objects.create(started_at=ago(hours=50), pages=1000, violations=9)
    AuditRun.objects.create(pages=3, windows=5)
    run = AuditRun.objects.create(pages=4, violations=2, repaired=1)
    about = {"run": run, "kind": Kind.MISSING, "viewer_id": 987654321987, "post_id": 876543210987}
    AuditFinding.objects.create(**about, repaired_at=timezone.now())
    AuditFinding.objects.create(**about)
    return run


def test_the_last_day_is_summed_up_and_nobody_is_named(found, alice, page_of, api_of):
    answer = api_of(None).get(PROGRAM).json()
    assert (answer["runs"], answer["figures"]["pages"], answer["figures"]["windows"]) == (2, 7, 5)
    assert answer["found"] == [{"kind": "missing", "found": 2, "repaired": 1}]
    assert answer["code_hash"] == code_hash()
    page = page_of(None).get(PAGE).content.decode()
    assert "2 mistakes were found within the last day; 1 repaired." in page
    assert "<b>2, 1 repaired</b>" in page
    for named in ("alice", "987654321987", "876543210987"):
        assert named not in page + json.dumps(answer)


def test_it_says_when_nothing_was_found_and_when_nobody_looked(page_of):
    assert "has not run within the last day" in page_of(None).get(PAGE).content.decode()
    run_once()
    report._reports.clear()
    page = page_of(None).get(PAGE).content.decode()
    assert "No mistake was found within the last day." in page
    browser = page_of(None)
    browser.cookies["lang"] = "zh-hans"
    assert "过去一天内没有发现错误。" in browser.get(PAGE).content.decode()


@pytest.mark.slow
def test_deliveries_are_weighed_by_their_readers(alice, settings, api_of):
    settings.FANOUT_CHUNK_SIZE = 1
    for _ in range(10):
        reader = make_user()
        make_follow(reader, alice)
        home_timeline(reader, Cursor())
    post = delivered(alice)
    chunks = FanoutChunk.objects.filter(job=post.pk).order_by("pk")
    for number, chunk in enumerate(chunks, start=1):
        at = post.created_at + timedelta(seconds=number)
        FanoutChunk.objects.filter(pk=chunk.pk).update(finished_at=at)
    speed = api_of(None).get(PROGRAM).json()["speed"]
    assert speed == {"delivered": 10, "p50_seconds": 5, "p95_seconds": 10}
    FanoutChunk.objects.filter(pk=chunks[0].pk).update(expected=90, delivered=90)
    report._reports.clear()
    speed = api_of(None).get(PROGRAM).json()["speed"]
    assert speed == {"delivered": 99, "p50_seconds": 1, "p95_seconds": 6}


def test_what_waits_is_counted_with_its_age(alice, bob, page_of):
    assert "Nothing is waiting now." in page_of(None).get(PAGE).content.decode()
    publish(alice)
    assert (audit_report().backlog["posts"], audit_report().backlog["readers"]) == (0, 0)  # cached
    report._reports.clear()
    assert (audit_report().backlog["posts"], audit_report().backlog["readers"]) == (1, 0)
    deliver()
    FanoutChunk.objects.update(state=State.PENDING, created_at=ago(seconds=40))
    report._reports.clear()
    backlog = audit_report().backlog
    assert (backlog["posts"], backlog["readers"]) == (0, 1)
    assert 40 <= backlog["oldest_seconds"] < 60
    page = page_of(None).get(PAGE).content.decode()
    assert "1 delivery to a follower is waiting. The oldest has been waiting for 4" in page
    assert "Nothing is waiting now." not in page
    assert "waiting for their delivery to begin" not in page


def test_the_page_says_how_pages_are_sampled_and_shows_no_puzzling_zero(found, page_of, settings):
    settings.AUDIT_SAMPLE_RATE = 50
    browser = page_of(None)
    page = browser.get(PAGE).content.decode()
    assert "<span>home pages as people saw them</span><b>7</b>" in page
    assert "One in 50 of the home pages that people open is compared." in page
    assert "still on their way" not in page
    assert "gone when checked again" not in page
    AuditRun.objects.all().delete()
    report._reports.clear()
    page = browser.get(PAGE).content.decode()
    assert "<span>home pages as people saw them</span><b>none</b>" in page
    assert "<b>0</b>" not in page
    assert "There are no daily figures yet." in page
    settings.AUDIT_SAMPLE_RATE = 1
    assert "Every home page that somebody opens is compared." in browser.get(PAGE).content.decode()
    settings.AUDIT_SAMPLE_RATE = 0
    assert "does not compare the home pages" in browser.get(PAGE).content.decode()


def test_the_speed_is_said_in_words(alice, bob, page_of):
    browser = page_of(None)
    assert "There was none within the last day." in browser.get(PAGE).content.decode()
    home_timeline(bob, Cursor())
    first, second = publish(alice), publish(alice)
    deliver()
    for post, seconds in ((first, 3), (second, 3)):
        at = post.created_at + timedelta(seconds=seconds)
        FanoutChunk.objects.filter(job=post.pk).update(finished_at=at)
    report._reports.clear()
    page = browser.get(PAGE).content.decode()
    assert (
        "Within the last day, 95% of the deliveries took 3.0 s or less, counted from publication."
        in page
    )
    at = second.created_at + timedelta(seconds=90)
    FanoutChunk.objects.filter(job=second.pk).update(finished_at=at)
    report._reports.clear()
    page = browser.get(PAGE).content.decode()
    assert "half of the deliveries took 3.0 s or less, and 95% took 90 s or less" in page


def test_days_are_kept_for_ninety_days_and_twice_is_once(found, alice, bob, page_of):
    today = timezone.now().astimezone(UTC).date()
    for days in (KEEP_DAYS, KEEP_DAYS - 1):
        day = today - timedelta(days=days)
        AuditDay.objects.create(day=day, figures={"violations": days, "pages": 1})
    home_timeline(bob, Cursor())
    delivered(alice)
    AuditRun.objects.filter(started_at__gt=ago(hours=24)).update(started_at=timezone.now())
    keep_days()
    first = list(AuditDay.objects.order_by("day").values())
    keep_days()
    assert list(AuditDay.objects.order_by("day").values()) == first
    assert [row["day"] for row in first] == [today - timedelta(days=KEEP_DAYS - 1), today]
    figures = first[-1]["figures"]
    assert (figures["runs"], figures["pages"], figures["violations"]) == (2, 7, 2)
    assert figures["delivered"] == 1
    assert figures["p95"] > 0
    AuditRun.objects.all().delete()  # as after AUDIT_KEEP_DAYS
    values = history(audit_report().days, "violations", until=today)
    assert (len(values), values[0], values[-1], sum(values)) == (KEEP_DAYS, 89, 2, 91)
    page = page_of(None).get(PAGE).content.decode()
    assert "Mistakes found each day: above zero on 2 days, at most 89" in page
    assert page.count('<rect x="') == len(bars(values)) + 2 + 1  # of pages two, of seconds one


def test_the_report_is_few_queries_once_for_many(found, page_of, django_assert_max_num_queries):
    browser = page_of(None)
    with django_assert_max_num_queries(11):
        browser.get(PAGE)
    with django_assert_max_num_queries(1):
        browser.get(PAGE)


def test_the_hash_is_what_the_page_says_how_to_compute(page_of):
    page = page_of(None).get(PAGE).content.decode()
    commands = re.findall(r'<code class="hash" dir="ltr">(find[^<]+)</code>', page)
    assert len(commands) == 1
    printed = subprocess.run(
        commands[0], shell=True, cwd=settings.BASE_DIR, capture_output=True, text=True, check=True
    )
    assert printed.stdout.split()[0] == code_hash()
    assert code_hash() in page


@pytest.mark.slow
def test_the_check_of_ones_own_page_is_linked_where_people_look(page_of, alice):
    for address in ("/", "/audit", "/explain", "/explain?post=1", "/about", "/notifications"):
        assert 'href="/home/check"' in page_of(alice).get(address).content.decode()
    assert 'href="/home/check"' in page_of(None).get("/about").content.decode()  # it asks to log in


def test_it_is_linked_where_people_look(page_of, alice):
    for address in ("/", "/about", "/status"):
        assert 'href="/audit"' in page_of(None).get(address).content.decode()
    assert "A feed that you can check" in page_of(None).get("/").content.decode()
    about = page_of(None).get("/about").content.decode()
    assert about.index("A feed that you can check") < about.index("What it keeps about you")


def test_the_demo_has_a_tour_until_it_is_closed(alice, bob, page_of, settings):
    browser = page_of(bob)
    post = delivered(alice)
    step, close = "Ask why the first post is here", "Close tour"
    assert step not in browser.get("/home").content.decode()
    settings.DEMO = True
    page = browser.get("/home").content.decode()
    assert page.count(step) == page.count(close) == 1
    assert f'<a href="/explain/{post.pk}">{step}' in page
    assert browser.get(f"/explain/{post.pk}").status_code == 200
    assert step not in page_of(make_user()).get("/home").content.decode()  # nothing to ask about
    assert browser.get("/home/tour").status_code == 405
    assert browser.post("/home/tour").headers["Location"] == "/"
    assert step not in browser.get("/home").content.decode()
