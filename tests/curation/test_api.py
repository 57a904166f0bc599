"""The endpoints of collections, as Mastodon's clients use them."""

import pytest

from apps.accounts.actions import set_locked
from apps.curation.actions import change_collection, create_collection
from apps.curation.models import CollectionItem
from apps.graph.actions import block_user
from tests.support.factories import deliver, make_user

pytestmark = pytest.mark.django_db
COLLECTIONS = "/api/v1/collections"


def test_a_whole_life(alice, bob, carol, api_of, settings):
    program = api_of(alice)
    made = program.post(
        COLLECTIONS,
        {
            "name": "Good people",
            "description": "Worth it.",
            "language": "en",
            "tag_name": "#Cats",
            "sensitive": False,
            "discoverable": True,
            "account_ids": [str(bob.pk)],
        },
        format="json",
    ).json()["collection"]
    number = made["id"]
    address = f"{settings.SITE_URL}/collections/{number}"
    [item] = made["items"]
    assert made == {
        "id": number,
        "account_id": str(alice.pk),
        "uri": address,
        "url": address,
        "name": "Good people",
        "description": "Worth it.",
        "language": "en",
        "local": True,
        "sensitive": False,
        "discoverable": True,
        "tag": {"name": "cats", "url": f"{settings.SITE_URL}/tags/cats"},
        "item_count": 1,
        "items": [item],
        "created_at": made["created_at"],
        "updated_at": made["updated_at"],
    }
    assert item == {
        "id": item["id"],
        "account_id": str(bob.pk),
        "state": "accepted",
        "created_at": item["created_at"],
    }
    where = f"{COLLECTIONS}/{number}"
    added = program.post(f"{where}/items", {"account_id": str(carol.pk)}).json()["collection_item"]
    assert (added["account_id"], added["state"]) == (str(carol.pk), "accepted")
    whole = api_of(None).get(where).json()
    assert [person["acct"] for person in whole["accounts"]] == ["alice", "bob", "carol"]
    assert whole["collection"] == {**made, "item_count": 2, "items": [item, added]}
    changed = program.patch(where, {"name": "Better people", "tag_name": ""}).json()["collection"]
    assert (changed["name"], changed["tag"]) == ("Better people", None)
    assert changed["description"] == "Worth it."
    assert program.delete(f"{where}/items/{item['id']}").json() == {}
    assert program.get(where).json()["collection"]["items"] == [added]
    assert program.delete(where).json() == {}
    assert program.get(where).status_code == 404


def test_a_form_makes_one_too(alice, bob, carol, api_of):
    body = f"name=People&account_ids[]={bob.pk}&account_ids[]={carol.pk}&discoverable=0"
    answer = (
        api_of(alice)
        .post(COLLECTIONS, body, content_type="application/x-www-form-urlencoded")
        .json()
    )
    assert (answer["collection"]["item_count"], answer["collection"]["discoverable"]) == (2, False)


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, "name"),
        ({"name": "x" * 41}, 422, "name"),
        ({"name": "x", "description": "x" * 101}, 422, "description"),
        ({"name": "x", "tag_name": "two words"}, 422, "tag_name"),
        ({"name": "x", "language": "Klingon"}, 422, "language"),
        ({"name": "x", "account_ids": ["none"]}, 422, "account_ids"),
        ({"name": "x", "account_ids": [str(n) for n in range(1, 27)]}, 422, "account_ids"),
        ({"name": "x", "account_ids": ["999999"]}, 404, None),
    ],
)
def test_bad_collections_are_refused(alice, api_of, body, status, field):
    answer = api_of(alice).post(COLLECTIONS, body, format="json")
    assert answer.status_code == status
    assert [error["field"] for error in answer.json()["errors"]] == ([field] if field else [])


def test_only_the_owner_changes_and_only_oneself_leaves(alice, bob, carol, collection, api_of):
    where = f"{COLLECTIONS}/{collection.pk}"
    item = f"{where}/items/{CollectionItem.objects.get().pk}"
    stranger = api_of(carol)
    assert stranger.patch(where, {"name": "Mine"}).status_code == 403
    assert stranger.delete(where).status_code == 403
    assert stranger.post(f"{where}/items", {"account_id": carol.pk}).status_code == 403
    assert stranger.delete(item).status_code == 403
    assert stranger.post(f"{item}/revoke").status_code == 403
    assert api_of(alice).post(f"{where}/items").status_code == 422
    assert api_of(alice).post(f"{where}/items", {"account_id": bob.pk}).status_code == 422
    assert api_of(alice).delete(f"{where}/items/999").status_code == 404
    other = create_collection(alice, name="Other")
    assert api_of(alice).delete(item.replace(where, f"{COLLECTIONS}/{other.pk}")).status_code == 404
    assert api_of(bob).post(f"{item}/revoke").json() == {}
    assert api_of(None).get(where).json()["collection"]["items"] == []
    assert api_of(alice).post(f"{where}/items", {"account_id": bob.pk}).status_code == 403


def test_scopes(alice, collection, api_of):
    where = f"{COLLECTIONS}/{collection.pk}"
    reads, writes = api_of(alice, scopes="read:collections"), api_of(alice, "write:collections")
    assert reads.get(where).status_code == writes.patch(where, {"name": "New"}).status_code == 200
    assert reads.patch(where, {"name": "New"}).status_code == 403
    assert writes.get(where).status_code == 403
    assert api_of(None).patch(where, {"name": "New"}).status_code == 401
    mine = f"/api/v1/accounts/{alice.pk}/in_collections"
    assert (reads.get(mine).status_code, api_of(None).get(mine).status_code) == (200, 401)


def test_an_accounts_collections_page_by_page(alice, bob, api_of, settings):
    numbers = [str(create_collection(alice, [bob.pk], name=str(n)).pk) for n in range(3)]
    change_collection(alice, int(numbers[1]), is_discoverable=False)
    where = f"/api/v1/accounts/{alice.pk}/collections"
    for reader in (None, bob):
        found = api_of(reader).get(where)
        assert [one["id"] for one in found.json()["collections"]] == [numbers[2], numbers[0]]
        assert "Link" not in found
    first = api_of(alice).get(where, {"limit": 1})
    assert [one["id"] for one in first.json()["collections"]] == [numbers[2]]
    address = settings.SITE_URL + where
    assert first["Link"] == f'<{address}?limit=1&offset=1>; rel="next"'
    second = api_of(alice).get(where, {"limit": 1, "offset": 1})
    assert [one["id"] for one in second.json()["collections"]] == [numbers[1]]
    assert second["Link"] == (
        f'<{address}?limit=1&offset=2>; rel="next", <{address}?limit=1&offset=0>; rel="prev"'
    )
    last = api_of(alice).get(where, {"limit": 1, "offset": 2})
    assert last["Link"] == f'<{address}?limit=1&offset=1>; rel="prev"'
    assert api_of(alice).get(where, {"offset": "x"}).status_code == 400
    block_user(alice, bob)
    assert api_of(bob).get(where).json() == {"collections": []}
    assert api_of(bob).get(f"{COLLECTIONS}/{numbers[0]}").status_code == 403


def test_the_collections_that_one_is_in(alice, bob, carol, collection, api_of):
    hidden = create_collection(carol, [bob.pk], name="Hidden", is_discoverable=False)
    where = f"/api/v1/accounts/{bob.pk}/in_collections"
    found = api_of(bob).get(where).json()["collections"]
    assert [one["id"] for one in found] == [str(hidden.pk), str(collection.pk)]
    assert api_of(bob).get(where, {"limit": 1})["Link"].endswith('offset=1>; rel="next"')
    assert api_of(alice).get(where).status_code == 403


def test_accounts_say_who_may_put_them_into_collections(alice, bob, carol, api_of):
    bob.is_discoverable = False
    bob.save()
    set_locked(carol, locked=True)
    dave = make_user("dave")

    def approval_of(user):
        return api_of(alice).get(f"/api/v1/accounts/{user.pk}").json()["feature_approval"]

    nobody = {"automatic": [], "manual": [], "current_user": "denied"}
    assert approval_of(bob) == nobody
    assert approval_of(carol) == {
        "automatic": ["followers"],
        "manual": [],
        "current_user": "unknown",
    }
    assert approval_of(dave) == {"automatic": ["public"], "manual": [], "current_user": "automatic"}


def test_the_site_says_version_10(alice, api_of):
    assert api_of(None).get("/api/v2/instance").json()["api_versions"] == {"mastodon": 10}
    own = api_of(alice).get("/api/v1/accounts/verify_credentials").json()
    assert own["role"]["collection_limit"] == 10


def test_a_notification_has_the_collection(alice, bob, carol, collection, api_of):
    dave = make_user("dave")
    create_collection(dave, [bob.pk], name="Dave's")
    deliver()
    newest, first = (
        api_of(bob).get("/api/v1/notifications", {"types[]": "added_to_collection"}).json()
    )
    assert (first["account"]["acct"], first["collection"]["name"]) == ("alice", "Good people")
    assert (newest["account"]["acct"], newest["collection"]["name"]) == ("dave", "Dave's")
    second = create_collection(alice, [bob.pk], name="More people")
    change_collection(alice, collection.pk, name="Best people")
    deliver()
    groups = api_of(bob).get("/api/v2/notifications").json()["notification_groups"]
    said = [(one["type"], one["collection"]["name"]) for one in groups if "collection" in one]
    assert said == [
        ("collection_update", "Best people"),
        ("added_to_collection", "More people"),
        ("added_to_collection", "Dave's"),
    ]
    assert second.pk > collection.pk
