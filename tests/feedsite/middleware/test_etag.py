"""304 for what a program has already."""

import pytest

from apps.engagement.actions import like_post
from apps.graph.actions import block_user
from tests.support.factories import deliver, delivered, publish

HOME = "/api/v1/timelines/home"


@pytest.mark.django_db
def test_who_has_an_answer_already_gets_no_second_one(alice, bob, carol, api_of):
    post = delivered(alice)
    client, address = api_of(bob), f"/api/v1/statuses/{post.pk}"
    first = client.get(address)
    tag = first.headers["ETag"]
    again = client.get(address, headers={"If-None-Match": tag})
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
    assert again.headers["X-RateLimit-Remaining"]
    assert client.get(address, headers={"If-None-Match": '"other"'}).status_code == 200
    like_post(carol, post.pk)
    assert client.get(address, headers={"If-None-Match": tag}).json()["favourites_count"] == 1
    assert api_of(alice).get(address, headers={"If-None-Match": tag}).status_code == 200
    block_user(alice, bob)
    assert client.get(address, headers={"If-None-Match": "*"}).status_code == 404
    assert client.post(address + "/favourite", headers={"If-None-Match": "*"}).status_code == 404


@pytest.mark.django_db
def test_a_page_of_a_list_keeps_its_links_in_a_304(alice, api_of):
    for _ in range(3):
        publish(alice)
    deliver()
    client, address = api_of(alice), f"{HOME}?limit=2"
    first = client.get(address)
    again = client.get(address, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.headers["Link"]) == (304, first.headers["Link"])
