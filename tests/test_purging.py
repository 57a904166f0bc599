"""What is kept for a while only is deleted in statements of a bounded size."""

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps import sql
from apps.accounts.tasks import purge_sessions


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(sql, "PURGE_BATCH_SIZE", 3)


def make_sessions(number, *, age):
    until = timezone.now() - age
    Session.objects.bulk_create(
        Session(session_key=f"{age.days}-{n}", session_data="", expire_date=until)
        for n in range(number)
    )


@pytest.mark.django_db
def test_expired_sessions_go_a_batch_a_statement_and_living_ones_stay():
    make_sessions(8, age=timedelta(days=1))
    make_sessions(2, age=timedelta(days=-1))
    with CaptureQueriesContext(
        connection,
    ) as queries:
        purge_sessions()
    assert sorted(Session.objects.values_list("session_key", flat=True)) == ["-1-0", "-1-1"]
    deletions = [query["sql"] for query in queries if query["sql"].startswith("DELETE")]
    assert len(deletions) == 3


@pytest.mark.django_db
def test_when_the_time_is_over_the_oldest_are_gone_and_the_rest_waits():
    for days in range(1, 6):
        make_sessions(1, age=timedelta(days=days))
    rows = Session.objects.order_by("expire_date")
    assert sql.purge(rows, seconds=0) == 3
    assert [row.session_key for row in rows] == ["2-0", "1-0"]
    assert sql.purge(rows, seconds=0) == 2
    assert sql.purge(rows, seconds=0) == 0


@pytest.mark.django_db
def test_a_row_that_is_wanted_again_meanwhile_stays(monkeypatch):
    make_sessions(2, age=timedelta(days=1))
    expired = Session.objects.filter(expire_date__lt=timezone.now()).order_by("pk")

    def renewed(key, flat):
        keys = list(Session.objects.values_list("pk", flat=True))
        Session.objects.filter(pk="1-0").update(expire_date=timezone.now() + timedelta(days=1))
        return keys

    monkeypatch.setattr(expired, "values_list", renewed)
    sql.purge(expired)
    assert list(Session.objects.values_list("pk", flat=True)) == ["1-0"]
