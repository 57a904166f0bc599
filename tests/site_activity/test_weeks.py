"""Weekly numbers of posts, logins and new accounts."""

from datetime import UTC, datetime, time, timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.posts.actions.publish import delete_post
from apps.site_activity import actions
from apps.site_activity.models import Progress, Week
from apps.site_activity.queries import first_day_of, last_weeks
from tests.support.factories import PASSWORD, make_user, publish, repost, seconds_ago

pytestmark = pytest.mark.django_db
ACTIVITY = "/api/v1/instance/activity"
A_WHILE = 300  # seconds: longer ago than what may still be in a transaction


def weeks_ago(number):
    return number * 7 * 86_400


def numbers(name):
    """A number of each of the twelve weeks, the present one first."""
    return [getattr(week, name) for week in last_weeks()]


def count_all():
    """As many runs as it takes: on a slow machine one may not be enough."""
    is_done = False
    while not is_done:
        _counted, is_done = actions._count_step()


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """The clock stands at noon of a Wednesday, so that a few minutes ago is in the same week."""
    monday = first_day_of(timezone.now().date())
    noon = datetime.combine(monday, time(), UTC) + timedelta(days=2, hours=12)
    monkeypatch.setattr(actions, "database_time", timezone.now)
    monkeypatch.setattr(actions, "STEP", 86_400)  # so that twelve weeks take fewer steps
    monkeypatch.setattr("apps.site_activity.queries.database_time", timezone.now)
    with time_machine.travel(noon, tick=False) as moved:
        yield moved


@pytest.mark.slow
def test_posts_are_counted_once_in_the_week_of_their_ids(alice, bob, clock):
    for weeks in (13, 2):
        with seconds_ago(weeks_ago(weeks)):
            publish(alice)
    with seconds_ago(A_WHILE):
        post = publish(alice)
        repost(bob, post.pk)
        publish(bob, visibility="followers")
    with seconds_ago(1):
        publish(bob, "too new to be settled")
    count_all()
    assert numbers("statuses") == [2, 0, 1, *[0] * 9]
    assert actions.count() == 0
    clock.shift(A_WHILE)
    delete_post(post.pk, by=alice)
    count_all()
    assert numbers("statuses") == [3, 0, 1, *[0] * 9]
    clock.shift(weeks_ago(1))
    assert numbers("statuses") == [0, 3, 0, 1, *[0] * 8]


@pytest.mark.slow
def test_accounts_are_counted_once_in_the_week_in_which_they_were_made(alice):
    del alice
    for back in (A_WHILE, A_WHILE, weeks_ago(1), weeks_ago(20)):
        User.objects.filter(pk=make_user().pk).update(created_at=timezone.now() - timedelta(seconds=back))  # fmt: skip
    User.objects.filter(handle="alice").update(created_at=timezone.now() - timedelta(seconds=weeks_ago(1)))  # fmt: skip
    count_all()
    assert numbers("registrations") == [2, 2, *[0] * 10]
    assert actions.count() == 0
    User.objects.filter(handle="alice").delete()
    count_all()
    assert numbers("registrations") == [2, 2, *[0] * 10]


def test_logins_are_counted_when_they_happen(alice):
    for password in (PASSWORD, PASSWORD, "wrong"):
        Client().post("/login", {"username": "alice", "password": password})
    assert numbers("logins") == [2, *[0] * 11]


def test_a_run_that_has_no_time_left_is_continued(alice, monkeypatch):
    for back in (2, 1, 0):
        with seconds_ago(weeks_ago(back) + A_WHILE):
            publish(alice)
    monkeypatch.setattr(actions, "RUN_SECONDS", 0.0)
    counted = [actions.count() for _run in range(12 * 7)]
    assert max(counted[1:]) == 1
    assert numbers("statuses") == [1, 1, 1, *[0] * 9]


@pytest.mark.long
def test_a_step_counts_no_more_than_a_few_hours(alice, monkeypatch):
    monkeypatch.setattr(actions, "STEP", 6 * 3600)
    with seconds_ago(weeks_ago(11)):
        publish(alice)
    seen = []
    while True:
        _counted, is_done = actions._count_step()
        seen.append(Progress.objects.get().post_id)
        if is_done:
            break
    assert seen == sorted(set(seen))
    assert len(seen) >= 11 * 7 * 4


@pytest.mark.slow
def test_old_weeks_are_deleted():
    Week.objects.create(first_day=first_day_of(timezone.now().date()) - timedelta(weeks=14))
    kept = Week.objects.create(first_day=first_day_of(timezone.now().date()) - timedelta(weeks=12))
    actions.count()
    assert [week.pk for week in Week.objects.all()] == [kept.pk]


def test_the_answer_has_twelve_weeks_as_text(api_of, alice):
    with seconds_ago(A_WHILE):
        publish(alice)
    count_all()
    answer = api_of(None).get(ACTIVITY)
    assert answer.status_code == 200
    body = answer.json()
    assert len(body) == 12
    assert body[0].keys() == {"week", "statuses", "logins", "registrations"}
    assert body[0]["statuses"] == "1"
    assert {type(value) for week in body for value in week.values()} == {str}
    starts = [int(week["week"]) for week in body]
    assert starts == [starts[0] - weeks_ago(back) for back in range(12)]
    assert starts[0] % weeks_ago(1) == 4 * 86_400  # Mondays: 1970 began on a Thursday
