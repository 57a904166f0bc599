"""Texts go out compressed to those who take it, files as they are."""

import gzip
from io import BytesIO

import pytest

from apps.posts.actions.uploads import upload_picture
from tests.support.factories import delivered, publish
from tests.support.pictures import picture

pytestmark = pytest.mark.django_db
TAKES_GZIP = {"Accept-Encoding": "gzip, br, zstd"}


@pytest.mark.long
@pytest.mark.parametrize(
    "path", ["/", "/public.atom", "/api/v1/timelines/public", "/api/v2/instance", "/api/schema"]
)
def test_texts_are_compressed_for_who_takes_it(alice, client, path):
    delivered(alice, "A text that is long enough to be worth it. " * 8)
    plain, packed = client.get(path), client.get(path, headers=TAKES_GZIP)
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in plain.headers["Vary"]
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert len(packed.content) < len(plain.content) * 0.7  # with up to a hundred bytes of padding
    assert int(packed.headers["Content-Length"]) == len(packed.content)
    assert gzip.decompress(packed.content)[:20] == plain.content[:20]


def test_the_same_response_has_another_length_each_time(alice, client):
    """Or its length would tell, of what is guessed into a page, whether it stands there already (BREACH)."""
    publish(alice)
    answers = [client.get("/api/v2/instance", headers=TAKES_GZIP) for _one in range(12)]
    assert len({gzip.decompress(answer.content) for answer in answers}) == 1
    assert len({len(answer.content) for answer in answers}) > 1


def test_what_a_client_has_is_not_sent_again(alice, api_of):
    delivered(alice, "A text that is long enough to be worth it. " * 8)
    api, path = api_of(alice), "/api/v1/timelines/home"
    tag = api.get(path, headers=TAKES_GZIP).headers["ETag"]
    again = api.get(path, headers={**TAKES_GZIP, "If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert "Content-Encoding" not in again.headers


def test_pictures_are_sent_as_they_are(alice, client, settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)
    image = upload_picture(alice, BytesIO(picture((600, 400))))
    answer = client.get(image.file.url, headers=TAKES_GZIP)
    assert answer.status_code in {200, 404}
    assert "Content-Encoding" not in answer.headers
    answer.close()
