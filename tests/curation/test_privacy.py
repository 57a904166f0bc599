"""Collections in the archive of an account, and their end with it."""

import pytest

from apps.curation import privacy
from apps.curation.actions import create_collection
from apps.curation.models import Collection, CollectionItem

pytestmark = pytest.mark.django_db


def test_the_archive_has_the_collections_with_their_people(alice, bob, settings):
    made = create_collection(alice, [bob.pk], name="Good people", tag="cats", language="en")
    [record] = privacy.ARCHIVE.written(list(privacy.ARCHIVE.rows(alice)))
    host = settings.SITE_URL.partition("://")[2]
    assert record == {
        "name": "Good people",
        "description": "",
        "tag": "cats",
        "language": "en",
        "sensitive": False,
        "discoverable": True,
        "address": f"{settings.SITE_URL}/collections/{made.pk}",
        "since": made.created_at.isoformat(),
        "accounts": [f"bob@{host}"],
    }


def test_an_erasure_takes_the_account_out_and_deletes_its_own(alice, bob, carol):
    for owner in (alice, alice, bob):
        create_collection(owner, [alice.pk, carol.pk], name="People")
    while privacy.collections(alice, 1):
        pass
    [left] = Collection.objects.all()
    assert left.owner == bob
    assert [item.member for item in CollectionItem.objects.all()] == [carol]
