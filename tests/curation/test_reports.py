"""Reports of collections, and what staff see of them."""

import pytest
from django.contrib.admin.models import LogEntry

from apps.curation.actions import (
    change_collection,
    create_collection,
    delete_collection,
    take_down,
)
from apps.curation.models import Collection, ReportedCollection
from apps.errors import NotAllowed, NotFound
from apps.moderation.actions import file_report
from apps.moderation.models import Report
from tests.support.staff import browser_of, choose, confirm, make_staff

pytestmark = pytest.mark.django_db
RIGHTS = ("curation.view_collection", "curation.change_collection")


def test_a_program_reports_a_collection(alice, carol, collection, api_of):
    body = {"account_id": str(alice.pk), "collection_ids": [str(collection.pk)]}
    answer = api_of(carol).post("/api/v1/reports", body, format="json")
    assert answer.json()["collection_ids"] == [str(collection.pk)]
    delete_collection(alice, collection.pk)
    [kept] = ReportedCollection.objects.all()
    assert (kept.report, kept.name) == (Report.objects.get(), "Good people")


def test_only_collections_of_the_reported_account(bob, carol, collection, api_of):
    for number in (collection.pk, 999):
        body = {"account_id": str(bob.pk), "collection_ids": [str(number)]}
        assert api_of(carol).post("/api/v1/reports", body, format="json").status_code == 404
    assert not Report.objects.exists(), "it is filed whole or not at all"


def test_a_person_reports_a_collection(alice, carol, collection, page_of):
    page = page_of(carol)
    way = f"/@alice/report?collection={collection.pk}"
    assert way in page.get(collection.url).text
    text = page.get(way).text
    assert "Report a collection by @alice?" in text
    page.post("/@alice/report", {"category": "spam", "collection": collection.pk})
    assert ReportedCollection.objects.get().report.reporter == carol
    answer = page.post("/@alice/report", {"category": "spam", "collection": 999})
    assert answer.status_code == 404


def test_staff_see_what_it_said(alice, carol, collection):
    change_collection(alice, collection.pk, description="An insult.")
    report = file_report(carol, alice, collection_ids=[collection.pk])
    change_collection(alice, collection.pk, description="Harmless.")
    browser = browser_of(make_staff(superuser=True))
    text = browser.get(f"/admin/moderation/report/{report.pk}/change/").text
    assert "An insult." in text
    assert collection.url in text
    assert "An insult." in browser.get("/admin/curation/reportedcollection/").text


def test_staff_delete_a_collection(alice, bob, collection):
    create_collection(bob, name="Another")
    browser = browser_of(make_staff(superuser=True))
    page = "/admin/curation/collection/"
    assert "Good people" in browser.get(page).text
    choose(browser, page, "delete_collections", [collection])
    assert Collection.objects.count() == 2  # not confirmed yet
    confirm(browser, page, "delete_collections", [collection])
    assert [row.name for row in Collection.objects.all()] == ["Another"]
    with pytest.raises(NotFound):
        take_down(collection, by=make_staff(superuser=True))
    assert LogEntry.objects.count() == 1


def test_only_superusers_delete_a_collection_of_a_superuser(alice):
    made = create_collection(make_staff(superuser=True), name="Chief's")
    take_down(create_collection(alice, name="Hers"), by=make_staff(*RIGHTS))
    for by in (alice, make_staff(*RIGHTS)):
        with pytest.raises(NotAllowed):
            take_down(made, by=by)
    assert Collection.objects.get() == made
    assert LogEntry.objects.count() == 1
