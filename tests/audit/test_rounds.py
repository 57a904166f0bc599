"""Every row is compared as often as any other, the oldest as the newest, and every window."""

import pytest
from django.db.models import Max

from apps.accounts.models import User
from apps.audit import auditor, checks
from apps.audit.models import AuditFinding, AuditRound, Kind, Subject
from apps.audit.repairs import drop_reader_caches
from apps.audit.rounds import next_slice
from apps.graph.models import Followee, Follower
from apps.pagination import Cursor
from apps.timeline.home import home_timeline
from apps.timeline.sources.home_cache import HOME
from tests.audit.test_auditor import age
from tests.support.factories import delivered, make_follow, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_waiting(settings):
    settings.AUDIT_SAMPLE_RATE, settings.AUDIT_GRACE_SECONDS = 0, 0


def compared(maximum):
    """The ids of the next slice of accounts."""
    with next_slice(Subject.ACCOUNTS, User, maximum) as part:
        return sorted(part.ids())


def test_slices_go_round_and_each_row_is_in_one_of_a_round():
    ids = [make_user().pk for _ in range(7)]
    assert [compared(3) for _ in range(4)] == [ids[:3], ids[3:6], ids[6:], ids[:3]]
    progress = AuditRound.objects.get(pk=Subject.ACCOUNTS)
    assert (progress.compared, progress.total) == (3, 7)
    assert progress.ended_at is not None
    assert progress.began_at > progress.ended_at
    assert progress.seconds


def test_a_slice_that_ends_earlier_is_gone_on_with():
    ids = [make_user().pk for _ in range(5)]
    with next_slice(Subject.ACCOUNTS, User, 5) as part:
        part.end_at(ids[1], compared=2)
    assert compared(5) == ids[2:]
    assert AuditRound.objects.get().total == 5


def test_what_fails_is_compared_in_the_next_run():
    ids = [make_user().pk for _ in range(3)]
    with pytest.raises(OSError, match="no server"), next_slice(Subject.ACCOUNTS, User, 3):
        raise OSError("no server")
    assert compared(3) == ids


def test_without_rows_a_round_ends_at_once():
    assert compared(3) == []
    assert AuditRound.objects.get().total == 0


def readers_of(author, number):
    """So many followers, with windows that have the author's post."""
    found = [make_user() for _ in range(number)]
    for reader in found:
        make_follow(reader, author)
        home_timeline(reader, Cursor())
    delivered(author, "first")
    age()
    return found


@pytest.fixture
def readers(alice):
    return readers_of(alice, 5)


@pytest.mark.slow
def test_every_window_is_compared_in_a_round(readers, monkeypatch):
    monkeypatch.setattr(auditor, "WINDOWS", 2)
    assert [auditor.run_once().windows for _ in range(4)] == [2, 2, 1, 2]
    assert AuditRound.objects.get(pk=Subject.WINDOWS).total == len(readers)


@pytest.mark.long
@pytest.mark.gate
@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_gap_in_any_window_is_found_in_a_round_and_three_looks(readers, monkeypatch, place):
    monkeypatch.setattr(auditor, "WINDOWS", 2)
    reader = readers[place]
    HOME.remove(reader.pk, HOME.ids(reader.pk)[:1])
    for _turn in range(3 + 2):
        auditor.run_once()
    finding = AuditFinding.objects.get()
    assert (finding.kind, finding.viewer_id) == (Kind.WINDOW, reader.pk)
    assert finding.repaired_at


def test_the_time_for_windows_is_bounded_and_nobody_is_left_out(readers, monkeypatch):
    monkeypatch.setattr(auditor, "WINDOWS_SECONDS", 0.0)
    assert [auditor.run_once().windows for _ in range(3)] == [1, 1, 1]


@pytest.mark.long
@pytest.mark.parametrize("place", [0, 2, 4])
def test_half_a_follow_is_found_wherever_it_lies(readers, monkeypatch, place):
    monkeypatch.setattr(checks, "FOLLOWS", 2)
    edge = Followee.objects.order_by("pk")[place]
    Follower.objects.filter(owner=edge.followee, follower=edge.owner).delete()
    for _turn in range(3):
        auditor.run_once()
    finding = AuditFinding.objects.get(kind=Kind.MIRROR)
    assert finding.viewer_id == edge.owner_id
    assert finding.repaired_at


@pytest.mark.long
def test_what_cannot_be_repaired_is_one_finding_with_a_count(alice, monkeypatch):
    [reader] = readers_of(alice, 1)
    HOME.remove(reader.pk, HOME.ids(reader.pk)[:1])
    monkeypatch.setattr("apps.audit.repairs.drop_reader_caches", lambda _reader_id: None)
    violations = [auditor.run_once().violations for _ in range(12)]
    finding = AuditFinding.objects.get(kind=Kind.WINDOW)
    assert finding.repaired_at is None
    assert finding.times > 2
    assert finding.last_found_at > finding.found_at
    assert sum(violations) == 1


def test_an_account_without_a_window_is_looked_at_and_not_counted(readers):
    last = User.objects.aggregate(last=Max("pk"))["last"]
    drop_reader_caches(last)
    auditor.run_once()
    assert AuditRound.objects.get(pk=Subject.WINDOWS).total == len(readers) - 1
