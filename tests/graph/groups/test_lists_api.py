"""The API's lists, as Mastodon clients call them."""

import pytest

from apps.graph.actions import follow_user
from tests.support.factories import make_user, publish

pytestmark = pytest.mark.django_db
LISTS = "/api/v1/lists"


@pytest.fixture
def bobs(api_of, bob):
    return api_of(bob)


@pytest.fixture
def tea(bobs):
    return bobs.post(LISTS, {"title": "Tea"}, format="json").json()


def test_a_whole_life(alice, bob, bobs, tea):
    plain = {"title": "Tea", "replies_policy": "list", "exclusive": False}
    assert tea == {"id": tea["id"], **plain}
    one = f"{LISTS}/{tea['id']}"
    form = bobs.put(one, {"title": "Green", "replies_policy": "none", "exclusive": "true"})
    expected = {"id": tea["id"], "title": "Green", "replies_policy": "none", "exclusive": True}
    assert form.json() == bobs.get(one).json() == bobs.get(LISTS).json()[0] == expected
    assert bobs.post(f"{one}/accounts", {"account_ids[]": [alice.pk]}).json() == {}
    assert [user["acct"] for user in bobs.get(f"{one}/accounts").json()] == ["alice"]
    assert bobs.get(f"/api/v1/accounts/{alice.pk}/lists").json() == [expected]
    post = publish(alice)
    assert [s["id"] for s in bobs.get(f"/api/v1/timelines/list/{tea['id']}").json()] == [
        str(post.pk)
    ]
    body = {"account_ids": [str(alice.pk)]}
    assert bobs.delete(f"{one}/accounts", body, format="json").json() == {}
    assert bobs.get(f"{one}/accounts").json() == []
    assert bobs.delete(one).json() == {}
    assert bobs.get(one).status_code == 404


@pytest.mark.parametrize(
    "send",
    [
        lambda c, url, pk: c.post(url, {"account_ids": pk}),
        lambda c, url, pk: c.post(url, {"account_ids[]": pk}),
        lambda c, url, pk: c.post(url, {"account_ids": [pk]}, format="json"),
        lambda c, url, pk: c.post(f"{url}?account_ids[]={pk}"),
    ],
    ids=["form", "form with []", "JSON", "address"],
)
def test_every_way_to_name_people(alice, bobs, tea, send):
    address = f"{LISTS}/{tea['id']}/accounts"
    assert send(bobs, address, alice.pk).status_code == 200
    assert len(bobs.get(address).json()) == 1


@pytest.mark.slow
def test_pages_of_people(bob, bobs, tea):
    others = [make_user() for _ in range(5)]
    for other in others:
        follow_user(bob, other)
    address = f"{LISTS}/{tea['id']}/accounts"
    bobs.post(address, {"account_ids": [user.pk for user in others]}, format="json")
    seen, path = [], f"{address}?limit=2"
    while path:
        answer = bobs.get(path)
        seen += [user["id"] for user in answer.json()]
        following = [x for x in answer.headers.get("Link", "").split(", ") if 'rel="next"' in x]
        path = following[0].split(";")[0].strip("<>") if following else ""
    assert seen == [str(user.pk) for user in reversed(others)]
    assert len(bobs.get(f"{address}?limit=0").json()) == 5


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, 422),
        ({"title": ""}, 422),
        ({"title": "x" * 101}, 422),
        ({"title": "x", "replies_policy": "some"}, 422),
        ({"title": "x", "exclusive": "perhaps"}, 422),
        ({"title": "\u0000"}, 400),
        ({"title": ["x"]}, 422),
    ],
)
def test_bad_lists(bobs, fields, status):
    assert bobs.post(LISTS, fields, format="json").status_code == status
    assert bobs.get(LISTS).json() == []


@pytest.mark.parametrize(
    ("ids", "status"),
    [([], 200), (["x"], 400), (["-1"], 400), (["9" * 30], 422), (["9223372036854775808"], 400),
     (["9223372036854775807"], 404),
     ([1] * 101, 422), ([{}], 400)],
)  # fmt: skip
def test_bad_people(bobs, tea, ids, status):
    address = f"{LISTS}/{tea['id']}/accounts"
    assert bobs.post(address, {"account_ids": ids}, format="json").status_code == status


def test_a_list_is_its_owners(alice, api_of, tea):
    mallory = api_of(alice)
    for method, way in [("get", ""), ("put", ""), ("delete", ""), ("get", "/accounts"), ("post", "/accounts"),
                        ("delete", "/accounts")]:  # fmt: skip
        answer = getattr(mallory, method)(f"{LISTS}/{tea['id']}{way}", {"title": "x"})
        assert answer.status_code == 404, (method, way)
    assert mallory.get(f"/api/v1/timelines/list/{tea['id']}").status_code == 404
