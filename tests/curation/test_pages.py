"""The pages of collections, as people use them."""

import pytest

from apps.accounts.actions import set_locked
from apps.curation import actions
from apps.curation.actions import add_account, change_collection, create_collection
from apps.curation.models import Collection, CollectionItem
from apps.graph.actions import block_user
from apps.graph.models import Followee, FollowRequest
from tests.support.factories import deliver, make_user

pytestmark = pytest.mark.django_db


def handles_in(collection):
    rows = CollectionItem.objects.filter(collection=collection, left_at=None).order_by("pk")
    return list(rows.values_list("member__handle", flat=True))


def test_a_collection_is_made_and_filled(alice, bob, carol, page_of):
    page = page_of(alice)
    assert "You have no collections yet." in page.get("/collections").text
    answer = page.post(
        "/collections", {"name": "Good people", "tag": "cats", "is_discoverable": "on"}
    )
    made = Collection.objects.get()
    assert answer["Location"] == f"/collections/{made.pk}/edit"
    page.post(f"{made.url}/add", {"handles": "@bob carol"})
    assert handles_in(made) == ["bob", "carol"]
    first = CollectionItem.objects.earliest("pk")
    page.post(f"{made.url}/remove/{first.pk}")
    assert handles_in(made) == ["carol"]
    answer = page.post(f"{made.url}/edit", {"name": "Better people", "description": "Yes."})
    assert answer["Location"] == made.url
    made.refresh_from_db()
    assert (made.name, made.tag, made.is_discoverable) == ("Better people", "", False)
    assert "Delete collection" in page.get(f"{made.url}/delete").text
    assert page.post(f"{made.url}/delete")["Location"] == "/collections"
    assert not Collection.objects.exists()


def test_a_language_that_only_programs_can_choose_stays(alice, collection, page_of):
    change_collection(alice, collection.pk, language="nl")
    form = page_of(alice).get(f"{collection.url}/edit").text
    assert '<option value="nl" selected>' in form
    page_of(alice).post(f"{collection.url}/edit", {"name": "Better people", "language": "nl"})
    collection.refresh_from_db()
    assert (collection.name, collection.language) == ("Better people", "nl")


def test_bad_input_is_said_beside_the_field(alice, bob, collection, page_of):
    page = page_of(alice)
    answer = page.post("/collections", {"name": "x", "tag": "two words"})
    assert answer.status_code == 422
    assert "can&#x27;t be a tag" in answer.text
    bob.is_discoverable = False
    bob.save()
    other = create_collection(alice, name="Other")
    answer = page.post(f"{other.url}/add", {"handles": "bob"})
    assert (answer.status_code, "@bob can&#x27;t be added" in answer.text) == (422, True)
    assert page.post(f"{other.url}/add", {"handles": "nobody-here"}).status_code == 422
    assert page.post(f"{other.url}/edit", {"name": ""}).status_code == 422


def test_visitors_read_a_collection(alice, bob, collection, page_of):
    change_collection(alice, collection.pk, description="Worth it.", tag="cats")
    text = page_of(None).get(collection.url).text
    for said in ("Good people", "Worth it.", "/tags/cats", "@bob", 'rel="canonical"'):
        assert said in text
    assert "noindex" not in text
    assert f"/login?next={collection.url}" in text
    change_collection(alice, collection.pk, is_discoverable=False, is_sensitive=True)
    text = page_of(None).get(collection.url).text
    assert "noindex" in text
    assert "<details>" in text, "a sensitive description is behind a click"
    assert 'content="Worth it."' not in text


def test_follow_all_follows_and_says_what_failed(alice, bob, carol, collection, page_of):
    frank, dave = make_user("frank"), make_user("dave")
    for person in (carol, dave):
        add_account(alice, collection.pk, person.pk)
    set_locked(carol, locked=True)
    page = page_of(frank)
    assert "Follow all" in page.get(collection.url).text
    answer = page.post(f"{collection.url}/follow", follow=True)
    assert "You follow 2 more accounts." in answer.text
    assert "You have sent 1 follow request" in answer.text
    assert Followee.objects.filter(owner=frank).count() == 2
    assert FollowRequest.objects.filter(requester=frank, owner=carol).exists()
    assert "Follow all" not in page.get(collection.url).text
    assert (
        "You follow all of them already." in page.post(f"{collection.url}/follow", follow=True).text
    )


def test_follow_all_says_the_limit(alice, bob, carol, collection, page_of, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "follow": (1, 3600)}
    add_account(alice, collection.pk, carol.pk)
    answer = page_of(make_user("frank")).post(f"{collection.url}/follow", follow=True)
    assert "You follow 1 more account." in answer.text
    assert "Not followed: @carol. Too many requests." in answer.text


def test_one_leaves_a_collection(alice, bob, carol, collection, page_of):
    page = page_of(bob)
    assert "Leave this collection" in page.get(collection.url).text
    assert "Good people" in page.get("/collections").text
    assert "add you to it again" in page.get(f"{collection.url}/leave").text
    page.post(f"{collection.url}/leave")
    assert handles_in(collection) == []
    assert "Leave this collection" not in page.get(collection.url).text
    assert page_of(carol).post(f"{collection.url}/leave").status_code == 404


def test_a_notification_leads_to_the_collection(alice, bob, collection, page_of):
    deliver()
    text = page_of(bob).get("/notifications").text
    assert f'<a href="{collection.url}">added you to a collection</a>' in text


def test_a_profile_leads_to_its_collections(alice, bob, collection, page_of):
    for reader in (None, bob, alice):
        assert "/@alice/collections" in page_of(reader).get("/@alice").text
        assert "Good people" in page_of(reader).get("/@alice/collections").text
    assert page_of(None).get("/@Alice/collections")["Location"] == "/@alice/collections"
    change_collection(alice, collection.pk, is_discoverable=False)
    assert "/@alice/collections" not in page_of(bob).get("/@alice").text
    assert "Good people" not in page_of(bob).get("/@alice/collections").text
    assert "Good people" in page_of(alice).get("/@alice/collections").text
    block_user(alice, bob)
    assert page_of(bob).get(collection.url).status_code == 403


def test_a_person_is_put_into_collections_from_the_profile(alice, bob, carol, page_of):
    page = page_of(alice)
    assert "/@carol/collect" in page.get("/@carol").text
    assert "/@carol/collect" not in page_of(None).get("/@carol").text
    assert "Create a collection" in page.get("/@carol/collect").text
    one, two = (create_collection(alice, name=name) for name in ("One", "Two"))
    page.post("/@carol/collect", {"collection": [one.pk, two.pk]})
    assert (handles_in(one), handles_in(two)) == (["carol"], ["carol"])
    page.post("/@carol/collect", {"collection": [two.pk]})
    assert (handles_in(one), handles_in(two)) == ([], ["carol"])
    carol.is_discoverable = False
    carol.save()
    assert "not every account wants" in page.get("/@carol/collect").text
    assert "can&#x27;t be added" in page.post("/@carol/collect", {"collection": [one.pk]}).text


def test_the_owner_removes_those_that_are_not_shown(alice, bob, collection, page_of):
    bob.is_discoverable = False
    bob.save()
    page = page_of(alice)
    assert "1 more account is not shown now" in page.get(f"{collection.url}/edit").text
    page.post(f"{collection.url}/remove_hidden")
    assert handles_in(collection) == []


def test_an_account_that_is_added_at_the_same_moment_stays(
    alice, carol, collection, page_of, monkeypatch
):
    """Between the request and its lock."""
    lock = actions.lock_each

    def add_and_lock(model, ids):
        monkeypatch.setattr(actions, "lock_each", lock)
        actions.add_account(alice, collection.pk, carol.pk)
        lock(model, ids)

    page = page_of(alice)
    monkeypatch.setattr(actions, "lock_each", add_and_lock)
    page.post(f"{collection.url}/remove_hidden")
    assert handles_in(collection) == ["bob", "carol"]


@pytest.mark.parametrize("what", ["edit", "delete", "add", "remove/1", "remove_hidden"])
def test_others_change_nothing(bob, collection, page_of, what):
    assert page_of(bob).post(f"{collection.url}/{what}", {"name": "Mine"}).status_code == 403
    assert page_of(None).post(f"{collection.url}/{what}").status_code == 303
