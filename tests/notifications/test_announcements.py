"""Announcements: what holds now, who has read it, and what is answered."""

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.api.entities.instance import AnnouncementJson
from apps.notifications.models import Announcement, AnnouncementReaction
from tests.support.cases import each
from tests.support.factories import make_user
from tests.support.staff import make_staff

pytestmark = pytest.mark.django_db

ANNOUNCEMENTS = "/api/v1/announcements"


@pytest.fixture
def said():
    return Announcement.objects.create(text="We move <tonight>.\n\nSee https://example.org/")


def ids(api, **query):
    return [int(one["id"]) for one in api.get(ANNOUNCEMENTS, query).json()]


def test_an_announcement_is_text_in_html(alice, api_of, said):
    (body,) = api_of(alice).get(ANNOUNCEMENTS).json()
    assert set(body) == AnnouncementJson.__required_keys__
    assert "We move &lt;tonight&gt;." in body["content"]
    assert '<a href="https://example.org/" rel="nofollow noopener' in body["content"]
    assert (body["read"], body["starts_at"], body["reactions"]) == (False, None, [])


def test_only_what_holds_now_is_told_the_oldest_first(alice, api_of, said):
    hour, now = timedelta(hours=1), timezone.now()
    Announcement.objects.create(text="later", published_at=now + hour)
    Announcement.objects.create(text="over", ends_at=now - hour)
    newer = Announcement.objects.create(text="newer", ends_at=now + hour)
    assert ids(api_of(alice)) == [said.pk, newer.pk]


def test_what_was_read_is_told_only_when_asked_for(alice, bob, api_of, said):
    api = api_of(alice)
    for _ in range(2):
        assert api.post(f"{ANNOUNCEMENTS}/{said.pk}/dismiss").json() == {}
    assert ids(api) == []
    assert api.get(ANNOUNCEMENTS, {"with_dismissed": "1"}).json()[0]["read"] is True
    assert ids(api_of(bob)) == [said.pk]
    assert api.post(f"{ANNOUNCEMENTS}/{said.pk + 1}/dismiss").status_code == 404


@pytest.mark.long
@each("emoji", ["👍", "👨‍👩‍👧‍👦", "🇨🇳", "❤️", "👍🏽", "1️⃣"])
def test_an_emoji_is_counted_once_a_person_and_taken_back(alice, bob, api_of, said, emoji):
    path = f"{ANNOUNCEMENTS}/{said.pk}/reactions/{emoji}"
    for person in (alice, alice, bob):
        assert api_of(person).put(path).json() == {}
    (body,) = api_of(alice).get(ANNOUNCEMENTS).json()
    assert body["reactions"] == [{"name": emoji, "count": 2, "me": True}]
    api_of(alice).delete(path)
    api_of(alice).delete(path)
    (body,) = api_of(alice).get(ANNOUNCEMENTS).json()
    assert body["reactions"] == [{"name": emoji, "count": 1, "me": False}]


@each("word", ["a", "1", "yes", "👍👍", "👍a", " ", "<", "👍" * 40, "a" * 5000])
def test_what_is_no_emoji_is_refused(alice, api_of, said, word):
    assert api_of(alice).put(f"{ANNOUNCEMENTS}/{said.pk}/reactions/{word}").status_code == 422
    assert not AnnouncementReaction.objects.exists()


def test_at_most_eight_different_emoji(alice, api_of, said):
    api = api_of(alice)
    for emoji in "😀😁😂😃😄😅😆😇":
        assert api.put(f"{ANNOUNCEMENTS}/{said.pk}/reactions/{emoji}").status_code == 200
    assert api.put(f"{ANNOUNCEMENTS}/{said.pk}/reactions/👍").status_code == 422
    assert api_of(make_user()).put(f"{ANNOUNCEMENTS}/{said.pk}/reactions/😀").status_code == 200


def test_members_find_them_above_their_notifications_until_read(alice, page_of, said):
    browser = page_of(alice)
    assert "We move &lt;tonight&gt;." in browser.get("/notifications").text
    answer = browser.post(f"/announcements/{said.pk}/dismiss", {"next": "/notifications"})
    assert (answer.status_code, answer["Location"]) == (303, "/notifications")
    assert "We move" not in browser.get("/notifications").text


def test_staff_write_them_and_members_do_not(page_of):
    browser = page_of(make_staff(superuser=True))
    now = timezone.now()
    form = {
        "text": "Hello all.", "published_at": f"{now:%Y-%m-%d}T00:00", "starts_at": "", "ends_at": "",
    }  # fmt: skip
    assert browser.post("/admin/notifications/announcement/add/", form).status_code == 302
    assert Announcement.objects.get().text == "Hello all."
    helper = page_of(make_staff("notifications.view_announcement"))
    assert helper.get("/admin/notifications/announcement/add/").status_code == 403
