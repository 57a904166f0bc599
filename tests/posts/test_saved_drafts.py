"""Saved drafts: bounded, of one author, with the pictures they show."""

from datetime import timedelta
from io import BytesIO

import pytest
from django.utils import timezone

from apps.errors import Invalid, NotFound
from apps.posts import saved_drafts as drafts
from apps.posts.actions.uploads import purge_unused_uploads, upload_picture
from apps.posts.models import Attachment, SavedDraft
from apps.posts.saved_drafts import delete_draft, save_draft, saved_draft, saved_drafts
from tests.support.factories import publish
from tests.support.pictures import picture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


def old_upload(owner):
    row = upload_picture(owner, BytesIO(picture()), alt="A wall.")
    Attachment.objects.filter(pk=row.pk).update(created_at=timezone.now() - timedelta(days=3))
    return row.pk


def test_a_draft_is_saved_again_in_its_place(alice):
    first = save_draft(alice, {"body": "One"}, [])
    save_draft(alice, {"body": "Two"}, [])
    again = save_draft(alice, {"body": "One and more"}, [], number=first.pk)
    assert again.pk == first.pk
    assert [row.fields["body"] for row in saved_drafts(alice)] == ["One and more", "Two"]


def test_one_that_is_gone_is_saved_anew(alice, bob):
    theirs = save_draft(bob, {"body": "Mine"}, [])
    row = save_draft(alice, {"body": "Hers"}, [], number=theirs.pk)
    assert row.pk != theirs.pk
    assert saved_draft(bob, theirs.pk).fields == {"body": "Mine"}
    with pytest.raises(NotFound):
        saved_draft(alice, theirs.pk)
    delete_draft(alice, theirs.pk)
    assert saved_drafts(bob) == [theirs]


def test_its_pictures_wait_as_long_as_the_draft_does(alice):
    kept, other = old_upload(alice), old_upload(alice)
    row = save_draft(alice, {}, [kept, other])
    assert purge_unused_uploads(limit=10) == 0
    save_draft(alice, {}, [kept], number=row.pk)
    released = Attachment.objects.get(pk=other)
    assert released.draft is None
    assert timezone.now() - released.created_at < timedelta(hours=1)  # for another day
    delete_draft(alice, row.pk)
    assert Attachment.objects.get(pk=kept).draft is None
    assert purge_unused_uploads(limit=10) == 0


def test_only_ones_own_waiting_pictures_are_held(alice, bob):
    theirs = old_upload(bob)
    shown = old_upload(alice)
    publish(alice, "Look.", media_ids=[shown])
    row = save_draft(alice, {}, [theirs, shown])
    assert row.media_ids == []
    assert not Attachment.objects.exclude(draft=None).exists()


def test_drafts_are_bounded_in_number_and_size(alice, monkeypatch):
    monkeypatch.setattr(drafts, "MAX_DRAFTS", 2)
    rows = [save_draft(alice, {"body": str(number)}, []) for number in range(2)]
    with pytest.raises(Invalid, match="up to 2 drafts"):
        save_draft(alice, {"body": "3"}, [])
    save_draft(alice, {"body": "1 again"}, [], number=rows[1].pk)
    with pytest.raises(Invalid, match="too long"):
        save_draft(alice, {"body": "x" * drafts.MAX_BYTES}, [], number=rows[0].pk)
    assert SavedDraft.objects.count() == 2
