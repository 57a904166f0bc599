"""Circles in the API: where one may post, posting there, and what clients are told."""

import pytest

from apps.graph.groups.actions import add_members, create_group, remove_members
from apps.graph.models import Circle
from apps.posts.models import Post
from tests.support.cases import each
from tests.support.factories import publish

pytestmark = pytest.mark.django_db


@pytest.fixture
def band(alice, bob):
    """A shared circle of alice's with bob in it."""
    circle = create_group(Circle, alice, name="Band", is_shared=True)
    add_members(Circle, alice, circle.pk, [bob.pk])
    return circle


def post_to(client, circle_id, **more):
    fields = {"status": "hello", "visibility": "circle", "circle_id": circle_id, **more}
    return client.post("/api/v1/statuses", fields, format="json")


def test_where_one_may_post(alice, bob, carol, band, api_of):
    create_group(Circle, alice, name="Alone")
    listed = {user: api_of(user).get("/api/v1/circles").json() for user in (alice, bob, carol)}
    assert [one["title"] for one in listed[alice]] == ["Alone", "Band"]
    assert listed[bob] == [
        {"id": str(band.pk), "title": "Band", "is_own": False, "is_shared": True}
    ]
    assert listed[carol] == []


@pytest.mark.parametrize("form", [str, int])
def test_publish_to_a_circle(bob, band, api_of, form):
    answer = post_to(api_of(bob), form(band.pk))
    assert answer.status_code == 200
    body = answer.json()
    assert body["visibility"] == "private"  # clients must not offer to pass it on
    assert body["feedsite"]["visibility"] == "circle"
    assert body["feedsite"]["circle"] == {"id": str(band.pk), "title": "Band"}
    assert Post.objects.get().circle_id == band.pk


def test_other_posts_have_no_circle(alice, api_of):
    post = publish(alice, visibility="followers")
    body = api_of(alice).get(f"/api/v1/statuses/{post.pk}").json()
    assert body["visibility"] == "private"
    assert (body["feedsite"]["visibility"], body["feedsite"]["circle"]) == ("followers", None)


@each("circle_id", [None, "", "0", "-1", "abc", "1.5", "٣", "9" * 30, [1], {"id": 1}])
def test_a_circle_has_to_be_one(alice, api_of, circle_id):
    answer = post_to(api_of(alice), circle_id)
    fields = [error["field"] for error in answer.json()["errors"]]
    assert (answer.status_code, fields) == (422, ["circle_id"])
    assert not Post.objects.exists()


@each("visibility", ["public", "private", "direct"])
def test_a_circle_beside_another_visibility_is_a_mistake(alice, band, api_of, visibility):
    answer = post_to(api_of(alice), str(band.pk), visibility=visibility)
    assert answer.status_code == 422
    assert not Post.objects.exists()


def test_strangers_cannot_tell_a_circle_from_none(carol, band, api_of):
    client = api_of(carol)
    answers = [post_to(client, one) for one in (str(band.pk), "999999", "9223372036854775808")]
    bodies = [
        {key: value for key, value in answer.json().items() if key != "request_id"}
        for answer in answers
    ]
    assert [answer.status_code for answer in answers] == [404] * 3
    assert bodies[0] == bodies[1] == bodies[2]


def test_members_of_a_circle_that_is_not_shared(alice, bob, api_of):
    own = create_group(Circle, alice, name="Mine")
    add_members(Circle, alice, own.pk, [bob.pk])
    answer = post_to(api_of(bob), str(own.pk))
    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
    root = publish(alice, visibility="circle", circle_id=own.pk)
    fields = {"status": "yes", "in_reply_to_id": str(root.pk), "visibility": "private"}
    answer = api_of(bob).post("/api/v1/statuses", fields, format="json")
    assert answer.json()["feedsite"]["circle"] == {"id": str(own.pk), "title": "Mine"}


def test_an_author_who_has_left_is_not_told_the_name(alice, bob, band, api_of):
    made = post_to(api_of(bob), str(band.pk)).json()["id"]
    remove_members(Circle, alice, band.pk, [bob.pk])
    body = api_of(bob).get(f"/api/v1/statuses/{made}").json()
    assert body["feedsite"]["circle"] == {"id": str(band.pk), "title": ""}


def test_an_edit_and_a_delete_keep_saying_which_circle(alice, band, api_of):
    client = api_of(alice)
    made = post_to(client, str(band.pk)).json()["id"]
    edited = client.put(f"/api/v1/statuses/{made}", {"status": "changed"}, format="json")
    assert edited.json()["feedsite"]["circle"]["title"] == "Band"
    assert client.delete(f"/api/v1/statuses/{made}").json()["visibility"] == "private"


def test_the_same_key_is_the_same_post(alice, band, api_of):
    client = api_of(alice)
    client.credentials(**{**client._credentials, "HTTP_IDEMPOTENCY_KEY": "k"})
    assert post_to(client, str(band.pk)).json()["id"] == post_to(client, str(band.pk)).json()["id"]
