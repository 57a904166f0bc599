"""Uploaded files as they are served."""

import pytest
from django.core.files.base import ContentFile

from apps.accounts.models import User
from apps.posts.models import Attachment, Medium
from feedsite.files.media import PART_BYTES
from tests.support.cases import each

pytestmark = pytest.mark.django_db


@pytest.mark.slow
@each("name", ["../settings.py", "..%2f..%2fetc/passwd.png", "/etc/passwd.png", "x.svg", "x.html",
                                  "x.png/", "pictures", "%2e%2e/x.png",
                                  "x.PNG.html", "a" * 5000 + ".png", "nowhere.png"])  # fmt: skip
def test_nothing_but_stored_pictures_is_served(client, name):
    assert client.get(f"/media/{name}").status_code in {400, 404}


def test_a_stored_picture_can_be_kept_for_a_year_and_runs_nothing(
    alice, client, settings, tmp_path
):
    settings.MEDIA_ROOT = str(tmp_path)
    (tmp_path / "avatars").mkdir()
    (tmp_path / "avatars/a.png").write_bytes(b"\x89PNG<script>")
    assert client.get("/media/avatars/a.png").status_code == 404  # nobody's
    User.objects.filter(pk=alice.pk).update(avatar="avatars/a.png")
    answer = client.get("/media/avatars/a.png")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "image/png")
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, s-maxage=60, immutable"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert b"".join(answer.streaming_content).startswith(b"\x89PNG")
    answer.close()


def test_a_proxy_is_told_which_file_it_may_send(alice, client, settings):
    """The name is decided before: a file that nobody may see is still 404 (tests/flows/test_proxy.py asks nginx)."""
    settings.MEDIA_ACCEL_URL = "/_media/"
    assert client.get("/media/avatars/a.png").status_code == 404
    User.objects.filter(pk=alice.pk).update(avatar="avatars/a.png")
    answer = client.get("/media/avatars/a.png", headers={"Range": "bytes=0-9"})
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer["X-Accel-Redirect"] == "/_media/avatars/a.png"
    assert answer["Content-Type"] == "image/png"
    assert answer["Cache-Control"].startswith("public")


@pytest.fixture
def stored(alice, settings, tmp_path):
    """A video of three megabytes, as its bytes; nothing looks into it here."""
    settings.MEDIA_ROOT = str(tmp_path)
    data = bytes(range(256)) * 12 * 1024
    row = Attachment(owner=alice, medium=Medium.VIDEO, width=64, height=48)
    row.file.save("a.mp4", ContentFile(data))
    return f"/media/{row.file.name}", data


@each(
    ("header", "start", "stop"),
    [("bytes=0-99", 0, 100), ("bytes=100-100", 100, 101), ("bytes=0-", 0, PART_BYTES),
     ("bytes=5-99999999", 5, 5 + PART_BYTES), ("bytes=-100", -100, None), ("bytes=3145727-", -1, None),
     ("bytes=-99999999", 0, PART_BYTES)],
)  # fmt: skip
def test_a_player_gets_the_part_that_it_asks_for(client, stored, header, start, stop):
    address, data = stored
    answer = client.get(address, headers={"Range": header})
    expected = data[start:stop]
    first = start % len(data)
    assert (answer.status_code, answer.content) == (206, expected)
    assert answer["Content-Range"] == f"bytes {first}-{first + len(expected) - 1}/{len(data)}"
    assert (answer["Content-Type"], answer["Accept-Ranges"]) == ("video/mp4", "bytes")
    assert answer["Cache-Control"].startswith("public")


@each("header", ["bytes=3145728-", "bytes=99999999-", "bytes=-0"])
def test_a_part_beyond_the_end_is_refused(client, stored, header):
    answer = client.get(stored[0], headers={"Range": header})
    assert (answer.status_code, answer["Content-Range"]) == (416, f"bytes */{len(stored[1])}")


@each(
    "headers",
    [{}, {"Range": "bytes=5-2"}, {"Range": "bytes=0-1,4-5"}, {"Range": "lines=0-1"}, {"Range": "bytes=-"},
     {"Range": "bytes= -"}, {"Range": "bytes=a-b"}, {"Range": "bytes=0-9", "If-Range": '"another"'},
     {"Range": "bytes=" + "9" * 50 + "-"}],
)  # fmt: skip
def test_everything_else_gets_the_whole_file(client, stored, headers):
    answer = client.get(stored[0], headers=headers)
    assert answer.status_code == 200
    assert answer.getvalue() == stored[1]


def test_a_part_that_was_kept_is_asked_for_by_its_tag(client, stored):
    whole = client.get(stored[0])
    tag = whole["ETag"]
    whole.getvalue()
    answer = client.get(stored[0], headers={"Range": "bytes=0-9", "If-Range": tag})
    assert (answer.status_code, len(answer.content)) == (206, 10)
