"""Pictures and polls as clients send them."""

from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.api.entities.status import MediaAttachmentJson, PollJson
from apps.posts.models import Attachment, Poll, Post, ScheduledPost
from apps.timeline.pipeline.hydrate import hydrate
from apps.timeline.publishing import publish_due
from tests.support.cases import each
from tests.support.factories import publish
from tests.support.pictures import picture

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]

STATUSES, MEDIA = "/api/v1/statuses", "/api/v1/media"


@pytest.fixture
def api(alice, api_of):
    return api_of(alice)


def upload(api, address="/api/v2/media", data=None, **more):
    file = SimpleUploadedFile("../../a.png", data or picture(), content_type="text/html")
    return api.post(address, {"file": file, **more}, format="multipart")


@pytest.mark.parametrize("address", ["/api/v2/media", "/api/v1/media"])
def test_an_upload_is_ready_at_once(api, client, address):
    answer = upload(api, address, description="A wall", focus="0.5,-1")
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert set(body) == MediaAttachmentJson.__required_keys__
    assert (body["type"], body["description"]) == ("image", "A wall")
    assert body["meta"]["focus"] == {"x": 0.5, "y": -1.0}
    assert body["meta"]["original"]["size"] == "60x40"
    for url in (body["url"], body["preview_url"]):
        file = client.get(url.removeprefix("http://testserver"))
        assert b"".join(file.streaming_content)[8:12] == b"WEBP"
        assert (file.status_code, file.headers["Content-Type"]) == (200, "image/webp")
        assert "sandbox" in file.headers["Content-Security-Policy"]
    assert api.get(f"{MEDIA}/{body['id']}").json() == body


def test_a_picture_is_described_until_it_is_posted(api, bob, api_of):
    number = upload(api).json()["id"]
    for body in ({"description": "A wall"}, {"focus": "0,0.5"}):
        assert api.put(f"{MEDIA}/{number}", body).status_code == 200
    found = api.get(f"{MEDIA}/{number}").json()
    assert (found["description"], found["meta"]["focus"]) == ("A wall", {"x": 0.0, "y": 0.5})
    for call in (api_of(bob).get, api_of(bob).put, api_of(bob).delete):
        assert call(f"{MEDIA}/{number}").status_code == 404
    made = api.post(STATUSES, {"media_ids[]": [number]}, format="multipart")
    assert [one["id"] for one in made.json()["media_attachments"]] == [number]
    assert api.put(f"{MEDIA}/{number}", {"description": "x"}).status_code == 404
    assert api.delete(f"{MEDIA}/{number}").status_code == 404


@pytest.mark.long
@pytest.mark.gate
@each(
    "more", [{"focus": "1"}, {"focus": "a,b"}, {"focus": "2,0"}, {"focus": "nan,0"}, {"focus": "1,1,1"},
             {"description": "x" * 10_001}, {"data": b"<svg/>"}, {"data": picture((5001, 5000), mode="1")}],
)  # fmt: skip
def test_uploads_that_break_a_rule_are_refused(api, more):
    answer = upload(api, **more)
    assert answer.status_code == 422, answer.content
    assert answer.json()["errors"]
    assert not Attachment.objects.exists()


def test_an_upload_without_a_file_is_refused(api):
    for body in ({}, {"file": "no file"}):
        assert api.post("/api/v2/media", body, format="multipart").status_code == 422


def test_a_file_without_a_name_is_told_what_it_lacks(api):
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename=""\r\nContent-Type: image/png\r\n\r\n'
    body = head + picture() + b"\r\n--b--\r\n"
    answer = api.post(MEDIA, body, content_type="multipart/form-data; boundary=b")
    assert answer.status_code == 400
    assert (
        answer.json()["error"] == "The field file is not text. To send a file, give it a filename."
    )


def test_a_body_that_is_too_large_is_refused_unread(api, settings):
    settings.PICTURE_MAX_BYTES = 0
    assert upload(api, data=b"x" * 70_000).status_code == 422


def test_pictures_can_be_changed_by_an_edit(api):
    one, two = upload(api).json()["id"], upload(api).json()["id"]
    made = api.post(STATUSES, {"status": "Look.", "media_ids": [one]}, format="json").json()
    path = f"{STATUSES}/{made['id']}"
    kept = api.put(path, {"status": "Look!"}, format="json").json()
    assert [picture["id"] for picture in kept["media_attachments"]] == [one]
    body = {
        "status": "Look!",
        "media_ids": [two, one],
        "media_attributes": [{"id": one, "description": "A wall", "focus": "1,1"}],
    }
    changed = api.put(path, body, format="json").json()["media_attachments"]
    assert [(picture["id"], picture["description"]) for picture in changed] == [
        (two, None),
        (one, "A wall"),
    ]
    assert api.put(path, {"status": "", "media_ids": []}, format="json").status_code == 422
    body = {"status": "x", "media_attributes": [{"id": "1000000000", "description": "x"}]}
    assert api.put(path, body, format="json").status_code == 422
    assert (
        api.put(path, {"status": "Bare.", "media_ids": []}, format="json").json()[
            "media_attachments"
        ]
        == []
    )


@pytest.mark.slow
def test_deleting_keeps_the_pictures_for_writing_anew_unless_told(api):
    number = upload(api).json()["id"]
    first = api.post(STATUSES, {"status": "Look.", "media_ids": [number]}, format="json").json()
    gone = api.delete(f"{STATUSES}/{first['id']}").json()
    assert (gone["text"], gone["media_attachments"][0]["id"]) == ("Look.", number)
    again = api.post(STATUSES, {"status": "Look!", "media_ids": [number]}, format="json").json()
    api.delete(f"{STATUSES}/{again['id']}?delete_media=true")
    assert not Attachment.objects.exists()


def test_the_same_key_gives_the_same_post_with_its_pictures(api):
    number = upload(api).json()["id"]
    body = {"status": "Look.", "media_ids": [number]}
    answers = [
        api.post(STATUSES, body, format="json", headers={"Idempotency-Key": "one"})
        for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json()["id"] == answers[1].json()["id"]
    assert Post.objects.count() == 1


# -- polls -----------------------------------------------------------------------------------------


def ask(api, **more):
    poll = {"options": ["Red", "Green"], "expires_in": 3600, **more}
    answer = api.post(STATUSES, {"status": "Which?", "poll": poll}, format="json")
    assert answer.status_code == 200, answer.content
    return answer.json()


@pytest.mark.slow
def test_a_poll_is_asked_shown_and_answered(api, bob, api_of):
    made = ask(api)
    assert set(made["poll"]) == PollJson.__required_keys__
    path = f"/api/v1/polls/{made['poll']['id']}"
    before = api_of(bob).get(path).json()
    assert [one["votes_count"] for one in before["options"]] == [0, 0]
    assert (before["voted"], before["own_votes"], before["expired"]) == (False, [], False)
    after = api_of(bob).post(f"{path}/votes", {"choices[]": ["1"]}).json()
    assert (after["voted"], after["own_votes"], after["votes_count"]) == (True, [1], 1)
    shown = api_of(bob).get(f"{STATUSES}/{made['id']}").json()["poll"]
    assert shown == after
    assert api_of(None).get(path).json()["own_votes"] == []
    assert api.get(path).json()["voted"] is True  # one's own
    again = api_of(bob).post(f"{path}/votes", {"choices": [0]}, format="json")
    assert (again.status_code, again.json()["code"]) == (422, "voted_already")


def test_a_poll_can_come_in_a_form(api):
    form = "status=Which%3F&poll[options][]=Red&poll[options][]=Green&poll[expires_in]=300&poll[multiple]=1"
    made = api.post(STATUSES, form, content_type="application/x-www-form-urlencoded").json()
    assert made["poll"]["multiple"] is True
    assert [one["title"] for one in made["poll"]["options"]] == ["Red", "Green"]


@pytest.mark.slow
def test_hidden_numbers_are_hidden_until_the_end(api, bob, api_of):
    made = ask(api, hide_totals=True)
    path = f"/api/v1/polls/{made['id']}"
    voted = api_of(bob).post(f"{path}/votes", {"choices": [0]}, format="json").json()
    assert [one["votes_count"] for one in voted["options"]] == [None, None]
    Poll.objects.update(expires_at=timezone.now() - timedelta(minutes=5))
    edited = api.put(f"{STATUSES}/{made['id']}", {"status": "Which now?"}).json()["poll"]
    assert edited["expired"] is True
    assert [one["votes_count"] for one in edited["options"]] == [1, 0]


@pytest.mark.long
@each(
    "choices", [None, [], ["x"], [5], [-1], "0,1", [0, 1], [10**30], [[0]], {"a": 1}, [None], list(range(300))]
)  # fmt: skip
def test_odd_choices_are_refused(api, bob, api_of, choices):
    path = f"/api/v1/polls/{ask(api)['id']}/votes"
    answer = api_of(bob).post(path, {"choices": choices}, format="json")
    assert answer.status_code == 422, answer.content


@pytest.mark.slow
@each(
    "poll", ["x", [], 5, {}, {"options": ["a", "b"]}, {"options": "ab", "expires_in": 300},
             {"options": ["a", "b"], "expires_in": 10**30}, {"options": ["a", {"b": 1}], "expires_in": 300},
             {"options": ["a", "b"] * 1000, "expires_in": 300}, {"options": ["a", "b"], "expires_in": "soon"}],
)  # fmt: skip
def test_odd_polls_are_refused(api, poll):
    answer = api.post(STATUSES, {"status": "Which?", "poll": poll}, format="json")
    assert answer.status_code == 422, answer.content
    assert not Post.objects.exists()


@pytest.mark.slow
def test_a_page_with_polls_costs_one_query_more(alice, bob, api_of):
    plain = [publish(alice).pk for _ in range(3)]
    asking = [int(ask(api_of(alice))["id"]) for _ in range(3)]
    cost = {}
    for name, ids in (("plain", plain), ("asking", asking)):
        hydrate(bob.pk, ids)  # warm
        with CaptureQueriesContext(connection) as queries:
            items = hydrate(bob.pk, ids).items
        cost[name] = len(queries)
    assert all(item.poll for item in items)
    assert cost["asking"] == cost["plain"] + 1


# -- later -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_scheduled_post_keeps_its_pictures_for_itself(api, alice):
    number = upload(api).json()["id"]
    at = (timezone.now() + timedelta(hours=1)).isoformat()
    body = {"status": "Later.", "media_ids": [number], "scheduled_at": at}
    made = api.post(STATUSES, body, format="json").json()
    assert [one["id"] for one in made["media_attachments"]] == [number]
    assert made["params"]["media_ids"] == [number]
    assert api.post(STATUSES, {"media_ids": [number]}, format="json").status_code == 422
    assert api.post(STATUSES, body, format="json").status_code == 422
    assert api.delete(f"{MEDIA}/{number}").status_code == 422
    listed = api.get("/api/v1/scheduled_statuses").json()
    assert [one["id"] for one in listed[0]["media_attachments"]] == [number]
    ScheduledPost.objects.update(due_at=timezone.now())
    assert publish_due(limit=5) == 1
    assert Attachment.objects.get().post_id == Post.objects.get().pk


def test_a_scheduled_poll_opens_when_it_is_published(api):
    poll = {"options": ["Red", "Green"], "expires_in": 300, "multiple": True}
    at = (timezone.now() + timedelta(hours=1)).isoformat()
    body = {"status": "Which?", "poll": poll, "scheduled_at": at}
    made = api.post(STATUSES, body, format="json").json()
    assert made["params"]["poll"] == {**poll, "hide_totals": False}
    ScheduledPost.objects.update(due_at=timezone.now())
    assert publish_due(limit=5) == 1
    found = Poll.objects.get()
    assert (found.options, found.multiple) == (["Red", "Green"], True)
    assert found.expires_at > timezone.now() + timedelta(seconds=290)


def test_a_cancelled_post_gives_its_pictures_back(api):
    number = upload(api).json()["id"]
    at = (timezone.now() + timedelta(hours=1)).isoformat()
    body = {"status": "Later.", "media_ids": [number], "scheduled_at": at}
    made = api.post(STATUSES, body, format="json").json()
    assert api.delete(f"/api/v1/scheduled_statuses/{made['id']}").status_code == 200
    assert api.post(STATUSES, {"media_ids": [number]}, format="json").status_code == 200
