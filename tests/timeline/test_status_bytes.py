"""Kept statuses are what they would be made of now."""

import orjson
import pytest

from apps.accounts.actions import update_profile
from apps.accounts.queries import user_by_id
from apps.api.entities.status import MAX_VARIANTS, status_json, statuses_as_bytes
from apps.engagement.actions import like_post
from apps.graph.actions import follow_user
from apps.pagination import Cursor
from apps.posts.actions.edit import edit_post
from apps.posts.actions.publish import delete_post
from apps.timeline.home import home_timeline
from tests.support.factories import deliver, delivered, make_user, publish, repost

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("memcached")]


def answered(viewer):
    """A page as it is answered, and how many of its statuses were kept."""
    for _warm in range(2):
        items = home_timeline(user_by_id(viewer.pk), Cursor()).items
    for _again in range(2):
        pieces = statuses_as_bytes(items)
        body = orjson.loads(orjson.dumps(pieces))
        assert body == [orjson.loads(orjson.dumps(status_json(item))) for item in items]
    return body, sum(isinstance(piece, orjson.Fragment) for piece in pieces)


@pytest.mark.slow
def test_a_kept_status_is_what_it_would_be_now(alice, bob, carol):
    follow_user(bob, carol)
    plain = publish(alice, "Plain, with #tag and @bob.", content_warning="Spiders")
    publish(alice, "For you.", visibility="followers")
    quote = publish(carol, quote_of_id=plain.pk)
    publish(carol, "Yes.", reply_to_id=plain.pk)
    repost(carol, publish(make_user("dora"), "Shared.").pk)
    deliver()
    body, kept = answered(bob)
    assert (len(body), kept) == (5, 4)  # all but the one for followers

    like_post(bob, plain.pk)
    follow_user(make_user(), alice)
    update_profile(alice, display_name="Ali <b>")
    edit_post(alice, plain.pk, body="Edited.")
    statuses = {status["id"]: status for status in answered(bob)[0]}
    now, quoted = statuses[str(plain.pk)], statuses[str(quote.pk)]["quote"]["quoted_status"]
    assert now == {**quoted, "quote": None}
    assert (now["favourited"], now["favourites_count"]) == (True, 1)
    assert (now["account"]["display_name"], now["account"]["followers_count"]) == ("Ali <b>", 2)
    assert "Edited." in now["content"]


@pytest.mark.slow
def test_each_reader_has_their_own_marks(alice, bob, api_of):
    readers = [make_user() for _ in range(MAX_VARIANTS + 2)]
    for reader in readers:
        follow_user(reader, alice)
    post = delivered(alice, "For all.")
    like_post(readers[3], post.pk)
    for reader in [*readers, *readers]:
        (status,) = api_of(reader).get("/api/v1/timelines/home").json()
        assert status["favourited"] is (reader == readers[3])
    delete_post(post.pk, by=alice)
    assert api_of(bob).get("/api/v1/timelines/home").json() == []
