"""Verdicts are in the archive of their author, and end with the account."""

import pytest

from apps.privacy.erasure import delete_account, run_due
from apps.spam.actions import examine
from apps.spam.models import Fingerprint, Verdict
from apps.spam.privacy import ARCHIVE, verdicts
from tests.support.factories import PASSWORD, publish

pytestmark = pytest.mark.django_db
SPAM = "Buy these pills at https://pills.example/"


@pytest.fixture
def verdict(alice, bob, blocked):
    for author in (alice, bob):
        examine(publish(author, SPAM).pk)
    return Verdict.objects.get(author=alice)


def test_the_archive_has_the_verdicts_with_their_reasons(verdict, alice):
    [line] = ARCHIVE.written(list(ARCHIVE.rows(alice)))
    line["reasons"].sort()
    assert line == {
        "post": str(verdict.post_id),
        "score": 130,
        "reasons": [
            "It has links, and the account was 0 hours old.",
            "It links to pills.example, which is blocked.",
        ],
        "acts": ["report"],
        "at": verdict.created_at.isoformat(),
    }


def test_an_erasure_deletes_verdicts_and_fingerprints_of_the_account_only(verdict, alice, bob):
    delete_account(alice, password=PASSWORD)
    while run_due(limit=10):
        pass
    assert [row.author for row in Verdict.objects.all()] == [bob]
    assert {row.author_id for row in Fingerprint.objects.all()} == {bob.pk}


def test_a_step_of_an_erasure_deletes_no_more_rows_than_it_may(verdict, alice):
    assert verdicts(alice, 2) == 2
    assert Fingerprint.objects.filter(author=alice).count() == 1
    assert verdicts(alice, 2) == 1
    assert verdicts(alice, 2) == 0
