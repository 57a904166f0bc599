"""`manage replay`: one command's output says what is wrong with a stretch of a home, and why."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from apps.accounts.queries import user_by_id
from apps.audit.comparison import pages as comparison
from apps.graph.actions import follow_user, unfollow_user
from apps.pagination import Cursor
from apps.promotions.actions import state_trait
from apps.timeline.home import home_timeline
from apps.timeline.pipeline import rulebook
from apps.timeline.sources.home_cache import HOME
from tests.promotions.conftest import make_campaign, make_segment, start, trait
from tests.support.factories import deliver, delivered, make_user, publish

pytestmark = pytest.mark.django_db


def run(*options):
    out = StringIO()
    try:
        call_command("replay", "bob", *options, stdout=out)
    except SystemExit as ending:
        return ending.code, out.getvalue()
    return 0, out.getvalue()


@pytest.fixture
def posts(alice, bob, settings, monkeypatch):
    settings.AUDIT_PROMISE_SECONDS = -60  # nothing is on its way any more
    monkeypatch.setattr(comparison, "SLACK_SECONDS", -60.0)
    home_timeline(bob, Cursor())
    made = [publish(alice, f"Number {number}.") for number in range(12)]
    deliver()
    return made


@pytest.mark.slow
def test_a_right_stretch_is_right(posts):
    code, text = run("--json")
    report = json.loads(text)
    assert (code, report["right"], report["posts"]) == (0, True, [])
    assert {report[name] for name in ("tables", "pages", "then", "cached")} == {12}
    assert "sha256:" in report["code"]


def test_promoted_posts_make_no_difference(posts, bob, carol, monkeypatch):
    monkeypatch.setattr(rulebook, "OTHERS_BETWEEN", 0)  # no limit on their share of a page
    segment = make_segment("students", "", ("trait", trait()))
    state_trait(bob, trait().slug)
    deliver()
    start(make_campaign(carol, segment))
    promoted = delivered(carol, "Promoted.")
    home = home_timeline(user_by_id(bob.pk), Cursor(limit=40))
    assert promoted.pk in {item.id for item in home.items}
    code, text = run("--json")
    assert (code, json.loads(text)["posts"]) == (0, [])


@pytest.mark.slow
def test_what_the_cache_lost_is_named_with_its_delivery(posts, bob):
    HOME.remove(bob.pk, [posts[7].pk])
    code, text = run()
    assert code == 1
    assert "right: False" in text
    assert "missing_in_cache: 1" in text
    assert f"{posts[7].pk}  in tables, then: " in text
    assert "<- differs" in text
    assert "Number" not in text  # no texts


@pytest.mark.slow
def test_what_changed_since_is_told_apart_from_what_is_wrong(posts, alice, bob):
    other = make_user("other")
    follow_user(bob, other)
    post = delivered(other)
    unfollow_user(bob, alice)
    deliver()
    code, text = run("--json")
    report = json.loads(text)
    assert (code, report["tables"], report["pages"]) == (0, 1, 1)
    assert str(post.pk) not in {row["id"] for row in report["posts"]}


@pytest.mark.slow
def test_another_day_is_empty(posts):
    code, text = run("--from", "2026-01-01", "--to", "2026-01-02", "--json")
    report = json.loads(text)
    assert (code, report["tables"], report["pages"], report["then"], report["cached"]) == (
        0,
        0,
        0,
        0,
        0,
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "options", [["--from", "soon"], ["--from", "2026-01-02", "--to", "2026-01-01"], ["--to", "2090-01-01"],
                ["--from", "2025-01-01", "--to", "2026-01-01"]],
)  # fmt: skip
def test_bad_times_are_refused(options, posts):
    with pytest.raises(CommandError):
        run(*options)


def test_nobody_is_no_reader():
    with pytest.raises(CommandError):
        call_command("replay", "nobody")
