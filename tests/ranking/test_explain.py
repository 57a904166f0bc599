"""What explanations say of ranked orders."""

import pytest

from apps.accounts.queries import user_by_id
from apps.audit.explain import assembly
from apps.pagination import Cursor
from apps.ranking.ordering import begin
from tests.support.factories import delivered

pytestmark = pytest.mark.django_db


def test_the_score_of_the_ranked_timeline_is_told_when_there_is_one(alice, bob, page_of):
    post = delivered(alice)
    viewer = user_by_id(bob.pk)
    assert assembly(viewer, Cursor()).rows[0].notes == ()
    page = page_of(bob).get(f"/explain/{post.pk}").text
    assert "In your ranked timeline" not in page
    begin(viewer)
    [note] = assembly(viewer, Cursor()).rows[0].notes
    assert note.startswith("score in your ranked timeline: ")
    page = page_of(bob).get(f"/explain/{post.pk}").text
    assert "In your ranked timeline" in page
    assert "Parts of the score" in page
