"""Earlier posts in the archive that one takes along, and after the deletion of an account."""

import io
import json
from zipfile import ZipFile

import pytest

from apps.earlier_posts.models import EarlierPost
from apps.earlier_posts.privacy import earlier_posts
from apps.privacy.archive import entries_of, private_storage, write_archive
from tests.earlier_posts.test_actions import files
from tests.support.archives import ACTOR, attached, note
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db


def taken_along(user):
    done = []
    write_archive(user, "exports/a.zip", done.append)
    with private_storage().open("exports/a.zip") as file:
        data = file.read()
    assert done[-1] == entries_of(user)
    return ZipFile(io.BytesIO(data))


def test_they_are_taken_along_with_their_pictures(alice, bob, bring, settings):
    mine = note(1, "<p>Mine</p>", attachment=[attached("a.png", "A cup")])
    bring(alice, mine, files={"a.png": picture()})
    bring(bob, note(2, "<p>Not mine</p>"))
    archive = taken_along(alice)
    [line] = archive.read("earlier_posts.jsonl").decode().splitlines()
    record = json.loads(line)
    post = EarlierPost.objects.get(owner=alice)
    assert record == {
        "address": f"{settings.SITE_URL}/@alice/earlier/{post.pk}", "first_at": f"{ACTOR}/statuses/1",
        "published": "2019-05-01T10:00:01+00:00", "edited": None, "for": "public", "text": "Mine",
        "content_warning": "", "sensitive": False, "language": "en", "reply_to": None,
        "pictures": [{"file": f"pictures/earlier-{post.pictures.get().pk}.webp", "description": "A cup"}],
    }  # fmt: skip
    assert archive.read(record["pictures"][0]["file"])[8:12] == b"WEBP"
    assert "earlier_posts.jsonl" in archive.read("README.txt").decode()


def test_pictures_without_room_are_named(alice, bring, settings):
    bring(alice, note(1, attachment=[attached("a.png")]), files={"a.png": picture()})
    settings.EXPORT_MAX_MEGABYTES = 0
    archive = taken_along(alice)
    assert archive.read("left_out.txt").decode().startswith("pictures/earlier-")


@pytest.mark.long
def test_an_erasure_takes_them_a_few_at_a_time(alice, bob, bring):
    media = [note(number, attachment=[attached(f"{number}.png")]) for number in range(1, 4)]
    bring(alice, *media, files={f"{number}.png": picture() for number in range(1, 4)})
    bring(bob, note(1))
    assert [earlier_posts(alice, 2) for _round in range(3)] == [2, 1, 0]
    assert [post.owner for post in EarlierPost.objects.all()] == [bob]
    assert files() == []
