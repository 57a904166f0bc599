"""Imports: worked off line by line, once each, whatever becomes of the worker; reported; undone."""

import csv
import io
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from apps.accounts.models import User
from apps.errors import Conflict, NotFound, TooMany
from apps.events import leases
from apps.events.leases import State
from apps.graph.actions import follow_user
from apps.graph.models import Block, Followee, UserList
from apps.notifications.models import Notification
from apps.privacy.models import Import, ImportKind, ImportLine
from apps.privacy.moving import imports
from apps.privacy.moving.imports import request_import, undo_import
from apps.privacy.moving.lines import do_line
from tests.support.cases import each
from tests.support.factories import deliver, make_user
from tests.support.imports import run

pytestmark = pytest.mark.django_db
PAGE = "/settings/import"


def asked(user, kind, text):
    return request_import(user, ImportKind(kind), "file.csv", io.BytesIO(text.encode()))


def outcomes(row):
    return list(row.lines.order_by("number").values_list("outcome", flat=True))


def followees(user):
    return set(Followee.objects.filter(owner=user).values_list("followee__handle", flat=True))


@pytest.fixture
def people():
    return [make_user(f"person{number}") for number in range(5)]


@pytest.fixture
def file(people):
    return "".join(f"{person.handle}\n" for person in people)


def test_every_line_is_done_or_says_why_not(alice, bob, carol):
    follow_user(alice, bob)
    row = run(asked(alice, "follows", "bob\ncarol\nx@other.example\nnobody\n"))
    assert outcomes(row) == ["same", "done", "refused", "refused"]
    assert followees(alice) == {"bob", "carol"}
    assert [line.reason for line in imports.refused_lines(alice, row.pk)] == [
        "Not on this site.", "There is no account @nobody.",
    ]  # fmt: skip
    assert (row.state, row.attempts, row.last_error) == (State.DONE, 1, "")


def test_reasons_are_in_the_language_of_the_pages(alice):
    alice.interface_language = "zh-hans"
    alice.save()
    row = run(asked(alice, "follows", "x@other.example\n"))
    assert imports.refused_lines(alice, row.pk)[0].reason == "不在本站。"


def test_undo_gives_back_what_was_before_and_no_more(alice, bob, carol):
    follow_user(alice, bob)
    row = run(asked(alice, "follows", "bob\ncarol\nnobody\n"))
    run(undo_import(alice, row.pk))
    assert followees(alice) == {"bob"}
    assert outcomes(row) == ["same", "undone", "refused"]
    assert undo_import(alice, row.pk).state == State.DONE  # twice is once


def test_a_few_lines_at_a_time(alice, people, file, monkeypatch):
    monkeypatch.setattr(imports, "CHUNK", 2)
    row = asked(alice, "follows", file)
    imports.run_due(limit=1)
    assert outcomes(row) == ["done"] * 2 + ["waiting"] * 3
    row.refresh_from_db()
    assert (row.state, row.attempts, row.due_at > timezone.now()) == (State.PENDING, 0, True)
    run(row)
    assert followees(alice) == {person.handle for person in people}


def test_a_worker_that_dies_leaves_whole_lines_and_the_next_one_goes_on(
    alice, people, file, monkeypatch
):
    row = asked(alice, "follows", file)
    save, calls = ImportLine.save, []

    def dies(line, **fields):
        calls.append(line)
        if len(calls) == 3:  # after the deed, before its outcome
            raise SystemExit
        save(line, **fields)

    monkeypatch.setattr(ImportLine, "save", dies)
    with pytest.raises(SystemExit):
        imports.run_due(limit=1)
    assert outcomes(row) == ["done"] * 2 + ["waiting"] * 3
    assert followees(alice) == {"person0", "person1"}
    assert imports.run_due(limit=1) == 0  # its lease
    Import.objects.update(due_at=timezone.now() - timedelta(minutes=5))
    run(row)
    assert outcomes(row) == ["done"] * 5
    assert len(followees(alice)) == 5


def test_who_lost_the_lease_stops_at_the_next_line(alice, people, file, monkeypatch):
    row = asked(alice, "follows", file)
    act = do_line

    def is_slow(*args):
        Import.objects.update(attempts=2)  # somebody took it over
        return act(*args)

    monkeypatch.setattr(imports, "do_line", is_slow)
    imports.run_due(limit=1)
    row.refresh_from_db()
    assert outcomes(row) == ["done"] + ["waiting"] * 4
    assert (row.state, row.attempts) == (State.PENDING, 2)


def test_stopping_undoes_what_was_done_and_leaves_the_rest(alice, people, file, monkeypatch):
    monkeypatch.setattr(imports, "CHUNK", 2)
    row = asked(alice, "follows", file)
    imports.run_due(limit=1)
    row = run(undo_import(alice, row.pk))
    assert outcomes(row) == ["undone"] * 2 + ["waiting"] * 3
    assert (followees(alice), row.state) == (set(), State.DONE)


@pytest.mark.long
def test_an_undo_just_before_the_end_is_not_lost(alice, people, file, monkeypatch):
    row = asked(alice, "follows", file)
    work = imports._work

    def asked_after(*args):
        is_mine = work(*args)
        if args[3].cells == ["person4"]:
            undo_import(alice, row.pk)
        return is_mine

    monkeypatch.setattr(imports, "_work", asked_after)
    imports.run_due(limit=1)
    monkeypatch.undo()
    run(row)
    assert (followees(alice), row.is_undone, row.state) == (set(), True, State.DONE)


def test_follows_wait_for_their_own_limit_and_leave_a_persons_alone(
    alice, bob, people, file, settings
):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "import_follow": (2, 60), "follow": (1, 60)}
    row = asked(alice, "follows", file)
    imports.run_due(limit=1)
    row.refresh_from_db()
    assert outcomes(row) == ["done"] * 2 + ["waiting"] * 3
    assert (row.state, row.attempts) == (State.PENDING, 0)
    assert row.due_at > timezone.now() + timedelta(seconds=2)
    follow_user(alice, bob)


def test_one_at_a_time_and_so_many_a_day(alice, bob, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "import": (1, 60)}
    row = asked(alice, "blocks", "bob\n")
    with pytest.raises(Conflict):
        asked(alice, "blocks", "bob\n")
    run(row)
    with pytest.raises(TooMany):
        asked(alice, "blocks", "bob\n")
    assert Import.objects.count() == 1


def test_two_undos_at_once_wait_for_each_other(alice, bob, carol):
    first = run(asked(alice, "blocks", "bob\n"))
    asked(alice, "blocks", "carol\n")
    with pytest.raises(Conflict):
        undo_import(alice, first.pk)


def test_a_fault_is_tried_again_and_says_so_in_the_end(alice, bob, monkeypatch, page_of):
    row = asked(alice, "blocks", "bob\n")
    monkeypatch.setattr(imports, "do_line", lambda *_args: 1 / 0)
    for _attempt in range(leases.MAX_ATTEMPTS):
        Import.objects.update(due_at=timezone.now() - timedelta(minutes=5))
        imports.run_due(limit=1)
    row.refresh_from_db()
    assert row.state == State.DEAD
    assert b"An error stopped the import" in page_of(alice).get(f"{PAGE}/{row.pk}").content
    assert outcomes(row) == ["waiting"]


@each("change", [{"suspended_at": timezone.now()}, {"is_active": False}])
def test_the_suspended_and_the_frozen_wait(alice, bob, change):
    row = asked(alice, "blocks", "bob\n")
    User.objects.filter(pk=alice.pk).update(**change)
    imports.run_due(limit=1)
    assert outcomes(row) == ["waiting"]
    assert not Block.objects.exists()


def test_reports_are_deleted_later_and_what_was_imported_stays(alice, bob, carol, settings):
    old = run(asked(alice, "blocks", "bob\n"))
    run(asked(alice, "blocks", "carol\n"))
    Import.objects.filter(pk=old.pk).update(
        finished_at=timezone.now() - timedelta(days=settings.IMPORT_KEEP_DAYS + 1)
    )
    imports.purge()
    assert list(ImportLine.objects.values_list("cells", flat=True)) == [["carol"]]
    assert (Import.objects.count(), Block.objects.count()) == (1, 2)


def test_only_ones_own(alice, bob, page_of):
    row = run(asked(alice, "blocks", "bob\nnobody\n"))
    with pytest.raises(NotFound):
        undo_import(bob, row.pk)
    browser = page_of(bob)
    for path in (f"{PAGE}/{row.pk}", f"{PAGE}/{row.pk}/report.csv"):
        assert browser.get(path).status_code == 404
    assert browser.post(f"{PAGE}/{row.pk}/undo").status_code == 404
    assert page_of(None).get(f"{PAGE}/{row.pk}").status_code == 302


def test_a_list_that_was_made_is_gone_after_its_members(alice, bob, carol):
    follow_user(alice, bob)
    follow_user(alice, carol)
    row = run(asked(alice, "lists", "Cooks,bob\nCooks,carol\n"))
    assert outcomes(row) == ["done", "done"]
    run(undo_import(alice, row.pk))
    assert not UserList.objects.filter(owner=alice).exists()


def test_undoing_is_offered_where_something_was_done(alice, bob, page_of):
    for line, is_offered in (("nobody\n", False), ("bob\n", True)):
        row = run(asked(alice, "blocks", line))
        page = page_of(alice).get(f"{PAGE}/{row.pk}").text
        assert (f"{PAGE}/{row.pk}/undo" in page) == is_offered


def upload(browser, kind, data, name="follows.csv"):
    return browser.post(PAGE, {"kind": kind, "file": SimpleUploadedFile(name, data)})


def test_the_page_from_the_file_to_the_report_and_back(alice, bob, page_of):
    browser = page_of(alice)
    assert b"None yet." in browser.get("/settings/export").content
    answer = upload(browser, "follows", b"bob\n=x@other.example\n")
    row = Import.objects.get()
    assert (answer.status_code, answer["Location"]) == (303, f"{PAGE}/{row.pk}")
    page = browser.get(answer["Location"]).text
    assert "0 of 2 lines" in page
    assert "<progress" in page
    part = browser.get(PAGE, headers={"HX-Request": "true"})
    assert (part.status_code, "0 of 2 lines" in part.text) == (200, True)
    run(row)
    for path in (PAGE, f"{PAGE}/{row.pk}"):
        assert (
            browser.get(path, headers={"HX-Request": "true"}).status_code == 286
        )  # htmx asks no more
    page = browser.get(f"{PAGE}/{row.pk}").text
    assert "1 imported, 0 already there, 1 failed." in page
    assert "Not on this site." in page
    assert "1 imported, 1 failed" in browser.get("/settings/export").text
    file = browser.get(f"{PAGE}/{row.pk}/report.csv")
    assert file["Content-Type"].startswith("text/csv")
    assert list(csv.reader(io.StringIO(file.text)))[1:] == [
        ["2", "'=x@other.example", "Not on this site."]
    ]
    assert browser.post(f"{PAGE}/{row.pk}/undo").status_code == 303
    run(row)
    assert "has been undone" in browser.get(f"{PAGE}/{row.pk}").text
    assert followees(alice) == set()


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        ("follows", b"\xff\xfe", "This is not a UTF-8 text file."),
        ("follows", b"", "Nothing in this file looks like"),
        (
            "follows",
            b"Account address,Hide notifications\nbob,true\n",
            "it has the columns Hide notifications.",
        ),
        ("nonsense", b"bob\n", "Select a valid choice"),
    ],
)
def test_a_bad_file_is_a_plain_answer(alice, page_of, kind, data, words):
    answer = upload(page_of(alice), kind, data)
    assert (answer.status_code, words in answer.text) == (422, True)
    assert not Import.objects.exists()


def test_a_second_file_has_to_wait(alice, bob, page_of):
    asked(alice, "blocks", "bob\n")
    answer = upload(page_of(alice), "blocks", b"bob\n")
    assert (answer.status_code, "Another file is being imported" in answer.text) == (409, True)


def test_an_import_costs_queries_by_lines_not_by_the_file(
    alice, people, file, django_assert_max_num_queries
):
    asked(alice, "blocks", file)
    with django_assert_max_num_queries(8 + 5 * 40):
        imports.run_due(limit=1)


def test_who_is_followed_is_told_as_by_hand_and_who_is_blocked_is_not(alice, bob, carol):
    run(asked(alice, "follows", "bob\n"))
    run(asked(alice, "blocks", "carol\n"))
    deliver()
    told = Notification.objects.filter(actor=alice).values_list("user__handle", flat=True)
    assert list(told) == ["bob"]
