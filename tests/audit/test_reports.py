"""What staff and operators are told."""

import json

import pytest
from django.core.management import CommandError, call_command

from apps.accounts.queries import handles_of
from apps.audit.comparison.cached import caches
from apps.audit.models import AuditFinding, AuditRun, Kind, accounts_of, finding_text
from apps.pagination import Cursor
from apps.timeline.home import home_timeline
from apps.timeline.sources.home_cache import HOME
from tests.audit.test_auditor import age
from tests.support.factories import deliver, delivered, publish
from tests.support.staff import MAX_QUERIES, browser_of, make_staff

pytestmark = pytest.mark.django_db
RUNS, FINDINGS = "/admin/audit/auditrun/", "/admin/audit/auditfinding/"


@pytest.fixture
def finding(alice):
    run = AuditRun.objects.create(pages=7, windows=3, violations=1)
    return AuditFinding.objects.create(run=run, kind=Kind.MISSING, viewer_id=alice.pk, post_id=5)


def test_the_report_sums_the_hours_and_lists_the_turns(
    chief, finding, django_assert_max_num_queries
):
    with django_assert_max_num_queries(MAX_QUERIES):
        page = chief.get(RUNS).content.decode()
    assert "The last 24 hours" in page
    assert page.count("<td>7</td>") == 1
    assert "left out post 5" in chief.get(f"{RUNS}{finding.run_id}/change/").content.decode()


def test_a_finding_is_a_sentence_about_somebody(chief, finding):
    assert "A home page of @alice left out post 5" in chief.get(FINDINGS).content.decode()
    assert "@alice" in chief.get(f"{FINDINGS}{finding.pk}/change/").content.decode()


@pytest.mark.parametrize(
    ("kind", "cache"),
    [
        *((kind, "") for kind in Kind if kind != Kind.CACHED),
        *((Kind.CACHED, name) for name in caches()),
    ],
)
def test_every_kind_has_its_words_and_names_somebody(alice, kind, cache):
    details = dict.fromkeys(
        ("number", "counts", "where", "id", "has", "should", "parts", "present", "lost"), 3
    )
    details |= {"follower": alice.pk, "followee": alice.pk, "cache": cache}
    post_id = publish(alice).pk
    finding = AuditFinding(kind=kind, viewer_id=alice.pk, post_id=post_id, details=details)
    text = finding_text(finding, handles_of(accounts_of([finding])))
    assert text.endswith(".")
    assert "%" not in text
    assert "@alice" in text


def test_staff_without_rights_see_nothing(finding):
    browser = browser_of(make_staff(handle="clerk"))
    assert browser.get(RUNS).status_code == 403


@pytest.mark.long
def test_the_command_walks_one_home_and_says_what_is_wrong(alice, bob, capsys):
    home_timeline(bob, Cursor())
    posts = [publish(alice).pk for _ in range(50)]
    deliver()
    age()
    call_command("audit", "viewer", "bob")
    assert capsys.readouterr().out == "@bob: 2 pages, 50 posts compared; 0 on the way, 0 wrong.\n"
    HOME.remove(bob.pk, [posts[5]])  # of the first second: later ones have ids ahead of the clock
    with pytest.raises(SystemExit):
        call_command("audit", "viewer", "bob", "--json")
    wrong = json.loads(capsys.readouterr().out)["wrong"]
    assert wrong == [{"what": what, "post": str(posts[5])} for what in ("missing", "window")]


@pytest.mark.slow
def test_the_command_runs_turns_and_tells_the_sums(alice, bob, settings, capsys):
    settings.AUDIT_SAMPLE_RATE = 1
    delivered(alice)
    home_timeline(bob, Cursor())
    call_command("audit", "run", "--turns", "2")
    assert "1 pages, 1 windows" in capsys.readouterr().out
    call_command("audit", "status")
    assert capsys.readouterr().out.startswith("2 runs. 1 pages, 2 windows")


def test_nobody_by_that_name():
    with pytest.raises(CommandError):
        call_command("audit", "viewer", "nobody_here")
